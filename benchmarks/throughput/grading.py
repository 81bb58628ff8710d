"""Grading a submission's bytes beside pandas and scikit-learn doing the bare work."""

import io
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from wmrl_envs.autoresearch import load_task
from wmrl_envs.autoresearch.task import Task
from wmrl_envs.benchmarks.provenance import provenance
from wmrl_envs.benchmarks.throughput.report import Comparison
from wmrl_envs.benchmarks.throughput.side_by_side import Samples, interleave, repeated

__all__ = ["Grading", "compare_grading"]

_OURS, _PANDAS, _SORTED = "validated and graded", "pandas, by index", "pandas, sorted as text"


@dataclass(frozen=True)
class Grading:
    """A task of AUC with a shuffled submission.

    Args:
        task: The task.
        answers: Its answers.
        submission: The bytes of a submission.
    """

    task: Task
    answers: pd.DataFrame
    submission: bytes

    @classmethod
    def of(cls, folder: Path, rows: int) -> "Grading":
        """Writes a prepared competition of this many test rows into an empty folder."""
        rng = np.random.default_rng(rows)
        truth = pd.DataFrame({"id": np.arange(rows), "target": rng.integers(0, 2, rows)})
        guess = truth.assign(target=rng.random(rows).round(6)).sample(frac=1, random_state=0)
        public, private = folder / "public", folder / "private"
        public.mkdir(parents=True)
        private.mkdir()
        (public / "description.txt").write_text("Guess.")
        (public / "sample_submission.csv").write_text("id,target\n")
        truth.to_csv(private / "test_answer.csv", index=False)
        task = load_task(folder, name="rows", metric="auc", gap=(1.0, 0.5))
        return cls(task, truth, guess.to_csv(index=False).encode())

    def ours(self) -> float:
        """Reads, checks, aligns, scores and ranks."""
        return float(self.task.grade(self.submission, "all").score or np.nan)

    def by_index(self) -> float:
        """Aligns integer ids; checks nothing."""
        guess = pd.read_csv(io.BytesIO(self.submission)).set_index("id")["target"]
        return float(roc_auc_score(self.answers["target"], guess[self.answers["id"]]))

    def by_sorting(self) -> float:
        """Sorts both sides by the ids as text, as MLE-Dojo's graders do; checks nothing."""
        guess = pd.read_csv(io.BytesIO(self.submission))
        sides = (frame.assign(id=frame["id"].astype(str)) for frame in (self.answers, guess))
        truth, said = (frame.sort_values("id")["target"].to_numpy() for frame in sides)
        return float(roc_auc_score(truth, said))


def compare_grading(rows: Sequence[int], rounds: int, command: Sequence[str]) -> Comparison:
    """Grades one submission by each way.

    Args:
        rows: Numbers of test rows.
        rounds: Interleaved rounds.
        command: The arguments after ``wmrl``, for the record.

    Raises:
        RuntimeError: The ways disagree about the score.
    """
    with tempfile.TemporaryDirectory() as folder:
        found = {n: _measure(Grading.of(Path(folder, str(n)), n), rounds) for n in rows}
    cells = [
        (n, name, 1e3 * samples.cpu_per_unit, _ratio(by_name, name))
        for n, by_name in found.items()
        for name, samples in by_name.items()
    ]
    figures = {str(n): {k: s.record() for k, s in by_name.items()} for n, by_name in found.items()}
    return Comparison(
        title="Grading a submission of AUC",
        columns=("rows", "what", "CPU ms", "of pandas by index"),
        rows=cells,
        findings=[_finding(n, by_name) for n, by_name in found.items()],
        record={**provenance(command), "rounds": rounds, "figures": figures},
    )


def _measure(grading: Grading, rounds: int) -> dict[str, Samples]:
    ways = {_OURS: grading.ours, _PANDAS: grading.by_index, _SORTED: grading.by_sorting}
    scores = [way() for way in ways.values()]
    if not np.allclose(scores, scores[0], rtol=1e-12):
        raise RuntimeError(
            f"the ways disagree about the score: {dict(zip(ways, scores, strict=True))}"
        )
    return interleave({name: repeated(way) for name, way in ways.items()}, rounds)


def _ratio(samples: dict[str, Samples], name: str) -> float:
    return samples[name].cpu_per_unit / samples[_PANDAS].cpu_per_unit


def _finding(rows: int, samples: dict[str, Samples]) -> str:
    return (
        f"Of {rows:,} rows, a checked grade takes {_ratio(samples, _OURS):.2f} of the CPU time of "
        f"pandas by index, and {_ratio(samples, _OURS) / _ratio(samples, _SORTED):.2f} of that of "
        "sorting both sides as text."
    )
