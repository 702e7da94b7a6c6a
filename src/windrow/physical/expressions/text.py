"""Functions of strings, computed once for each different string of a batch."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.batch.arrow import column_from_arrow, column_to_arrow
from windrow.batch.column import Column
from windrow.batch.dictionary import Dictionary
from windrow.physical.expressions.arithmetic import Kernel
from windrow.physical.expressions.casts import cast
from windrow.physical.expressions.vectors import spread
from windrow.types import BINARY, STRING, Type

Compute = Callable[..., pa.Array]


def of_text(compute: Compute) -> Kernel:
    """`compute` over Arrow arrays of equal length; one string against constants is computed by distinct value."""

    def kernel(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
        longest = max(arguments, key=len)
        if sum(len(argument) == len(longest) for argument in arguments) == 1 and longest.is_coded:
            return _by_value(compute, arguments, longest, of, dictionary)
        arrays = [column_to_arrow(spread(argument, len(longest))) for argument in arguments]
        return column_from_arrow(compute(*arrays), dictionary, of)

    return kernel


def _by_value(compute: Compute, arguments: list[Column], varying: Column, of: Type, dictionary: Dictionary) -> Column:
    codes, places = np.unique(varying.values, return_inverse=True)
    valid = varying.valid
    if varying.dictionary is None or not len(varying.dictionary):
        codes, places = np.zeros(1, np.int32), np.zeros(len(varying), np.int64)
        valid = np.zeros(len(varying), np.bool_)
    few = Column(varying.type, codes, None, varying.dictionary)
    arrays = [column_to_arrow(few if argument is varying else spread(argument, len(codes))) for argument in arguments]
    result = column_from_arrow(compute(*arrays), dictionary, of).take(places)
    if valid is None:
        return result
    known = valid if result.valid is None else valid & result.valid
    values = result.values.copy()
    values[~known] = np.zeros((), values.dtype)
    return Column(result.type, values, known, result.dictionary)


def concatenated(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
    """|| and CONCAT: null when any part is null, as in Spark SQL."""
    texts = arguments if of == BINARY else [cast(argument, STRING, dictionary) for argument in arguments]
    length = max(len(text) for text in texts)
    arrays = [column_to_arrow(spread(text, length)) for text in texts]
    separator = pa.scalar("" if of == STRING else b"", arrays[0].type)
    return column_from_arrow(pc.binary_join_element_wise(*arrays, separator), dictionary, of)


def upper(texts: pa.Array) -> pa.Array:
    """Whole texts, as Java does it: one letter may become two. Arrow goes letter by letter."""
    if pc.all(pc.string_is_ascii(texts)).as_py() is not False:
        return pc.ascii_upper(texts)
    return pa.array([None if text is None else text.upper() for text in texts.to_pylist()], pa.string())


def lower(texts: pa.Array) -> pa.Array:
    if pc.all(pc.string_is_ascii(texts)).as_py() is not False:
        return pc.ascii_lower(texts)
    return pa.array([None if text is None else text.lower() for text in texts.to_pylist()], pa.string())


def like(texts: pa.Array, patterns: pa.Array) -> pa.Array:
    """A backslash escapes %, _ and itself; what Spark SQL refuses as a pattern matches nothing and gives null."""

    def match(values: pa.Array, pattern: str) -> pa.Array:
        return pc.match_like(values, pattern) if _LIKE.fullmatch(pattern) else pa.nulls(len(values), pa.bool_())

    return _with_constant(texts, patterns, match)


_LIKE = re.compile(r"(?:[^\\]|\\[\\%_])*", re.DOTALL)


def regexp_like(texts: pa.Array, patterns: pa.Array) -> pa.Array:
    """A pattern that cannot be read gives null."""

    def match(values: pa.Array, pattern: str) -> pa.Array:
        try:
            return pc.match_substring_regex(values, pattern)
        except pa.ArrowInvalid:
            return pa.nulls(len(values), pa.bool_())

    return _with_constant(texts, patterns, match)


def starts_with(texts: pa.Array, patterns: pa.Array) -> pa.Array:
    return _with_constant(texts, patterns, lambda values, pattern: pc.starts_with(values, pattern))


def ends_with(texts: pa.Array, patterns: pa.Array) -> pa.Array:
    return _with_constant(texts, patterns, lambda values, pattern: pc.ends_with(values, pattern))


def contains(texts: pa.Array, patterns: pa.Array) -> pa.Array:
    return _with_constant(texts, patterns, lambda values, pattern: pc.match_substring(values, pattern))


def position(patterns: pa.Array, texts: pa.Array) -> pa.Array:
    """Counted in characters from 1; 0 when it is not there."""
    found = [
        None if None in (t, p) else t.find(p) + 1 for p, t in zip(patterns.to_pylist(), texts.to_pylist(), strict=True)
    ]
    return pa.array(found, pa.int32())


def replaced(texts: pa.Array, searches: pa.Array, replacements: pa.Array) -> pa.Array:
    parts = zip(texts.to_pylist(), searches.to_pylist(), replacements.to_pylist(), strict=True)
    values = [None if None in (t, s, r) else (t.replace(s, r) if s else t) for t, s, r in parts]
    return pa.array(values, pa.string())


def split_part(texts: pa.Array, delimiters: pa.Array, numbers: pa.Array) -> pa.Array:
    def part(text: str | None, delimiter: str | None, number: int | None) -> str | None:
        if text is None or delimiter is None or number is None or number == 0:
            return None
        parts = text.split(delimiter) if delimiter else [text]
        place = number - 1 if number > 0 else len(parts) + number
        return parts[place] if 0 <= place < len(parts) else ""

    rows = zip(texts.to_pylist(), delimiters.to_pylist(), numbers.to_pylist(), strict=True)
    return pa.array([part(*row) for row in rows], pa.string())


def substring(texts: pa.Array, starts: pa.Array, lengths: pa.Array | None = None) -> pa.Array:
    """Counted from 1; a negative start counts from the end; 0 is 1."""

    def cut(text: str | None, start: int | None, length: int | None) -> str | None:
        if text is None or start is None or (lengths is not None and length is None):
            return None
        begin = start - 1 if start > 0 else (len(text) + start if start < 0 else 0)
        end = len(text) if length is None else begin + max(0, length)
        return text[max(0, begin) : max(0, end)]

    counts = lengths.to_pylist() if lengths is not None else [None] * len(texts)
    rows = zip(texts.to_pylist(), starts.to_pylist(), counts, strict=True)
    return pa.array([cut(*row) for row in rows], pa.string())


def left(texts: pa.Array, lengths: pa.Array) -> pa.Array:
    rows = zip(texts.to_pylist(), lengths.to_pylist(), strict=True)
    return pa.array([None if None in (t, n) else t[: max(0, n)] for t, n in rows], pa.string())


def right(texts: pa.Array, lengths: pa.Array) -> pa.Array:
    rows = zip(texts.to_pylist(), lengths.to_pylist(), strict=True)
    return pa.array([None if None in (t, n) else (t[-n:] if n > 0 else "") for t, n in rows], pa.string())


def _with_constant(texts: pa.Array, patterns: pa.Array, match: Callable[[pa.Array, str], pa.Array]) -> pa.Array:
    """Arrow matches against one pattern at a time; different patterns are taken one after the other."""
    different = pc.unique(patterns)
    result = pa.nulls(len(texts), pa.bool_())
    for pattern in different.to_pylist():
        if pattern is not None:
            result = pc.if_else(pc.fill_null(pc.equal(patterns, pattern), False), match(texts, pattern), result)
    return result
