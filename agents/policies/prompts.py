"""From an observation to prompt tokens that fit: the task is kept, the feedback gives way."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

__all__ = ["Prompt", "PromptEncoder", "Tokens", "cut_middle", "observation_text"]

Tokens = tuple[int, ...]
"""Token ids."""

Prompt = Callable[[Any], str | Sequence[int]]
"""Maps one observation to the prompt: text (encoded without special tokens) or token ids."""


def observation_text(observation: Any) -> tuple[str, str]:
    """Returns the task and the feedback of a text observation.

    Args:
        observation: A string, or a mapping with a string "task" and perhaps a string "feedback".

    Raises:
        TypeError: The observation holds no task text.
    """
    if isinstance(observation, str):
        return observation, ""
    if isinstance(observation, Mapping) and isinstance(observation.get("task"), str):
        return observation["task"], str(observation.get("feedback", ""))
    raise TypeError(
        "a language-model policy needs a str observation or a mapping with a str 'task', "
        f"got {type(observation).__name__}; pass prompt= to build the prompt yourself"
    )


def cut_middle(ids: Tokens, room: int) -> Tokens:
    """Shortens to ``room`` tokens, of which a quarter are the last ones.

    Example:
        >>> cut_middle((1, 2, 3, 4, 5, 6), 4)
        (1, 2, 3, 6)
    """
    tail = room // 4
    return ids if len(ids) <= room else ids[: room - tail] + ids[len(ids) - tail :]


class PromptEncoder:
    """Encodes observations as prompts of at most ``max_tokens`` tokens.

    Without ``prompt`` the task and the feedback become one user message of the tokenizer's chat
    template, or plain text where it has none. A prompt that is too long first loses the beginning
    of its feedback (errors stand at its end), then tokens from the middle: a quarter of the room
    goes to the end, because that is where the cue to answer stands.

    Args:
        tokenizer: A tokenizer of transformers.
        prompt: Builds the prompt instead.
        max_tokens: The longest prompt, in tokens; None means no limit.
    """

    def __init__(
        self, tokenizer: Any, prompt: Prompt | None = None, max_tokens: int | None = None
    ) -> None:
        self._tokenizer = tokenizer
        self._prompt = prompt
        self._max_tokens = max_tokens

    def __call__(self, observation: Any) -> Tokens:
        """Returns the prompt's token ids.

        Raises:
            TypeError: The observation is no text and there is no ``prompt``.
            ValueError: The prompt is empty.
        """
        ids = self._custom(observation) if self._prompt else self._default(observation)
        if not ids:
            raise ValueError(f"the prompt is empty for observation {observation!r}")
        return ids if self._max_tokens is None else cut_middle(ids, self._max_tokens)

    def _custom(self, observation: Any) -> Tokens:
        built = self._prompt(observation) if self._prompt else ""
        if isinstance(built, str):
            return tuple(self._tokenizer(built, add_special_tokens=False)["input_ids"])
        return tuple(int(i) for i in built)

    def _default(self, observation: Any) -> Tokens:
        task, feedback = observation_text(observation)
        ids = self._message(task, feedback)
        if not feedback or self._max_tokens is None or len(ids) <= self._max_tokens:
            return ids
        tail = self._tokenizer(feedback, add_special_tokens=False)["input_ids"]
        room = len(tail) - (len(ids) - self._max_tokens)
        kept = self._tokenizer.decode(tail[-room:]) if room > 0 else ""
        return self._message(task, kept)

    def _message(self, task: str, feedback: str) -> Tokens:
        text = f"{task}\n\n{feedback}" if feedback else task
        if not getattr(self._tokenizer, "chat_template", None):
            return tuple(self._tokenizer(text)["input_ids"])
        chat = self._tokenizer.apply_chat_template(
            [{"role": "user", "content": text}], add_generation_prompt=True, tokenize=False
        )
        return tuple(self._tokenizer(chat, add_special_tokens=False)["input_ids"])
