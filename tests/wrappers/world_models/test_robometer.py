"""Robometer over HTTP: what is sent, how progress becomes a reward, and what a fault becomes."""

import math
import socket
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from testing_env import GenericTestEnv, play
from testing_robometer import Sample, Stub, by_brightness, serving

from wmrl_envs.errors import WorldModelError
from wmrl_envs.wrappers import WorldModelRewardWrapper
from wmrl_envs.wrappers.world_models import Episode, Prediction, RobometerWorldModel
from wmrl_envs.wrappers.world_models.progress_reward import collapse_progress
from wmrl_envs.wrappers.world_models.robometer import spread_frames


@pytest.fixture(scope="module")
def server() -> Iterator[Stub]:
    with serving() as stub:
        yield stub


@pytest.fixture
def stub(server: Stub) -> Stub:
    fresh = Stub(url=server.url)
    server.__dict__.update(vars(fresh))
    return server


def model(stub: Stub, **arguments: Any) -> RobometerWorldModel:
    return RobometerWorldModel(stub.url, **{"backoff": 0.0, "timeout": 20.0, **arguments})


def rollout(*brightness: float, task: str = "put the bowl on the plate") -> Episode:
    """An episode whose frames have this brightness in [0, 1]."""
    frames = [np.full((4, 6, 3), round(255 * value), np.uint8) for value in brightness]
    return Episode(task, (np.zeros(7),), frames=np.stack(frames))


RISING = rollout(*np.linspace(0, 1, 8))


def test_the_request_has_the_servers_schema(stub: Stub) -> None:
    model(stub).predict([RISING, rollout(0.0, 1.0, task="öffne die „Schublade“")])
    ((first, second),) = stub.requests
    assert first.described == {
        "sample_type": "progress",
        "trajectory": {
            "frames": {"__numpy_file__": "sample_0_trajectory_frames"},
            "frames_shape": [8, 4, 6, 3],
            "task": "put the bowl on the plate",
            "id": "0",
            "metadata": {"subsequence_length": 8},
            "video_embeddings": None,
        },
    }
    assert (first.frames.dtype, first.frames.shape) == (np.uint8, (8, 4, 6, 3))
    assert RISING.frames is not None
    np.testing.assert_array_equal(first.frames, RISING.frames)
    assert second.described["trajectory"]["task"] == "öffne die „Schublade“"
    assert second.described["trajectory"]["metadata"] == {"subsequence_length": 2}
    assert stub.forms == [{"use_frame_steps": "false"}]


def test_frame_bytes_that_look_like_line_ends_arrive_whole(stub: Stub) -> None:
    noise = np.frombuffer(b"\r\n--\r\n" * 200, np.uint8)[: 8 * 3 * 7 * 3].reshape(8, 3, 7, 3)
    model(stub).predict([Episode("t", (), frames=noise)])
    np.testing.assert_array_equal(stub.requests[0][0].frames, noise)


def test_eight_frames_stand_for_the_whole_rollout(stub: Stub) -> None:
    model(stub).predict([rollout(*np.linspace(0, 1, 120))])
    sent = stub.requests[0][0]
    assert sent.frames.shape == (8, 4, 6, 3)
    np.testing.assert_allclose(sent.brightness, np.linspace(0, 1, 8), atol=0.01)
    assert (sent.brightness[0], sent.brightness[-1]) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("collapse", "expected"),
    [("potential", 0.3 - 0.1), ("final", 0.2), ("max", 0.9), ("success", 0.1)],
)
def test_progress_collapses_to_one_reward(stub: Stub, collapse: Any, expected: float) -> None:
    episode = rollout(0.0, 0.1, 0.2, 0.9, 0.3, 0.4, 0.3, 0.2)
    (prediction,) = model(stub, collapse=collapse).predict([episode])
    assert prediction.reward == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize(
    ("progress", "collapse", "expected"),
    [
        ([0.2, 0.6], "potential", 0.4),
        ([0.2, 0.5, 0.6], "potential", 0.4),
        ([0.0, 0.2, 0.6, 0.8], "potential", 0.6),
        ([0.5], "potential", None),
        ([0.5], "final", 0.5),
        ([0.1, 1.5], "final", 1.0),
        ([-0.5, -0.1], "max", 0.0),
        ([1.4, 1.4, 1.4, -1, -1, -1], "potential", -1.0),
    ],
)
def test_short_rollouts_and_values_out_of_range_collapse_too(
    progress: list[float], collapse: Any, expected: float | None
) -> None:
    found = collapse_progress(np.array(progress, dtype=float), collapse)
    assert found == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(("count", "kept"), [(1, [99]), (2, [0, 99]), (200, list(range(100)))])
def test_the_first_and_the_last_frame_are_kept(count: int, kept: list[int]) -> None:
    frames = np.arange(100, dtype=np.uint8)[:, None, None, None].repeat(3, axis=3)
    assert spread_frames(frames, count)[:, 0, 0, 0].tolist() == kept


def test_batches_keep_the_order(stub: Stub) -> None:
    episodes = [rollout(0.0, level) for level in (0.9, 0.1, 0.5, 0.3, 0.7)]
    found = [p.reward for p in model(stub, batch_size=2, collapse="final").predict(episodes)]
    assert found == pytest.approx([0.9, 0.1, 0.5, 0.3, 0.7], abs=0.01)
    assert [len(request) for request in stub.requests] == [2, 2, 1]
    assert model(stub).predict([]) == []


def test_a_given_instruction_goes_before_the_task(stub: Stub) -> None:
    model(stub, instruction="open the drawer").predict([rollout(0.0, 1.0)])
    assert stub.requests[0][0].described["trajectory"]["task"] == "open the drawer"


def test_it_grades_an_environments_rendered_episodes(stub: Stub) -> None:
    env = GenericTestEnv(max_length=40, render_mode="rgb_array")
    graded = WorldModelRewardWrapper(env, model(stub, instruction="go", collapse="max"), frames=8)
    _, rewards, info = play(graded, seed=1)
    assert 1 < len(stub.requests[0][0].frames) <= 8
    assert info["predicted_reward"] == rewards[-1] == pytest.approx((len(rewards)) / 255)


@pytest.mark.parametrize("failures", [[503], [500, 429], [0], [0, 0]])
def test_what_fails_for_a_moment_is_tried_again(stub: Stub, failures: list[int]) -> None:
    stub.failures = [*failures]
    assert model(stub, collapse="final").predict([RISING])[0].reward == 1.0
    assert stub.calls == len(failures) + 1


@pytest.mark.parametrize(("code", "calls"), [(500, 3), (0, 3), (422, 1), (404, 1)])
def test_a_server_that_keeps_failing_is_an_error_or_no_opinion(
    stub: Stub, code: int, calls: int
) -> None:
    stub.failures = [code] * 6
    with pytest.raises(WorldModelError, match=f"Robometer server failed: {stub.url}"):
        model(stub).predict([RISING])
    assert stub.calls == calls
    stub.failures = [code] * 6
    assert model(stub, on_fault="none").predict([RISING] * 2) == [Prediction(None)] * 2


def answered(rows: Any) -> Any:
    return lambda samples: {"outputs_progress": {"progress_pred": rows}}


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (answered([[0.5] * 8]), "must hold 2 rows, one an episode"),
        (answered([[0.5] * 8] * 3), "must hold 2 rows"),
        (answered(None), "must hold 2 rows"),
        (lambda samples: {"outputs_progress": None}, "must hold outputs_progress.progress_pred"),
        (lambda samples: [1, 2], "the answer is no JSON object"),
        (lambda samples: b'{"outputs_progress": {"progress', "the answer is no JSON"),
        (lambda samples: b"<html>", "the answer is no JSON"),
    ],
)
def test_an_answer_of_another_form_is_no_reward(stub: Stub, answer: Any, message: str) -> None:
    stub.answer = answer
    with pytest.raises(WorldModelError, match=message):
        model(stub).predict([RISING] * 2)
    assert model(stub, on_fault="none").predict([RISING] * 2) == [Prediction(None)] * 2


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([0.5] * 7, "must answer 8 numbers, one a frame"),
        ([], "must answer 8 numbers"),
        ([0.5] * 7 + [math.nan], "must answer finite numbers"),
        ([0.5] * 7 + [math.inf], "must answer finite numbers"),
        ([0.5] * 7 + [None], "must answer 8 numbers"),
        ([0.5] * 7 + ["1"], "must answer 8 numbers"),
        ([0.5] * 7 + [True], "must answer 8 numbers"),
        (None, "must answer 8 numbers"),
    ],
)
def test_a_faulty_row_is_no_reward_and_spoils_no_other(stub: Stub, row: Any, message: str) -> None:
    stub.answer = answered([[0.25] * 8, row, [0.75] * 8])
    with pytest.raises(WorldModelError, match=message):
        model(stub).predict([RISING] * 3)
    found = model(stub, collapse="final", on_fault="none").predict([RISING] * 3)
    assert [prediction.reward for prediction in found] == [0.25, None, 0.75]


def test_success_needs_the_servers_success_head(stub: Stub) -> None:
    def without(samples: list[Sample]) -> Any:
        return {**by_brightness(samples), "outputs_success": None}

    stub.answer = without
    assert model(stub).predict([RISING])[0].reward == pytest.approx(0.71, abs=0.01)
    with pytest.raises(WorldModelError, match="must hold outputs_success.success_probs"):
        model(stub, collapse="success").predict([RISING])


def test_a_server_that_says_nothing_times_out() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        mute = RobometerWorldModel(url, timeout=0.05, retries=1, backoff=0.0)
        with pytest.raises(WorldModelError, match="no answer within 0.05 s"):
            mute.predict([RISING])


def test_the_health_of_a_server_is_told(stub: Stub) -> None:
    assert model(stub).health()["status"] == "healthy"
    with pytest.raises(WorldModelError, match="404"):
        RobometerWorldModel(f"{stub.url}/elsewhere", backoff=0.0).health()


def test_a_proxy_is_not_asked_for_a_server_on_this_machine(
    stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{taken.getsockname()[1]}")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert model(stub, retries=0).health()["status"] == "healthy"


def test_a_server_that_is_not_there_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    with pytest.raises(WorldModelError, match=f"failed: {url}/health"):
        RobometerWorldModel(url, retries=0).health()


@pytest.mark.parametrize(
    ("episode", "message"),
    [
        (Episode("t", ()), r"needs frames.*frames=8"),
        (Episode("t", (), frames=np.zeros((0, 2, 2, 3), np.uint8)), "needs frames"),
        (Episode("", (), frames=np.zeros((2, 2, 2, 3), np.uint8)), "needs an instruction"),
        (Episode("t", (), frames=np.zeros((2, 2, 2, 3))), "uint8, got shape .* dtype float64"),
        (Episode("t", (), frames=np.zeros((2, 2, 2), np.uint8)), "must be .n, H, W, 3. uint8"),
    ],
)
def test_what_robometer_cannot_see_is_said(stub: Stub, episode: Episode, message: str) -> None:
    with pytest.raises(WorldModelError, match=message):
        model(stub, on_fault="none").predict([episode])
    assert stub.calls == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"collapse": "mean"}, "collapse must be one of .*'success'.*, got 'mean'"),
        ({"on_fault": "zero"}, "on_fault must be one of"),
        ({"url": "localhost:8000"}, 'url must start with "http://"'),
        ({"frames": 0}, "frames must be at least 1, got 0"),
        ({"batch_size": 0}, "batch_size must be at least 1"),
        ({"retries": -1}, "retries must be at least 0"),
        ({"timeout": 0}, "timeout must be a positive number of seconds, got 0"),
        ({"timeout": math.nan}, "timeout"),
    ],
)
def test_impossible_settings_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RobometerWorldModel(**arguments)
