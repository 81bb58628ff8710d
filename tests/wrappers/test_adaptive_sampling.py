"""Anchor sampling that follows the agreement: more anchors while the world model misleads."""

from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from testing_env import GenericTestEnv

from wmrl_envs import wrappers as single
from wmrl_envs.wrappers import AdaptiveShare, AgreementMonitor, RewardHackingWarning, vector
from wmrl_envs.wrappers.estimators.anchors import AnchorDraw
from wmrl_envs.wrappers.estimators.correction import Correction
from wmrl_envs.wrappers.shares import GroupDraw

pytestmark = pytest.mark.filterwarnings("ignore::wmrl_envs.wrappers.RewardHackingWarning")


class Misleading:
    """Predicts the sum of the actions, which raises the reward, or its opposite."""

    sign = 1.0

    def predict(self, episodes: Any) -> list[float]:
        return [self.sign * float(np.sum(episode.actions)) for episode in episodes]


class Told(AgreementMonitor):
    """A monitor that learns nothing by itself."""

    def update(self, groups: Any) -> None:
        list(groups)


def stack(kind: Any, env: Any, model: Any, adaptive: bool = True, **arguments: Any) -> Any:
    """The three wrappers around an environment, with one monitor."""
    monitor = AgreementMonitor(half_life=2.0, min_groups=2)
    share = AdaptiveShare(monitor, highest=0.9, steps=4, patience=2) if adaptive else None
    env = kind.AnchorSamplingWrapper(env, fraction=0.25, seed=3, adaptive=share)
    env = kind.WorldModelRewardWrapper(env, model)
    return kind.CorrectionWrapper(env, monitor=monitor, **arguments)


def vector_env(size: int, mode: AutoresetMode = AutoresetMode.DISABLED) -> Any:
    return SyncVectorEnv([lambda: GenericTestEnv(max_length=4)] * size, autoreset_mode=mode)


def play_round(env: Any, round_: int) -> tuple[np.ndarray, np.ndarray]:
    """Groups of eight of this round: (N,) anchors and (N,) rewards."""
    size = env.num_envs
    seeds = [1000 + round_ * (size // 8) + i // 8 for i in range(size)]
    actions = np.arange(size) % 2
    _, infos = env.reset(seed=seeds)
    total, done = np.zeros(size), np.zeros(size, bool)
    while not done.all():
        _, rewards, terminations, truncations, _ = env.step(np.where(done, 0, actions))
        total, done = total + rewards * ~done, done | terminations | truncations
    return infos["anchor"], total


def rounds(env: Any, numbers: range) -> list[tuple[np.ndarray, np.ndarray]]:
    return [play_round(env, number) for number in numbers]


def frozen(size: int) -> Any:
    return vector.FreezeWrapper(vector_env(size))


def share_of(played: list[tuple[np.ndarray, np.ndarray]]) -> float:
    return float(np.mean([anchors.mean() for anchors, _ in played]))


def test_the_share_rises_while_the_world_model_misleads_and_falls_when_it_recovers() -> None:
    model = Misleading()
    env = stack(vector, frozen(64), model)
    assert share_of(rounds(env, range(10))) == pytest.approx(0.25, abs=0.03)
    model.sign = -1.0
    with pytest.warns(RewardHackingWarning):
        misled = rounds(env, range(10, 30))
    assert share_of(misled[-5:]) == pytest.approx(0.9, abs=0.06)
    assert env.diagnostics()["agreement"] < 0.2 and env.diagnostics()["agreement_alarm"] == 1.0
    model.sign = 1.0
    assert share_of(rounds(env, range(30, 60))[-5:]) == pytest.approx(0.25, abs=0.06)


def test_every_member_of_a_group_is_an_anchor_or_none_is() -> None:
    model = Misleading()
    model.sign = -1.0
    for anchors, _ in rounds(stack(vector, frozen(32), model), range(20)):
        groups = anchors.reshape(-1, 8)
        assert np.all(groups.all(axis=1) | ~groups.any(axis=1))


def test_without_an_alarm_it_equals_a_fixed_share_bit_for_bit() -> None:
    adaptive, fixed = (
        stack(vector, frozen(32), Misleading(), adaptive=on, method="rectified")
        for on in (True, False)
    )
    for one, other in zip(rounds(adaptive, range(12)), rounds(fixed, range(12)), strict=True):
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])


def test_a_resumed_run_draws_the_same_anchors_and_rewards() -> None:
    model = Misleading()
    model.sign = -1.0
    original = stack(vector, frozen(32), model)
    rounds(original, range(9))
    resumed = stack(vector, frozen(32), model)
    sampler, other = (env.env.env for env in (original, resumed))
    assert sampler.fraction > 0.25
    other.load_state_dict(sampler.state_dict())
    resumed.load_state_dict(original.state_dict())
    for one, two in zip(rounds(original, range(9, 18)), rounds(resumed, range(9, 18)), strict=True):
        np.testing.assert_array_equal(one[0], two[0])
        np.testing.assert_array_equal(one[1], two[1])
    for key, value in sampler.state_dict().items():
        np.testing.assert_array_equal(value, other.state_dict()[key])


def test_the_state_of_a_fixed_share_is_empty_and_no_other_is_taken() -> None:
    fixed = vector.AnchorSamplingWrapper(vector_env(2))
    assert fixed.state_dict() == {}
    adaptive = stack(vector, vector_env(2), Misleading()).env.env
    with pytest.raises(ValueError, match="state must hold"):
        fixed.load_state_dict(adaptive.state_dict())
    with pytest.raises(ValueError, match="state must hold"):
        adaptive.load_state_dict({})


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_a_vector_of_one_equals_the_single_wrappers(mode: AutoresetMode) -> None:
    """Groups of four successive episodes, so that there is evidence."""

    model = Misleading()
    model.sign = -1.0
    ours = stack(vector, vector_env(1, mode), model)
    theirs = SyncVectorEnv(
        [lambda: stack(single, GenericTestEnv(max_length=4), model)], autoreset_mode=mode
    )
    seen = set()
    rng = np.random.default_rng(0)
    for episode in range(120):
        seed = [500 + episode // 4]
        reset = [env.reset(seed=seed)[1] for env in (ours, theirs)]
        assert reset[0]["anchor"] == reset[1]["anchor"]
        done = np.zeros(1, bool)
        while not done.all():
            action = rng.integers(0, 2, 1)
            (_, reward, end, cut, _), (_, other, *_) = (env.step(action) for env in (ours, theirs))
            np.testing.assert_array_equal(reward, other)
            done = end | cut
        seen.add(ours.env.env.fraction)
    # A group of a single episode, as each autoreset begins one in the same step, is no evidence.
    assert len(seen) > 1 or mode == AutoresetMode.SAME_STEP, "the share has moved"


def alarmed(groups: int) -> AdaptiveShare:
    """A share at a level above the lowest, with a monitor that stays as it is."""
    monitor = Told()
    adaptive = AdaptiveShare(monitor, highest=0.75, steps=2, patience=1)
    for _ in range(groups):
        monitor.groups, monitor.alarmed = monitor.groups + 1, True
        adaptive.update()
    return adaptive


@pytest.mark.parametrize("levels", [0, 1, 2])
@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_at_any_level_the_vector_draw_equals_that_of_single_wrappers(
    levels: int, mode: AutoresetMode
) -> None:
    def sampled(kind: Any, env: Any) -> Any:
        return kind.AnchorSamplingWrapper(env, fraction=0.25, seed=1, adaptive=alarmed(levels))

    ours = sampled(vector, vector_env(5, mode))
    makers = [lambda: sampled(single, GenericTestEnv(max_length=4))] * 5
    theirs = SyncVectorEnv(makers, autoreset_mode=mode)
    for seed in ([7, 7, 8, 9, 9], [1, 2, 3, 4, 5], [1, 1, 1, 1, 1]):
        infos = [env.reset(seed=seed)[1] for env in (ours, theirs)]
        np.testing.assert_array_equal(infos[0]["anchor"], infos[1]["anchor"])
        for _ in range(12 if mode != AutoresetMode.DISABLED else 0):
            stepped = [env.step(np.ones(5, int)) for env in (ours, theirs)]
            np.testing.assert_array_equal(stepped[0][1], stepped[1][1])


@pytest.mark.parametrize(("levels", "share"), [(0, 0.25), (1, 0.5), (2, 0.75), (5, 0.75)])
def test_the_budget_is_exact_at_every_level(levels: int, share: float) -> None:
    env = single.AnchorSamplingWrapper(GenericTestEnv(), fraction=0.25, adaptive=alarmed(levels))
    anchors = [env.reset(seed=seed)[1]["anchor"] for seed in range(40)]
    assert (np.mean(anchors), env.fraction) == (share, share)
    draw = AnchorDraw(share, seed=0, block=4)
    assert anchors == draw(np.arange(40)).tolist(), "a pure function of seed, group and share"


def test_a_group_that_has_begun_keeps_its_share() -> None:
    """The share rises from 0.5 to 1.0 while a group that is no anchor is running."""
    monitor = Told()
    draw = GroupDraw(2, AnchorDraw(0.5), AdaptiveShare(monitor, highest=1.0, steps=1, patience=1))
    other = next(group for group in range(9) if not AnchorDraw(0.5).one(group))
    assert not draw.begin([0], [other]).any()
    monitor.groups, monitor.alarmed = 1, True
    assert draw.begin([1], [other]).tolist() == [False], "the first member is at it"
    assert draw.begin([0, 1], [other, other]).tolist() == [True, True], "complete: a new group"
    assert draw.share == 1.0


def test_a_lone_episode_stays_in_its_group() -> None:
    monitor = Told()
    draw = GroupDraw(1, AnchorDraw(0.5), AdaptiveShare(monitor, highest=1.0, steps=1, patience=1))
    other = next(group for group in range(9) if not AnchorDraw(0.5).one(group))
    draw.begin([0], [other])
    monitor.groups, monitor.alarmed = 1, True
    assert not draw.begin([0], [other]).any()
    assert draw.begin([0], [other + 100]).all() and draw.begin([0], [other]).all()


def test_the_rectification_follows_the_share() -> None:
    env = single.AnchorSamplingWrapper(GenericTestEnv(), 0.25, adaptive=alarmed(2))
    env = single.CorrectionWrapper(single.WorldModelRewardWrapper(env, Misleading()))
    env.reset(seed=0)
    assert env.diagnostics()["rectify"] == pytest.approx(1 / 0.75)
    assert env.diagnostics()["fraction"] == 0.75


def test_an_estimator_of_ones_own_keeps_its_fraction() -> None:
    for arguments in (
        {"estimator": Correction(fraction=0.25)},
        {"estimator_kwargs": {"fraction": 0.25}},
    ):
        env = single.AnchorSamplingWrapper(GenericTestEnv(), 0.25, adaptive=alarmed(2))
        env = single.WorldModelRewardWrapper(env, Misleading())
        env = single.CorrectionWrapper(env, **arguments)  # type: ignore[arg-type]
        env.reset(seed=0)
        assert env.diagnostics()["fraction"] == 0.25


def test_a_correction_without_adaptivity_monitors_all_the_same() -> None:
    env = stack(vector, frozen(32), Misleading(), adaptive=False)
    rounds(env, range(6))
    assert env.monitor.groups > 4
    assert env.diagnostics()["agreement"] == env.monitor.agreement > 0.2


@pytest.mark.parametrize("kind", [single, vector])
def test_what_does_not_fit_is_refused(kind: Any) -> None:
    env = GenericTestEnv() if kind is single else vector_env(2)
    with pytest.raises(TypeError, match="adaptive must be an AdaptiveShare or None, got 0.5"):
        kind.AnchorSamplingWrapper(env, adaptive=0.5)
    share = AdaptiveShare(AgreementMonitor(), highest=0.2)
    with pytest.raises(ValueError, match=r"fraction must lie in \(0, highest=0.2\], got 0.3"):
        kind.AnchorSamplingWrapper(env, 0.3, adaptive=share)
    with pytest.raises(TypeError, match="monitor must be an AgreementMonitor or None, got 3"):
        kind.CorrectionWrapper(env, monitor=3)
