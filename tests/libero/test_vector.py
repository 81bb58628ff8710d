"""Tests of LIBERO in Gymnasium's vector environments."""

import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest
from testing_libero import clumsy_actions

import wmrl_envs  # noqa: F401

pytestmark = [pytest.mark.sim, pytest.mark.slow]

ARGUMENTS = {"task_id": 2, "image_size": 48, "settle": 1}

AFTER_FORK = """
import gymnasium as gym, wmrl_envs
make = lambda: gym.make("WMRL/LiberoLong-v0", task_id=2, image_size=32, settle=0)
make().reset(seed=0)
envs = gym.vector.AsyncVectorEnv([make], context="fork", shared_memory=False)
envs.reset(seed=0)
"""


def rollout(envs: gym.vector.VectorEnv) -> list[np.ndarray]:
    pictures = [envs.reset(seed=[0, 1])[0]["agentview_image"]]
    for action in clumsy_actions(3):
        observation, *_ = envs.step(np.stack([action, -action]).astype(np.float32))
        pictures.append(observation["agentview_image"])
    envs.close()
    return pictures


def test_processes_and_one_process_see_the_same():
    several = {"context": "spawn", "shared_memory": False}
    asynchronous = gym.make_vec(
        "WMRL/LiberoLong-v0", 2, "async", vector_kwargs=several, **ARGUMENTS
    )
    synchronous = gym.make_vec("WMRL/LiberoLong-v0", 2, "sync", **ARGUMENTS)
    assert np.array_equal(rollout(asynchronous), rollout(synchronous))


def test_a_fork_after_rendering_is_refused_instead_of_hanging():
    done = subprocess.run(
        [sys.executable, "-c", AFTER_FORK], capture_output=True, text=True, timeout=240
    )
    assert done.returncode != 0
    assert "RenderingUnavailable: this process was forked from one that had already" in done.stderr
    assert 'context="spawn"' in done.stderr
