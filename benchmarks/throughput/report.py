"""A speed comparison as a table and as a results folder."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

__all__ = ["Comparison"]


@dataclass(frozen=True)
class Comparison:
    """Rows of figures, each a contender under one condition, and what they say.

    Attributes:
        title: What is compared.
        columns: Column names; the first ones name the contender and its condition.
        rows: One tuple of cells a row.
        findings: Sentences with ratios, each computed from the rows of this run.
        record: The JSON-able record: provenance, settings and all figures.
    """

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]
    findings: Sequence[str] = ()
    record: Mapping[str, Any] = field(default_factory=dict)

    def show(self, console: Console) -> None:
        """Prints the table and the findings."""
        table = Table(*self.columns, title=self.title)
        for row in self.rows:
            table.add_row(*map(_cell, row))
        console.print(table)
        for finding in self.findings:
            console.print(f"- {finding}", markup=False, soft_wrap=True)

    def markdown(self) -> str:
        """The table and the findings as Markdown."""
        lines = [self.columns, ("---",) * len(self.columns), *(map(_cell, r) for r in self.rows)]
        table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
        return table + "".join(f"\n- {finding}" for finding in self.findings) + "\n"

    def write(self, folder: Path) -> None:
        """Writes ``results.json`` and ``table.md``.

        Args:
            folder: Made if missing.
        """
        folder.mkdir(parents=True, exist_ok=True)
        record = {**self.record, "findings": list(self.findings)}
        text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
        (folder / "results.json").write_text(text, encoding="utf-8")
        (folder / "table.md").write_text(self.markdown(), encoding="utf-8")


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "" if value != value else f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    return str(value)
