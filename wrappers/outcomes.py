"""What each wrapper writes into ``info`` and gives as reward when an episode ends.

Pure functions of one episode, so that the single and the vector wrappers cannot differ.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from wmrl_envs import info as keys

__all__ = ["Outcome", "corrected_outcome", "predicted_outcome", "sampled_outcome"]


class Outcome(NamedTuple):
    """The end of one episode.

    Attributes:
        reward: The reward of the last step; None leaves it as it is.
        info: What is added to ``info``.
        removed: Keys that are taken out of ``info``.
    """

    reward: float | None
    info: dict[str, Any]
    removed: tuple[str, ...] = ()

    def applied(self, reward: float, info: Mapping[str, Any]) -> tuple[float, dict[str, Any]]:
        """The reward and the info of the last step after this outcome."""
        kept = {key: value for key, value in info.items() if key not in self.removed}
        return (reward if self.reward is None else self.reward), {**kept, **self.info}


def sampled_outcome(
    info: Mapping[str, Any], group: int, anchor: bool, episode_return: float
) -> Outcome:
    """What anchor sampling makes of an ended episode.

    Args:
        info: The last step's info, of one environment.
        group: The episode's group.
        anchor: Whether that group is an anchor.
        episode_return: The sum of the environment's rewards.

    Returns:
        For an anchor the environment's own measured reward, or the return if it wrote none, unless
        the environment says ``graded=False``; for all others nothing is measured.
    """
    written: dict[str, Any] = {keys.GROUP: group, keys.ANCHOR: anchor}
    if anchor and info.get(keys.GRADED, True):
        measured = float(info.get(keys.MEASURED_REWARD, episode_return))
        written |= {keys.MEASURED_REWARD: measured, keys.GRADED: True}
        return Outcome(None, written | {keys.REWARD_SOURCE: keys.MEASURED})
    written |= {keys.GRADED: False, keys.REWARD_SOURCE: keys.NONE}
    return Outcome(0.0, written, removed=(keys.MEASURED_REWARD,))


def predicted_outcome(
    info: Mapping[str, Any], predicted: float | None, may_measure: bool = True
) -> Outcome:
    """What a world model's prediction makes of an ended episode.

    A measured reward comes first. Without one, the prediction stands in, except in an anchor
    group: there the other members are measured, and a prediction is not on their level. An episode
    that was lost stays ungraded: a prediction would be of something that the policy did not do.

    Args:
        info: The last step's info, of one environment.
        predicted: The predicted reward, or None for no opinion.
        may_measure: False takes a measured reward out: nobody allowed the execution.
    """
    written = {} if predicted is None else {keys.PREDICTED_REWARD: predicted}
    if not may_measure:
        info = {key: value for key, value in info.items() if key != keys.MEASURED_REWARD}
        return predicted_outcome(info, predicted)._replace(removed=(keys.MEASURED_REWARD,))
    if info.get(keys.LOST, False):
        return Outcome(0.0, _graded(keys.NONE))
    measured = info.get(keys.MEASURED_REWARD)
    if measured is not None:
        return Outcome(float(measured), written | _graded(keys.MEASURED))
    if predicted is not None and not info.get(keys.ANCHOR, False):
        return Outcome(predicted, written | _graded(keys.WORLD_MODEL))
    return Outcome(0.0, written | _graded(keys.NONE))


def _graded(source: str) -> dict[str, Any]:
    return {keys.REWARD_SOURCE: source, keys.GRADED: source != keys.NONE}


def corrected_outcome(
    info: Mapping[str, Any], corrected: float, reward: float, weight: float
) -> Outcome:
    """What the correction makes of an ended episode that has a prediction.

    Args:
        info: The last step's info, of one environment.
        corrected: The prediction through the map.
        reward: The correction's reward, for an anchor or a world-model episode.
        weight: The weight of the episode's advantage.

    Returns:
        The correction's reward and weight. An ungraded episode stays as it is, and so does one that
        is measured without being an anchor (a syntax error needs no execution).
    """
    written: dict[str, Any] = {keys.CORRECTED_REWARD: corrected}
    measured, anchor = keys.MEASURED_REWARD in info, info.get(keys.ANCHOR, False)
    if measured != anchor or not info.get(keys.GRADED, True):
        return Outcome(None, written | {keys.REWARD_WEIGHT: 1.0})
    return Outcome(reward, written | {keys.REWARD_WEIGHT: weight})
