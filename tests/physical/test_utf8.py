"""Oracle: texts cut and searched by compiled loops, against Python's strings."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from windrow.physical.expressions import text

letters = st.text(st.sampled_from("ab,é€𝄞\0"), max_size=6)
numbers = st.integers(-8, 8) | st.sampled_from([-(2**31), 2**31 - 1])


def rows(*columns: st.SearchStrategy) -> st.SearchStrategy:
    """Rows with nulls, as columns; the first rows are left out of the arrays, so that they begin at an offset."""
    return st.lists(st.tuples(*(st.none() | column for column in columns)), max_size=12)


def column(values: list, place: int, type: pa.DataType) -> pa.Array:
    return pa.array([row[place] for row in values], type)[1:]


def check(found: pa.Array, given_rows: list, expected) -> None:
    wanted = [None if None in row else expected(*row) for row in given_rows[1:]]
    assert found.to_pylist() == wanted


def part(whole: str, delimiter: str, number: int) -> str | None:
    pieces = whole.split(delimiter) if delimiter else [whole]
    place = number - 1 if number > 0 else len(pieces) + number
    return None if number == 0 else pieces[place] if 0 <= place < len(pieces) else ""


def cut(whole: str, start: int, length: int) -> str:
    begin = start - 1 if start > 0 else len(whole) + start if start < 0 else 0
    return whole[max(0, begin) : max(0, begin + max(0, length))]


@given(rows(letters, letters))
def test_searches(given_rows):
    one, other = (column(given_rows, place, pa.string()) for place in (0, 1))
    check(text.position(other, one), given_rows, lambda a, b: a.find(b) + 1)
    check(text.starts_with(one, other), given_rows, str.startswith)
    check(text.ends_with(one, other), given_rows, str.endswith)
    check(text.contains(one, other), given_rows, lambda a, b: b in a)


@given(rows(letters, letters, letters))
def test_replacing(given_rows):
    arrays = [column(given_rows, place, pa.string()) for place in range(3)]
    check(text.replaced(*arrays), given_rows, lambda a, b, c: a.replace(b, c) if b else a)


@given(rows(letters, letters, numbers))
def test_parts(given_rows):
    arrays = [column(given_rows, place, pa.string()) for place in (0, 1)]
    check(text.split_part(*arrays, column(given_rows, 2, pa.int32())), given_rows, part)


@given(rows(letters, numbers, numbers))
def test_slices(given_rows):
    whole, start, length = (
        column(given_rows, place, of) for place, of in enumerate([pa.string(), pa.int32(), pa.int32()])
    )
    check(text.substring(whole, start, length), given_rows, cut)
    firsts = [row[:2] for row in given_rows]
    check(text.substring(whole, start), firsts, lambda a, n: cut(a, n, len(a) + 8 if n > -9 else 2**32))
    check(text.left(whole, start), firsts, lambda a, n: a[: max(0, n)])
    check(text.right(whole, start), firsts, lambda a, n: a[-n:] if n > 0 else "")
