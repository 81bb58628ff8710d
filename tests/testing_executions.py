"""An execution, and a process that writes many of them; spawned processes import this by name."""

from wmrl_envs.autoresearch.execution_cache import ExecutionCache
from wmrl_envs.autoresearch.sandbox import Execution

__all__ = ["EXECUTION", "write_many"]

EXECUTION = Execution(
    "ok", 0, "out\n", "", 0.5, 0.25, 12.0, b"id,target\n\x00\xff", None, "forkserver", ("user",)
)


def write_many(path: str, number: int) -> None:
    cache = ExecutionCache(path)
    for i in range(40):
        cache.put(f"{i}", EXECUTION)
        cache.put(f"{number}-{i}", EXECUTION)
        assert cache.get(f"{i}") == EXECUTION
