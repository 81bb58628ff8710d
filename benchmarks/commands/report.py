"""``wmrl report``: one page of HTML about runs."""

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from tyro.conf import Positional

from wmrl_envs.benchmarks.commands.base import usage_errors

__all__ = ["Report"]


@dataclass(frozen=True)
class Report:
    """Make one HTML page about training runs, which needs no network and fits a phone.

    It shows learning, cost against score, calibration, what the correction did, failures and every
    evaluated episode. Runs may be unfinished; the page says what is missing.
    """

    runs: Positional[tuple[Path, ...]]
    """Run folders (`wmrl train`), or folders that hold some (`wmrl demo`)."""
    out: Path = Path("report.html")
    """The page."""
    title: str = ""
    """Its name; none: the first folder's."""

    def run(self, console: Console) -> int:
        """Writes the page."""
        from wmrl_envs.benchmarks.autoresearch.records import replace_file
        from wmrl_envs.benchmarks.report.page import build_page
        from wmrl_envs.benchmarks.report.runs import find_runs

        with usage_errors():
            if not self.runs:
                raise ValueError("runs must name at least one run folder, got none")
            found = find_runs(self.runs)
        page = build_page(found, self.title or _name(self.runs[0]))
        replace_file(self.out, page)
        said = f"Wrote {self.out} ({len(page) / 1e6:.1f} MB, {len(found)} runs)"
        console.print(said, markup=False, highlight=False, soft_wrap=True)
        return 0


def _name(folder: Path) -> str:
    return f"Training report: {folder.resolve().name}"
