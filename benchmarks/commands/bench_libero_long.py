"""``wmrl bench libero-long``: the paper's table of embodied reward arms, on this machine."""

import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from tyro.conf import Positional

from wmrl_envs.benchmarks.commands.base import UsageError, stopped_by_signals, usage_errors

if TYPE_CHECKING:
    from wmrl_envs.benchmarks.libero_long.compare import Plan

__all__ = ["LiberoLongBench"]

_ARMS = ("real", "world-model", "wmrl")


@dataclass(frozen=True)
class LiberoLongBench:
    """Train a cloned policy on LIBERO-Long under several reward arms; one table beside the paper's.

    Clones a small policy from demonstrations, trains a progress model, then trains the arms with
    equal numbers of rollouts and evaluates each on seen and held-out initial states. Everything
    lies in RUN; called again on it, an interrupted comparison goes on.
    """

    run_folder: Positional[Path]
    """The comparison's folder."""
    quick: bool = False
    """One task, one seed, few steps and states: ten minutes, and only a smoke test."""
    arms: tuple[str, ...] = _ARMS
    """The arms: real, world-model, mixture, debias, denoise, wmrl."""
    seeds: int = 3
    """Number of seeds."""
    first_seed: int = 0
    """The first of them."""
    processes: int = 2
    """Runs at once; each has one simulating process."""
    out: Path | None = None
    """Write `results.json` and `table.md` into this folder."""

    def run(self, console: Console) -> int:
        """Runs what is left to do and prints the table."""
        from wmrl_envs.benchmarks.autoresearch.compare import JobFailed, run_jobs
        from wmrl_envs.benchmarks.autoresearch.progress import RunProgress
        from wmrl_envs.benchmarks.libero_long import compare
        from wmrl_envs.benchmarks.libero_long.table import libero_comparison

        with usage_errors():
            plan = self._plan()
            jobs = compare.jobs(plan, self.run_folder)
        bars = {"start": compare.start_folder(self.run_folder)}
        for seed in plan.seeds:
            for arm in plan.arms:
                bars[f"{arm}, seed {seed}"] = compare.arm_folder(self.run_folder, arm, seed)
        try:
            with (
                stopped_by_signals(),
                RunProgress(console, bars, plan.base.steps) as progress,
                closing(run_jobs(jobs, self.processes)) as running,
            ):
                for _ in running:
                    progress.refresh()
        except JobFailed as error:
            raise UsageError(str(error)) from error
        comparison = libero_comparison(plan, self.run_folder, sys.argv[1:])
        comparison.show(console)
        if self.out is not None:
            comparison.write(self.out)
        return 0

    def _plan(self) -> "Plan":
        from wmrl_envs.benchmarks.libero_long.plans import full_plan, quick_plan

        for name in ("seeds", "processes"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)!r}")
        if self.quick:
            return quick_plan(self.arms, self.first_seed)
        return full_plan(self.arms, tuple(range(self.first_seed, self.first_seed + self.seeds)))
