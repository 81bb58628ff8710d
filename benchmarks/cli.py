"""The command line ``wmrl``.

A command is a small frozen dataclass in ``commands/``: its fields are the options, its docstring is
the help, its ``run(console)`` does the work and returns the exit code. Heavy libraries are imported
inside ``run``, so that ``wmrl --help`` answers at once.
"""

import contextlib
import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any, NoReturn

import tyro
from rich.console import Console
from rich.text import Text
from tyro.conf import (
    OmitArgPrefixes,
    OmitSubcommandPrefixes,
    PositionalMetavarFromFieldName,
    subcommand,
)

import wmrl_envs
from wmrl_envs.benchmarks.commands.base import UsageError
from wmrl_envs.benchmarks.commands.bench import Bench
from wmrl_envs.benchmarks.commands.collect import Collect
from wmrl_envs.benchmarks.commands.config_file import expanded
from wmrl_envs.benchmarks.commands.demo import Demo
from wmrl_envs.benchmarks.commands.demos import Demos
from wmrl_envs.benchmarks.commands.doctor import Doctor
from wmrl_envs.benchmarks.commands.evaluate import Eval
from wmrl_envs.benchmarks.commands.report import Report
from wmrl_envs.benchmarks.commands.sft import Sft
from wmrl_envs.benchmarks.commands.tasks import Tasks
from wmrl_envs.benchmarks.commands.train import TRAINERS, Train
from wmrl_envs.benchmarks.commands.world_model import WorldModelGroup
from wmrl_envs.errors import SandboxUnavailable, WMRLError

__all__ = ["main"]

_DESCRIPTION = """Reinforcement learning with world-model rewards (WMRL).

Start with `wmrl doctor`, which says what this machine can do and what to install. Every command
explains itself: `wmrl tasks --help`, `wmrl tasks run --help`. `wmrl --version` prints the version.

Exit codes: 0 done; 1 the answer is no (a submission is not valid, a check fails); 2 wrong usage or
a missing prerequisite, or a file that cannot be read or written; 130 interrupted; 141 nobody reads
the output any more (`wmrl tasks list | head`)."""

_COMMANDS = (
    Annotated[Demo, subcommand("demo")]
    | Annotated[Train, subcommand("train")]
    | Annotated[Eval, subcommand("eval")]
    | Annotated[Sft, subcommand("sft")]
    | Annotated[Collect, subcommand("collect")]
    | Annotated[Report, subcommand("report")]
    | Annotated[Bench, subcommand("bench")]
    | Annotated[Demos, subcommand("demos")]
    | Annotated[WorldModelGroup, subcommand("world-model")]
    | Annotated[Tasks, subcommand("tasks")]
    | Annotated[Doctor, subcommand("doctor")]
)

_USAGE = 2
_INTERRUPTED = 130
_NOBODY_READS = 141


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Runs one command and exits with its code.

    Args:
        argv: The arguments after the program's name; None takes those of the process.

    Raises:
        SystemExit: Always; the code says how it went, see ``wmrl --help``.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        code = _exit_code(arguments or ["--help"])
        _flush()
    except OSError as error:
        code = _give_up(error)
    sys.exit(code)


class _Console(Console):
    """Leaves a closed pipe to :func:`main`, which knows an exit code of its own for it."""

    def on_broken_pipe(self) -> None:
        raise


def _exit_code(arguments: list[str]) -> Any:
    console = _Console()
    if arguments == ["--version"]:
        console.print(f"wmrl-envs {wmrl_envs.__version__}", highlight=False)
        return 0
    try:
        return _run(arguments, console)
    except SystemExit as ended:  # tyro has printed the help, or what is wrong with the arguments
        return ended.code


def _run(arguments: list[str], console: Console) -> int:
    try:
        command = tyro.cli(
            _COMMANDS,
            args=expanded(arguments, TRAINERS),
            prog="wmrl",
            description=_DESCRIPTION,
            config=(OmitArgPrefixes, OmitSubcommandPrefixes, PositionalMetavarFromFieldName),
        )
        return command.run(console)
    except (UsageError, WMRLError) as error:
        hint = " (`wmrl doctor` says more)" if isinstance(error, SandboxUnavailable) else ""
        _complain(f"{error}{hint}")
        return _USAGE
    except KeyboardInterrupt:
        _complain("interrupted")
        return _INTERRUPTED


def _flush() -> None:
    if sys.stdout is not None:  # it was closed
        sys.stdout.flush()


def _give_up(error: OSError) -> int:
    """The machine said no: a full disk, an unwritable folder, a reader that went away."""
    with contextlib.suppress(OSError):  # which is the one that has been raised
        _flush()
    if isinstance(error, BrokenPipeError):
        # Python flushes once more at the exit, and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _NOBODY_READS
    _complain(str(error))
    return _USAGE


def _complain(message: str) -> None:
    line = Text.assemble(("wmrl: ", "bold red"), " ".join(message.split()))
    Console(stderr=True, soft_wrap=True).print(line)


if __name__ == "__main__":
    main()
