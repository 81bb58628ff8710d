"""What a result must say about itself: command, date, versions, machine."""

import os
import platform
import sys
from collections.abc import Iterable, Sequence
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from typing import Any

__all__ = ["PACKAGES", "provenance"]

PACKAGES = ("wmrl-envs", "gymnasium", "numpy", "pandas", "scikit-learn", "torch", "transformers")


def provenance(command: Sequence[str], packages: Iterable[str] = PACKAGES) -> dict[str, Any]:
    """What is needed to quote a result and to make it again.

    Args:
        command: The arguments after ``wmrl``; where the run's folder was is left out.
        packages: Distributions whose versions matter; one that is not installed is left out.

    Returns:
        A JSON-able record with ``command``, ``date``, ``versions`` and ``machine``.
    """
    return {
        "command": " ".join(("wmrl", *_without_folder(command))),
        "date": date.today().isoformat(),
        "versions": {"python": platform.python_version(), **_versions(packages)},
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, {sys.platform}",
    }


def _versions(packages: Iterable[str]) -> dict[str, str]:
    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _without_folder(command: Sequence[str]) -> list[str]:
    kept = [word for word in command if not word.startswith("--out=")]
    if "--out" in kept:
        at = kept.index("--out")
        del kept[at : at + 2]
    return kept
