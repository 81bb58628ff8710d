"""Any function of episodes as a world model."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from wmrl_envs.wrappers.world_models.base import Episode, Prediction

__all__ = ["CallableWorldModel"]


def listed(answers: Iterable[Any]) -> list[Any]:
    """A world model's answers as a list.

    Raises:
        TypeError: They have no order of their own: a mapping (whose keys would be taken for
            predictions) or a set; or they are not iterable.
    """
    if isinstance(answers, Mapping | AbstractSet):
        raise TypeError(f"predictions must come in the order of the episodes, got {answers!r:.80}")
    return list(answers)


class CallableWorldModel:
    """Turns a function into a world model.

    Args:
        function: Takes a sequence of N episodes and returns N rewards, each a finite number, None
            for "no opinion", or a :class:`Prediction`.

    Raises:
        TypeError: ``function`` is not callable.

    Example:
        >>> model = CallableWorldModel(lambda episodes: [len(e.actions) / 10 for e in episodes])
        >>> model.predict([Episode(task="", actions=(0, 1))])
        [Prediction(reward=0.2, feedback='', std=None)]
    """

    def __init__(
        self, function: Callable[[Sequence[Episode]], Iterable[float | Prediction | None]]
    ) -> None:
        if not callable(function):
            raise TypeError(f"function must be callable, got {function!r}")
        self._function = function

    def predict(self, episodes: Sequence[Episode]) -> list[Prediction]:
        """Returns one prediction an episode, in the same order."""
        answers = listed(self._function(episodes))
        return [a if isinstance(a, Prediction) else Prediction(a) for a in answers]
