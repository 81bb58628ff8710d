"""A policy that converses: it sees its earlier answers and what became of them."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from wmrl_envs.agents.policies.base import TokenBatch
from wmrl_envs.agents.policies.chat_prompts import AUTORESEARCH_CONTRACT, ChatEncoder
from wmrl_envs.agents.policies.chat_template import ChatFrame
from wmrl_envs.agents.policies.language_model import LanguageModelPolicy
from wmrl_envs.agents.policies.prompts import Tokens

__all__ = ["ChatPolicy"]

_REMEMBERED = 8192


class ChatPolicy(LanguageModelPolicy):
    """Answers in a conversation: system prompt, task, and the turns of the episode so far.

    The history comes with the observation
    (:class:`~wmrl_envs.agents.history.HistoryObservation`), so the policy can be asked about any
    episodes in any order. Its own earlier answers stand in the prompt as the very tokens that it
    wrote, where it still knows them: a text has several encodings, and the tokenizer may choose
    another. Either way the prompt that a sample is trained under is the recorded one it was
    sampled under, and the loss is on the answer's tokens alone.

    Args:
        model: A causal language model of transformers.
        tokenizer: Its tokenizer; its chat template is used if it has one.
        system: The system prompt; it tells what is asked of an answer. "" for none.
        template_kwargs: Arguments of the chat template, such as ``{"enable_thinking": False}``.
        max_prompt_tokens: The longest prompt; the oldest turns are dropped beyond it, the system
            prompt and the task are not. None: what the model's context leaves.
        **settings: Further arguments of
            :class:`~wmrl_envs.agents.policies.language_model.LanguageModelPolicy`.

    Raises:
        ValueError: A setting is out of range, or the system prompt leaves no room for a task.

    Example:
        >>> policy = ChatPolicy.from_pretrained("Qwen/Qwen2.5-0.5B-Instruct")  # doctest: +SKIP
        >>> envs = HistoryObservation(gym.make_vec(..., max_turns=3))  # doctest: +SKIP
        >>> GRPO(policy, envs, group_size=8).learn(100)  # doctest: +SKIP
    """

    _STORED = (*LanguageModelPolicy._STORED, "system", "template_kwargs")

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        system: str = AUTORESEARCH_CONTRACT,
        template_kwargs: Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(model, tokenizer, **settings)
        self.system, self.template_kwargs = system, dict(template_kwargs or {})
        self._frame = ChatFrame(tokenizer, system, template_kwargs)
        self._ids: OrderedDict[str, Tokens] = OrderedDict()
        if self.prompt is None:
            self._encode = ChatEncoder(self._frame, self._written, self.max_prompt_tokens)

    def act(
        self,
        observations: Sequence[Any],
        *,
        generator: torch.Generator | None = None,
        deterministic: bool = False,
    ) -> TokenBatch:
        """Answers B observations; see the base class."""
        batch = super().act(observations, generator=generator, deterministic=deterministic)
        for action, response in zip(batch.actions, batch.responses, strict=True):
            self._ids[action] = response[:-1] if response[-1] in self.stop_ids else response
            self._ids.move_to_end(action)
        while len(self._ids) > _REMEMBERED:
            self._ids.popitem(last=False)
        return batch

    def _written(self, answer: str) -> Tokens:
        known = self._ids.get(answer)
        return self._frame.plain(answer) if known is None else known
