"""Calling functions of the user's own: once for each different row of arguments, and so that an error stays there.

Where a function raises, or gives what is not of its type, the result is null and the error is reported with the values.
An array function that raises is called again on halves, so that only the rows are lost that are to blame.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from windrow.batch.arrow import arrow_type, column_from_arrow, column_to_arrow
from windrow.batch.column import Column
from windrow.batch.dictionary import Dictionary
from windrow.errors import AggregateError
from windrow.physical.expressions.arithmetic import Kernel
from windrow.physical.expressions.casts import cast
from windrow.physical.expressions.functions.plain_values import different_rows
from windrow.physical.expressions.vectors import spread
from windrow.plan.user_aggregate import UserFunction
from windrow.types import Type

_SHOWN = 200  # characters of values in a message


def of_user(user: UserFunction) -> Kernel:
    """Null when any argument is null."""

    def kernel(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
        length = max(map(len, arguments))
        given = [
            cast(spread(one, length), want, dictionary) for one, want in zip(arguments, user.arguments, strict=True)
        ]
        first, places = different_rows(given)
        known = np.ones(len(first), np.bool_)
        for column in given:
            known &= column.valid_mask()[first]
        arrays = [column_to_arrow(column.take(first[known])) for column in given]
        found = _of_arrays(user, arrays) if user.vectorized else _of_values(user, arrays)
        which = pa.array(np.cumsum(known) - 1, mask=~known)
        return column_from_arrow(found.take(which), dictionary, of).take(places)

    return kernel


def _of_values(user: UserFunction, arrays: list[pa.Array]) -> pa.Array:
    rows = zip(*(array.to_pylist() for array in arrays), strict=True)
    return pa.concat_arrays([pa.nulls(0, arrow_type(user.result)), *(_of_row(user, row) for row in rows)])


def _of_row(user: UserFunction, row: tuple[Any, ...]) -> pa.Array:
    of = arrow_type(user.result)
    try:
        return pa.array([user.function(*row)], of)
    except Exception as error:
        _report(user, error, row)
        return pa.nulls(1, of)


def _of_arrays(user: UserFunction, arrays: list[pa.Array]) -> pa.Array:
    count, of = len(arrays[0]), arrow_type(user.result)
    if count == 0:
        return pa.nulls(0, of)
    try:
        found = user.function(*arrays)
        found = found if isinstance(found, pa.Array) else pa.array(found, of)
        if len(found) != count:
            raise ValueError(f"{count} rows were given and {len(found)} came back")
        return found.cast(of)
    except Exception as error:
        if count == 1:
            _report(user, error, tuple(array[0].as_py() for array in arrays))
            return pa.nulls(1, of)
    middle = count // 2
    halves = ([array[:middle] for array in arrays], [array[middle:] for array in arrays])
    return pa.concat_arrays([_of_arrays(user, half) for half in halves])


def _report(user: UserFunction, error: Exception, row: tuple[Any, ...]) -> None:
    shown = ", ".join(map(repr, row))[:_SHOWN]
    user.failures.report(AggregateError(f"{user.name}({shown}) raised {type(error).__name__}: {error}"))
