"""Evaluation: means over graded episodes, intervals over tasks."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wmrl_envs.agents
from wmrl_envs.agents import LanguageModelPolicy, clustered_interval, evaluate

MakePolicy = Callable[..., LanguageModelPolicy]


def test_every_seed_is_played_once_and_filler_episodes_do_not_count(
    make_policy: MakePolicy, letter_env: Any
) -> None:
    envs = letter_env(4, final_info=lambda seed, row: {"grade_status": f"s{seed}"})
    result = evaluate(make_policy(), envs, 6)
    assert result.seeds.tolist() == list(range(6))
    assert result.rewards.shape == result.graded.shape == (6,)
    assert result.statuses == [f"s{i}" for i in range(6)]
    assert result.tasks == ["a>", "b>", "c>", "d>", "a>", "b>"]
    assert len(result.actions) == 6 and all(len(turns) == 1 for turns in result.actions)
    assert result.mean == pytest.approx(result.rewards.mean())
    assert result.low <= result.mean <= result.high


def test_ungraded_episodes_are_left_out(make_policy: MakePolicy, letter_env: Any) -> None:
    envs = letter_env(4, final_info=lambda seed, row: {"graded": seed != 2})
    result = evaluate(make_policy(prompt=lambda observation: [3]), envs, 4)
    assert result.graded.tolist() == [True, True, False, True]
    assert result.mean == pytest.approx(result.rewards[[0, 1, 3]].mean())
    nothing = evaluate(make_policy(), letter_env(4, final_info=lambda s, r: {"graded": False}), 4)
    assert np.isnan([nothing.mean, nothing.low, nothing.high]).all()


def test_equal_seeds_evaluate_equally(make_policy: MakePolicy, letter_env: Any) -> None:
    a, b, c = (
        evaluate(make_policy(), letter_env(4), 8, generator_seed=seed).actions for seed in (1, 1, 2)
    )
    assert a == b != c


def test_resampling_clusters_is_wider_than_resampling_alike_episodes() -> None:
    tasks = np.repeat(np.arange(10), 20)
    values = np.random.default_rng(0).random(10)[tasks]
    low, high = clustered_interval(values, tasks.tolist())
    alone_low, alone_high = clustered_interval(values, range(200))
    assert high - low > 2 * (alone_high - alone_low)
    assert low < values.mean() < high


def test_the_interval_covers_the_mean_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(200):
        centres = rng.normal(size=30)
        values = np.repeat(centres, 4) + 0.3 * rng.normal(size=120)
        low, high = clustered_interval(values, np.repeat(range(30), 4).tolist(), resamples=300)
        hits += low <= 0 <= high
    assert 0.87 <= hits / 200 <= 0.99


def test_bad_numbers_are_named(make_policy: MakePolicy, letter_env: Any) -> None:
    with pytest.raises(ValueError, match="episodes must be >= 1, got 0"):
        evaluate(make_policy(), letter_env(4), 0)
    with pytest.raises(ValueError, match=r"one seed an episode \(4\), got 2"):
        evaluate(make_policy(), letter_env(4), 4, seeds=[1, 2])


def test_every_public_name_can_be_had() -> None:
    for name in wmrl_envs.agents.__all__:
        assert getattr(wmrl_envs.agents, name) is not None
    assert set(wmrl_envs.agents.__all__) == set(dir(wmrl_envs.agents))
    with pytest.raises(AttributeError, match="no attribute 'PPO'"):
        _ = wmrl_envs.agents.PPO
