"""Tables of texts in three forms."""

import pytest
from rich.console import Console

from wmrl_envs.benchmarks.text_table import TextTable

TABLE = TextTable(("arm", "score"), (("a|b_c", "50 %"), ("x & y", "7–8")))


def test_markdown_escapes_what_would_end_a_cell() -> None:
    assert TABLE.markdown().splitlines() == [
        "| arm | score |", "|---|---:|", "| a\\|b_c | 50 % |", "| x & y | 7–8 |",
    ]  # fmt: skip


def test_latex_escapes_what_has_a_meaning_there() -> None:
    lines = TABLE.latex().splitlines()
    assert lines[0] == r"\begin{tabular}{lr}" and lines[-1] == r"\end{tabular}"
    assert r"a|b\_c & 50 \% \\" in lines and r"x \& y & 7--8 \\" in lines


def test_a_console_shows_every_cell() -> None:
    console = Console(record=True, width=60)
    console.print(TABLE.console("title"))
    text = console.export_text()
    assert all(word in text for word in ("title", "arm", "a|b_c", "7–8"))


def test_transposing_twice_changes_nothing() -> None:
    assert TABLE.transposed().columns == ("arm", "a|b_c", "x & y")
    assert TABLE.transposed().transposed() == TABLE


def test_a_row_of_another_width_is_refused() -> None:
    with pytest.raises(ValueError, match="rows must have 2 cells"):
        TextTable(("a", "b"), (("1",),))
