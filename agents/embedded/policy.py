"""Loads the embedded policy: the small language model that ships with the package."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wmrl_envs.agents.embedded.cards import prompt_of
from wmrl_envs.agents.embedded.tokenizer import SOLUTION
from wmrl_envs.agents.policies.language_model import LanguageModelPolicy

WEIGHTS = Path(__file__).parent / "weights"
_LONGEST_SCRIPT = 96


def card_prompt(observation: Mapping[str, Any]) -> str:
    """The embedded policy's prompt: the observation's task card and the token that starts a script.

    Raises:
        ValueError: The observation's task is no card; pass ``observation="card"`` to the
            environment.
    """
    return prompt_of(observation["task"]) + SOLUTION


def is_embedded(path: Path | str) -> bool:
    """Whether a folder holds an embedded policy, trained further or not: one that reads cards."""
    tokenizer = Path(path) / "tokenizer.json"
    return tokenizer.is_file() and f'"{SOLUTION}"' in tokenizer.read_text(encoding="utf-8")


def embedded_policy(path: Path | str = WEIGHTS, **settings: Any) -> LanguageModelPolicy:
    """The small language model that writes solution scripts from task cards.

    It was trained by this project, from scratch, on scripts of a grammar
    (:mod:`~wmrl_envs.agents.embedded.pretrain`): a toy that makes the whole loop run on a CPU in
    minutes, not a language model that understands anything else.

    Args:
        path: A folder that ``pretrain``, or the policy's ``save``, wrote; the default is what ships
            with the package.
        **settings: Arguments of
            :class:`~wmrl_envs.agents.policies.language_model.LanguageModelPolicy`.

    Example:
        >>> policy = embedded_policy()
        >>> policy.max_new_tokens
        96
    """
    chosen = {"max_new_tokens": _LONGEST_SCRIPT, "prompt": card_prompt, **settings}
    return LanguageModelPolicy.from_pretrained(path, **chosen)
