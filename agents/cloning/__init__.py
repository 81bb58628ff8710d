"""Behaviour cloning of vision-language-action networks from demonstrations."""

from wmrl_envs.agents.cloning.examples import Examples, action_chunks, make_examples
from wmrl_envs.agents.cloning.trainer import Cloning, CloningSettings

__all__ = ["Cloning", "CloningSettings", "Examples", "action_chunks", "make_examples"]
