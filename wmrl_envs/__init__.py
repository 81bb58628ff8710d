"""Gymnasium environments whose reward a world model can predict (WMRL, arXiv 2608.12564).

Importing this package registers the environment ids and loads nothing heavy.
"""

from gymnasium.envs.registration import register

__version__ = "0.1.0"

register(
    id="WMRL/AutoResearch-v0",
    entry_point="wmrl_envs.autoresearch.env:AutoResearchEnv",
    vector_entry_point="wmrl_envs.autoresearch.vector_env:AutoResearchVectorEnv",
)

register(
    id="WMRL/LiberoLong-v0",
    entry_point="wmrl_envs.libero.env:LiberoEnv",
    vector_entry_point="wmrl_envs.libero.vector_env:LiberoVectorEnv",
    max_episode_steps=520,
    kwargs={"suite": "libero_10"},
)

register(
    id="WMRL/Libero-v0",
    entry_point="wmrl_envs.libero.env:LiberoEnv",
    vector_entry_point="wmrl_envs.libero.vector_env:LiberoVectorEnv",
    max_episode_steps=520,
)
