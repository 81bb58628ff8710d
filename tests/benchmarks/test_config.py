"""The settings of a run: they come back from a file, and wrong ones are named."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmrl_envs.autoresearch import catalog
from wmrl_envs.benchmarks.autoresearch.arms import ARMS
from wmrl_envs.benchmarks.autoresearch.config import (
    TEST_TASKS,
    TRAIN_TASKS,
    RunConfig,
    SettingsError,
)

configs = st.builds(
    RunConfig,
    arm=st.sampled_from(sorted(ARMS)),
    seed=st.integers(0, 99),
    anchors=st.floats(0, 1, exclude_min=True),
    learning_rate=st.floats(1e-9, 1),
    train_tasks=st.lists(st.text(min_size=1), min_size=1).map(tuple),
    sandbox=st.sampled_from(["warm", "cold"]),
)


@given(configs)
def test_settings_come_back_from_their_file(
    tmp_path_factory: pytest.TempPathFactory, config: RunConfig
) -> None:
    path = tmp_path_factory.mktemp("run") / "config.json"
    config.write(path)
    assert RunConfig.read(path) == config
    config.check_same(path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("arm", "unheard"),
        ("sandbox", "lukewarm"),
        ("steps", 0),
        ("groups", 0),
        ("group_size", 1),
        ("anchors", 0.0),
        ("anchors", 1.1),
        ("anchors", math.nan),
        ("seed", -1),
        ("learning_rate", 0.0),
        ("learning_rate", math.inf),
        ("kl_coef", -0.1),
        ("kl_coef", math.nan),
        ("log_episodes", 0),
        ("train_tasks", ()),
        ("test_tasks", ()),
        ("workers", 0),
    ],
)
def test_a_setting_out_of_range_is_named_with_its_value(name: str, value: Any) -> None:
    with pytest.raises(SettingsError, match=name) as raised:
        RunConfig(**{name: value})
    assert repr(value) in str(raised.value)


def test_other_settings_than_those_of_the_folder_are_named(tmp_path: Path) -> None:
    RunConfig(steps=3, seed=1).write(tmp_path / "config.json")
    with pytest.raises(SettingsError, match="made with seed=1, not 2; steps=3, not 4"):
        RunConfig(steps=4, seed=2).check_same(tmp_path / "config.json")
    RunConfig(steps=4).check_same(tmp_path / "nothing-yet" / "config.json")


@pytest.mark.parametrize("text", ["", "[]", "3", '{"stepps": 3}', '{"steps": "3"}', '{"steps": 0}'])
def test_a_file_that_holds_no_settings_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(SettingsError, match=r"config\.json: not the settings"):
        RunConfig.read(tmp_path / "config.json")


def test_settings_of_an_older_version_take_the_defaults(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"steps": 3, "train_tasks": ["digits"]}))
    assert RunConfig.read(tmp_path / "config.json") == RunConfig(steps=3, train_tasks=("digits",))


def test_a_copy_with_another_value_is_checked_too() -> None:
    assert RunConfig().with_(groups=3, group_size=5).num_envs == 15
    with pytest.raises(SettingsError, match="steps"):
        RunConfig().with_(steps=0)


def test_the_default_tasks_are_of_their_splits() -> None:
    """So no data set that is evaluated on as held-out was ever trained on."""
    assert set(TRAIN_TASKS) <= set(catalog.names("train"))
    assert set(TEST_TASKS) <= set(catalog.names("test"))


def test_the_default_tasks_tell_themselves_apart() -> None:
    tasks = catalog.resolve([*TRAIN_TASKS, *TEST_TASKS])
    assert len({task.card() for task in tasks}) == len({task.overview() for task in tasks})
    assert len({task.card() for task in tasks}) == len(tasks)
