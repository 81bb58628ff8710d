"""Tests of a whole run on LIBERO, as small as it goes."""

import importlib.util
import json
import shutil

import pytest
import torch

from wmrl_envs.agents.policies.vla.policy import VLAPolicy
from wmrl_envs.agents.policies.vla.tiny import TinyVLA, TinyVLAConfig
from wmrl_envs.benchmarks.autoresearch.records import SettingsError
from wmrl_envs.benchmarks.libero_long.config import LiberoConfig
from wmrl_envs.benchmarks.libero_long.train import train
from wmrl_envs.wrappers.world_models.progress import ProgressWorldModel
from wmrl_envs.wrappers.world_models.progress.network import ProgressNetwork

pytestmark = [
    pytest.mark.sim,
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("libero") is None, reason="LIBERO is not installed"
    ),
]


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    folder = tmp_path_factory.mktemp("start")
    torch.manual_seed(0)
    network = TinyVLA(TinyVLAConfig(action_chunk=4, width=32, layers=1, heads=2))
    VLAPolicy(network).save(folder / "policy")
    ProgressWorldModel(ProgressNetwork(16), 16, collapse="potential").save(folder / "model")
    return LiberoConfig(
        policy=str(folder / "policy"),
        world_model=str(folder / "model"),
        tasks=(2,),
        steps=2,
        groups=1,
        group_size=2,
        horizon=12,
        image_size=32,
        rollouts=2,
        seen_states=1,
        heldout_states=1,
        workers=0,
    )


@pytest.fixture(scope="module")
def folder(config, tmp_path_factory):
    made = tmp_path_factory.mktemp("run") / "wmrl"
    train(config, made)
    return made


def test_a_run_leaves_its_steps_its_evaluation_its_films_and_the_trained_policy(config, folder):
    steps = [json.loads(line) for line in (folder / "steps.jsonl").read_text().splitlines()]
    assert [step["step"] for step in steps] == [1, 2]
    for step in steps:
        assert step["rollout/success"] == step["rollout/measured_mean"] == 0.0
        assert abs(step["rollout/predicted_mean"]) <= 1
        assert step["rollout/graded_share"] == 1.0
    found = json.loads((folder / "evaluation.json").read_text())
    assert [(s["task"], s["state"], s["split"]) for s in found["states"]] == [
        (2, 0, "train"),
        (2, 16, "heldout"),
    ]
    assert found["overall"] == 0.0
    assert {path.name for path in (folder / "episodes").iterdir()} == {
        f"{split}-task2-failure-state{state}.{kind}"
        for split, state in (("train", 0), ("heldout", 16))
        for kind in ("png", "gif")
    }
    before, after = (VLAPolicy.load(path) for path in (config.policy, folder / "policy"))
    changed = [
        not torch.equal(value, after.state_dict()[name])
        for name, value in before.state_dict().items()
    ]
    assert any(changed)


def test_a_run_that_was_killed_before_its_evaluation_ends_as_it_would_have(
    config, folder, tmp_path
):
    killed = tmp_path / "killed"
    shutil.copytree(folder, killed)
    shutil.rmtree(killed / "policy")
    (killed / "evaluation.json").unlink()
    train(config, killed)
    for name in ("steps.jsonl", "evaluation.json"):
        assert (killed / name).read_text() == (folder / name).read_text()
    one, other = (VLAPolicy.load(path / "policy").state_dict() for path in (folder, killed))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_what_cannot_be_loaded_is_named(config, tmp_path):
    from dataclasses import replace

    with pytest.raises(SettingsError, match="policy must be the folder"):
        train(replace(config, policy=""), tmp_path / "a")
    with pytest.raises(SettingsError, match="holds no VLA policy"):
        train(replace(config, policy=str(tmp_path)), tmp_path / "b")
    with pytest.raises(SettingsError, match="world_model"):
        train(replace(config, world_model=str(tmp_path)), tmp_path / "c")
