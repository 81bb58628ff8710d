"""A world model that remembers what it has said."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from wmrl_envs.wrappers.world_models.base import Episode, Prediction
from wmrl_envs.wrappers.world_models.content import episode_digest
from wmrl_envs.wrappers.world_models.members import ask, member


class CachedWorldModel:
    """Asks a world model about an episode once, and then answers from memory.

    Episodes are known by their content. Of equal episodes in one batch only the first is asked
    about. When the memory is full, what was not used for longest goes first. A world model that
    learns answers differently afterwards: call :meth:`clear` then.

    Args:
        world_model: An object with ``predict``, or a function of episodes.
        capacity: The most predictions remembered.
        keep_none: Whether "no opinion" is remembered too. By default the model is asked again,
            because a server that was down may be back.

    Attributes:
        hits: Episodes that were answered from memory, repetitions within a batch included.
        misses: Episodes that the world model was asked about.

    Raises:
        TypeError: ``world_model`` predicts nothing; in ``predict``, an episode has no digest.
        ValueError: ``capacity`` is below 1.

    Example:
        >>> model = CachedWorldModel(lambda episodes: [len(e.task) / 10 for e in episodes])
        >>> episodes = [Episode("abc", ()), Episode("a", ()), Episode("abc", ())]
        >>> [prediction.reward for prediction in model.predict(episodes)], model.hit_rate
        ([0.3, 0.1, 0.3], 0.3333333333333333)
    """

    def __init__(self, world_model: Any, capacity: int = 10_000, keep_none: bool = False) -> None:
        if capacity < 1:
            raise ValueError(f"capacity must be at least 1, got {capacity!r}")
        self.world_model = member(world_model)
        self.capacity, self.keep_none = capacity, keep_none
        self.hits = self.misses = 0
        self._known: OrderedDict[bytes, Prediction] = OrderedDict()

    def predict(self, episodes: Sequence[Episode]) -> list[Prediction]:
        """Returns one prediction an episode, in the same order.

        Raises:
            WorldModelError: The world model answers with another number of predictions.
        """
        digests = [episode_digest(episode) for episode in episodes]
        unknown = {d: e for d, e in zip(digests, episodes, strict=True) if d not in self._known}
        answers = dict(zip(unknown, ask(self.world_model, list(unknown.values())), strict=True))
        self.misses += len(answers)
        self.hits += len(digests) - len(answers)
        # All are looked up before any is forgotten: a batch may be larger than the memory.
        found = [answers[d] if d in answers else self._known[d] for d in digests]
        self._remember(dict(zip(digests, found, strict=True)))
        return found

    @property
    def hit_rate(self) -> float:
        """The share of episodes that were answered from memory; 0.0 before the first."""
        asked = self.hits + self.misses
        return self.hits / asked if asked else 0.0

    def __len__(self) -> int:
        """How many predictions are remembered."""
        return len(self._known)

    def clear(self) -> None:
        """Forgets every prediction; the counts stay."""
        self._known.clear()

    def _remember(self, answers: dict[bytes, Prediction]) -> None:
        for digest, prediction in answers.items():
            if prediction.reward is not None or self.keep_none:
                self._known[digest] = prediction
                self._known.move_to_end(digest)
        while len(self._known) > self.capacity:
            self._known.popitem(last=False)
