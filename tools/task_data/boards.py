"""Leaderboards: pipelines predict the test rows, their scores on the score half make the board.

Two steps. :func:`predict_all` fits every pipeline and keeps what it predicts in a work folder; it
goes on where it stopped. :func:`make_board` scores the kept predictions, drops what is worse than
the trivial answer and measures the test noise; it takes a second and needs no pipeline.
"""

import contextlib
import csv
import gzip
import hashlib
import json
import signal
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from task_data import image, novelty, tabular, text
from task_data.entry import Blend, Entry, blends, decide
from task_data.problem import Problem, load_problem
from wmrl_envs.autoresearch.answers import AnswerKey, load_answers
from wmrl_envs.autoresearch.table import canonical
from wmrl_envs.autoresearch.toml import read_toml

__all__ = [
    "POOLS",
    "Board",
    "make_board",
    "predict_all",
    "predict_entry",
    "rows_digest",
    "write_board",
]

TRIVIAL = "constant answer"
POOLS = {"tabular": tabular, "text": text, "image": image, "novelty": novelty}
_SECONDS = 40
_BLENDS = 20


@dataclass(frozen=True)
class Board:
    """A leaderboard and what it was made of.

    Attributes:
        rows: (score, name), best first.
        dropped: Entries that were worse than the trivial answer.
        standard_error: Of the score of a good submission (the entry at the upper quartile), by
            resampling the rows of the score half.
        spread: The distance between the quartiles of the board's scores.
        position_error: The standard deviation of that submission's position when every entry is
            scored on the same resampled rows.
    """

    rows: tuple[tuple[float, str], ...]
    dropped: int
    standard_error: float
    spread: float
    position_error: float


def rows_digest(source: Path) -> str:
    """Identifies a task's data files; what was predicted from other rows is never used."""
    total = hashlib.sha256()
    for path in sorted(source.iterdir()):
        if path.suffix in (".gz", ".npz") and not path.name.startswith("answers"):
            total.update(path.name.encode() + path.read_bytes())
    return total.hexdigest()[:12]


def predict_all(source: Path, work: Path) -> Iterator[str]:
    """Fits every pipeline that the work folder has no prediction of; yields a line an entry."""
    problem = load_problem(source)
    folder = work / f"{problem.spec.name}-{rows_digest(source)}"
    folder.mkdir(parents=True, exist_ok=True)
    pool = POOLS[problem.kind]
    for tier, entries in (("plain", pool.plain), ("strong", pool.strong)):
        started = time.process_time()
        for entry in entries(problem):
            if not _kept(folder, entry.name).exists():
                yield predict_entry(problem, entry, tier, folder)
        yield f"{problem.spec.name} {tier}: {time.process_time() - started:.1f} CPU-s"


def _kept(folder: Path, name: str) -> Path:
    return folder / f"{hashlib.sha256(name.encode()).hexdigest()[:16]}.npz"


def predict_entry(problem: Problem, entry: Entry, tier: str, folder: Path) -> str:
    """Keeps what one entry predicts, or why it failed; what it cost, as a line."""
    started, note = time.process_time(), ""
    soft: np.ndarray | None = None
    try:
        with _limited(_SECONDS), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            soft = np.asarray(entry.predict(problem))
        if not np.isfinite(soft).all():
            soft, note = None, "not finite"
    except (ValueError, TypeError, TimeoutError, np.linalg.LinAlgError) as error:
        note = f"{type(error).__name__}: {error}"[:100]
    cpu = time.process_time() - started
    facts = {"name": entry.name, "tier": tier, "rule": entry.rule, "cpu_s": cpu, "note": note}
    values = np.zeros(0) if soft is None else soft.astype(np.float32)
    np.savez_compressed(_kept(folder, entry.name), soft=values, facts=json.dumps(facts))
    return f"  {cpu:6.2f} s  {entry.name} {note}"


@contextlib.contextmanager
def _limited(seconds: int) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TimeoutError(f"over {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def make_board(source: Path, work: Path) -> Board:
    """Scores what was predicted.

    Raises:
        ValueError: Nothing was predicted for these rows.
    """
    problem = load_problem(source)
    soft, facts = _read(work / f"{problem.spec.name}-{rows_digest(source)}")
    if not soft:
        raise ValueError(f"{work} holds no predictions for {problem.spec.name!r}")
    judge = _Judge(problem, _answers(source, problem))
    scored = [
        (judge.score(soft[name], fact["rule"]), name, fact["rule"], soft[name])
        for name, fact in facts.items()
    ]
    for blend in _blends(problem, facts):
        mean = blend.predict(soft)
        scored.append((judge.score(mean, blend.rule), blend.name, blend.rule, mean))
    return judge.board(scored, _sample(source, problem))


def _read(folder: Path) -> tuple[dict[str, np.ndarray], dict[str, dict[str, Any]]]:
    soft, facts = {}, {}
    for path in sorted(folder.glob("*.npz")):
        with np.load(path, allow_pickle=False) as kept:
            fact = json.loads(str(kept["facts"]))
            if not fact["note"]:
                soft[fact["name"]] = kept["soft"].astype(float)
                facts[fact["name"]] = fact
    return soft, facts


def _answers(source: Path, problem: Problem) -> AnswerKey:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answers.csv"
        path.write_bytes(gzip.decompress((source / "answers.csv.gz").read_bytes()))
        return load_answers(path, problem.spec)


def _blends(problem: Problem, facts: dict[str, dict[str, Any]]) -> list[Blend]:
    """Averages of strong entries, for every rule that turns them into labels."""
    names = sorted(name for name, fact in facts.items() if fact["tier"] == "strong")
    rules = {"mcc": ("likeliest", "0.4", "0.35"), "qwk": ("likeliest", "expected")}
    if len(names) < 2:
        return []
    return blends(names, _BLENDS, 0, rules.get(problem.spec.metric, ("likeliest",)))


def _sample(source: Path, problem: Problem) -> np.ndarray:
    """The predictions of the task's sample submission."""
    constants = [
        read_toml(source / "task.toml")["sample"][c] for c in problem.spec.prediction_columns
    ]
    if problem.metric.kind == "label":
        code = [canonical(label) for label in problem.spec.classes].index(canonical(constants[0]))
        return np.full(len(problem.ids), code)
    rows = np.tile(np.array(constants, dtype=float), (len(problem.ids), 1))
    return rows[:, 0] if len(constants) == 1 and problem.metric.columns == "target" else rows


class _Judge:
    """Scores on the score half of the answers.

    Args:
        problem: The task.
        key: Its answers.
    """

    def __init__(self, problem: Problem, key: AnswerKey) -> None:
        self._problem = problem
        rows = {name: row for row, name in enumerate(problem.ids)}
        half = key.halves["score"]
        self._rows = np.array([rows[key.ids[row]] for row in half])
        self._truth = key.truth[half]

    def score(self, soft: np.ndarray, rule: str) -> float:
        """The metric of a soft prediction."""
        return self._metric(decide(soft, self._problem, rule))

    def _metric(self, values: np.ndarray, sample: np.ndarray | None = None) -> float:
        rows = np.arange(len(self._rows)) if sample is None else sample
        predicted = values[self._rows][rows]
        if self._problem.metric.unit_interval:
            predicted = np.clip(predicted, 0.0, 1.0)
        return self._problem.metric(self._truth[rows], predicted)

    def board(
        self, scored: Sequence[tuple[float, str, str, np.ndarray]], sample: np.ndarray
    ) -> Board:
        """Keeps what is at least as good as the trivial answer."""
        sign = -1.0 if self._problem.metric.higher_is_better else 1.0
        bar = self._metric(sample)
        kept = [e for e in scored if np.isfinite(e[0]) and sign * e[0] < sign * bar]
        kept.sort(key=lambda entry: (sign * entry[0], entry[1]))
        rows = (*((score, name) for score, name, _, _ in kept), (bar, TRIVIAL))
        low, high = np.quantile([score for score, _ in rows], [0.25, 0.75])
        values = [decide(soft, self._problem, rule) for _, _, rule, soft in kept]
        best = values[len(kept) // 4]
        return Board(
            rows=rows,
            dropped=len(scored) - len(kept),
            standard_error=float(np.std([self._metric(best, s) for s in self._samples(400)])),
            spread=float(high - low),
            position_error=self._position_error([*values, sample], len(kept) // 4),
        )

    def _position_error(self, entries: Sequence[np.ndarray], good: int) -> float:
        sign = -1.0 if self._problem.metric.higher_is_better else 1.0
        positions = []
        for sample in self._samples(25):
            scores = sign * np.array([self._metric(values, sample) for values in entries])
            positions.append(np.mean(scores >= scores[good]))
        return float(np.std(positions))

    def _samples(self, number: int) -> Iterator[np.ndarray]:
        """Rows of the score half, drawn with replacement; never of a single class alone."""
        generator = np.random.default_rng(0)
        count = len(self._rows)
        while number:
            sample = generator.integers(count, size=count)
            if not self._problem.classifies or len(np.unique(self._truth[sample])) > 1:
                number -= 1
                yield sample


def write_board(board: Board, source: Path) -> None:
    """Writes ``leaderboard.csv`` and the table ``[board]`` of ``task.toml``."""
    with (source / "leaderboard.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["rank", "score", "name"])
        for rank, (score, name) in enumerate(board.rows, start=1):
            writer.writerow([rank, f"{score:.6g}", name])
    path = source / "task.toml"
    before = (
        path.read_text(encoding="utf-8").partition("\n# The distance between the board")[0].rstrip()
    )
    path.write_text(f"{before}\n{_facts(board)}", encoding="utf-8")


def _facts(board: Board) -> str:
    return (
        "\n# The distance between the board's quartiles, and the standard error of a good\n"
        "# submission's score, by resampling the rows that it is graded on.\n"
        "[board]\n"
        f"spread = {board.spread:.4g}\n"
        f"standard_error = {board.standard_error:.4g}\n"
        "# The standard deviation of its position when all entries are scored on the same rows.\n"
        f"position_error = {board.position_error:.3f}\n"
    )
