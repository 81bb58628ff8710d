"""The settings of a run in its folder: written once, compared when the run goes on."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from typing_extensions import Self

from wmrl_envs.benchmarks.autoresearch.records import SettingsError, replace_file, write_record
from wmrl_envs.benchmarks.commands.config_file import to_yaml

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = ["StoredSettings"]


class StoredSettings:
    """What a frozen dataclass of settings inherits to lie in a run folder."""

    def write(self, path: Path) -> None:
        """Writes the settings as JSON, and beside them as YAML, which ``--config`` takes."""
        values = asdict(cast("DataclassInstance", self))
        write_record(path, values)
        replace_file(path.with_suffix(".yaml"), to_yaml(values))

    def check_same(self, path: Path) -> None:
        """Checks that a folder's settings, if it has any yet, are these.

        Args:
            path: Where :meth:`write` wrote them, or would.

        Raises:
            SettingsError: They are others; the message says which.
        """
        if not path.exists():
            return
        found = type(self).read(path)
        stored, own = (asdict(cast("DataclassInstance", each)) for each in (found, self))
        others = [f"{k}={stored[k]!r}, not {own[k]!r}" for k in own if stored[k] != own[k]]
        if others:
            raise SettingsError(
                f"{path.parent} was made with {'; '.join(others)}: continue it with its own "
                "settings, or choose another folder"
            )

    @classmethod
    def read(cls, path: Path) -> Self:
        """Reads what :meth:`write` wrote.

        Raises:
            FileNotFoundError: There is no such file.
            SettingsError: The file holds something else.
        """
        try:
            stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            for name, value in stored.items():
                stored[name] = tuple(value) if isinstance(value, list) else value
            return cls(**stored)
        except (AttributeError, TypeError, ValueError) as error:
            raise SettingsError(f"{path}: not the settings of a run: {error}") from error
