"""Answers in files that a task does not need."""

import json
from pathlib import Path

import numpy as np
import pytest

from wmrl_envs.autoresearch.leak_files import answers_in_file

IDS = tuple(str(i) for i in range(20, 40))
LABELS = tuple("ab"[i * 7 % 5 % 2] for i in range(20))
PRICES = tuple(f"{i * 37 % 11}.5" for i in range(20))


def leaks(path: Path, target: tuple[str, ...] = LABELS) -> list[str]:
    return list(answers_in_file(path, {"id": IDS, "target": target}, "id"))


def write_table(path: Path, ids: tuple[str, ...], cells: tuple[str, ...]) -> Path:
    lines = [f"{name},{cell}" for name, cell in zip(ids, cells, strict=True)]
    path.write_text("\n".join(["row,value", *lines]) + "\n")
    return path


def test_a_table_with_the_answers_in_another_order_is_found(tmp_path: Path) -> None:
    path = write_table(tmp_path / "extra.csv", IDS[::-1], LABELS[::-1])
    assert leaks(path) == ["'value' of extra.csv holds the answers of 'target'"]


def test_a_table_without_ids_is_compared_row_by_row(tmp_path: Path) -> None:
    other = tuple(f"row {i}" for i in range(20))
    assert len(leaks(write_table(tmp_path / "extra.csv", other, LABELS))) == 1
    shuffled = tuple(sorted(LABELS))
    assert leaks(write_table(tmp_path / "extra.csv", other, shuffled)) == []


def test_numbers_that_are_written_otherwise_are_the_same(tmp_path: Path) -> None:
    path = write_table(tmp_path / "extra.csv", IDS, tuple(f"{float(p):.3e}" for p in PRICES))
    assert len(leaks(path, PRICES)) == 1


def test_an_array_in_an_archive_is_found(tmp_path: Path) -> None:
    path = tmp_path / "test.npz"
    np.savez(path, id=np.array(IDS, dtype=int), image=np.zeros((20, 2, 2)), y=np.array(LABELS))
    assert leaks(path) == ["'y' of test.npz holds the answers of 'target'"]


def test_an_archive_of_images_alone_is_clean(tmp_path: Path) -> None:
    np.savez(tmp_path / "test.npz", id=np.array(IDS, dtype=int), image=np.zeros((20, 2, 2)))
    assert leaks(tmp_path / "test.npz") == []


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"labels": list(LABELS)}),
        json.dumps(dict(zip(IDS, LABELS, strict=True))),
        "\n".join(f"{name}\t{label}" for name, label in zip(IDS, LABELS, strict=True)),
        "<p>" + " | ".join(LABELS) + " </p>",
    ],
)
def test_answers_in_a_text_are_found(tmp_path: Path, text: str) -> None:
    (tmp_path / "notes.txt").write_text(text)
    assert leaks(tmp_path / "notes.txt") == ["notes.txt holds the answers of 'target'"]


def test_a_text_that_speaks_of_the_labels_is_clean(tmp_path: Path) -> None:
    (tmp_path / "description.md").write_text("Each target is a label: a, b. " * 30)
    assert leaks(tmp_path / "description.md") == []


@pytest.mark.parametrize("name", ["broken.csv", "broken.npz", "broken.bin"])
def test_a_file_that_cannot_be_read_is_no_leak(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\x80\x00PK\x03\x04 not what it seems")
    assert leaks(tmp_path / name) == []
