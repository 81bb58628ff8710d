"""Reading TOML on every supported Python."""

import sys
from pathlib import Path
from typing import Any

from wmrl_envs.errors import TaskFormatError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["read_toml"]


def read_toml(path: Path) -> dict[str, Any]:
    """Parses a TOML file.

    Raises:
        TaskFormatError: The file is missing, not UTF-8, or no TOML.
    """
    try:
        keys: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise TaskFormatError(f"{path}: {error}") from None
    return keys
