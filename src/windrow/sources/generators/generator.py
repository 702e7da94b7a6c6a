"""A generator by its name and options: `generator("traffic", {"rate": 500})`, then `read(first, last)`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from windrow.batch.arrays import Array, Int64s
from windrow.errors import WindrowError
from windrow.sources.generators import sensors, trades, traffic
from windrow.sources.generators.arrival import Arrival, TimedRows
from windrow.sources.generators.counter_random import CounterRandom
from windrow.sources.generators.options import COMMON, Option, Value, known_names, read_options

CHUNK = 1 << 15  # rows made at a time: their columns stay in the processor's cache


class GeneratedRows(TimedRows, Protocol):
    """Rows in the order of their times, each a function of its number."""

    @property
    def texts(self) -> Mapping[str, pa.Array]:
        """The values of each column of strings; the column itself has positions in it."""

    def columns(self, first: int, last: int) -> list[Array]:
        """In the order of the schema: times in microseconds, decimals in their smallest unit, NaN for null."""


@dataclass(frozen=True)
class Kind:
    """What `generator` may name."""

    schema: pa.Schema
    options: tuple[Option, ...]
    make: Callable[..., GeneratedRows]


GENERATORS: dict[str, Kind] = {
    "sensors": Kind(sensors.SCHEMA, (*sensors.OPTIONS, *COMMON), sensors.Sensors),
    "trades": Kind(trades.SCHEMA, (*trades.OPTIONS, *COMMON), trades.Trades),
    "traffic": Kind(traffic.SCHEMA, (*traffic.OPTIONS, *COMMON), traffic.Traffic),
}


@dataclass(frozen=True)
class Generator:
    """A stream of `rows` rows (None: without end), on average `rate` for each second of its own time."""

    name: str
    schema: pa.Schema
    rows: int | None
    rate: float
    made: GeneratedRows
    arrival: Arrival

    def read(self, first: int, last: int) -> pa.Table:
        """Rows [first, last) in the order of arrival; fewer where the stream ends before."""
        assert 0 <= first <= last
        if self.rows is not None:
            first, last = min(first, self.rows), min(last, self.rows)
        if first == last or not self.arrival.disorder:
            chunks = self._in_order(first, last)
        else:
            chunks = self._reordered(self.arrival.order(self.made, first, last, self.rows))
        return pa.Table.from_batches(map(self._batch, chunks), schema=self.schema)

    def _reordered(self, order: Int64s) -> Iterator[list[Array]]:
        earliest, latest = int(order.min()), int(order.max())
        columns = [np.concatenate(parts) for parts in zip(*self._in_order(earliest, latest + 1), strict=True)]
        for begin in range(0, len(order), CHUNK):
            places = order[begin : begin + CHUNK] - earliest
            yield [column[places] for column in columns]

    def _in_order(self, first: int, last: int) -> Iterator[list[Array]]:
        for begin in range(first, last, CHUNK):
            yield self.made.columns(begin, min(begin + CHUNK, last))

    def _batch(self, columns: list[Array]) -> pa.RecordBatch:
        texts = self.made.texts
        arrays = [_arrow(field, column, texts) for field, column in zip(self.schema, columns, strict=True)]
        return pa.record_batch(arrays, schema=self.schema)


def generator(name: str, options: Mapping[str, Value]) -> Generator:
    """The generator of that name; WindrowError when there is none, or when an option is not one of its own."""
    kind = GENERATORS.get(name)
    if kind is None:
        raise WindrowError(f"there is no generator {name}", known_names(name, GENERATORS, "generators"))
    values = read_options(name, kind.options, options)
    rows, disorder, random = values.pop("rows"), values.pop("disorder"), CounterRandom(values.pop("seed")).named(name)
    made = kind.make(random=random, **values)
    return Generator(name, kind.schema, rows, values["rate"], made, Arrival(disorder, random.named("arrival")))


def _arrow(field: pa.Field, values: Array, texts: Mapping[str, pa.Array]) -> pa.Array:
    if field.name in texts:
        return texts[field.name].take(pa.array(values))
    if pa.types.is_decimal(field.type):
        return _decimals(field.type, values)
    return pa.array(values, from_pandas=True).cast(field.type)


def _decimals(of: pa.DataType, units: Int64s) -> pa.Array:
    """As 128-bit numbers, low word first, without going through Python's decimals."""
    words = np.empty((len(units), 2), np.int64)
    words[:, 0], words[:, 1] = units, units >> 63
    return pa.Array.from_buffers(of, len(units), [None, pa.py_buffer(words)])
