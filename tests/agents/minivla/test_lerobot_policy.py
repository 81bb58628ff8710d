"""LeRobot's policies in front of LIBERO's observations."""

import sys
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from wmrl_envs.agents.policies.vla.pretrained.lerobot import LeRobotPolicy, robot_state


class FakePolicy:
    """Plans three steps: the first finger's position, then one more each step."""

    class config:  # noqa: N801
        n_action_steps = 3

    def __init__(self) -> None:
        self.queue: list[torch.Tensor] = []
        self.batches: list[dict[str, Any]] = []

    def reset(self) -> None:
        self.queue = []

    def select_action(self, batch: dict[str, Any]) -> torch.Tensor:
        if not self.queue:
            self.batches.append(batch)
            first = batch["observation.state"][:, 6:7].expand(-1, 7)
            self.queue = [first + i for i in range(3)]
        return self.queue.pop(0)


def observation(pictures: NDArray[np.uint8], finger: float) -> dict[str, Any]:
    return {
        "task": "open the drawer",
        "agentview_image": pictures[0],
        "robot0_eye_in_hand_image": pictures[1],
        "robot0_eef_pos": np.array([0.1, 0.2, 0.3], np.float32),
        "robot0_eef_quat": np.array([1, 0, 0, 0], np.float32),
        "robot0_gripper_qpos": np.array([finger, -finger], np.float32),
    }


def test_observations_get_lerobots_names_and_ranges(pictures: NDArray[np.uint8]) -> None:
    fake = FakePolicy()
    LeRobotPolicy(fake).act([observation(pictures, 0.04), observation(pictures, 0.02)])
    (batch,) = fake.batches
    assert set(batch) == {
        "observation.images.image",
        "observation.images.image2",
        "observation.state",
        "task",
    }
    assert batch["task"] == ["open the drawer"] * 2
    picture = batch["observation.images.image2"][1]
    assert picture.shape == (3, 64, 64)
    assert np.array_equal(np.rint(picture.permute(1, 2, 0).numpy() * 255), pictures[1])
    expected = [0.1, 0.2, 0.3, np.pi, 0, 0, 0.02, -0.02]
    assert batch["observation.state"][1].tolist() == pytest.approx(expected)


def test_each_call_plans_afresh(pictures: NDArray[np.uint8]) -> None:
    policy = LeRobotPolicy(FakePolicy())
    for finger in (0.01, 0.03):
        batch = policy.act([observation(pictures, finger)])
        assert batch.actions[0].tolist() == pytest.approx([finger] * 7)
    assert batch.responses == [()] and batch.actions[0].dtype == np.float32


def test_a_chunk_is_the_beginning_of_one_plan(pictures: NDArray[np.uint8]) -> None:
    fake = FakePolicy()
    policy = LeRobotPolicy(fake, action_chunk=2)
    batch = policy.act([observation(pictures, 0.0), observation(pictures, 0.04)])
    assert batch.actions[1].shape == (2, 7)
    assert batch.actions[1][:, 0].tolist() == pytest.approx([0.04, 1.04])
    assert len(fake.batches) == 1


def test_a_chunk_longer_than_the_plan_is_refused() -> None:
    with pytest.raises(ValueError, match=r"from 1 to the policy's n_action_steps \(3\), got 4"):
        LeRobotPolicy(FakePolicy(), action_chunk=4)


def test_processors_stand_around_the_policy(pictures: NDArray[np.uint8]) -> None:
    policy = LeRobotPolicy(
        FakePolicy(),
        preprocess=lambda batch: {**batch, "observation.state": batch["observation.state"] * 10},
        postprocess=lambda action: -action,
    )
    batch = policy.act([observation(pictures, 0.01)])
    assert batch.actions[0].tolist() == pytest.approx([-0.1] * 7)


def test_an_observation_without_state_is_refused(pictures: NDArray[np.uint8]) -> None:
    seen = observation(pictures, 0.0)
    del seen["robot0_eef_quat"]
    with pytest.raises(ValueError, match=r"\['robot0_eef_quat'\] missing.*pixels_state"):
        LeRobotPolicy(FakePolicy()).act([seen])


@pytest.mark.parametrize(
    ("quaternion", "turn"),
    [
        ((0, 0, 0, 1), (0, 0, 0)),
        ((0, np.sin(0.4), 0, np.cos(0.4)), (0, 0.8, 0)),
        ((np.sin(2.0), 0, 0, np.cos(2.0)), (4.0, 0, 0)),
        ((1, 0, 0, 1.0000001), (0, 0, 0)),
    ],
)
def test_rotations_are_axis_times_angle(quaternion: Any, turn: Any) -> None:
    seen = {
        "robot0_eef_pos": np.zeros(3),
        "robot0_eef_quat": np.array(quaternion),
        "robot0_gripper_qpos": np.zeros(2),
    }
    assert robot_state(seen)[3:6].tolist() == pytest.approx(turn, abs=1e-6)


def test_without_lerobot_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "lerobot.configs.policies", None)
    with pytest.raises(ImportError, match="pip install lerobot"):
        LeRobotPolicy.from_pretrained("org/policy")
