"""Environments record their measured episodes; single and vector wrappers write the same."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from testing_autoresearch import NO_CODE, FakeSandbox, fake_tasks, program
from testing_env import GenericTestEnv, play

from wmrl_envs.wrappers import AnchorSamplingWrapper, ExecutionLogWrapper, vector
from wmrl_envs.wrappers.world_models import LoggedEpisode, RegressionWorldModel, read_log


def research(**arguments: Any) -> dict[str, Any]:
    return {
        "tasks": fake_tasks(2),
        "sandbox": FakeSandbox(),
        "observation": "card",
        **arguments,
    }


def test_an_executed_episode_becomes_a_line(tmp_path: Path) -> None:
    env = gym.make("wmrl_envs:WMRL/AutoResearch-v0", **research(max_turns=2))
    env = ExecutionLogWrapper(env, tmp_path / "new" / "log.jsonl")
    obs, info = env.reset(seed=0)
    env.step(program("error"))
    *_, last = env.step(program("ok 0.6"))
    (logged,) = read_log(tmp_path / "new" / "log.jsonl")
    assert logged == LoggedEpisode(
        obs["task"],
        (program("error"), program("ok 0.6")),
        last["measured_reward"],
        "valid",
        info["task"],
    )


def test_what_was_not_executed_is_not_written(tmp_path: Path) -> None:
    env = gym.make("wmrl_envs:WMRL/AutoResearch-v0", **research())
    env = ExecutionLogWrapper(AnchorSamplingWrapper(env, 0.0), tmp_path / "log.jsonl")
    env.reset(seed=0)
    env.step(program("ok 0.6"))
    assert not (tmp_path / "log.jsonl").exists() or read_log(tmp_path / "log.jsonl") == []


def test_episodes_are_added_to_what_the_file_holds(tmp_path: Path) -> None:
    for seed in (1, 2):
        env = AnchorSamplingWrapper(GenericTestEnv("text"), 1.0)
        play(ExecutionLogWrapper(env, tmp_path / "log.jsonl"), seed=seed)
    assert len(read_log(tmp_path / "log.jsonl")) == 2


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_the_vector_wrapper_writes_what_single_ones_write(
    tmp_path: Path, mode: AutoresetMode
) -> None:
    def sampled() -> Any:
        return AnchorSamplingWrapper(GenericTestEnv("text"), 0.5)

    logged = tmp_path / "vector.jsonl", tmp_path / "single.jsonl"
    ours = vector.ExecutionLogWrapper(SyncVectorEnv([sampled] * 3, autoreset_mode=mode), logged[0])
    single = [lambda: ExecutionLogWrapper(sampled(), logged[1])] * 3
    theirs = SyncVectorEnv(single, autoreset_mode=mode)
    rng = np.random.default_rng(0)
    for env in (ours, theirs):
        env.reset(seed=[4, 5, 6])
    for step in range(60):
        actions = tuple("x" * n for n in rng.integers(1, 5, 3))
        (_, _, ends, cuts, _), _ = (env.step(actions) for env in (ours, theirs))
        mask = ends | cuts
        if mode == AutoresetMode.DISABLED and mask.any():
            for env in (ours, theirs):
                env.reset(seed=[step] * 3, options={"reset_mask": mask})
    found, expected = map(read_log, logged)
    assert found == expected and len(found) > 8


def test_a_world_model_learns_from_a_recorded_log(tmp_path: Path) -> None:
    envs = gym.make_vec("wmrl_envs:WMRL/AutoResearch-v0", num_envs=8, **research())
    envs = vector.ExecutionLogWrapper(envs, tmp_path / "log.jsonl")
    for round_ in range(3):
        envs.reset(seed=[round_] * 8)
        envs.step((*(program(f"ok {i / 8}", i) for i in range(7)), NO_CODE))
    log = read_log(tmp_path / "log.jsonl")
    assert len(log) == 24 and {episode.status for episode in log} == {"valid", "malformed"}
    assert {episode.name for episode in log} == {"task-0", "task-1"}
    assert RegressionWorldModel().fit(log).log == tuple(log)


def test_actions_that_are_no_texts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="an execution log holds texts, env has .* Discrete"):
        ExecutionLogWrapper(GenericTestEnv(), tmp_path / "log.jsonl")
    with pytest.raises(ValueError, match="Discrete"):
        vector.ExecutionLogWrapper(SyncVectorEnv([GenericTestEnv] * 2), tmp_path / "log.jsonl")
