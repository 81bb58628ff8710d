"""Laying a bundled task out as a folder: plain files that programs can read."""

import csv
import gzip
import hashlib
import io
import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from wmrl_envs.autoresearch.spec import load_spec
from wmrl_envs.autoresearch.table import read_table
from wmrl_envs.autoresearch.toml import read_toml

__all__ = [
    "MANIFEST",
    "VERSION",
    "build",
    "digest",
    "is_complete",
    "is_intact",
    "lay_out",
    "sha256",
]

VERSION: Final = 1
"""Changes when the layout does: a cached folder of another version is never used."""

MANIFEST: Final = "manifest.json"
_PRIVATE: Final = frozenset({"answers.csv", "leaderboard.csv"})


def digest(source: Path) -> str:
    """Identifies a bundled task's content and the layout's version, 16 hexadecimal digits."""
    total = hashlib.sha256(f"layout {VERSION}".encode())
    for name, data in _read_source(source):
        total.update(f"\0{name}\0{len(data)}\0".encode() + data)
    return total.hexdigest()[:16]


def lay_out(source: Path, folder: Path) -> None:
    """Writes ``task.toml``, ``public/``, ``private/`` (mode 0700) and a manifest.

    Args:
        source: A bundled task: ``task.toml``, ``description.md``, data, answers, leaderboard.
        folder: An existing empty folder.
    """
    (folder / "public").mkdir(mode=0o755)
    (folder / "private").mkdir(mode=0o700)
    for name, data in _read_source(source):
        plain = name.removesuffix(".gz")
        _write(folder / _place(plain) / plain, gzip.decompress(data) if name != plain else data)
    _write(folder / "public" / "sample_submission.csv", _sample_submission(folder))
    _write(folder / MANIFEST, json.dumps(_measure(folder), indent=1).encode())
    folder.chmod(0o755)


def build(source: Path, folder: Path) -> None:
    """Lays a task out at a path, all or nothing: processes may build the same task at once.

    Raises:
        OSError: The folder cannot be written.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=".building-", dir=folder.parent))
    try:
        lay_out(source, temporary)
        _put_in_place(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _put_in_place(built: Path, folder: Path) -> None:
    """Renames; a complete folder that another process put there first is as good as ours."""
    try:
        built.replace(folder)
    except OSError:
        if is_complete(folder):
            return
        shutil.rmtree(folder, ignore_errors=True)
        try:
            built.replace(folder)
        except OSError:
            if not is_complete(folder):
                raise


def is_complete(folder: Path) -> bool:
    """True if every file of the manifest is there with its size (cheap: no content is read)."""
    return _matches(folder, lambda path, entry: path.stat().st_size == entry["bytes"])


def is_intact(folder: Path) -> bool:
    """True if every file of the manifest is there with its SHA-256."""
    return _matches(folder, lambda path, entry: sha256(path) == entry["sha256"])


def _matches(folder: Path, test: Any) -> bool:
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
        return all(test(folder / name, entry) for name, entry in manifest.items())
    except (OSError, ValueError):
        return False


def _read_source(source: Path) -> Iterator[tuple[str, bytes]]:
    for entry in sorted(source.iterdir(), key=lambda entry: entry.name):
        if entry.is_file():
            yield entry.name, entry.read_bytes()


def _place(name: str) -> str:
    if name == "task.toml":
        return "."
    return "private" if name in _PRIVATE else "public"


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    path.chmod(0o600 if path.name in _PRIVATE else 0o644)


def _sample_submission(folder: Path) -> bytes:
    """One constant answer for every id of the test set."""
    spec = load_spec(folder / "task.toml")
    sample = read_toml(folder / "task.toml")["sample"]
    answers = read_table((folder / "private" / "answers.csv").read_bytes())
    constants = [sample[column] for column in spec.prediction_columns]
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([spec.id_column, *spec.prediction_columns])
    writer.writerows([name, *constants] for name in answers.columns[spec.id_column])
    return text.getvalue().encode()


def _measure(folder: Path) -> dict[str, dict[str, Any]]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        path.relative_to(folder).as_posix(): {
            "bytes": path.stat().st_size,
            "sha256": sha256(path),
        }
        for path in files
    }


def sha256(path: Path) -> str:
    """The SHA-256 of a file's content, in hexadecimal digits."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
