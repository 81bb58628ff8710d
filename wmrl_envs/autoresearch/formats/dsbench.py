"""DSBench's data-modelling tasks: ``data_resplit``, ``answers``, ``task``."""

from collections.abc import Iterator
from pathlib import Path

from wmrl_envs.autoresearch.formats.layout import Layout, find_sample, only, require
from wmrl_envs.autoresearch.formats.registry import facts
from wmrl_envs.errors import TaskFormatError

__all__ = ["recognise"]

_DATA = "data_resplit"


def recognise(path: Path, name: str | None = None) -> Layout | None:
    """Finds the parts of a task; None if the folder is none of DSBench.

    The three folders may lie beside one another, or some of them in a folder ``data``.

    Args:
        path: The folder that holds ``data_resplit``, or ``…/data_resplit/<name>``.
        name: Which task; not needed where there is one.

    Raises:
        TaskFormatError: It is one, and a file is missing, or ``name`` is needed.
    """
    if path.parent.name == _DATA:
        return _layout(path)
    data = next((p for p in (path / _DATA, path / "data" / _DATA) if p.is_dir()), None)
    return None if data is None else _layout(data / _choose(data, name))


def _layout(public: Path) -> Layout:
    name, roots = public.name, _roots(public)
    answers = _first(roots, f"answers/{name}")
    return Layout(
        format="dsbench",
        name=name,
        public=public,
        description=require(_first(roots, f"task/{name}.txt"), "the task's text"),
        answers=require(answers / "test_answer.csv", "the answers"),
        sample=find_sample(public) or only(_others(public), public, "the sample submission"),
        gap=_saved_gap(roots, name) or facts(name).gap,
    )


def _choose(data: Path, name: str | None) -> str:
    names = sorted(path.name for path in data.iterdir() if path.is_dir())
    if name is None and len(names) == 1:
        return names[0]
    if name not in names:
        raise TaskFormatError(f"{data}: name must be one of {', '.join(names)}, got {name!r}")
    return name


def _roots(public: Path) -> tuple[Path, ...]:
    root = public.parent.parent
    return (root, root / "data", root.parent)


def _first(roots: tuple[Path, ...], name: str) -> Path:
    """The first that exists; the first of all if none does."""
    return next((root / name for root in roots if (root / name).exists()), roots[0] / name)


def _others(public: Path) -> Iterator[Path]:
    """One task names its sample submission like no other."""
    return (path for path in public.glob("*.csv") if path.name not in ("train.csv", "test.csv"))


def _saved_gap(roots: tuple[Path, ...], name: str) -> tuple[float, float] | None:
    """What DSBench's ``save_performance`` holds goes before what the registry knows."""
    paths = [_first(roots, f"save_performance/{who}/{name}/result.txt") for who in _SAVED]
    if not all(path.is_file() for path in paths):
        return None
    try:
        reference, baseline = (float(path.read_text().strip()) for path in paths)
    except ValueError as error:
        raise TaskFormatError(f"{paths[0]} and {paths[1]}: {error}") from None
    return reference, baseline


_SAVED = ("GT", "baseline")
