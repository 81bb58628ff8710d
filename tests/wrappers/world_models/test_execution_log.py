"""The execution log: what is written comes back; what is no log is refused by line."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmrl_envs.wrappers.world_models import LoggedEpisode, read_log, write_log

GOOD = {"task": "t", "actions": ["a"], "reward": 0.5}
episodes = st.builds(
    LoggedEpisode,
    st.text(),
    st.lists(st.text(), min_size=1, max_size=3).map(tuple),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(),
    st.text(),
)


@given(st.lists(episodes, max_size=4))
def test_what_is_written_comes_back(tmp_path_factory: Any, log: list[LoggedEpisode]) -> None:
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    assert write_log(path, log) == len(log)
    assert read_log(path) == log


def test_appending_keeps_what_was_there(tmp_path: Path) -> None:
    first, second = LoggedEpisode("t", ("a",), 0.0), LoggedEpisode("t", ("b",), 1.0)
    write_log(tmp_path / "new" / "log.jsonl", [first])
    write_log(tmp_path / "new" / "log.jsonl", [second], append=True)
    assert read_log(tmp_path / "new" / "log.jsonl") == [first, second]


def test_the_log_of_another_program_is_read(tmp_path: Path) -> None:
    text = json.dumps({**GOOD, "task": "a\u2028b\x85c", "extra": 1}, ensure_ascii=False)
    (tmp_path / "log").write_text(text + "\n\n" + json.dumps({**GOOD, "reward": 1}))
    assert read_log(tmp_path / "log") == [
        LoggedEpisode("a\u2028b\x85c", ("a",), 0.5),
        LoggedEpisode("t", ("a",), 1),
    ]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("{", "Expecting"),
        ("[1]", "indices"),
        ("3", "subscriptable"),
        (json.dumps({"task": "t", "actions": ["a"]}), "'reward' is missing"),
        (json.dumps({**GOOD, "actions": "abc"}), "actions must be a tuple of texts, got 'abc'"),
        (json.dumps({**GOOD, "actions": [1]}), "actions must be a tuple of texts"),
        (json.dumps({**GOOD, "actions": []}), "actions must hold at least one"),
        (json.dumps({**GOOD, "task": None}), "task must be a text, got None"),
        (json.dumps({**GOOD, "status": 3}), "status must be a text, got 3"),
        (json.dumps({**GOOD, "reward": float("nan")}), "reward must be a finite number, got nan"),
        (json.dumps({**GOOD, "reward": True}), "reward must be a finite number, got True"),
        (json.dumps({**GOOD, "reward": "high"}), "must be real number"),
    ],
)
def test_a_line_that_is_no_episode_is_named(tmp_path: Path, line: str, fault: str) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(GOOD) + "\n" + line + "\n")
    with pytest.raises(ValueError, match=r"log\.jsonl, line 2: ") as raised:
        read_log(path)
    assert fault in str(raised.value)


def test_a_missing_log_is_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_log(tmp_path / "absent.jsonl")


def test_a_world_model_sees_neither_reward_nor_status() -> None:
    episode = LoggedEpisode("t", ("a", "b"), 0.5, "valid", "name").episode
    assert (episode.task, episode.actions) == ("t", ("a", "b"))
    assert episode.frames is None and episode.initial_observation is None


@pytest.mark.parametrize("reward", [float("inf"), float("nan")])
def test_an_unknown_reward_is_no_reward(reward: float) -> None:
    with pytest.raises(ValueError, match="reward must be a finite number"):
        LoggedEpisode("t", ("a",), reward)


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match=r"log.jsonl: no execution log, not UTF-8"):
        read_log(path)
