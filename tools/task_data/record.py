"""SOURCES.md: the hash of every frozen file, in the section of its task."""

import hashlib
import re
from pathlib import Path

__all__ = ["update_record"]


def update_record(data: Path) -> None:
    """Writes the hashes anew; what is said of origin and licence stays.

    Raises:
        ValueError: A task has no section, or a section no task.
    """
    path = data / "SOURCES.md"
    text = path.read_text(encoding="utf-8")
    tasks = {folder.name for folder in data.iterdir() if (folder / "task.toml").is_file()}
    sections = set(re.findall(r"^## (\S+)$", text, re.M)) - {"Notices"}
    if tasks != sections:
        raise ValueError(f"{path} and the folders differ in {sorted(tasks ^ sections)}")
    for name in sorted(tasks):
        pattern = rf"(^## {name}$.*?```\n).*?(```)"
        text = re.sub(pattern, rf"\g<1>{_hashes(data / name)}\g<2>", text, flags=re.M | re.S)
    path.write_text(text, encoding="utf-8")


def _hashes(folder: Path) -> str:
    files = sorted(path for path in folder.iterdir() if path.is_file())
    return "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {folder.name}/{path.name}\n"
        for path in files
    )
