"""The settings of a run in its folder: written once, compared when the run goes on."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from wmrl_envs.benchmarks.autoresearch.records import SettingsError, write_record

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = ["check_same_settings", "read_settings", "write_settings"]

Settings = TypeVar("Settings", bound="DataclassInstance")


def write_settings(settings: "DataclassInstance", path: Path) -> None:
    """Writes a dataclass of settings as JSON."""
    write_record(path, asdict(settings))


def read_settings(kind: type[Settings], path: Path) -> Settings:
    """Reads what :func:`write_settings` wrote.

    Raises:
        FileNotFoundError: There is no such file.
        SettingsError: The file holds something else.
    """
    try:
        stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        for name, value in stored.items():
            stored[name] = tuple(value) if isinstance(value, list) else value
        return kind(**stored)
    except (AttributeError, TypeError, ValueError) as error:
        raise SettingsError(f"{path}: not the settings of a run: {error}") from error


def check_same_settings(settings: "DataclassInstance", path: Path) -> None:
    """Checks that a folder's settings, if it has any yet, are these.

    Args:
        settings: The settings of the run that wants to go on there.
        path: Where :func:`write_settings` wrote them, or would.

    Raises:
        SettingsError: They are others; the message says which.
    """
    if not path.exists():
        return
    stored, own = asdict(read_settings(type(settings), path)), asdict(settings)
    others = [f"{k}={stored[k]!r}, not {own[k]!r}" for k in own if stored[k] != own[k]]
    if others:
        raise SettingsError(
            f"{path.parent} was made with {'; '.join(others)}: continue it with its own "
            "settings, or choose another folder"
        )
