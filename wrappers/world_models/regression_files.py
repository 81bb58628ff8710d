"""The files of a saved regression: its settings and the log that it is fitted on anew.

Trees and vocabularies are not stored: what a pickle of them would hold is code to run, and tied to
one version of scikit-learn. The log is small, and the fit is deterministic.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wmrl_envs.wrappers.world_models.execution_log import LoggedEpisode, read_log, write_log

__all__ = ["read", "write"]

_FORMAT = "wmrl-envs regression 1"
_LOG, _SETTINGS = "execution_log.jsonl", "regression.json"


def write(folder: Path, settings: Mapping[str, Any], log: Sequence[LoggedEpisode]) -> None:
    """Writes ``execution_log.jsonl`` and ``regression.json``, which names the former's digest."""
    write_log(folder / _LOG, log)
    record = {"format": _FORMAT, "settings": settings, "log_sha256": _digest(folder / _LOG)}
    (folder / _SETTINGS).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def read(folder: Path) -> tuple[dict[str, Any], list[LoggedEpisode]]:
    """The settings and the log.

    Raises:
        FileNotFoundError: A file is missing.
        ValueError: A file holds something else, or the log is another one than was saved.
    """
    path = folder / _SETTINGS
    record = _record(path)
    if _digest(folder / _LOG) != record.get("log_sha256"):
        raise ValueError(
            f"{folder / _LOG} is not the log that {path} was saved with: it is damaged or was "
            "changed; fit a new model on it instead"
        )
    return record["settings"], read_log(folder / _LOG)


def _record(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: not the settings of a regression: {error}") from error
    if not isinstance(record, dict) or record.get("format") != _FORMAT:
        raise ValueError(f"{path}: not the settings of a regression: no format {_FORMAT!r}")
    if not isinstance(record.get("settings"), dict):
        raise ValueError(f"{path}: not the settings of a regression: no settings")
    return record


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
