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
class TheoremsBench:
    """Check the theorems of WMRL with numbers: floors, bias decay and its limit, variance."""

    quick: bool = False
    """Fewer runs and noises: half a minute instead of some minutes."""
    out: Path | None = None
    """Write `results.json`, `table.md` and `theorems.png` into this folder."""

    def run(self, console: Console) -> int:
        """Prints the table."""
        from wmrl_envs.benchmarks.evidence import theorems_report as report

        found = report.check_theorems(self.quick)
        comparison = report.theorems_comparison(found, sys.argv[1:])
        comparison.show(console)
        if self.out is not None:
            comparison.write(self.out)
            report.plot_theorems(found, self.out / "theorems.png")
        return 0


@dataclass(frozen=True)
class AblationBench:
    """Run every arm on a simulated bandit, whose world model errs in known ways."""

    quick: bool = False
    """Five seeds of one scenario: a quarter of a minute instead of some minutes."""
    seeds: int = 24
    """Independent runs of each arm."""
    first_seed: int = 3000
    """Runs take this seed and the next ones."""
    out: Path | None = None
    """Write `results.json`, `table.md` and `curves.png` into this folder."""

    def run(self, console: Console) -> int:
        """Prints the table."""
        from wmrl_envs.benchmarks.evidence import ablation_report as report
        from wmrl_envs.benchmarks.evidence.bandit import SCENARIOS

        seeds = range(self.first_seed, self.first_seed + (5 if self.quick else self.seeds))
        scenarios = ["base"] if self.quick else list(SCENARIOS)
        with console.status("") as status:
            found = report.run_ablation(
                scenarios, seeds, lambda scenario, arm: status.update(f"{scenario}: {arm}")
            )
        comparison = report.ablation_comparison(found, seeds, sys.argv[1:])
        comparison.show(console)
        if self.out is not None:
            comparison.write(self.out)
            report.plot_ablation(found, self.out / "curves.png")
        return 0


@dataclass(frozen=True)
class Bench:
    """Compare speed and evidence side by side; every comparison has a `--quick` form."""

    command: (
        Annotated[CorrectionBench, subcommand("correction")]
        | Annotated[WrappersBench, subcommand("wrappers")]
        | Annotated[SandboxBench, subcommand("sandbox")]
        | Annotated[TheoremsBench, subcommand("theorems")]
        | Annotated[AblationBench, subcommand("ablation")]
    )

    def run(self, console: Console) -> int:
        """Runs the chosen comparison."""
        return self.command.run(console)
