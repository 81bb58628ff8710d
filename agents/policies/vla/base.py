"""What a vision-language-action network is to :class:`~wmrl_envs.agents.policies.vla.VLAPolicy`."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray

from wmrl_envs.agents.policies.vla.action_tokens import ActionTokenizer

__all__ = ["Decoding", "ModelInput", "VLAModel"]


class ModelInput(NamedTuple):
    """One observation as a network takes it.

    Attributes:
        prompt: The token ids of the instruction.
        context: All else that the network sees, by name, as small as it goes (pictures in uint8):
            rollouts keep it until the update.
    """

    prompt: tuple[int, ...]
    context: dict[str, NDArray[Any]]


class Decoding(Protocol):
    """B rows in the midst of being decoded: the prompt's keys and values, and what was appended.

    Attributes:
        logits: (B, bins), float32, of the next action token; column k stands for the k-th bin from
            -1 (:meth:`ActionTokenizer.tokens`). Tokens that are no actions have no column.
    """

    logits: torch.Tensor

    def append(self, tokens: torch.Tensor) -> torch.Tensor:
        """Appends action tokens to every row.

        Args:
            tokens: (B, T) token ids, int64, T at least 1.

        Returns:
            (B, T, bins), float32: the logits after each of them.
        """
        ...


@runtime_checkable
class VLAModel(Protocol):
    """A network from observations to logits of action tokens; usually a ``torch.nn.Module``.

    It preprocesses observations itself, and holds the statistics that this takes.

    Attributes:
        action_tokenizer: The arithmetic of its action tokens.
        action_shape: (7,), or (chunk, 7): the shape of one action of the environment. Its tokens
            come in that order, flattened.
    """

    action_tokenizer: ActionTokenizer
    action_shape: tuple[int, ...]

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        ...

    def encode(self, observation: Mapping[str, Any]) -> ModelInput:
        """Prepares one observation of the environment.

        Raises:
            ValueError: It lacks an entry that the network needs, or one has another shape.
        """
        ...

    def start(
        self, prompts: Sequence[tuple[int, ...]], contexts: Sequence[Mapping[str, NDArray[Any]]]
    ) -> Decoding:
        """Passes B prompts with their contexts through the network; gradients are kept.

        A row's logits must not depend on the other rows.
        """
        ...

    def to_actions(self, values: NDArray[np.float64]) -> NDArray[np.float32]:
        """Turns decoded values into actions of the environment: un-normalises, signs the gripper.

        Args:
            values: (B, *action_shape), float64, within [-1, 1].
        """
        ...

    def from_actions(self, actions: NDArray[np.float32]) -> NDArray[np.float64]:
        """Turns actions of the environment into values to be encoded, for cloning.

        Args:
            actions: (B, *action_shape).

        Returns:
            The same shape, float64; those beyond [-1, 1] will be clipped.
        """
        ...

    def eval(self) -> Any:
        """Switches dropout and the like off."""
        ...

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Switches the gradients of all weights."""
        ...

    def parameters(self) -> Iterator[torch.nn.Parameter]:
        """Yields the weights."""
        ...

    def state_dict(self) -> Mapping[str, Any]:
        """Returns the weights by name."""
        ...

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> Any:
        """Takes over weights."""
        ...

    def save_pretrained(self, path: str | Path) -> Any:
        """Writes ``config.json`` and the weights into a folder."""
        ...
