"""Sub-environments in Ray actors: as in one process, and what dies is replaced and never scored."""

import os
import signal
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from wmrl_envs.wrappers.vector import AnchorSamplingWrapper, FreezeWrapper, WorldModelRewardWrapper

ray = pytest.importorskip("ray")

from wmrl_envs.ray_vector import RayVectorEnv  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        object_store_memory=100 << 20,
        _node_ip_address="127.0.0.1",
    )
    yield
    ray.shutdown()


class Poles(gym.Wrapper):
    """A CartPole that ends its own process when it is asked to, or fails."""

    def __init__(self) -> None:
        super().__init__(gym.make("CartPole-v1"))
        self.pid = os.getpid()

    def reset(self, **kwargs: Any) -> Any:
        """Dies or fails if the options say so."""
        if (kwargs.get("options") or {}).get("fail"):
            raise ValueError("no such start")
        return self.env.reset(**kwargs)


@pytest.fixture(scope="module")
def shared(cluster: None) -> Iterator[RayVectorEnv]:
    envs = RayVectorEnv(Poles, 4, actor_options={"num_cpus": 0.25})
    yield envs
    envs.close()


@pytest.fixture
def envs(shared: RayVectorEnv) -> RayVectorEnv:
    """Four poles, before their reset."""
    return shared


def kill(envs: RayVectorEnv, index: int) -> None:
    """Kills an actor's process as the kernel would, and waits until Ray knows."""
    os.kill(envs.get_attr("pid")[index], signal.SIGKILL)
    with pytest.raises(ray.exceptions.RayActorError):
        ray.get(envs.actors[index].get.remote("pid"))


def test_episodes_are_those_of_one_process(envs: RayVectorEnv) -> None:
    here = FreezeWrapper(gym.make_vec("CartPole-v1", 4, "sync"))
    a, b = (some.reset(seed=[3, 3, 4, 5])[0] for some in (envs, here))
    np.testing.assert_array_equal(a, b)
    rng = np.random.default_rng(0)
    for _ in range(60):
        actions = rng.integers(0, 2, 4)
        for x, y in zip(envs.step(actions)[:4], here.step(actions)[:4], strict=True):
            np.testing.assert_array_equal(x, y)
    assert envs.step(actions)[2].any()


def test_a_lost_actor_ends_its_episode_ungraded_and_the_others_go_on(envs: RayVectorEnv) -> None:
    envs.reset(seed=[7, 7, 8, 8])
    before, *_ = envs.step(np.zeros(4, int))
    replaced = envs.replaced
    kill(envs, 1)
    observations, rewards, ended, cut, infos = envs.step(np.ones(4, int))
    assert envs.replaced == replaced + 1
    assert rewards.tolist() == [1.0, 0.0, 1.0, 1.0]
    assert not ended.any() and cut.tolist() == [False, True, False, False]
    assert infos["graded"][infos["_graded"]].tolist() == [False] and infos["_graded"][1]
    np.testing.assert_array_equal(observations[1], before[1])
    assert not np.array_equal(observations[0], before[0])
    assert envs.step(np.zeros(4, int))[3][1]
    again, _ = envs.reset(seed=[7, 7, 7, 7])
    assert (again == again[0]).all()
    assert envs.step(np.zeros(4, int))[1].tolist() == [1.0] * 4


def test_an_actor_lost_before_a_reset_is_replaced_in_it(envs: RayVectorEnv) -> None:
    envs.reset(seed=0)
    kill(envs, 2)
    observations, _ = envs.reset(seed=[9] * 4)
    assert (observations == observations[0]).all()


def test_a_masked_reset_leaves_the_others_alone(envs: RayVectorEnv) -> None:
    envs.reset(seed=[1, 2, 3, 4])
    moved, *_ = envs.step(np.zeros(4, int))
    mask = np.array([True, False, False, False])
    after, _ = envs.reset(seed=[1] * 4, options={"reset_mask": mask})
    np.testing.assert_array_equal(after[1:], moved[1:])
    assert not np.array_equal(after[0], moved[0])


def test_an_environments_error_is_raised_and_replaces_nothing(envs: RayVectorEnv) -> None:
    replaced = envs.replaced
    with pytest.raises(ValueError, match="no such start"):
        envs.reset(seed=0, options={"fail": True})
    assert envs.replaced == replaced


@pytest.mark.parametrize("fraction", [1.0, 0.0])
def test_beneath_the_wrappers_a_lost_episode_is_graded_by_nobody(
    envs: RayVectorEnv, fraction: float
) -> None:
    """Its row is ungraded, unmeasured and unpredicted; its neighbours count."""
    stack = AnchorSamplingWrapper(envs, fraction=fraction)
    stack = WorldModelRewardWrapper(stack, lambda episodes: [0.5 for _ in episodes])
    stack.reset(seed=[5] * 4)
    kill(envs, 0)
    rows: dict[int, dict[str, Any]] = {}
    for _ in range(500):  # a CartPole's longest episode
        infos = stack.step(np.zeros(4, int))[-1]
        for i in np.flatnonzero(infos.get("_graded", np.zeros(4, bool))).tolist():
            rows[i] = {k: infos[k][i] for k in infos if f"_{k}" in infos and infos[f"_{k}"][i]}
    assert not rows[0]["graded"]
    assert not rows[0].keys() & {"measured_reward", "predicted_reward"}
    source = {1.0: "measured", 0.0: "world_model"}[fraction]
    assert all(rows[i]["graded"] and rows[i]["reward_source"] == source for i in (1, 2, 3))


def test_what_is_no_environment_is_refused() -> None:
    with pytest.raises(ValueError, match="num_envs must be >= 1, got 0"):
        RayVectorEnv("CartPole-v1", 0)


@pytest.mark.sim
def test_a_lost_libero_worker_is_replaced() -> None:
    arguments = {"task_id": 2, "image_size": 32, "settle": 0}
    envs = RayVectorEnv(
        "wmrl_envs:WMRL/LiberoLong-v0", 2, arguments, actor_options={"num_cpus": 0.5}
    )
    try:
        envs.reset(seed=[3, 3])
        actions = np.zeros((2, 7), np.float32)
        envs.step(actions)
        ray.kill(envs.actors[0])
        *_, cut, infos = envs.step(actions)
        assert cut.tolist() == [True, False] and not infos["graded"][0]
        observations, _ = envs.reset(seed=[3, 3])
        pictures = observations["agentview_image"]
        np.testing.assert_array_equal(pictures[0], pictures[1])
    finally:
        envs.close()
