"""Reading CSV files: the quick way and the careful way see the same table."""

import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmrl_envs.autoresearch.table import (
    TableError,
    parse_number,
    parse_numbers,
    read_table,
)

CELLS = st.text(st.sampled_from('ab1.é ,"\n'), max_size=4)
ROWS = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), max_size=5)
)


def written(rows: list[list[str]], quoting: int) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, quoting=quoting, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


@given(ROWS)
def test_quotes_make_no_difference_where_none_are_needed(rows: list[list[str]]) -> None:
    width = len(rows[0]) if rows else 1
    table = [[f"c{i}" for i in range(width)], *rows]
    plain = read_table(written(table, csv.QUOTE_MINIMAL))
    assert plain == read_table(written(table, csv.QUOTE_ALL))
    assert plain.rows == len(rows)
    assert list(zip(*plain.columns.values(), strict=True)) == list(map(tuple, rows))


@given(st.lists(st.sampled_from(["a", "b", ",", "\n", "\r\n", '"']), max_size=25))
def test_any_text_is_a_table_or_a_fault(pieces: list[str]) -> None:
    try:
        table = read_table("".join(["x,y\n", *pieces]).encode())
    except TableError:
        return
    assert list(table.columns) == ["x", "y"]
    assert all(len(cells) == table.rows for cells in table.columns.values())


@pytest.mark.parametrize(
    ("data", "columns"),
    [
        (b"a\n1\n2", {"a": ("1", "2")}),
        (b"a,b\n1,\n,2\n", {"a": ("1", ""), "b": ("", "2")}),
        (b"a,b\r\n1,2\r\n", {"a": ("1",), "b": ("2",)}),
        (b"\n\na,b\n\n1,2\n\n", {"a": ("1",), "b": ("2",)}),
        (b"\xef\xbb\xbfa,b\n", {"a": (), "b": ()}),
        ("a,é\n١,2\n".encode(), {"a": ("١",), "é": ("2",)}),
    ],
)
def test_cells_stay_as_they_were_written(data: bytes, columns: dict[str, tuple[str, ...]]) -> None:
    assert read_table(data).columns == columns


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a,b\n1,2\n3\n4,5,6\n", "row 2: 1 fields, the header has 2"),
        (b"a,b\n1\n2,3,4\n", "row 1: 1 fields, the header has 2"),
        (b"a,b\n1,2\n3,4,5\n", "row 2: 3 fields, the header has 2"),
        (b"a,b\n1,2\n3,4\n5,6\n", "more than the 2 rows"),
    ],
)
def test_the_first_bad_row_is_named(data: bytes, message: str) -> None:
    with pytest.raises(TableError, match=message):
        read_table(data, max_rows=2)


@given(st.lists(st.one_of(st.floats().map(repr), st.text("1.e_-٣ ", max_size=5))))
def test_numbers_are_parsed_together_as_they_are_one_by_one(cells: list[str]) -> None:
    together = parse_numbers(cells)
    assert np.array_equal(together, np.array([*map(parse_number, cells)]), equal_nan=True)
