"""``wmrl doctor``: what this machine can do, and what to install."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from wmrl_envs.benchmarks.commands import checks
from wmrl_envs.benchmarks.commands.checks import Check

__all__ = ["Doctor"]

_SECTIONS: dict[str, Callable[[], Iterator[Check]]] = {
    "System": checks.system,
    "Packages": checks.core_packages,
    "Accelerator": checks.accelerator,
    "Sandbox": checks.sandbox,
    "Optional packages": checks.extras,
    "Rendering, for LIBERO": checks.rendering,
}
_MARKS = {"ok": "[green]ok[/]", "missing": "[yellow]--[/]", "failed": "[bold red]!![/]"}


@dataclass(frozen=True)
class Doctor:
    """Check this machine: Python, packages, sandbox layers, GL back ends; say what to install.

    Marks: `ok` works, `--` is missing but optional, `!!` must be mended. The exit code is 1 if
    anything must be mended.
    """

    def run(self, console: Console) -> int:
        """Prints the findings section by section."""
        findings: list[Check] = []
        for title, section in _SECTIONS.items():
            found = list(section())
            findings += found
            _print_section(console, title, found)
        failed = [check.name for check in findings if check.state == "failed"]
        if failed:
            console.print(f"[bold red]To be mended: {escape(', '.join(failed))}.[/]")
            return 1
        console.print("[green]Everything that the package needs is here.[/]")
        return 0


def _print_section(console: Console, title: str, found: list[Check]) -> None:
    table = Table.grid(padding=(0, 2))
    for check in found:
        table.add_row(f"  {_MARKS[check.state]}", check.name, escape(check.detail))
        if check.remedy:
            table.add_row("", "", f"[cyan]{escape(check.remedy)}[/]")
    console.print(f"[bold]{title}[/]")
    console.print(table)
