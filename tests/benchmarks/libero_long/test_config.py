"""Tests of the settings of a run and of the comparison's jobs."""

import re

import pytest

from wmrl_envs.benchmarks.autoresearch.records import SettingsError
from wmrl_envs.benchmarks.libero_long.compare import jobs, start_folder
from wmrl_envs.benchmarks.libero_long.config import LiberoConfig
from wmrl_envs.benchmarks.libero_long.plans import full_plan, quick_plan


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("arm", "dense"),
        ("anchors", 0.0),
        ("learning_rate", 0.0),
        ("tasks", ()),
        ("steps", -1),
        ("groups", 0),
        ("group_size", 1),
        ("kl_coef", float("nan")),
        ("seen_states", 17),
        ("heldout_states", 35),
    ],
)
def test_a_setting_out_of_range_is_named_with_its_value(setting, value):
    with pytest.raises(SettingsError, match=f"{setting}.*{re.escape(repr(value))}"):
        LiberoConfig(**{setting: value})


def test_splits_are_apart_as_in_the_paper():
    splits = LiberoConfig().splits
    assert splits["train"] == tuple(range(16))
    assert splits["heldout"] == tuple(range(16, 50))


def test_a_folder_goes_on_with_its_own_settings_alone(tmp_path):
    config, path = LiberoConfig(seed=3), tmp_path / "config.json"
    config.check_same(path)
    config.write(path)
    config.check_same(path)
    assert LiberoConfig.read(path) == config
    with pytest.raises(SettingsError, match="seed=3, not 4"):
        LiberoConfig(seed=4).check_same(path)
    path.write_text("[]")
    with pytest.raises(SettingsError, match="not the settings"):
        LiberoConfig.read(path)


def test_the_comparison_prepares_first_and_gives_every_arm_the_same_start(tmp_path):
    planned = jobs(full_plan(("real", "wmrl"), (0, 1)), tmp_path)
    names = [job.name for job in planned]
    assert names == [
        *("cloning", "demonstrations", "world model", "start, seed sft"),
        *("real, seed 0", "wmrl, seed 0", "real, seed 1", "wmrl, seed 1"),
    ]
    policies = {job.command[job.command.index("--policy") + 1] for job in planned[3:]}
    assert policies == {str(tmp_path / "sft" / "policy")}
    assert ["--world-model" in job.command for job in planned[4:6]] == [False, True]
    assert {job.after for job in planned[3:]} == {"world model"}


def test_what_is_done_is_not_done_again(tmp_path):
    plan = quick_plan(("real",), 0)
    for folder in ("sft/policy", "demos/minari", "progress/model", "sft-success/policy"):
        (tmp_path / folder).mkdir(parents=True)
    assert start_folder(tmp_path).is_dir()
    assert [job.name for job in jobs(plan, tmp_path)] == ["real, seed 0"]


def test_a_run_with_other_settings_is_refused(tmp_path):
    folder = tmp_path / "seed-0" / "real"
    folder.mkdir(parents=True)
    LiberoConfig(arm="real").write(folder / "config.json")
    with pytest.raises(SettingsError, match="was made with"):
        jobs(quick_plan(("real",), 0), tmp_path)
