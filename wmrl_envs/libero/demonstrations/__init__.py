"""Demonstrations of libero_10: recorded from the scripted expert, replayed, written as datasets."""

from wmrl_envs.libero.demonstrations.lerobot_dataset import write_lerobot
from wmrl_envs.libero.demonstrations.minari_dataset import write_minari
from wmrl_envs.libero.demonstrations.moments import render_moments, spread_moments
from wmrl_envs.libero.demonstrations.pictures import Pictures
from wmrl_envs.libero.demonstrations.recording import (
    Demonstration,
    Recipe,
    Replay,
    record,
    replay,
)
from wmrl_envs.libero.demonstrations.store import Store, collect

__all__ = [
    "Demonstration",
    "Pictures",
    "Recipe",
    "Replay",
    "Store",
    "collect",
    "record",
    "render_moments",
    "replay",
    "spread_moments",
    "write_lerobot",
    "write_minari",
]
