"""Outcomes that a language model writes as JSON, more or less."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmrl_envs.autoresearch.grading import GradeStatus
from wmrl_envs.wrappers.world_models.structured_outcome import (
    QUALITIES,
    PredictedOutcome,
    outcome_prediction,
    parse_outcomes,
    quality_of,
    schema,
)

STATUSES = schema(1)["properties"]["predictions"]["items"]["properties"]["status"]["enum"]
TEXTS = st.text(max_size=40).map(str.strip)
OUTCOMES = st.builds(
    PredictedOutcome,
    st.sampled_from([s for s in map(GradeStatus, STATUSES) if s is not GradeStatus.VALID]),
    error_type=TEXTS,
    error_line=st.none() | st.integers(0, 99_999),
    feedback=TEXTS,
) | st.builds(
    PredictedOutcome,
    st.just(GradeStatus.VALID),
    quality=st.sampled_from(list(QUALITIES)),
    feedback=TEXTS,
)


def written(*outcomes: PredictedOutcome) -> str:
    return json.dumps({"reason": "r", "predictions": [o.record() for o in outcomes]})


@given(st.lists(OUTCOMES, min_size=1, max_size=3), st.integers(1, 3))
def test_what_is_written_as_json_is_read_back_up_to_the_number_of_candidates(
    outcomes: list[PredictedOutcome], candidates: int
) -> None:
    assert parse_outcomes(written(*outcomes), candidates) == tuple(outcomes[:candidates])


@given(st.text())
def test_whatever_is_written_is_an_outcome_or_no_opinion(text: str) -> None:
    reward = outcome_prediction(text, 2).reward
    assert reward is None or 0.1 <= reward <= 0.875


@given(OUTCOMES, st.integers(0, 400))
def test_a_text_that_is_cut_off_is_read_as_far_as_it_is_whole_or_not_at_all(
    outcome: PredictedOutcome, cut: int
) -> None:
    assert parse_outcomes(written(outcome)[:cut], 1) in ((), (outcome,))


def test_rewards_are_those_of_the_ladder_at_the_buckets_positions() -> None:
    rewards = {status: PredictedOutcome(GradeStatus(status)).reward for status in STATUSES[:-1]}
    assert rewards == {
        "runtime_error": 0.1,
        "timeout": 0.1,
        "memory": 0.1,
        "no_submission": 0.2,
        "invalid_submission": 0.2,
    }
    valid = [PredictedOutcome(GradeStatus.VALID, quality=q).reward for q in QUALITIES]
    assert valid == pytest.approx([0.525, 0.6, 0.725, 0.875])
    assert [quality_of(position) for position in QUALITIES.values()] == list(QUALITIES)


@pytest.mark.parametrize(
    "text",
    [
        "Here you are:\n```json\n{}\n```\nGood luck!",
        '<think>maybe {\'status\': 1} or {"status": "valid"}</think>{}',
        "{}{}",
        '{{"note": 1}} {}',
    ],
)
def test_text_around_the_object_does_not_matter(text: str) -> None:
    outcome = PredictedOutcome(GradeStatus.TIMEOUT, feedback="slow {braces}")
    shown = text.replace("{{", "{").replace("}}", "}") if "note" in text else text
    assert parse_outcomes(shown.replace("{}", written(outcome)), 1) == (outcome,)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "runtime_error",
        "[]",
        "{}",
        '{"predictions": []}',
        '{"predictions": ["valid"]}',
        '{"predictions": [null, {"status": "timeout"}]}',
        '{"status": "great"}',
        '{"status": "syntax_error"}',
        '{"status": "valid"}',
        '{"status": "valid", "quality": "superb"}',
        '{"status": ["timeout"]}',
        "{" * 100_000,
    ],
)
def test_what_is_no_outcome_is_no_opinion_even_where_another_one_follows(text: str) -> None:
    assert outcome_prediction(text, 2).reward is None


@pytest.mark.parametrize(
    ("line", "read"),
    [(12, 12), ("12", 12), (None, None), ("twelve", None), (-3, None), (1e9, None)],
)
def test_lines_are_whole_numbers_or_left_out(line: object, read: int | None) -> None:
    [outcome] = parse_outcomes(json.dumps({"status": "Runtime Error", "error_line": line}), 1)
    assert outcome.error_line == read


def test_the_reference_implementations_name_of_the_bucket_is_understood() -> None:
    [outcome] = parse_outcomes('{"status": "valid", "quality_bucket": "Mid"}', 1)
    assert outcome.quality == "mid"


def test_all_candidates_are_told_and_the_first_one_is_the_reward() -> None:
    first = PredictedOutcome(GradeStatus.VALID, quality="low", feedback="it ran")
    second = PredictedOutcome(GradeStatus.RUNTIME_ERROR, "KeyError", 3, feedback="no 'id'")
    prediction = outcome_prediction(written(first, second), 2)
    assert prediction.reward == 0.525
    assert prediction.feedback == (
        "predicted: valid, low quality\nit ran\n"
        "or else predicted: runtime_error, KeyError in line 3\nno 'id'"
    )
