"""Functions of plain values, computed once for each different row of arguments in a batch.

Texts, arrays and structs are codes, so that different rows are found by comparing words; only these few are seen as
Python values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.batch.arrays import Int64s
from windrow.batch.arrow import arrow_type, column_from_arrow, column_to_arrow
from windrow.batch.column import WIDE, Column
from windrow.batch.dictionary import Dictionary
from windrow.physical.expressions.arithmetic import Kernel
from windrow.physical.expressions.vectors import spread
from windrow.types import DATE, INTERVAL, TIMESTAMP, Type


def of_values(compute: Callable[..., Any]) -> Kernel:
    """Null when any argument is."""
    return _kernel(lambda row, of: None if None in row else compute(*row))


def of_nullable(compute: Callable[..., Any]) -> Kernel:
    """The function says what nulls mean."""
    return _kernel(lambda row, of: compute(*row))


def of_typed(compute: Callable[..., Any]) -> Kernel:
    """Null when any argument is; the types of the arguments and of the result come first."""

    def kernel(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
        types = [argument.type for argument in arguments]
        return _kernel(lambda row, of: None if None in row else compute(types, of, *row))(arguments, of, dictionary)

    return kernel


def _kernel(compute: Callable[[tuple[Any, ...], Type], Any]) -> Kernel:
    def kernel(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
        length = max(len(argument) for argument in arguments)
        varying = [argument for argument in arguments if len(argument) == length]
        first, places = different_rows(varying)
        few = [argument.take(first) if len(argument) == length else argument for argument in arguments]
        lists = [plain_values(spread(argument, len(first))) for argument in few]
        results = [compute(row, of) for row in zip(*lists, strict=True)]
        return column_from_arrow(_array(results, of), dictionary, of).take(places)

    return kernel


def different_rows(columns: Sequence[Column]) -> tuple[Int64s, Int64s]:
    """A place for each different row, and for every row which of these it is equal to."""
    places = np.zeros(len(columns[0]), np.int64)
    first = np.zeros(min(1, len(places)), np.int64)
    for column in columns:
        for word in _words(column):
            _, within = np.unique(word, return_inverse=True)
            _, first, places = np.unique(
                places * (int(within.max(initial=0)) + 1) + within, return_index=True, return_inverse=True
            )
    return first.astype(np.int64), places.astype(np.int64)


def _words(column: Column) -> list[Int64s]:
    values = column.values
    if values.dtype == WIDE:
        words = [values["hi"].astype(np.int64), values["lo"].view(np.int64)]
    elif values.dtype.kind == "f":
        words = [values.astype(np.float64).view(np.int64)]
    else:
        words = [values.astype(np.int64)]
    return words if column.valid is None else [*words, column.valid.astype(np.int64)]


def plain_values(column: Column) -> list[Any]:
    """Times as microseconds, dates as days; maps as lists of pairs."""
    if column.type in (TIMESTAMP, INTERVAL, DATE):
        known = column.valid_mask()
        return [value if valid else None for value, valid in zip(column.values.tolist(), known.tolist(), strict=True)]
    return list(column_to_arrow(column).to_pylist())


def _array(results: list[Any], of: Type) -> pa.Array:
    if of in (TIMESTAMP, INTERVAL, DATE):
        return pa.array(results, pa.int32() if of == DATE else pa.int64()).view(arrow_type(of))
    return pa.array(results, arrow_type(of))
