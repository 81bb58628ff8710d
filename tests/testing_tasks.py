"""Small task folders, written by the tests."""

from collections.abc import Mapping
from pathlib import Path

from wmrl_envs.autoresearch.answers import AnswerKey, load_answers
from wmrl_envs.autoresearch.leaderboard import Leaderboard
from wmrl_envs.autoresearch.metrics import get_metric
from wmrl_envs.autoresearch.spec import load_spec
from wmrl_envs.autoresearch.task import Task

TRAIN = "id,size,colour,target\n1,1.5,red,0\n2,,blue,1\n3,900.5,red,1\n"
TEST = "id,size,colour\n" + "".join(f"{i},{i}.5,red\n" for i in range(10, 18))
ANSWERS = "id,target\n" + "".join(f"{i},{int(i in (11, 12, 14, 17))}\n" for i in range(10, 18))
BOARD = "rank,score\n1,0.9\n2,0.7\n3,0.7\n4,0.2\n"
CLASSES = {
    "accuracy": ["0", "1"],
    "logloss": ["0", "1"],
    "auc": ["0", "1"],
    "qwk": ["0", "1"],
    "mlogloss": ["red", "green", "blue"],
    "map3": ["red", "green", "blue"],
}


def write_task(folder: Path, metric: str = "accuracy", **files: str) -> Path:
    """Writes a toy task; ``files`` replace a file's text: ``answers="id,target\\n…"``."""
    texts = {"train": TRAIN, "test": TEST, "answers": ANSWERS, "leaderboard": BOARD, **files}
    (folder / "public").mkdir(parents=True)
    (folder / "private").mkdir()
    (folder / "task.toml").write_text(texts.pop("toml", toml(metric)))
    texts.setdefault("sample_submission", "id,target\n" + rows(0))
    for name, text in texts.items():
        part = "private" if name in ("answers", "leaderboard", "leaderboard_public") else "public"
        (folder / part / f"{name}.csv").write_text(text)
    (folder / "public" / "description.md").write_text("# Toy\n\nA toy task.\n")
    return folder


def toml(metric: str, /, **changes: str) -> str:
    """A ``task.toml``; ``changes`` are raw TOML values, an empty one removes the key."""
    keys = {
        "name": '"toy"',
        "split": '"none"',
        "modality": '"tabular"',
        "category": '"binary"',
        "metric": f'"{metric}"',
        "time_limit": "10",
        "id_column": '"id"',
        "target_columns": '["target"]',
        "classes": str(CLASSES[metric]) if metric in CLASSES else "",
        **changes,
    }
    return "".join(f"{key} = {value}\n" for key, value in keys.items() if value)


def make_task(folder: Path, metric: str = "accuracy", **files: str) -> Task:
    """Writes and opens a toy task."""
    return Task.from_folder(write_task(folder, metric, **files))


def rows(*values: object) -> str:
    """One row for each id of the toy task's test set, with the same values in each."""
    return "".join(",".join(map(str, (i, *values))) + "\n" for i in range(10, 18))


def answer_key(folder: Path, metric: str, answers: Mapping[object, object]) -> AnswerKey:
    """An answer key with these ids and truths."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "task.toml").write_text(toml(metric))
    (folder / "answers.csv").write_text(
        "id,target\n" + "".join(f"{name},{value}\n" for name, value in answers.items())
    )
    return load_answers(folder / "answers.csv", load_spec(folder / "task.toml"))


def board(metric: str) -> tuple[Leaderboard, ...]:
    """A board of four entries that fits the metric's direction."""
    higher = get_metric(metric).higher_is_better
    return (Leaderboard(tuple(sorted((0.9, 0.7, 0.7, 0.2), reverse=higher)), higher),)
