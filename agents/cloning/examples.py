"""What is cloned: moments of demonstrations, and the chunk of actions that follows each."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from wmrl_envs.agents.policies.vla.base import ModelInput, VLAModel

__all__ = ["Episode", "Examples", "action_chunks", "make_examples"]

_ACTION_SIZE = 7


class Episode(Protocol):
    """What a demonstration of ``wmrl_envs.libero.demonstrations`` has, as far as cloning needs it.

    Attributes:
        instruction: What the robot was told to do.
        observations: The observations by name, each (T + 1, ...).
        intended: The actions to clone (T, 7), float32, without the noise that was added to them.
    """

    @property
    def instruction(self) -> str: ...  # noqa: D102
    @property
    def observations(self) -> Mapping[str, NDArray[Any]]: ...  # noqa: D102
    @property
    def intended(self) -> NDArray[np.float32]: ...  # noqa: D102


@dataclass(frozen=True)
class Examples:
    """N moments to learn from.

    Attributes:
        inputs: N inputs of the network.
        tokens: (N, tokens of an action), int64: what it should answer.
        episodes: (N,), int64: the episode of each, from 0.
    """

    inputs: Sequence[ModelInput]
    tokens: NDArray[np.int64]
    episodes: NDArray[np.int64]

    def __len__(self) -> int:
        """Returns the number of moments, N."""
        return len(self.tokens)

    def select(self, rows: NDArray[Any]) -> "Examples":
        """Returns the given rows, numbers or a mask."""
        chosen = np.arange(len(self))[rows]
        return Examples([self.inputs[i] for i in chosen], self.tokens[rows], self.episodes[rows])

    def split(self, held_out: float, seed: int = 0) -> tuple["Examples", "Examples"]:
        """Sets whole episodes aside, drawn by a seed.

        Args:
            held_out: The share of the episodes, in [0, 1); one episode at least stays, and if the
                share is positive and there are two episodes, one at least is set aside.
            seed: Seeds the draw.

        Returns:
            The examples to train on, and those set aside.

        Raises:
            ValueError: The share is not in [0, 1).
        """
        if not 0 <= held_out < 1:
            raise ValueError(f"held_out must be in [0, 1), got {held_out!r}")
        found = np.unique(self.episodes)
        aside = min(int(np.ceil(held_out * len(found))), len(found) - 1)
        chosen = np.random.default_rng(seed).permutation(found)[:aside]
        mask = np.isin(self.episodes, chosen)
        return self.select(~mask), self.select(mask)


def action_chunks(actions: NDArray[np.float32], chunk: int) -> NDArray[np.float32]:
    """The chunk of actions that begins at each step.

    Beyond the end the robot rests: it does not move, and its gripper stays as it was told last.

    Args:
        actions: (T, 7).
        chunk: The actions of a chunk.

    Returns:
        (T, chunk, 7).

    Raises:
        ValueError: There are no actions, or they have another shape.
    """
    if actions.ndim != 2 or actions.shape[1] != _ACTION_SIZE or not len(actions):
        raise ValueError(f"actions must have shape (T, 7), T at least 1, got {actions.shape}")
    rest = np.zeros((chunk - 1, _ACTION_SIZE), actions.dtype)
    rest[:, -1] = actions[-1, -1]
    windows = np.lib.stride_tricks.sliding_window_view(
        np.concatenate([actions, rest]), chunk, axis=0
    )
    return windows.transpose(0, 2, 1)


def make_examples(episodes: Iterable[Episode], model: VLAModel) -> Examples:
    """Turns every moment of every episode into an example.

    Args:
        episodes: Demonstrations; those of pixels have pictures among their observations.
        model: The network that prepares inputs and whose action tokens are the answers.

    Raises:
        ValueError: There are no episodes, or the observations lack what the network needs.
    """
    inputs: list[ModelInput] = []
    tokens: list[NDArray[np.int64]] = []
    sources: list[NDArray[np.int64]] = []
    for number, episode in enumerate(episodes):
        tokens.append(_answers(episode.intended, model))
        inputs.extend(model.encode(moment) for moment in _moments(episode))
        sources.append(np.full(len(tokens[-1]), number))
    if not tokens:
        raise ValueError("episodes must hold at least one demonstration, got none")
    return Examples(inputs, np.concatenate(tokens), np.concatenate(sources))


def _answers(actions: NDArray[np.float32], model: VLAModel) -> NDArray[np.int64]:
    count = int(np.prod(model.action_shape))
    chunks = action_chunks(actions, count // _ACTION_SIZE)
    values = model.from_actions(chunks.reshape(-1, *model.action_shape))
    return model.action_tokenizer.encode(values).reshape(len(chunks), count)


def _moments(episode: Episode) -> Iterator[dict[str, Any]]:
    for step in range(len(episode.intended)):
        seen = {name: values[step] for name, values in episode.observations.items()}
        yield {"task": episode.instruction, **seen}
