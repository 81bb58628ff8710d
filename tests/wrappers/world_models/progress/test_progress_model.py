"""A progress model learns from clips of a square that moves to the goal the instruction names."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from wmrl_envs.errors import WorldModelError
from wmrl_envs.wrappers import world_models
from wmrl_envs.wrappers.world_models import Episode
from wmrl_envs.wrappers.world_models.progress import (
    ProgressClip,
    ProgressSettings,
    ProgressWorldModel,
    progress_fidelity,
    train_progress,
)

SIDE, REACH, N = 32, 20, 6
SETTINGS = ProgressSettings(epochs=40, image_size=32, batch_size=32, shift=2, learning_rate=2e-3)


def clip(goal: str, reached: float, rng: np.random.Generator) -> ProgressClip:
    """The square goes a part of the way, to the right or down, as the goal says."""
    moved = np.linspace(0.0, reached, N)
    start = rng.integers(0, SIDE - REACH - 6, 2)
    frames = np.zeros((N, SIDE, SIDE, 3), np.uint8)
    for frame, part in zip(frames, moved, strict=True):
        y, x = start + (np.array([0, 1]) if goal == "right" else np.array([1, 0])) * int(
            part * REACH
        )
        frame[y : y + 6, x : x + 6] = 255
    return ProgressClip(f"push the block {goal}", frames, moved)


def clips(count: int, seed: int) -> list[ProgressClip]:
    rng = np.random.default_rng(seed)
    return [clip(("right", "down")[i % 2], rng.uniform(0.1, 1.0), rng) for i in range(count)]


@pytest.fixture(scope="module")
def model() -> ProgressWorldModel:
    return train_progress(clips(48, seed=0), SETTINGS)


def test_it_reads_the_progress_of_clips_it_has_not_seen(model: ProgressWorldModel) -> None:
    found = progress_fidelity(model, clips(20, seed=1))
    assert found.clips == 20 and found.mae < 0.1 and found.rank > 0.9


def test_a_rollout_that_got_further_is_graded_higher(model: ProgressWorldModel) -> None:
    rng = np.random.default_rng(5)
    rollouts = [clip("right", reached, rng) for reached in (0.1, 0.5, 1.0)]
    rewards = [p.reward for p in model.predict([_episode(r) for r in rollouts])]
    assert rewards == sorted(rewards) and rewards[2] - rewards[0] > 0.5


def test_a_batch_gives_exactly_what_single_episodes_give(model: ProgressWorldModel) -> None:
    episodes = [_episode(c) for c in clips(5, seed=2)]
    assert model.predict(episodes) == [model.predict([e])[0] for e in episodes]


def test_an_episode_without_frames_gets_no_opinion(model: ProgressWorldModel) -> None:
    assert [p.reward for p in model.predict([Episode("push the block right", ())])] == [None]


def test_the_same_clips_and_settings_give_the_same_model() -> None:
    few, settings = clips(4, seed=3), ProgressSettings(epochs=2, image_size=16, shift=1)
    first, second = (train_progress(few, settings) for _ in range(2))
    assert np.array_equal(*(m.progress(few[0].task, few[0].frames) for m in (first, second)))


def test_training_reports_every_epoch_with_a_falling_loss() -> None:
    seen: list[tuple[int, float]] = []
    train_progress(
        clips(8, seed=4),
        ProgressSettings(epochs=6, image_size=16),
        lambda *epoch: seen.append(epoch),
    )
    assert [epoch for epoch, _ in seen] == [1, 2, 3, 4, 5, 6] and seen[-1][1] < seen[0][1]


def test_a_saved_model_predicts_the_same(model: ProgressWorldModel, tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    episodes = [_episode(c) for c in clips(3, seed=6)]
    assert ProgressWorldModel.load(tmp_path / "m").predict(episodes) == model.predict(episodes)


@pytest.mark.parametrize("damage", ["missing", "foreign config", "cut weights", "other size"])
def test_a_folder_that_holds_no_model_is_refused_by_name(
    model: ProgressWorldModel, tmp_path: Path, damage: str
) -> None:
    folder = tmp_path / "m"
    if damage != "missing":
        model.save(folder)
    if damage == "foreign config":
        (folder / "config.json").write_text("[]")
    if damage == "other size":
        (folder / "config.json").write_text('{"image_size": 64, "collapse": "final"}')
    if damage == "cut weights":
        weights = folder / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:100])
    with pytest.raises(WorldModelError, match=f"no progress model in {folder}"):
        ProgressWorldModel.load(folder)


def test_an_unknown_way_to_collapse_is_refused_at_once(model: ProgressWorldModel) -> None:
    with pytest.raises(ValueError, match="got 'mean'"):
        ProgressWorldModel(model.network, 32, "mean")


@pytest.mark.parametrize(
    "wrong", [{"epochs": 0}, {"batch_size": -1}, {"learning_rate": 0.0}, {"image_size": 20}]
)
def test_settings_out_of_range_are_named(wrong: dict[str, Any]) -> None:
    [(name, value)] = wrong.items()
    with pytest.raises(ValueError, match=f"{name} must be .* got {value}"):
        ProgressSettings(**wrong)


def test_the_package_of_world_models_has_every_name_that_it_lists() -> None:
    assert world_models.ProgressWorldModel is ProgressWorldModel
    assert all(hasattr(world_models, name) for name in world_models.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        world_models.Nothing  # noqa: B018


def test_frames_and_progress_must_fit() -> None:
    frames = np.zeros((3, 8, 8, 3), np.uint8)
    with pytest.raises(ValueError, match=r"shape \(3,\), got \(2,\)"):
        ProgressClip("t", frames, np.zeros(2))
    with pytest.raises(ValueError, match=r"in \[0, 1\]"):
        ProgressClip("t", frames, np.array([0.0, 0.5, 1.5]))
    with pytest.raises(ValueError, match="uint8"):
        ProgressClip("t", frames.astype(float), np.zeros(3))
    with pytest.raises(ValueError, match="must not be empty"):
        train_progress([])


class Pushing(gym.Env):
    """The square of the clips; an action of 1 pushes it, and the episode lasts five steps."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012 (Gymnasium's own form)
    render_mode = "rgb_array"
    observation_space = gym.spaces.Box(0.0, 1.0, (1,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.pushed = self.steps = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.steps += 1
        self.pushed += int(action)
        return np.zeros(1, np.float32), 0.0, self.steps == 5, False, {}

    def render(self):
        frame = np.zeros((SIDE, SIDE, 3), np.uint8)
        x = 3 + int(self.pushed / 5 * REACH)
        frame[3:9, x : x + 6] = 255
        return frame


def test_it_grades_the_rollouts_of_an_environment_through_the_wrapper(
    model: ProgressWorldModel,
) -> None:
    from wmrl_envs.wrappers import WorldModelRewardWrapper

    env = WorldModelRewardWrapper(Pushing(), _told("push the block right", model), frames=N)
    rewards = []
    for action in (0, 1):
        env.reset(seed=0)
        for _ in range(5):
            _, reward, _, _, _ = env.step(action)
        rewards.append(reward)
    assert rewards[1] - rewards[0] > 0.5


def _told(task: str, model: ProgressWorldModel):
    """The environment's observations are no text, so the instruction is given here."""

    def predict(episodes):
        return model.predict([Episode(task, (), frames=episode.frames) for episode in episodes])

    return predict


def _episode(rollout: ProgressClip) -> Episode:
    return Episode(rollout.task, (), frames=rollout.frames)
