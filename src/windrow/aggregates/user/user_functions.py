"""Calling the functions of a user's aggregate: on many states at once, and so that an error stays where it belongs.

States are columns of arrays with a status each. To merge with an absent state changes nothing; a state for which a
function has raised has failed, and what is made of it has failed too, until it is no longer in view. An error is
reported with the name of the aggregate and what the function was called with; other states go on. A call that raises
is tried again on halves, so that only the rows are lost that are to blame.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

import numpy as np
import pyarrow as pa

from windrow.batch.arrays import Array, Bools, Int64s, grown
from windrow.batch.arrow import arrow_type, column_from_arrow, column_to_arrow
from windrow.batch.column import Column
from windrow.batch.dictionary import Dictionary
from windrow.errors import AggregateError
from windrow.types import BOOLEAN, DATE, DOUBLE, FLOAT, INTEGERS, INTERVAL, TIMESTAMP, Type

Some = TypeVar("Some")
ABSENT, PRESENT, FAILED = 0, 1, 2
_SHOWN = 200  # characters of a value in a message
_TIMES = {TIMESTAMP: "datetime64[us]", INTERVAL: "timedelta64[us]", DATE: "datetime64[D]"}


@dataclass(frozen=True, eq=False)
class States:
    """States side by side: what each is, and its columns."""

    status: Array
    columns: tuple[Array, ...]

    def __len__(self) -> int:
        return len(self.status)

    def take(self, places: Array) -> States:
        return States(self.status[places], tuple(column[places] for column in self.columns))

    def put(self, places: Int64s, states: States) -> States:
        """Write states at places, in place where there is room for them."""
        if not len(places):
            return self
        held = self.grown_to(int(places.max()) + 1)
        held.status[places] = states.status
        columns = zip(held.columns, states.columns, strict=True)
        return States(held.status, tuple(_put(column, places, other) for column, other in columns))

    def grown_to(self, length: int) -> States:
        """With absent ones at the end, so that there are as many."""
        return States(grown(self.status, length), tuple(grown(column, length) for column in self.columns))

    def copy(self) -> States:
        return States(self.status.copy(), tuple(column.copy() for column in self.columns))

    def where(self, condition: Bools, status: int) -> States:
        """With another status where a condition holds."""
        return States(np.where(condition, status, self.status).astype(np.uint8), self.columns)


def _put(column: Array, places: Int64s, values: Array) -> Array:
    """A user's function may give wider numbers than another did: then the column becomes wider."""
    if column.dtype != values.dtype:
        column = column.astype(np.promote_types(column.dtype, values.dtype))
    column[places] = values
    return column


def concat_states(parts: Sequence[States]) -> States:
    columns = zip(*(part.columns for part in parts), strict=True)
    return States(
        np.concatenate([part.status for part in parts]), tuple(np.concatenate(list(column)) for column in columns)
    )


def _packages(functions: Any) -> frozenset[str]:
    """Where the functions are from."""
    called = (getattr(functions, name, None) for name in ("initial", "add", "merge", "subtract", "finish"))
    modules = {type(functions).__module__, *(getattr(function, "__module__", None) or "" for function in called)}
    return frozenset(module.partition(".")[0] for module in modules) - {"", "builtins", "types"}


class UserFunctions:
    """The functions of one aggregate; `report` takes errors."""

    def __init__(
        self, name: str, functions: Any, vectorized: bool, result: Type, dictionary: Dictionary,
        report: Callable[[AggregateError], None],
    ) -> None:  # fmt: skip
        self._name, self._result, self._dictionary, self._report = name, result, dictionary, report
        self._functions = functions if vectorized else OneByOne(functions)
        self._arrays = _array if vectorized else _objects
        self.packages = _packages(functions)  # whose classes states may be of
        try:
            self._is_tuple = isinstance(self._functions.initial(0), tuple)
        except Exception as error:
            hint = "with vectorized=True it takes the number of states" if vectorized else None
            raise AggregateError(f"{name} failed in initial(0): {type(error).__name__}: {error}", hint) from None

    def lifted(self, values: Sequence[Column]) -> States:
        """The state of each row on its own."""

        def add(*arrays: Array) -> Any:
            return self._functions.add(self._functions.initial(len(arrays[0])), *arrays)

        return self._states("add", add, [self._arrays(column) for column in values])

    def absent(self, length: int) -> States:
        return States(np.zeros(length, np.uint8), _checked(self._functions.initial(length), length))

    def merged(self, a: States, b: States) -> States:
        """Each state with the one beside it."""
        return self._combined("merge", a, b)

    def subtracted(self, a: States, b: States) -> States:
        """Each state without the part beside it, which was merged into it before."""
        return self._combined("subtract", a, b)

    def finished(self, states: States) -> Column:
        """The values of states: of absent ones that of no rows, of failed ones null."""
        absent = np.flatnonzero(states.status == ABSENT)
        states = states.copy().put(absent, self.absent(len(absent)))
        good = states.status != FAILED
        type = arrow_type(self._result)

        def finish(*columns: Array) -> pa.Array:
            values = pa.array(self._functions.finish(self._one(columns)), type)
            return values if len(values) == len(columns[0]) else _refuse(len(columns[0]), len(values))

        given = [column[good] for column in states.columns]
        found = self._tried("finish", finish, given, lambda: pa.nulls(1, type), pa.concat_arrays, pa.nulls(0, type))
        spread = found.take(pa.array(np.cumsum(good) - 1, mask=~good))
        return column_from_arrow(spread, self._dictionary, self._result)

    def _one(self, columns: tuple[Array, ...]) -> Any:
        """States as the user's functions have them: a tuple of arrays, or one array."""
        return columns if self._is_tuple else columns[0]

    def _combined(self, function: str, a: States, b: States) -> States:
        both = np.flatnonzero((a.status == PRESENT) & (b.status == PRESENT))
        sides = zip(a.columns, b.columns, strict=True)
        columns = tuple(np.where(a.status == ABSENT, other, one) for one, other in sides)
        states, width = States(np.maximum(a.status, b.status), columns), len(columns)

        def combine(*arrays: Array) -> Any:
            return getattr(self._functions, function)(self._one(arrays[:width]), self._one(arrays[width:]))

        return states.put(both, self._states(function, combine, [c[both] for c in (*a.columns, *b.columns)]))

    def _states(self, function: str, call: Callable[..., Any], given: Sequence[Array]) -> States:
        def states(*arrays: Array) -> States:
            length = len(arrays[0])
            return States(np.full(length, PRESENT, np.uint8), _checked(call(*arrays), length))

        def failed() -> States:
            return States(np.full(1, FAILED, np.uint8), self.absent(1).columns)

        return self._tried(function, states, given, failed, concat_states, self.absent(0))

    def _tried(
        self, function: str, call: Callable[..., Some], given: Sequence[Array],
        failed: Callable[[], Some], joined: Callable[[list[Some]], Some], nothing: Some,
    ) -> Some:  # fmt: skip
        """What a call gives; where it raises, what its halves give, and for one row that it has failed."""
        length = len(given[0])
        if not length:
            return nothing
        try:
            return call(*given)
        except Exception as error:  # whatever a user's function raises
            if length == 1:
                self._report(self._error(function, given, error))
                return failed()
        half = length // 2
        sides = ([array[:half] for array in given], [array[half:] for array in given])
        return joined([self._tried(function, call, side, failed, joined, nothing) for side in sides])

    def _error(self, function: str, given: Sequence[Array], error: Exception) -> AggregateError:
        shown = ", ".join(repr(array.tolist()[0])[:_SHOWN] for array in given)
        message = f"{self._name} failed in {function}({shown}): {type(error).__name__}: {error}"
        return AggregateError(message, "its value is NULL while what it failed on is in view")


def _refuse(wanted: int, given: int) -> NoReturn:
    raise ValueError(f"{wanted} values are expected, these are {given}")


def _checked(columns: Any, length: int) -> tuple[Array, ...]:
    found = tuple(np.asarray(column) for column in (columns if isinstance(columns, tuple) else (columns,)))
    for column in found:
        if column.ndim != 1 or len(column) != length:
            _refuse(length, column.size)
    return found


def _filled(values: list[Any]) -> Array:
    """Objects side by side, whatever they are."""
    array = np.empty(len(values), object)
    for place, value in enumerate(values):  # NumPy would take lists apart
        array[place] = value
    return array


def _objects(column: Column) -> Array:
    return _filled(column_to_arrow(column).to_pylist())


def _array(column: Column) -> Array:
    """Numbers and times as NumPy has them, everything else as Python's values."""
    if column.type in _TIMES:
        return column.values.astype(np.int64).astype(_TIMES[column.type])
    if column.type in (BOOLEAN, FLOAT, DOUBLE, *INTEGERS):
        return column.values
    return _objects(column)


class OneByOne:
    """Functions of one state as functions of arrays of them. A loop: each call is the user's own Python."""

    def __init__(self, functions: Any) -> None:
        self._functions: Any = functions if callable(getattr(functions, "merge", None)) else _FromRows(functions)

    def initial(self, length: int) -> Array:
        return _filled([self._functions.initial() for _ in range(length)])

    def add(self, states: Array, *values: Array) -> Array:
        return _filled([self._functions.add(*row) for row in zip(states, *values, strict=True)])

    def merge(self, states: Array, others: Array) -> Array:
        return _filled([self._functions.merge(*pair) for pair in zip(states, others, strict=True)])

    def subtract(self, states: Array, others: Array) -> Array:
        return _filled([self._functions.subtract(*pair) for pair in zip(states, others, strict=True)])

    def finish(self, states: Array) -> list[Any]:
        return [self._functions.finish(state) for state in states]


class _FromRows:
    """A holistic aggregate without merge: its state is the rows, which are added anew whenever a value is asked for."""

    def __init__(self, functions: Any) -> None:
        self._functions = functions

    def initial(self) -> tuple[Any, ...]:
        return ()

    def add(self, state: tuple[Any, ...], *values: Any) -> tuple[Any, ...]:
        return (*state, values)

    def merge(self, state: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[Any, ...]:
        return state + other

    def finish(self, state: tuple[Any, ...]) -> Any:
        total = self._functions.initial()
        for values in state:
            total = self._functions.add(total, *values)
        return self._functions.finish(total)
