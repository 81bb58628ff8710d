"""What lies in the source tree: the mapped folders, their modules and their data files."""

from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

FOLDERS = {
    "wmrl_envs": "wmrl_envs",
    "wrappers": "wmrl_envs.wrappers",
    "agents": "wmrl_envs.agents",
    "benchmarks": "wmrl_envs.benchmarks",
}
"""Top-level folder -> import name."""


def files() -> Iterator[Path]:
    """Every file of the mapped folders, relative to the root, without byte code."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path.relative_to(ROOT)


def sources() -> list[Path]:
    """The Python files of the mapped folders, relative to the root."""
    return [path for path in files() if path.suffix == ".py"]


def installed_path(path: Path) -> Path:
    """Where a file of the tree lies in site-packages, for example ``wmrl_envs/agents/grpo.py``."""
    folder, *rest = path.parts
    return Path(*FOLDERS[folder].split("."), *rest)


def import_name(path: Path) -> str:
    """The import name of a Python file of the tree, for example ``wmrl_envs.agents.grpo``."""
    parts = installed_path(path).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def package_of(path: Path) -> list[str]:
    """The parts of the package that a Python file lies in; of no package in ``tests/``."""
    return list(installed_path(path).parent.parts) if path.parts[0] in FOLDERS else []


def modules() -> list[str]:
    """Import names of all modules of the package, ``__main__`` modules left out."""
    return [import_name(path) for path in sources() if path.stem != "__main__"]
