"""The compile gate: what a compiler alone can grade needs no world model."""

from collections.abc import Sequence

from wmrl_envs.autoresearch.grading import compiles, extract_code
from wmrl_envs.wrappers.world_models.base import Episode, Prediction, WorldModel
from wmrl_envs.wrappers.world_models.members import ask


def compiling_scripts(episode: Episode) -> list[str]:
    """The scripts among the episode's actions that a compiler accepts, in order."""
    scripts = (extract_code(action) for action in episode.actions if isinstance(action, str))
    return [script for script in scripts if script is not None and compiles(script) is None]


def never_compiles(episode: Episode) -> bool:
    """True if the episode has actions, all of them texts, and a compiler accepts none of them.

    Only then is a reward of 0.0 known without an execution: actions that are no texts, and an
    episode without actions, say nothing.
    """
    texts = all(isinstance(action, str) for action in episode.actions)
    return bool(episode.actions) and texts and not compiling_scripts(episode)


class CompileGate:
    """Answers 0.0 for episodes whose texts never compile, and asks a world model about the rest.

    The answer is exact: the ladder of AutoResearch gives such an episode 0.0 without executing it.

    Args:
        world_model: The world model behind the gate.

    Raises:
        TypeError: ``world_model`` has no ``predict``.

    Example:
        >>> class Half:
        ...     def predict(self, episodes):
        ...         return [Prediction(0.5) for _ in episodes]
        >>> gate = CompileGate(Half())
        >>> [p.reward for p in gate.predict([Episode("", ("x = 1",)), Episode("", ("x = = 1",))])]
        [0.5, 0.0]
    """

    def __init__(self, world_model: WorldModel) -> None:
        if not callable(getattr(world_model, "predict", None)):
            raise TypeError(f"world_model must have predict(episodes), got {world_model!r}")
        self.world_model = world_model

    def predict(self, episodes: Sequence[Episode]) -> list[Prediction]:
        """Returns one prediction an episode, in the same order.

        Raises:
            WorldModelError: The world model answers with another number of predictions.
        """
        known = [never_compiles(episode) for episode in episodes]
        asked = [e for e, is_known in zip(episodes, known, strict=True) if not is_known]
        answers = iter(ask(self.world_model, asked))
        return [Prediction(0.0) if is_known else next(answers) for is_known in known]
