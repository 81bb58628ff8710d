"""The compile gate: what a compiler alone can grade needs no world model."""

from collections.abc import Sequence

from wmrl_envs.autoresearch.grading import compiles, extract_code
from wmrl_envs.wrappers.world_models.base import Episode, Prediction, WorldModel


def compiling_scripts(episode: Episode) -> list[str]:
    """The scripts among the episode's actions that a compiler accepts, in order."""
    scripts = (extract_code(action) for action in episode.actions if isinstance(action, str))
    return [script for script in scripts if script is not None and compiles(script) is None]


class CompileGate:
    """Answers 0.0 for episodes without code that compiles, and asks a world model about the rest.

    The answer is exact: the ladder of AutoResearch gives such an episode 0.0 without executing it.

    Args:
        world_model: The world model behind the gate.

    Example:
        >>> class Half:
        ...     def predict(self, episodes):
        ...         return [Prediction(0.5) for _ in episodes]
        >>> gate = CompileGate(Half())
        >>> [p.reward for p in gate.predict([Episode("", ("x = 1",)), Episode("", ("x = = 1",))])]
        [0.5, 0.0]
    """

    def __init__(self, world_model: WorldModel) -> None:
        self.world_model = world_model

    def predict(self, episodes: Sequence[Episode]) -> list[Prediction]:
        """Returns one prediction an episode, in the same order."""
        passing = [bool(compiling_scripts(episode)) for episode in episodes]
        asked = [episode for episode, passed in zip(episodes, passing, strict=True) if passed]
        answers = iter(self.world_model.predict(asked) if asked else ())
        return [next(answers) if passed else Prediction(0.0) for passed in passing]
