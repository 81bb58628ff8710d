"""Tasks in the folders of MLE-Dojo, MLE-bench and DSBench, opened without their code."""

from wmrl_envs.autoresearch.formats.boards import GapRanking
from wmrl_envs.autoresearch.formats.loading import find_tasks, load_task
from wmrl_envs.autoresearch.formats.prepared import PreparedTask
from wmrl_envs.autoresearch.formats.registry import Facts, facts, known_tasks

__all__ = [
    "Facts",
    "GapRanking",
    "PreparedTask",
    "facts",
    "find_tasks",
    "known_tasks",
    "load_task",
]
