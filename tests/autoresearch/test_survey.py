"""What a prompt says of the files of a public folder."""

import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from wmrl_envs.autoresearch.files import read_file
from wmrl_envs.autoresearch.survey import describe_folder, find_images, find_table, read_head
from wmrl_envs.autoresearch.table import TableError
from wmrl_envs.errors import TaskFormatError

FRAME = pd.DataFrame({"id": [1, 2], "name": ["a", "b"], "size": [0.5, None]})
SAID = (
    "2 rows x 3 columns: id integer, name text (2 different, such as 'a'), size number (1 missing)"
)


def write_images(folder: Path, count: int, size: tuple[int, int] = (12, 8)) -> None:
    folder.mkdir(parents=True)
    for number in range(count):
        Image.new("RGB", size).save(folder / f"{number:03}.png")


def test_tables_of_any_suffix_are_described_alike(tmp_path: Path) -> None:
    FRAME.to_csv(tmp_path / "a.csv", index=False)
    FRAME.to_csv(tmp_path / "b.csv.gz", index=False)
    FRAME.to_csv(tmp_path / "c.csv.zip", index=False)
    FRAME.to_csv(tmp_path / "d.tsv", sep="\t", index=False)
    FRAME.to_parquet(tmp_path / "e.parquet")
    FRAME.to_json(tmp_path / "f.jsonl", orient="records", lines=True)
    lines = describe_folder(tmp_path)
    assert [line.partition(": ")[2] for line in lines] == [SAID] * 6


def test_a_folder_of_images_is_counted_and_some_are_measured(tmp_path: Path) -> None:
    write_images(tmp_path / "train", 20)
    write_images(tmp_path / "test" / "deep", 3, (5, 7))
    lines = describe_folder(tmp_path)
    assert lines[0] == "- `test/deep/000.png`: image of 5 x 7 pixels, RGB"
    assert lines[-1] == (
        "- `train/`: 20 files (20 .png), such as `000.png`; image sizes in pixels of 5 sampled: "
        "12 x 8 RGB (5)"
    )
    assert len(find_images(tmp_path)) == 23


def test_what_cannot_be_read_as_an_image_is_counted_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "train").mkdir()
    for number in range(9):
        (tmp_path / "train" / f"{number}.png").write_bytes(b"no image")
    assert describe_folder(tmp_path) == ["- `train/`: 9 files (9 .png), such as `0.png`"]


def test_an_archive_is_described_without_unpacking_it(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "train.zip", "w") as archive:
        for number in range(3):
            archive.writestr(f"train/{number}.jpg", b"x")
    (tmp_path / "broken.zip").write_bytes(b"PK")
    assert describe_folder(tmp_path) == [
        "- `broken.zip`: 2 bytes, a broken zip archive",
        "- `train.zip`: zip archive of 3 files (3 .jpg), such as `train/0.jpg`",
    ]


def test_of_a_large_table_the_beginning_is_read_and_the_rows_are_estimated(tmp_path: Path) -> None:
    row = "123456," + "x" * 90 + "\n"
    rows = (33 << 20) // len(row)
    (tmp_path / "train.csv").write_text("id,text\n" + row * rows)
    head = read_head(tmp_path / "train.csv")
    assert (len(head.frame), head.exact) == (20_000, False)
    assert head.rows == pytest.approx(rows, rel=0.01)
    assert describe_folder(tmp_path)[0].startswith("- `train.csv`: about 3")


def test_many_columns_are_cut(tmp_path: Path) -> None:
    names = [f"{'ab'[i % 2]}{i}" for i in range(300)]
    pd.DataFrame(np.zeros((2, 300)), columns=names).to_csv(tmp_path / "wide.csv", index=False)
    line = describe_folder(tmp_path)[0]
    assert line.endswith(", …, b299 number") and len(line) < 1200


def test_links_in_a_ring_end(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "ring").symlink_to(tmp_path)
    (tmp_path / "lost.csv").symlink_to(tmp_path / "nowhere")
    assert describe_folder(tmp_path) == [
        "- `a.txt`: 1 bytes",
        "- `lost.csv`: a link that leads nowhere",
    ]


def test_the_training_table_is_found_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "cs-training.csv").write_text("a\n1\n")
    assert find_table(tmp_path, "train") == tmp_path / "cs-training.csv"
    (tmp_path / "train.jsonl").write_text('{"a": 1}\n')
    assert find_table(tmp_path, "train") == tmp_path / "train.jsonl"
    assert find_table(tmp_path, "test") is None


def test_a_broken_table_is_named(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("")
    with pytest.raises(TaskFormatError, match=r"train\.csv: "):
        describe_folder(tmp_path)


class TestTextCells:
    """Answers of any suffix, as the text that a CSV file would hold."""

    def test_tables_hold_the_same_cells(self, tmp_path: Path) -> None:
        FRAME.to_csv(tmp_path / "a.csv", index=False)
        FRAME.to_csv(tmp_path / "a.csv.gz", index=False)
        FRAME.to_csv(tmp_path / "a.csv.zip", index=False)
        FRAME.to_parquet(tmp_path / "a.parquet")
        FRAME.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
        for path in tmp_path.iterdir():
            columns = read_file(path).columns
            assert columns == {"id": ("1", "2"), "name": ("a", "b"), "size": ("0.5", "")}, path

    @pytest.mark.parametrize(
        ("name", "content", "message"),
        [
            ("a.jsonl", b'{"a": 1}\n{"a": \n', "row 2: the line is no JSON"),
            ("a.jsonl", b"[1]\n", "row 1: the line is no JSON object"),
            ("a.csv.gz", b"\x1f\x8b broken", "the archive is broken"),
            ("a.csv.zip", b"PK", "the archive is broken"),
            ("a.parquet", b"PAR1", "the Parquet file cannot be read"),
        ],
    )
    def test_a_broken_file_is_named(
        self, tmp_path: Path, name: str, content: bytes, message: str
    ) -> None:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(TableError, match=message):
            read_file(tmp_path / name)

    def test_an_archive_must_hold_one_table(self, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "a.csv.zip", "w") as archive:
            archive.writestr("a.csv", "x\n")
            archive.writestr("b.csv", "x\n")
        with pytest.raises(TableError, match=r"must hold one table, it holds \['a.csv', 'b.csv'\]"):
            read_file(tmp_path / "a.csv.zip")
