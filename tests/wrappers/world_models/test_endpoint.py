"""A world model behind a server: what it asks for, and what it makes of a faulty answer."""

import math
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from testing_endpoint import Reply, Request, StubServer, chat, digits, reply, stub_server

from wmrl_envs.errors import WorldModelError
from wmrl_envs.wrappers import WorldModelRewardWrapper
from wmrl_envs.wrappers.world_models import EndpointWorldModel, Episode, Generation, Prediction

EPISODES = [Episode("Predict prices.", (f"x = {n}",)) for n in range(6)]
GRADED = digits({"9": 0.25, " 9": 0.25, "0": 0.25, "The": 0.25})
OUTCOME = '{"reason": "r", "predictions": [{"status": "valid", "error_type": "", "error_line": \
null, "quality": "high", "feedback": "well done"}]}'
FAILED = OUTCOME.replace('"valid"', '"timeout"')
AT_ONCE = {"first_pause": 0.0, "longest_pause": 0.0}


@pytest.fixture
def server() -> Iterator[StubServer]:
    """Grades everything alike until it is told otherwise."""
    with stub_server(lambda request: reply(GRADED)) as stub:
        yield stub


def model(server: StubServer, **settings: Any) -> EndpointWorldModel:
    return EndpointWorldModel(server.url, **{"transport": AT_ONCE, **settings})


def number(request: Request) -> int:
    """The n of the program "x = n"."""
    return int(request.text.split("1 x = ")[1].split("\n")[0])


def test_the_grade_is_expected_over_the_listed_tokens_whatever_blank_stands_before_them(
    server: StubServer,
) -> None:
    [prediction] = model(server).predict(EPISODES[:1])
    assert prediction.reward == pytest.approx(2 / 3)
    [request] = server.requests
    assert request.path == "/v1/completions" and request.body["model"] == "stub"
    assert request.text.endswith("1 x = 0\n```\nGrade: ")
    assert request.text.index("Predict prices.") < request.text.index("x = 0")
    assert request.body["logprobs"] == 20 and request.body["max_tokens"] == 1


def test_a_chat_server_lists_its_tokens_in_another_form(server: StubServer) -> None:
    listed = [{"token": "9", "logprob": math.log(0.3)}, {"token": "0", "logprob": math.log(0.1)}]
    answer = chat("9")
    answer["choices"][0]["logprobs"] = {"content": [{"token": "9", "top_logprobs": listed}]}
    server.behave = lambda request: reply(answer)
    [prediction] = model(server, mode="chat").predict(EPISODES[:1])
    assert prediction.reward == pytest.approx(0.75)
    assert server.requests[0].path == "/v1/chat/completions"
    assert server.requests[0].body["top_logprobs"] == 20


@pytest.mark.parametrize("probabilities", [{"The": 0.9, "7": 0.1}, {"7": 0.004, "8": 0.004}])
def test_one_grade_or_too_little_mass_is_no_opinion(
    server: StubServer, probabilities: dict[str, float]
) -> None:
    server.behave = lambda request: reply(digits(probabilities))
    assert model(server).predict(EPISODES[:1]) == [Prediction(None)]


def test_json_is_averaged_over_the_samples_and_brings_feedback(server: StubServer) -> None:
    server.behave = lambda request: reply(chat(OUTCOME, FAILED))
    asked = model(server, mode="json", samples=2, generation={"temperature": 0.7})
    [prediction] = asked.predict(EPISODES[:1])
    assert prediction.reward == pytest.approx((0.875 + 0.1) / 2)
    assert prediction.feedback == "predicted: valid, high quality\nwell done"
    body = server.requests[0].body
    assert (body["n"], body["temperature"], body["max_tokens"]) == (2, 0.7, 256)
    form = body["response_format"]["json_schema"]["schema"]
    assert form["properties"]["predictions"]["maxItems"] == 2


def test_json_can_be_asked_for_as_an_object_with_its_schema_beside_it(server: StubServer) -> None:
    server.behave = lambda request: reply(chat(OUTCOME))
    model(server, mode="json", response_format="json_object").predict(EPISODES[:1])
    asked = server.requests[0].body["response_format"]
    assert asked["type"] == "json_object" and "predictions" in asked["schema"]["properties"]


def test_a_json_answer_that_is_cut_off_is_no_opinion_or_what_is_whole_of_it(
    server: StubServer,
) -> None:
    server.behave = lambda request: reply(chat(OUTCOME[:40], finish_reason="length"))
    assert model(server, mode="json").predict(EPISODES[:1]) == [Prediction(None)]
    server.behave = lambda request: reply(chat(OUTCOME[:-2], finish_reason="length"))
    assert model(server, mode="json").predict(EPISODES[:1])[0].reward == pytest.approx(0.875)


def test_a_typed_question_is_answered_over_the_grades_that_have_a_meaning(
    server: StubServer,
) -> None:
    chances = {str(level): p for level, p in enumerate([0.0, 0.5, 0.0, 0.0, 0.0, 0.5])}
    server.behave = lambda request: reply({"answers": {"grade": {"probabilities": chances}}})
    [prediction] = model(server, mode="systemone").predict(EPISODES[:1])
    assert prediction.reward == pytest.approx((1 / 9 + 1) / 2)
    assert len(server.requests[0].body["questions"]["grade"]["criteria"]) == 6


def test_answers_belong_to_their_episodes_in_whatever_order_they_come(server: StubServer) -> None:
    answered = threading.Semaphore(0)

    def backwards(request: Request) -> Reply:
        if number(request) == 0:
            assert all(answered.acquire(timeout=10) for _ in EPISODES[1:])
        else:
            answered.release()
        return reply(digits({"9": 0.1 * (number(request) + 1), "0": 0.2}))

    server.behave = backwards
    found = model(server, transport={"concurrency": 6}).predict(EPISODES)
    expected = [0.1 * (n + 1) / (0.1 * (n + 1) + 0.2) for n in range(6)]
    assert [p.reward for p in found] == pytest.approx(expected)


@pytest.mark.parametrize("concurrency", [1, 3])
def test_requests_under_way_are_bounded(server: StubServer, concurrency: int) -> None:
    model(server, transport={"concurrency": concurrency}).predict(EPISODES)
    assert len(server.requests) == 6 and 1 <= server.at_once <= concurrency


def test_equal_programs_are_asked_about_once_and_code_that_does_not_compile_never(
    server: StubServer,
) -> None:
    asked = model(server)
    asked.predict([EPISODES[0], EPISODES[0], Episode("Predict prices.", ("x = = 1",))])
    asked.predict(EPISODES[:1])
    assert len(server.requests) == 1


def truncated(request: Request) -> Reply:
    status, body, _ = reply(GRADED)
    return status, body[:30], {"Content-Length": str(len(body))}


FAULTS: dict[str, Callable[[Request], Reply]] = {
    "status 500": lambda request: reply({"error": "out of memory"}, 500),
    "status 503": lambda request: reply({}, 503, Retry_After="0"),
    "status 429": lambda request: reply({}, 429, Retry_After="0"),
    "half of the body": truncated,
    "no JSON": lambda request: (200, b'{"choices": [', {}),
    "a list": lambda request: reply([1, 2]),
    "no choices": lambda request: reply({"choices": []}),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_that_passes_is_tried_again(server: StubServer, fault: str) -> None:
    bad = FAULTS[fault]
    server.behave = lambda request: bad(request) if request.number < 2 else reply(GRADED)
    assert model(server).predict(EPISODES[:1])[0].reward == pytest.approx(2 / 3)
    assert len(server.requests) == 3


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_that_stays_is_an_error_or_no_opinion_and_never_a_reward(
    server: StubServer, fault: str
) -> None:
    server.behave = FAULTS[fault]
    with pytest.raises(WorldModelError, match=server.url if "choices" not in fault else "form"):
        model(server).predict(EPISODES[:1])
    assert len(server.requests) == 4
    ungraded = model(server, on_error="ungraded").predict([*EPISODES[:1], Episode("", ("x = =",))])
    assert ungraded == [Prediction(None), Prediction(0.0)]


def _first(**choice: Any) -> dict[str, Any]:
    return {"choices": [choice]}


def _levels(*masses: float) -> dict[str, Any]:
    return {"answers": {"grade": {"probabilities": {str(i): p for i, p in enumerate(masses)}}}}


MISSHAPEN: dict[str, tuple[str, Any]] = {
    "log-probabilities in a list": ("completions", _first(logprobs=[1])),
    "tokens in an object": ("completions", _first(logprobs={"top_logprobs": {"0": 1}})),
    "a text for a number": ("completions", _first(logprobs={"top_logprobs": [{"1": "x"}]})),
    "an index that is none": ("completions", {"choices": [{"index": "a"}, {"index": 1}]}),
    "chat tokens in an object": ("chat", _first(logprobs={"content": {"x": 1}})),
    "chat tokens as texts": ("chat", _first(logprobs={"content": ["x"]})),
    "levels without mass": ("systemone", _levels(0, 0, 0, 0, 0, 0)),
    "levels of NaN": ("systemone", _levels(math.nan, 0, 0, 0, 0, 1)),
    "levels above 1": ("systemone", _levels(5, 5, 5, 5, 5, 5)),
    "levels below 0": ("systemone", _levels(-1, 2, 0, 0, 0, 0)),
}


@pytest.mark.parametrize("shape", MISSHAPEN)
def test_an_answer_of_another_shape_is_a_fault_and_never_a_reward(
    server: StubServer, shape: str
) -> None:
    mode, answer = MISSHAPEN[shape]
    server.behave = lambda request: reply(answer)
    with pytest.raises(WorldModelError, match=f"{mode} request failed"):
        model(server, mode=mode).predict(EPISODES[:1])
    assert len(server.requests) == 4
    found = model(server, mode=mode, on_error="ungraded").predict(EPISODES[:1])
    assert found == [Prediction(None)]


def test_a_log_probability_of_null_is_that_of_a_token_without_mass(server: StubServer) -> None:
    answer = digits({"9": 0.5, "0": 0.5})
    answer["choices"][0]["logprobs"]["top_logprobs"][0]["5"] = None
    server.behave = lambda request: reply(answer)
    assert model(server).predict(EPISODES[:1])[0].reward == pytest.approx(0.5)


def test_one_failed_request_leaves_the_other_episodes_their_grades(server: StubServer) -> None:
    server.behave = lambda request: reply({}, 500) if number(request) == 2 else reply(GRADED)
    found = model(server, on_error="ungraded").predict(EPISODES)
    assert [p.reward is None for p in found] == [False, False, True, False, False, False]


def test_a_server_that_does_not_answer_in_time_is_given_up(server: StubServer) -> None:
    server.behave = lambda request: reply(GRADED) if server.closing.wait(30) else reply({})
    asked = model(server, transport={**AT_ONCE, "timeout": 0.2, "attempts": 2})
    with pytest.raises(WorldModelError, match=r"no answer within 0\.2 s"):
        asked.predict(EPISODES[:1])
    assert len(server.requests) == 2


def test_a_refusal_is_not_tried_again_and_raised_in_any_case(server: StubServer) -> None:
    server.behave = lambda request: reply({"error": "no such model"}, 404)
    with pytest.raises(WorldModelError, match="HTTP status 404.*no such model"):
        model(server, on_error="ungraded").predict(EPISODES[:1])
    assert len(server.requests) == 1


def test_a_server_that_keeps_failing_is_left_alone_for_a_while(server: StubServer) -> None:
    server.behave = lambda request: reply({}, 500)
    transport = {**AT_ONCE, "attempts": 2, "concurrency": 1, "breaker_failures": 2}
    asked = model(server, on_error="ungraded", transport=transport)
    assert asked.predict(EPISODES) == [Prediction(None)] * 6
    assert len(server.requests) == 4 and asked.breaker.state == "open"
    asked = model(server, on_error="ungraded", transport={**transport, "breaker_cooldown": 0.0})
    asked.predict(EPISODES[:2])
    server.behave = lambda request: reply(GRADED)
    assert asked.breaker.state == "half-open"
    assert asked.predict(EPISODES[:1])[0].reward == pytest.approx(2 / 3)
    assert asked.breaker.state == "closed"


IGNORING: dict[str, tuple[dict[str, Any], dict[str, Any], float | None]] = {
    "logprobs": ({"mode": "completions"}, {"choices": [{"text": " 9"}]}, 1.0),
    "logprobs of a chat": ({"mode": "chat"}, chat("9"), 1.0),
    "logprobs, and no grade": ({"mode": "chat"}, chat("The"), None),
    "n": ({"mode": "json", "samples": 3}, chat(OUTCOME), 0.875),
    "response_format": ({"mode": "json"}, chat(f"Sure!\n```json\n{OUTCOME}\n```"), 0.875),
    "response_format, prose": ({"mode": "json"}, chat("It will work."), None),
}


@pytest.mark.parametrize("case", IGNORING)
def test_a_field_that_the_server_ignores_is_named_or_made_the_best_of_with_one_warning(
    server: StubServer, case: str
) -> None:
    settings, answer, reward = IGNORING[case]
    field = case.split()[0].rstrip(",")
    server.behave = lambda request: reply(answer)
    with pytest.raises(WorldModelError, match=f"ignores '{field}'"):
        model(server, **settings).predict(EPISODES[:1])
    forgiving = model(server, on_ignored="fallback", **settings)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = forgiving.predict(EPISODES[:3])
    assert [p.reward for p in found] == [reward] * 3
    assert [str(w.message).count(f"ignores '{field}'") for w in caught] == [1]


def test_the_key_and_further_fields_are_sent_and_a_none_takes_a_field_out(
    server: StubServer,
) -> None:
    extra = {"top_k": 5, "temperature": None}
    model(server, model="mine", api_key="secret", extra_body=extra).predict(EPISODES[:1])
    [request] = server.requests
    assert request.headers["Authorization"] == "Bearer secret"
    assert request.body["model"] == "mine" and request.body["top_k"] == 5
    assert "temperature" not in request.body


def test_long_texts_lose_their_middle(server: StubServer) -> None:
    asked = model(server, max_task_chars=300, max_code_chars=200)
    asked.predict([Episode("wordy " * 900, ("x = 1\n" * 900,))])
    assert server.requests[0].text.count("characters cut ...]") == 2
    assert len(server.requests[0].text) < 1500


def test_a_wrapper_can_make_the_model_from_its_name_and_plain_settings(server: StubServer) -> None:
    import gymnasium as gym

    settings = {"base_url": server.url, "mode": "completions", "transport": AT_ONCE}
    env = WorldModelRewardWrapper(
        gym.make("WMRL/AutoResearch-v0", tasks="concrete", observation="card"),
        "wmrl_envs.wrappers.world_models:EndpointWorldModel",
        settings,
    )
    env.reset(seed=0)
    _, reward, *_ = env.step("import pandas")
    assert reward == pytest.approx(2 / 3)
    env.close()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"base_url": "localhost:8000"}, "base_url must look like"),
        ({"mode": "telepathy"}, "mode must be one of"),
        ({"on_error": "0.0"}, "on_error must be one of"),
        ({"on_ignored": "hide"}, "on_ignored must be one of"),
        ({"top_logprobs": 1}, "top_logprobs must be at least 2, got 1"),
        ({"mode": "json", "samples": 0}, "samples must be at least 1, got 0"),
        ({"mode": "json", "response_format": "xml"}, "response_format must be"),
        ({"max_task_chars": 5}, "at least 200"),
        ({"transport": {"retries": 3}}, "Transport has no retries"),
        ({"transport": {"concurrency": 0}}, "concurrency must be at least 1"),
        ({"transport": {"timeout": 0}}, "timeout must be > 0"),
        ({"transport": {"attempts": 0}}, "attempts must be at least 1"),
        ({"mode": "json", "generation": Generation(1), "candidates": 0}, "candidates must be"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        EndpointWorldModel(**settings)


def test_a_server_with_several_models_wants_one_to_be_named() -> None:
    with stub_server(lambda request: reply(GRADED)) as server:
        asked = EndpointWorldModel(server.url)
        asked._client.get = lambda path: {"data": [{"id": "a"}, {"id": "b"}]}  # type: ignore[method-assign]
        with pytest.raises(WorldModelError, match=r"lists 2 models \['a', 'b'\]"):
            asked.predict(EPISODES[:1])
