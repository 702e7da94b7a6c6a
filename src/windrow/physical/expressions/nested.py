"""Fields of structs and elements of arrays and maps."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.batch.arrays import Int64s
from windrow.batch.arrow import column_from_arrow, column_to_arrow
from windrow.batch.column import Column
from windrow.batch.dictionary import Dictionary
from windrow.physical.expressions.arithmetic import Kernel
from windrow.physical.expressions.vectors import spread
from windrow.types import StructType, Type


def field(values: pa.Array, names: pa.Array) -> pa.Array:
    """Of an array of structs the array of the fields."""
    name = names[0].as_py()
    if pa.types.is_struct(values.type):
        return _field(values, name)
    counts = np.asarray(pc.fill_null(pc.list_value_length(values), 0)).astype(np.int64)
    edges = pa.array(np.concatenate([[0], np.cumsum(counts)]), pa.int32(), mask=_ends_of_nulls(values))
    return pa.ListArray.from_arrays(edges, _field(values.flatten(), name))


def _field(values: pa.StructArray, name: str) -> pa.Array:
    fields = [values.type.field(place).name for place in range(values.type.num_fields)]
    return values.flatten()[fields.index(name)]


def _ends_of_nulls(values: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.bool_]] | None:
    """Arrow takes a list whose beginning is null as null."""
    return np.append(np.asarray(values.is_null()), False) if values.null_count else None


def element(values: pa.Array, places: pa.Array) -> pa.Array:
    """Counted from 0; null where there is none. Of a map the value of a key."""
    if pa.types.is_map(values.type):
        return _of_key(values, places)
    starts, counts = edges_of(values)
    place = np.asarray(pc.fill_null(places.cast(pa.int64()), -1))
    inside = (place >= 0) & (place < counts)
    return values.flatten().take(pa.array(starts + place, mask=~inside))


def edges_of(values: pa.Array) -> tuple[Int64s, Int64s]:
    """Where each list begins in the flattened ones, and how long it is; a null has no elements."""
    counts = np.asarray(pc.fill_null(pc.list_value_length(values), 0)).astype(np.int64)
    return np.cumsum(counts) - counts, counts


def struct_of(every: int) -> Kernel:
    """STRUCT(value, ...) and NAMED_STRUCT(name, value, ...): the values are every first or every second argument."""

    def kernel(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
        assert isinstance(of, StructType), of
        values = arguments[every - 1 :: every]
        length = max(map(len, values))
        fields = [column_to_arrow(spread(value, length)) for value in values]
        made = pa.StructArray.from_arrays(fields, names=[name for name, _ in of.fields])
        return column_from_arrow(made, dictionary, of)

    return kernel


def _of_key(values: pa.MapArray, keys: pa.Array) -> pa.Array:
    entries = values.cast(pa.list_(pa.struct([("key", values.type.key_type), ("value", values.type.item_type)])))
    counts = edges_of(entries)[1]
    known, items = entries.flatten().flatten()
    owners = np.repeat(np.arange(len(values)), counts)
    equal = pc.fill_null(pc.equal(known, keys.cast(known.type).take(pa.array(owners))), False)
    found = np.full(len(values), -1, np.int64)
    places = np.flatnonzero(np.asarray(equal))
    found[owners[places]] = places  # of several entries with one key the last
    return items.take(pa.array(found, mask=found < 0))
