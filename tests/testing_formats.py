"""Small directories in the layouts of MLE-Dojo, MLE-bench and DSBench, written by the tests."""

from collections.abc import Iterable
from pathlib import Path

LFS_POINTER = (
    "version https://git-lfs.github.com/spec/v1\n"
    "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"
)
IDS = range(10, 18)
TRAIN = "id,size,target\n" + "".join(f"{i},{i}.5,{i % 2}\n" for i in range(10))
TEST = "id,size\n" + "".join(f"{i},{i}.5\n" for i in IDS)


def csv_text(header: str, rows: Iterable[Iterable[object]]) -> str:
    """A CSV file's text."""
    return header + "\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)


def answers(column: str = "target") -> str:
    """Odd ids are positive."""
    return csv_text(f"id,{column}", ((i, i % 2) for i in IDS))


def board(*scores: float) -> str:
    """A leaderboard of MLE-Dojo."""
    return csv_text("rank,score", enumerate(scores, start=1))


def write(folder: Path, **files: str | bytes) -> None:
    """Writes files; in a name ``__`` parts folders and the last ``_`` the suffix."""
    for name, content in files.items():
        *folders, stem = name.split("__")
        base, _, suffix = stem.rpartition("_")
        path = folder.joinpath(*folders, f"{base}.{suffix}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def write_dojo(root: Path, name: str = "toy", **files: str | bytes) -> Path:
    """A prepared competition of MLE-Dojo; an empty content removes a file."""
    parts: dict[str, str | bytes] = {
        "data__public__description_txt": "### Description\nA toy task.\n",
        "data__public__train_csv": TRAIN,
        "data__public__test_csv": TEST,
        "data__public__sample_submission_csv": csv_text("id,target", ((i, 0) for i in IDS)),
        "data__private__test_answer_csv": answers(),
        "data__private__public_leaderboard_csv": board(0.9, 0.6, 0.4, 0.1),
        "data__private__private_leaderboard_csv": board(0.8, 0.5),
    }
    return _write_all(root / name, parts | files)


def write_bench(root: Path, name: str = "toy", **files: str | bytes) -> Path:
    """A prepared competition of MLE-bench."""
    parts: dict[str, str | bytes] = {
        "prepared__public__description_md": "# Toy\n\nA toy task.\n",
        "prepared__public__train_csv": TRAIN,
        "prepared__public__test_csv": TEST,
        "prepared__public__sample_submission_csv": csv_text("id,target", ((i, 0) for i in IDS)),
        "prepared__private__test_csv": answers(),
        "leaderboard_csv": "scoreNullable,teamId,score\n0.9,1,0.9\n0.6,2,0.6\n,3,\n0.3,4,0.3\n",
    }
    return _write_all(root / name, parts | files)


def write_dsbench(root: Path, name: str = "toy", **files: str | bytes) -> Path:
    """The folders of DSBench with one task in them; returns their parent."""
    parts: dict[str, str | bytes] = {
        f"data_resplit__{name}__train_csv": TRAIN,
        f"data_resplit__{name}__test_csv": TEST,
        f"data_resplit__{name}__sample_submission_csv": csv_text(
            "id,target", ((i, 0) for i in IDS)
        ),
        f"answers__{name}__test_answer_csv": answers(),
        f"task__{name}_txt": "Predict the target.\n",
    }
    return _write_all(root, parts | files)


def _write_all(folder: Path, parts: dict[str, str | bytes]) -> Path:
    write(folder, **{name: content for name, content in parts.items() if content})
    return folder
