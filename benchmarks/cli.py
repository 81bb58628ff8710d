"""The command line ``wmrl``.

A command is a small frozen dataclass in ``commands/``: its fields are the options, its docstring is
the help, its ``run(console)`` does the work and returns the exit code. Heavy libraries are imported
inside ``run``, so that ``wmrl --help`` answers at once.
"""

import sys
from collections.abc import Sequence
from typing import Annotated, NoReturn

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
from wmrl_envs.benchmarks.commands.collect import Collect
from wmrl_envs.benchmarks.commands.demo import Demo
from wmrl_envs.benchmarks.commands.doctor import Doctor
from wmrl_envs.benchmarks.commands.evaluate import Eval
from wmrl_envs.benchmarks.commands.tasks import Tasks
from wmrl_envs.benchmarks.commands.train import Train
from wmrl_envs.errors import SandboxUnavailable, WMRLError

__all__ = ["main"]

_DESCRIPTION = """Reinforcement learning with world-model rewards (WMRL).

Start with `wmrl doctor`, which says what this machine can do and what to install. Every command
explains itself: `wmrl tasks --help`, `wmrl tasks run --help`. `wmrl --version` prints the version.

Exit codes: 0 done; 1 the answer is no (a submission is not valid, a check fails); 2 wrong usage or
a missing prerequisite; 130 interrupted."""

_COMMANDS = (
    Annotated[Demo, subcommand("demo")]
    | Annotated[Train, subcommand("train")]
    | Annotated[Eval, subcommand("eval")]
    | Annotated[Collect, subcommand("collect")]
    | Annotated[Tasks, subcommand("tasks")]
    | Annotated[Doctor, subcommand("doctor")]
)

_USAGE = 2
_INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Runs one command and exits with its code.

    Args:
        argv: The arguments after the program's name; None takes those of the process.

    Raises:
        SystemExit: Always; the code says how it went, see ``wmrl --help``.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    console = Console()
    if arguments == ["--version"]:
        console.print(f"wmrl-envs {wmrl_envs.__version__}", highlight=False)
        sys.exit(0)
    sys.exit(_run(arguments or ["--help"], console))


def _run(arguments: list[str], console: Console) -> int:
    command = tyro.cli(
        _COMMANDS,
        args=arguments,
        prog="wmrl",
        description=_DESCRIPTION,
        config=(OmitArgPrefixes, OmitSubcommandPrefixes, PositionalMetavarFromFieldName),
    )
    try:
        return command.run(console)
    except (UsageError, WMRLError) as error:
        hint = " (`wmrl doctor` says more)" if isinstance(error, SandboxUnavailable) else ""
        _complain(f"{error}{hint}")
        return _USAGE
    except KeyboardInterrupt:
        _complain("interrupted")
        return _INTERRUPTED


def _complain(message: str) -> None:
    line = Text.assemble(("wmrl: ", "bold red"), " ".join(message.split()))
    Console(stderr=True, soft_wrap=True).print(line)


if __name__ == "__main__":
    main()
