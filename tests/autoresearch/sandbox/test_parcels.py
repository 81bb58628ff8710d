"""Public data on its way to other machines: its content names it, and nothing else goes along."""

import os
from pathlib import Path

import pytest

from wmrl_envs.autoresearch.sandbox import parcels
from wmrl_envs.errors import SandboxError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Data of two files, one of them in a folder of its own."""
    (tmp_path / "data" / "images").mkdir(parents=True)
    (tmp_path / "data" / "train.csv").write_text("id\n1\n")
    (tmp_path / "data" / "images" / "0.bin").write_bytes(bytes(9))
    return tmp_path / "data"


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    return parcels.open_shelf(str(tmp_path / "shelf"))


def _files(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_what_was_packed_is_laid_out_again(folder: Path, shelf: Path) -> None:
    content = parcels.pack(folder)
    digest = parcels.digest_of(content)
    found = parcels.unpack(content, digest, shelf)
    assert found == shelf / digest
    assert _files(found) == _files(folder)
    assert parcels.pack(found) == content
    assert os.listdir(shelf) == [digest]


def test_equal_content_has_one_name_whenever_it_was_written(folder: Path) -> None:
    content, before = parcels.pack(folder), parcels.stamp(folder)
    os.utime(folder / "train.csv", (1, 1))
    assert parcels.stamp(folder) != before
    assert parcels.pack(folder) == content
    (folder / "train.csv").write_text("id\n2\n")
    assert parcels.pack(folder) != content


def test_what_is_laid_out_already_is_not_laid_out_again(folder: Path, shelf: Path) -> None:
    content = parcels.pack(folder)
    digest = parcels.digest_of(content)
    first = parcels.unpack(content, digest, shelf)
    inode = first.stat().st_ino
    assert parcels.unpack(b"", digest, shelf).stat().st_ino == inode


def test_hidden_files_are_left_out(folder: Path, shelf: Path) -> None:
    (folder / "private").mkdir()
    (folder / "private" / "answers.csv").write_text("CANARY")
    content = parcels.pack(folder, [os.path.realpath(folder / "private")])
    assert b"CANARY" in parcels.pack(folder)
    assert b"CANARY" not in content
    assert b"private" not in content


def test_content_that_is_not_what_its_name_says_is_refused(folder: Path, shelf: Path) -> None:
    content = parcels.pack(folder)
    with pytest.raises(SandboxError, match="damaged"):
        parcels.unpack(content + b"x", parcels.digest_of(content), shelf)
    assert os.listdir(shelf) == []


def test_a_link_that_leads_out_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "answers.csv").write_text("CANARY")
    (folder / "innocent.csv").symlink_to(tmp_path / "answers.csv")
    with pytest.raises(ValueError, match=r"innocent\.csv leads out"):
        parcels.pack(folder)


def test_what_is_no_plain_file_is_refused(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    with pytest.raises(ValueError, match="no plain file"):
        parcels.pack(folder)


def test_a_shelf_that_others_may_write_to_is_refused(tmp_path: Path) -> None:
    (tmp_path / "shelf").mkdir()
    (tmp_path / "shelf").chmod(0o777)
    with pytest.raises(SandboxError, match="may write"):
        parcels.open_shelf(str(tmp_path / "shelf"))


def test_a_shelf_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "shelf").symlink_to(tmp_path)
    with pytest.raises(SandboxError, match="may write"):
        parcels.open_shelf(str(tmp_path / "shelf"))
