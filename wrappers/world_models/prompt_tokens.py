"""Token ids of a grader's prompt: a prefix for each task, a row for each program."""

from collections.abc import Mapping, Sequence
from typing import Any

from wmrl_envs.wrappers.world_models.cutting import cut_middle, split_room
from wmrl_envs.wrappers.world_models.grader_prompts import GraderPrompt, numbered, task_parts

__all__ = ["PromptTokens", "Tokens", "label_tokens"]

Tokens = tuple[int, ...]
"""Token ids."""

_CONTENT = "<<<content>>>"
_LEAST_ROOM = 64


class PromptTokens:
    """Encodes prompts so that all that comes before a program depends on the task alone.

    Tasks, examples and programs are encoded as plain text: a program that spells a special token
    cannot end its turn of the chat and grade itself.

    Args:
        tokenizer: A tokenizer of transformers. Its chat template is used if it has one.
        prompt: The prompt's parts.
        cue: Token ids that the answer begins with.
        max_task_tokens: The longest task; a longer one loses its middle, and so does its inventory.
        max_code_tokens: The longest program, with its line numbers; likewise.
        template_kwargs: Arguments of the chat template, for example ``enable_thinking=False``.

    Raises:
        ValueError: There is too little room, or the chat template does not show a user's message.
    """

    def __init__(
        self,
        tokenizer: Any,
        prompt: GraderPrompt,
        cue: Sequence[int],
        max_task_tokens: int,
        max_code_tokens: int,
        template_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        rooms = {"max_task_tokens": max_task_tokens, "max_code_tokens": max_code_tokens}
        for name, value in rooms.items():
            if value < _LEAST_ROOM:
                raise ValueError(f"{name} must be at least {_LEAST_ROOM}, got {value!r}")
        self._tokenizer = tokenizer
        self._rooms = rooms
        before, after = _frame(tokenizer, template_kwargs or {})
        self._head = before + self._plain(prompt.opening)
        self._middle = self._plain(prompt.middle)
        self._tail = self._plain(prompt.closing) + after + tuple(cue)

    @property
    def longest(self) -> int:
        """The most tokens that a prefix and a row have together."""
        frame = len(self._head) + len(self._middle) + len(self._tail)
        return frame + sum(self._rooms.values())

    def prefix(self, task: str) -> Tokens:
        """Everything up to the program."""
        head, tail = map(self._plain, task_parts(task))
        first, second = split_room(len(head), len(tail), self._rooms["max_task_tokens"])
        return self._head + self._cut(head, first) + self._cut(tail, second) + self._middle

    def row(self, code: str) -> Tokens:
        """The numbered program, and all that follows up to the answer."""
        return self._cut(self._plain(numbered(code)), self._rooms["max_code_tokens"]) + self._tail

    def _plain(self, text: str) -> Tokens:
        encoded = self._tokenizer(text, add_special_tokens=False, split_special_tokens=True)
        return tuple(encoded["input_ids"])

    def _cut(self, ids: Tokens, room: int) -> Tokens:
        return tuple(
            cut_middle(ids, room, lambda cut: self._plain(f"\n[... {cut} tokens cut ...]\n"))
        )


def label_tokens(tokenizer: Any, cue: str, labels: Sequence[str]) -> tuple[Tokens, dict[str, int]]:
    """The cue's tokens, and the single token that continues them with each label.

    Tokenizers differ in whether a blank belongs to what follows it. Both spellings of a cue that
    ends in a blank are tried, and the one that makes more labels a single token is taken.

    Args:
        tokenizer: A tokenizer of transformers.
        cue: What the labels follow, for example "Grade: ".
        labels: The labels.

    Returns:
        The cue's ids, and label -> id of those labels that are a token of their own.

    Raises:
        ValueError: Fewer than two labels are.
    """
    spellings = [_spelled(tokenizer, cue, c, labels) for c in dict.fromkeys([cue, cue.rstrip()])]
    ids, found = max(spellings, key=lambda spelling: len(spelling[1]))
    if len(found) < 2:
        raise ValueError(
            f"labels must be single tokens of the tokenizer after {cue!r}, at least two of them; "
            f"of {tuple(labels)!r} these are: {tuple(found)!r}"
        )
    return ids, found


def _spelled(
    tokenizer: Any, cue: str, shown: str, labels: Sequence[str]
) -> tuple[Tokens, dict[str, int]]:
    ids = _encoded(tokenizer, shown)
    found = {}
    for label in labels:
        whole = _encoded(tokenizer, cue + label)
        if whole[:-1] == ids and whole[-1] != tokenizer.unk_token_id:
            found[label] = whole[-1]
    shared = [i for i in found.values() if list(found.values()).count(i) > 1]
    return ids, {label: i for label, i in found.items() if i not in shared}


def _encoded(tokenizer: Any, text: str) -> Tokens:
    return tuple(tokenizer(text, add_special_tokens=False)["input_ids"])


def _frame(tokenizer: Any, template_kwargs: Mapping[str, Any]) -> tuple[Tokens, Tokens]:
    """The tokens before and after a user's message."""
    if not getattr(tokenizer, "chat_template", None):
        return _beginning(tokenizer), ()
    text = tokenizer.apply_chat_template(
        [{"role": "user", "content": _CONTENT}],
        add_generation_prompt=True,
        tokenize=False,
        **template_kwargs,
    )
    before, found, after = text.partition(_CONTENT)
    if not found:
        raise ValueError(f"the chat template must show a user's message, got {text!r:.200}")
    return _encoded(tokenizer, before), _encoded(tokenizer, after)


def _beginning(tokenizer: Any) -> Tokens:
    """The token that the tokenizer begins every text with, if it does."""
    ids = tokenizer("a")["input_ids"]
    return (ids[0],) if ids and ids[0] == tokenizer.bos_token_id else ()
