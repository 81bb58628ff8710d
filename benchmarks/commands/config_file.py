"""Options from a YAML file, for any command that is a dataclass; the command line overrides them.

A command takes part by having the fields ``config`` (``Path | None``) and ``print_config``
(``bool``), and by standing among the commands that :func:`expanded` is given. Fields of a nested
dataclass are options like its own; positional arguments are given on the command line alone.
"""

import difflib
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from tyro.conf import Positional

from wmrl_envs.benchmarks.commands.base import UsageError

__all__ = ["Given", "as_arguments", "as_yaml", "expanded", "read_options", "to_yaml"]

Given = Callable[[str], Any]
"""Tells an option's value before the command line is parsed; None where it is not given."""

_OWN = ("config", "print_config")
_POSITIONAL = Positional[int].__metadata__[0]  # type: ignore[attr-defined]


def expanded(arguments: Sequence[str], commands: Mapping[tuple[str, ...], type[Any]]) -> list[str]:
    """Puts the options of a command's ``--config`` file, and of its presets, into a command line.

    They stand before the options that are there already, so that those have the last word. A
    command with a static method ``preset(given)`` returns settings that suit some of its options;
    they yield to the file's.

    Args:
        arguments: The command line, without the program's name.
        commands: Commands by the words that call them, such as ``("train", "autoresearch")``.

    Returns:
        The command line with all options; ``arguments`` themselves where no command is called.

    Raises:
        UsageError: There is no such file, or it holds something else than the command's options.
    """
    for words, command in commands.items():
        if tuple(arguments[: len(words)]) == words:
            rest = list(arguments[len(words) :])
            options = _options(rest, command)
            first = next((i for i, word in enumerate(rest) if word.startswith("-")), len(rest))
            return [*words, *rest[:first], *as_arguments(options), *rest[first:]]
    return list(arguments)


def read_options(path: Path, command: type[Any]) -> dict[str, Any]:
    """Reads a YAML file of options.

    Args:
        path: The file: one mapping, options to values.
        command: The command's dataclass.

    Raises:
        UsageError: It cannot be read, or holds something else; an unknown option is named.
    """
    values = _loaded(path)
    known = dict(_fields(command))
    for name, value in values.items():
        if name not in known:
            raise UsageError(f"{path}: there is no option {name!r}{_guess(name, known)}")
        if isinstance(value, dict) or any(isinstance(v, dict | list) for v in _listed(value)):
            raise UsageError(f"{path}: {name} must be one value or a list, got {value!r}")
    return values


def as_yaml(command: Any) -> str:
    """The options of a command, as a file that ``--config`` takes.

    Args:
        command: An instance of the command's dataclass.
    """
    found: dict[str, Any] = {}
    for holder in (command, *_nested(command)):
        for name, _ in _own_fields(type(holder)):
            found[name] = getattr(holder, name)
    return to_yaml(found)


def to_yaml(values: Mapping[str, Any]) -> str:
    """Writes options as YAML, in their order.

    Example:
        >>> print(to_yaml({"steps": 3, "train_tasks": ("digits",), "log": Path("a")}), end="")
        steps: 3
        train_tasks: [digits]
        log: a
    """
    plain = {
        name: [*map(_plain, value)] if isinstance(value, tuple) else _plain(value)
        for name, value in values.items()
    }
    text: str = _yaml().safe_dump(plain, sort_keys=False, default_flow_style=None, width=100)
    return text


def _options(rest: Sequence[str], command: type[Any]) -> dict[str, Any]:
    path = _on_command_line(rest, "config")
    stored = {} if path is None else read_options(Path(str(path)), command)
    preset = getattr(command, "preset", None)
    if preset is None:
        return stored

    kinds = dict(_fields(command))

    def given(name: str) -> Any:
        value = _on_command_line(rest, name, is_flag=kinds.get(name) is bool)
        return stored.get(name) if value is None else value

    return {**preset(given), **stored}


def _on_command_line(rest: Sequence[str], name: str, is_flag: bool = False) -> Any:
    """The last value of an option: text, or a bool if it is a flag."""
    found: Any = None
    for word, following in zip(rest, [*rest[1:], "-"], strict=True):
        option, equals, value = word.partition("=")
        option = option.replace("_", "-")
        if is_flag and option in (_flag(name), _flag(name, "no-")):
            found = option == _flag(name)
        elif option == _flag(name):
            found = value if equals else following
    return found


def as_arguments(options: Mapping[str, Any]) -> Iterator[str]:
    """Yields options as the words of a command line."""
    for name, value in options.items():
        if isinstance(value, bool):
            yield _flag(name, "" if value else "no-")
        else:
            yield _flag(name)
            yield from map(str, _listed(value))


def _flag(name: str, prefix: str = "") -> str:
    return f"--{prefix}{name.replace('_', '-')}"


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else (value,)


def _loaded(path: Path) -> dict[str, Any]:
    yaml = _yaml()
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UsageError(f"--config {path} cannot be read: {error}") from error
    values = {} if values is None else values
    if not isinstance(values, dict) or not all(isinstance(name, str) for name in values):
        raise UsageError(f"{path} must hold options and their values, got {values!r:.80}")
    return {name.replace("-", "_"): value for name, value in values.items()}


def _guess(name: str, known: Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(known)}"


def _fields(command: type[Any]) -> Iterator[tuple[str, Any]]:
    """The options of a dataclass and of those in it, with their types."""
    yield from _own_fields(command)
    for kind in typing.get_type_hints(command).values():
        if is_dataclass(kind) and isinstance(kind, type):
            yield from _fields(kind)


def _own_fields(command: type[Any]) -> Iterator[tuple[str, Any]]:
    hints = typing.get_type_hints(command, include_extras=True)
    for field in fields(command):
        kind = hints[field.name]
        positional = _POSITIONAL in getattr(kind, "__metadata__", ())
        if field.name not in _OWN and not positional and not is_dataclass(kind):
            yield field.name, kind


def _nested(command: Any) -> Iterator[Any]:
    for field in fields(command):
        value = getattr(command, field.name)
        if is_dataclass(value):
            yield value
            yield from _nested(value)


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value


def _yaml() -> Any:
    try:
        import yaml
    except ImportError as error:
        raise UsageError("--config needs the package pyyaml: pip install pyyaml") from error
    return yaml
