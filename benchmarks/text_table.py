"""A table of texts that can be written as Markdown, LaTeX, or shown on a console."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rich.table import Table

__all__ = ["TextTable"]

_LATEX: Final = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "–": "--",
}


@dataclass(frozen=True)
class TextTable:
    """Rows of cells under a header; the first column is the rows' name.

    Attributes:
        columns: The header.
        rows: Each has a cell for each column.

    Raises:
        ValueError: A row has another number of cells.

    Example:
        >>> print(TextTable(("arm", "score"), (("real", "0.7"),)).markdown())
        | arm | score |
        |---|---:|
        | real | 0.7 |
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"rows must have {len(self.columns)} cells, got {row}")

    def markdown(self) -> str:
        """A Markdown table, without a newline at its end."""
        rule = "|---|" + "---:|" * (len(self.columns) - 1)
        lines = [_markdown_row(self.columns), rule, *map(_markdown_row, self.rows)]
        return "\n".join(lines)

    def latex(self) -> str:
        """A LaTeX ``tabular`` with the rules of the package booktabs."""
        head, *body = (_latex_row(row) for row in (self.columns, *self.rows))
        form = "l" + "r" * (len(self.columns) - 1)
        lines = [rf"\begin{{tabular}}{{{form}}}", r"\toprule", head, r"\midrule", *body]
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])

    def transposed(self) -> "TextTable":
        """Rows as columns: for tables that are too wide for a console."""
        columns, *rows = zip(self.columns, *self.rows, strict=True)
        return TextTable(tuple(columns), tuple(map(tuple, rows)))

    def console(self, title: str | None = None) -> Table:
        """A table for a rich console."""
        table = Table(title=title)
        for index, column in enumerate(self.columns):
            table.add_column(column, justify="right" if index else "left")
        for row in self.rows:
            table.add_row(*row)
        return table


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


def _latex_row(cells: Sequence[str]) -> str:
    escaped = ["".join(_LATEX.get(letter, letter) for letter in cell) for cell in cells]
    return " & ".join(escaped) + r" \\"
