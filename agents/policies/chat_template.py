"""A tokenizer's chat template, taken apart into the token ids around what is said."""

from collections.abc import Mapping
from typing import Any

from wmrl_envs.agents.policies.prompts import Tokens

__all__ = ["ChatFrame"]

_TASK, _ANSWER, _FEEDBACK = "<<<task>>>", "<<<answer>>>", "<<<feedback>>>"


class ChatFrame:
    """The tokens that a chat template puts before, between and after messages.

    What is said is encoded as plain text: a task or a program's output that spells a special token
    cannot end its message and speak in another's name. A tokenizer without a template gets blank
    lines between the messages.

    Args:
        tokenizer: A tokenizer of transformers.
        system: The system prompt; "" for none. A template that does not show one finds it at the
            beginning of the task's message.
        template_kwargs: Arguments of the chat template, such as ``{"enable_thinking": False}``.

    Attributes:
        before: What precedes the task, system prompt included.
        after: What follows the task, the cue to answer included.
        middle: What follows an answer, up to the feedback; it begins with the end of the answer.
        end: What follows the feedback, the cue to answer included.

    Raises:
        ValueError: The template does not show a message as it is.
    """

    def __init__(
        self, tokenizer: Any, system: str = "", template_kwargs: Mapping[str, Any] | None = None
    ) -> None:
        self._tokenizer = tokenizer
        self._options = dict(template_kwargs or {})
        if not getattr(tokenizer, "chat_template", None):
            first = _bos(tokenizer)
            self.before = first + (self.plain(system + "\n\n") if system else ())
            self.after = self.middle = self.end = self.plain("\n\n")
            return
        start = self._start(system)
        before, after = self._split(self._render(start), _TASK)
        turns = [_message("assistant", _ANSWER), _message("user", _FEEDBACK)]
        _, rest = self._split(self._render([*start, *turns]), _ANSWER)
        middle, end = self._split(rest, _FEEDBACK)
        self.before, self.after, self.middle, self.end = map(
            self._encoded, (before, after, middle, end)
        )

    def plain(self, text: str) -> Tokens:
        """Encodes what is said."""
        encoded = self._tokenizer(text, add_special_tokens=False, split_special_tokens=True)
        return tuple(encoded["input_ids"])

    def _start(self, system: str) -> list[dict[str, str]]:
        task = _message("user", _TASK)
        if not system:
            return [task]
        messages = [_message("system", system), task]
        try:
            shown = self._render(messages)
        except Exception:  # the template's own complaint; a jinja2.TemplateError, most often
            shown = ""
        if system.strip() in shown:
            return messages
        return [_message("user", f"{system}\n\n{_TASK}")]

    def _render(self, messages: list[dict[str, str]]) -> str:
        text: str = self._tokenizer.apply_chat_template(
            messages, add_generation_prompt=True, tokenize=False, **self._options
        )
        return text

    def _split(self, text: str, mark: str) -> tuple[str, str]:
        before, found, after = text.partition(mark)
        if not found:
            raise ValueError(f"the chat template must show every message, {mark} not in {text!r}")
        return before, after

    def _encoded(self, text: str) -> Tokens:
        return tuple(self._tokenizer(text, add_special_tokens=False)["input_ids"])


def _message(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def _bos(tokenizer: Any) -> Tokens:
    """The token that the tokenizer begins every text with, if it does."""
    ids = tokenizer("a")["input_ids"]
    return (ids[0],) if ids and ids[0] == tokenizer.bos_token_id else ()
