"""What a world model's evaluation says, on logs whose answer is known."""

import numpy as np
import pytest

from wmrl_envs.benchmarks.world_models.evaluation import evaluate_world_model, held_out_split
from wmrl_envs.errors import WorldModelError
from wmrl_envs.wrappers.world_models import CallableWorldModel, LoggedEpisode

LOG = [
    LoggedEpisode(f"task {i % 2}", (f"x = {i}",), reward)
    for i, reward in enumerate([0.0, 0.1, 0.2, 0.5, 0.8, 0.9])
]
REWARDS = {logged.actions: logged.reward for logged in LOG}


def knowing(off: float = 0.0) -> CallableWorldModel:
    """Predicts the reward plus ``off``; has no opinion on the first episode."""

    def rewards(episodes: list) -> list:
        found = [REWARDS[episode.actions] for episode in episodes]
        return [None if reward == 0.0 else reward + off for reward in found]

    return CallableWorldModel(rewards)


def test_a_biased_oracle_ranks_perfectly_and_is_off_by_its_bias() -> None:
    found = evaluate_world_model(knowing(0.04), LOG, batch=4)
    assert (found.fidelity.count, found.no_opinion, found.asked) == (5, 1, 6)
    assert found.fidelity.spearman == found.fidelity.within_spearman == pytest.approx(1.0)
    assert found.fidelity.bias == found.fidelity.mae == pytest.approx(0.04)
    assert [level.bias for level in found.levels] == pytest.approx([0.04] * 4)
    assert np.array_equal(found.confusion, np.diag([0, 1, 1, 1, 2]))
    assert sum(point.count for point in found.curve) == 5
    assert found.predictions_per_second > 0


def test_the_cost_of_a_prediction_is_set_against_an_execution() -> None:
    found = evaluate_world_model(knowing(), LOG, execution_cpu_s=0.1)
    assert found.cheaper == pytest.approx(0.1 / found.cpu_s_per_prediction)
    assert evaluate_world_model(knowing(), LOG).cheaper is None


def test_what_cannot_be_evaluated_is_said() -> None:
    silent = CallableWorldModel(lambda episodes: [None] * len(episodes))
    with pytest.raises(WorldModelError, match="no opinion on any of 6 episodes"):
        evaluate_world_model(silent, LOG)
    with pytest.raises(ValueError, match="log must hold an episode"):
        evaluate_world_model(knowing(), [])


def test_held_out_episodes_have_no_twin_among_those_learned_from() -> None:
    log = LOG * 3
    learned, rest = held_out_split(log, 0.5, seed=1)
    assert len(learned) == len(rest) == 9
    assert not {e.actions for e in learned} & {e.actions for e in rest}
    assert held_out_split(log, 0.5, seed=1) == (learned, rest)
    assert any(held_out_split(log, 0.5, seed=s)[1] != rest for s in range(2, 6))


@pytest.mark.parametrize(
    ("share", "message"),
    [(0.0, "held_out must lie in"), (1.0, "must lie in"), (0.01, "leaves one side empty")],
)
def test_a_split_with_an_empty_side_is_refused(share: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        held_out_split(LOG, share, seed=0)
