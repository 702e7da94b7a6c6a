"""Functions of strings, computed once for each different string of a batch."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.batch.arrays import Bools, Int64s
from windrow.batch.arrow import column_from_arrow, column_to_arrow
from windrow.batch.column import Column
from windrow.batch.dictionary import Dictionary
from windrow.physical.expressions import utf8
from windrow.physical.expressions.arithmetic import Kernel
from windrow.physical.expressions.casts import cast
from windrow.physical.expressions.utf8 import Texts
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
    """Whole texts, as Java does it: one letter may become two. Arrow goes letter by letter, so others are Python's."""
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


def starts_with(texts: pa.Array, searches: pa.Array) -> pa.Array:
    return _has(utf8.STARTS, texts, searches)


def ends_with(texts: pa.Array, searches: pa.Array) -> pa.Array:
    return _has(utf8.ENDS, texts, searches)


def contains(texts: pa.Array, searches: pa.Array) -> pa.Array:
    return _has(utf8.CONTAINS, texts, searches)


def _has(where: int, texts: pa.Array, searches: pa.Array) -> pa.Array:
    return pa.array(utf8.has(where, Texts.of(texts), Texts.of(searches)), mask=~_valid(texts, searches))


def position(searches: pa.Array, texts: pa.Array) -> pa.Array:
    """Counted in characters from 1; 0 when it is not there."""
    found = utf8.positions(Texts.of(texts), Texts.of(searches))
    return pa.array(found.astype(np.int32), mask=~_valid(searches, texts))


def replaced(texts: pa.Array, searches: pa.Array, replacements: pa.Array) -> pa.Array:
    made = utf8.replaced(Texts.of(texts), Texts.of(searches), Texts.of(replacements))
    return made.to_arrow(_valid(texts, searches, replacements))


def split_part(texts: pa.Array, delimiters: pa.Array, numbers: pa.Array) -> pa.Array:
    """Counted from 1, or from the end when negative; there is no part 0."""
    which = _whole(numbers)
    return utf8.parts(Texts.of(texts), Texts.of(delimiters), which).to_arrow(
        _valid(texts, delimiters, numbers) & (which != 0)
    )


def substring(texts: pa.Array, starts: pa.Array, lengths: pa.Array | None = None) -> pa.Array:
    """Counted from 1; a negative start counts from the end; 0 is 1."""
    start, sizes = _whole(starts), _characters(texts)
    begins = np.where(start > 0, start - 1, np.where(start < 0, sizes + start, 0))
    if lengths is None:
        return utf8.sliced(Texts.of(texts), begins, sizes).to_arrow(_valid(texts, starts))
    ends = begins + np.maximum(_whole(lengths), 0)
    return utf8.sliced(Texts.of(texts), begins, ends).to_arrow(_valid(texts, starts, lengths))


def left(texts: pa.Array, lengths: pa.Array) -> pa.Array:
    ends = _whole(lengths)
    return utf8.sliced(Texts.of(texts), np.zeros(len(ends), np.int64), ends).to_arrow(_valid(texts, lengths))


def right(texts: pa.Array, lengths: pa.Array) -> pa.Array:
    sizes = _characters(texts)
    begins = sizes - np.maximum(_whole(lengths), 0)
    return utf8.sliced(Texts.of(texts), begins, sizes).to_arrow(_valid(texts, lengths))


def _valid(*arrays: pa.Array) -> Bools:
    """Where none is null."""
    valid = np.ones(len(arrays[0]), np.bool_)
    for array in arrays:
        if array.null_count:
            valid &= np.asarray(array.is_valid())
    return valid


def _whole(numbers: pa.Array) -> Int64s:
    return np.asarray(pc.fill_null(numbers.cast(pa.int64()), 0))


def _characters(texts: pa.Array) -> Int64s:
    return np.asarray(pc.fill_null(pc.utf8_length(texts), 0)).astype(np.int64)


def _with_constant(texts: pa.Array, patterns: pa.Array, match: Callable[[pa.Array, str], pa.Array]) -> pa.Array:
    """Patterns are compiled by Arrow, one at a time: different ones, of which there are few, after one another."""
    different = pc.unique(patterns)
    result = pa.nulls(len(texts), pa.bool_())
    for pattern in different.to_pylist():
        if pattern is not None:
            result = pc.if_else(pc.fill_null(pc.equal(patterns, pattern), False), match(texts, pattern), result)
    return result
