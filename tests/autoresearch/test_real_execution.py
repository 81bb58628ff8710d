"""The environments with the real sandbox and bundled tasks."""

import copy
import os
import pickle
import signal
import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from wmrl_envs.autoresearch.sandbox import Sandbox
from wmrl_envs.errors import SandboxUnavailable

pytestmark = pytest.mark.sandbox

ID = "wmrl_envs:WMRL/AutoResearch-v0"
SAMPLE = """```python
import pandas as pd
pd.read_csv("sample_submission.csv").to_csv("submission.csv", index=False)
print("copied")
```"""
FOREST = """```python
import pandas as pd
from sklearn.ensemble import RandomForestRegressor
train, test = pd.read_csv("/data/train.csv"), pd.read_csv("test.csv")
model = RandomForestRegressor(100).fit(train.drop(columns=["id", "target"]), train["target"])
predicted = model.predict(test.drop(columns="id"))
pd.DataFrame({"id": test["id"], "target": predicted}).to_csv("submission.csv", index=False)
```"""
BROKEN = "```python\nimport pandas as pd\npd.read_csv('train.csv')['no such column']\n```"
ENDLESS = "```python\nwhile True: pass\n```"
HUNGRY = "```python\nx = bytearray(2 ** 34)\n```"
IDLE = "```python\nprint('nothing to do')\n```"
FORGED = "```python\nopen('submission.csv', 'wb').write(b'\\x00\\xff,\\n' * 100)\n```"
CASES = {
    "no code": (0.0, "malformed"),
    "```python\nx = = 1\n```": (0.0, "syntax_error"),
    BROKEN: (0.1, "runtime_error"),
    ENDLESS: (0.1, "timeout"),
    HUNGRY: (0.1, "memory"),
    IDLE: (0.2, "no_submission"),
    FORGED: (0.2, "invalid_submission"),
}


@pytest.fixture(scope="module", autouse=True)
def sandbox():
    with Sandbox(workers=2) as shared:
        try:
            shared.report()
        except SandboxUnavailable as error:
            pytest.skip(str(error))
        yield shared


def test_a_model_beats_the_sample_submission(sandbox):
    envs = gym.make_vec(ID, num_envs=2, tasks="concrete", sandbox=sandbox)
    envs.reset(seed=0)
    _, rewards, terminations, _, infos = envs.step((SAMPLE, FOREST))
    assert infos["grade_status"].tolist() == ["valid", "valid"]
    assert terminations.all()
    assert 0.5 <= rewards[0] < rewards[1] <= 1.0


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_has_a_sandbox_of_its_own(duplicate):
    env = gym.make(ID, tasks="concrete", sandbox={"preload": ()})
    env.reset(seed=0)
    twin = duplicate(env)
    assert env.step(IDLE)[4] == twin.step(IDLE)[4]
    twin.close()
    env.reset(seed=0)
    assert env.step(BROKEN)[4]["graded"]
    env.close()


def test_every_failure_has_its_rung_on_the_ladder(sandbox):
    limits = {"wall_s": 5.0, "cpu_s": 1.0}
    envs = gym.make_vec(ID, num_envs=len(CASES), tasks="concrete", sandbox=sandbox, limits=limits)
    envs.reset(seed=[1] * len(CASES))
    _, rewards, _, _, infos = envs.step(tuple(CASES))
    rows = zip(rewards.tolist(), infos["grade_status"].tolist(), strict=True)
    assert list(rows) == list(CASES.values())


@pytest.mark.parametrize("name", ["titanic", "digits"])
def test_the_sample_submission_of_tasks_of_any_kind_is_valid(sandbox, name):
    env = gym.make(ID, tasks="all", sandbox=sandbox)
    env.reset(seed=0, options={"task": name})
    assert env.step(SAMPLE)[4]["grade_status"] == "valid"


def test_the_next_turn_sees_the_exception_and_the_score(sandbox):
    env = gym.make(ID, tasks="concrete", max_turns=3, sandbox=sandbox)
    env.reset(seed=0)
    assert "KeyError: 'no such column'" in env.step(BROKEN)[0]["feedback"]
    feedback = env.step(SAMPLE)[0]["feedback"]
    assert "rmse" in feedback
    assert "copied" in feedback
    _, reward, terminated, _, info = env.step("no code")
    assert (terminated, info["grade_status"]) == (True, "valid")
    assert reward >= 0.5


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_the_vector_environment_equals_a_loop_over_single_ones(sandbox, mode):
    kwargs = {"tasks": ["concrete", "titanic", "digits"], "max_turns": 2, "sandbox": sandbox}
    ours = gym.make_vec(ID, num_envs=3, autoreset_mode=mode, **kwargs)
    theirs = SyncVectorEnv([lambda: gym.make(ID, **kwargs)] * 3, autoreset_mode=mode)
    assert data_equivalence(ours.reset(seed=4), theirs.reset(seed=4), exact=True)
    turns = 2 if mode is AutoresetMode.DISABLED else 4
    rng = np.random.default_rng(0)
    menu = [SAMPLE, FOREST, BROKEN, IDLE, "no code"]
    for _ in range(turns):
        actions = tuple(menu[i] for i in rng.integers(len(menu), size=3))
        assert data_equivalence(ours.step(actions), theirs.step(actions), exact=True)


def test_worker_processes_start_their_own_sandboxes():
    envs = AsyncVectorEnv(
        [lambda: gym.make(ID, tasks="concrete", sandbox={"preload": []})] * 2,
        shared_memory=False,
    )
    try:
        envs.reset(seed=0)
        assert envs.step((IDLE, SAMPLE))[1][0] == pytest.approx(0.2)
    finally:
        envs.close()


def test_a_killed_fork_server_costs_no_reward():
    with Sandbox(preload=()) as sandbox:
        env = gym.make(ID, tasks="concrete", sandbox=sandbox)
        for salt in range(2):
            env.reset(seed=0)
            *_, info = env.step(f"```python\nprint({salt})\n```")
            assert info == {"graded": True, "measured_reward": 0.2, "grade_status": "no_submission"}
            os.kill(sandbox.report().server_pid, signal.SIGKILL)


def test_a_sandbox_that_was_closed_under_an_environment_is_an_error_and_no_reward():
    sandbox = Sandbox(preload=())
    sandbox.close()
    envs = gym.make_vec(ID, num_envs=3, tasks="concrete", sandbox=sandbox)
    envs.reset(seed=0)
    with pytest.raises(ValueError, match="must stay open"):
        envs.step((IDLE, SAMPLE, "no code"))


def children() -> set[str]:
    """The processes that this one has started and that still run."""
    found = set()
    for thread in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{thread}/children") as listed:
            found |= set(listed.read().split())
    return found


@pytest.mark.parametrize("make", [gym.make, gym.make_vec])
def test_an_own_sandbox_starts_with_the_first_execution_and_ends_with_the_environment(make):
    before = children()
    env = make(ID, tasks="concrete", sandbox={"preload": []})
    batch = tuple if make is gym.make_vec else "".join
    env.reset(seed=0)
    env.step(batch(["no code"]))
    assert children() == before
    env.reset(seed=0)
    env.step(batch([IDLE]))
    assert children() > before
    env.close()
    assert children() == before


def test_equal_seeds_and_programs_give_equal_rewards_without_the_cache(sandbox):
    code = FOREST.replace("/data/", "")
    rewards = set()
    for _ in range(2):
        env = gym.make(ID, tasks="concrete", sandbox=sandbox, cache=False, execution_seed=3)
        env.reset(seed=0)
        rewards.add(env.step(code)[1])
    assert len(rewards) == 1


def test_it_passes_gymnasiums_checker_without_a_warning(sandbox):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gym.make(ID, tasks="concrete", sandbox=sandbox, max_turns=2).unwrapped)
