"""``wmrl bench``: speed and evidence, each comparison side by side in one run."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from rich.console import Console
from tyro.conf import subcommand

__all__ = ["Bench"]


@dataclass(frozen=True)
class CorrectionBench:
    """Time a correction step beside scikit-learn's isotonic regression, from 1 to 3,000 pairs."""

    quick: bool = False
    """Few rounds: seconds instead of a minute, and noisier."""
    out: Path | None = None
    """Write `results.json` and `table.md` into this folder."""

    def run(self, console: Console) -> int:
        """Prints the table."""
        from wmrl_envs.benchmarks.throughput.correction import compare_correction

        pairs = (10, 3000) if self.quick else (10, 100, 1000, 3000)
        rounds, steps = (3, 10) if self.quick else (15, 100)
        comparison = compare_correction(pairs, rounds, steps, sys.argv[1:])
        comparison.show(console)
        if self.out is not None:
            comparison.write(self.out)
        return 0


@dataclass(frozen=True)
class WrappersBench:
    """Time a vector step through the three wrappers beside Gymnasium's own `TransformReward`."""

    quick: bool = False
    """Few rounds: seconds instead of a minute, and noisier."""
    out: Path | None = None
    """Write `results.json` and `table.md` into this folder."""

    def run(self, console: Console) -> int:
        """Prints the table."""
        from wmrl_envs.benchmarks.throughput.wrappers import compare_wrappers

        sizes = (1, 64) if self.quick else (1, 8, 64, 512)
        rounds, steps = (3, 50) if self.quick else (15, 200)
        comparison = compare_wrappers(sizes, rounds, steps, sys.argv[1:])
        comparison.show(console)
        if self.out is not None:
            comparison.write(self.out)
        return 0


@dataclass(frozen=True)
class SandboxBench:
    """Time scripts in the sandbox beside cold Python, bubblewrap, bare forks and Ray."""

    quick: bool = False
    """Three contenders, two scripts and few rounds: a minute instead of many, and noisier."""
    out: Path | None = None
    """Write `results.json` and `table.md` into this folder."""

    def run(self, console: Console) -> int:
        """Prints the table."""
        from wmrl_envs.benchmarks.throughput.sandbox import Plan, compare_sandboxes

        plan = Plan.quick() if self.quick else Plan()
        comparison = compare_sandboxes(plan, sys.argv[1:])
        comparison.show(console)
        if self.out is not None:
            comparison.write(self.out)
        return 0


@dataclass(frozen=True)
class Bench:
    """Compare speed and evidence side by side; every comparison has a `--quick` form."""

    command: (
        Annotated[CorrectionBench, subcommand("correction")]
        | Annotated[WrappersBench, subcommand("wrappers")]
        | Annotated[SandboxBench, subcommand("sandbox")]
    )

    def run(self, console: Console) -> int:
        """Runs the chosen comparison."""
        return self.command.run(console)
