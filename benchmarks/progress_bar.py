"""The progress bar of commands that work through a known number of things."""

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

__all__ = ["progress_bar"]


def progress_bar(console: Console) -> Progress:
    """A bar with a count and the remaining time; its lines have a field ``note``.

    Example:
        >>> with progress_bar(Console(quiet=True)) as bar:
        ...     line = bar.add_task("baking", total=2, note="")
        ...     bar.update(line, advance=1, note="the first cake")
    """
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}", style="dim"),
        TimeRemainingColumn(),
        console=console,
    )
