"""Values of ARRAY, MAP and STRUCT as byte strings, so that they can be codes of a `Dictionary` as strings are.

Invariant: two values have the same bytes exactly when SQL's grouping calls them equal (NaN is NaN, -0.0 is 0.0), and
bytes are in the order of the values as Spark SQL has it: element by element, field by field, nulls first, a shorter
array before those that begin with it. A value is one byte that says what follows, null or a value, and then

    a number or time   its place in the order of its type, 8 bytes (16 for a wide decimal), the highest first
    a text             its bytes, where a zero byte is followed by 255, and then two zero bytes
    a STRUCT           its fields, one after the other
    an ARRAY or MAP    its elements or entries, one after the other, and a zero byte

No value's bytes begin another value's, so they can be put one after the other and found again. Encoding and decoding
go through all values of a type at once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.batch.arrays import Array, Bools, Int64s
from windrow.batch.column import WIDE, Column, dtype_of, from_order, order_words
from windrow.batch.compiled import compiled
from windrow.types import BINARY, STRING, ArrayType, MapType, StructType, Type

_END, _NULL, _VALUE = 0, 1, 2
_TEXT, _ARRAY = 0, -1  # kinds of a layout; above are widths, below are structs
_SIGN = np.uint64(1 << 63)
_BYTES = pa.large_binary()


def encoded(values: pa.Array, type: Type, plain: Callable[[pa.Array, Type], Column]) -> pa.Array:
    """Values of any type as bytes, none of them null; `plain` makes columns of numbers and times."""
    if type in (STRING, BINARY):
        escaped = pc.replace_substring(values.cast(_BYTES), pattern=b"\0", replacement=b"\0\xff")
        return _marked([escaped, _bytes(b"\0\0")], values)
    if isinstance(type, StructType):
        fields = zip(values.flatten(), type.fields, strict=True)
        return _marked([encoded(field, of, plain) for field, (_, of) in fields], values)
    if isinstance(type, ArrayType):
        return _marked([_elements_of(values, type, plain), _bytes(bytes([_END]))], values)
    return _numbers(plain(values, type))


def _bytes(content: bytes) -> pa.Scalar:
    return pa.scalar(content, _BYTES)


def _marked(parts: list[pa.Array], values: pa.Array) -> pa.Array:
    """The parts of each value one after the other, behind the byte that says whether it is null."""
    joined = pc.binary_join_element_wise(_bytes(bytes([_VALUE])), *parts, _bytes(b""))
    return pc.if_else(values.is_valid(), joined, _bytes(bytes([_NULL])))


def _elements_of(values: pa.Array, type: ArrayType, plain: Callable[[pa.Array, Type], Column]) -> pa.Array:
    """The bytes of all elements of each array: they lie side by side already."""
    if isinstance(values, pa.MapArray):
        values = values.cast(pa.list_(pa.struct([("key", values.type.key_type), ("value", values.type.item_type)])))
    elements = encoded(values.flatten(), type.element, plain)
    counts = np.asarray(pc.fill_null(pc.list_value_length(values), 0))
    edges = np.concatenate([[0], np.cumsum(counts)])
    starts = np.frombuffer(elements.buffers()[1], np.int64, len(elements) + 1, elements.offset * 8)
    return pa.Array.from_buffers(
        _BYTES, len(values), [None, pa.py_buffer(starts[edges].tobytes()), elements.buffers()[2]]
    )


def _numbers(column: Column) -> pa.Array:
    words = order_words(column)
    rows = np.empty((len(column), 1 + 8 * len(words)), np.uint8)
    valid = column.valid_mask()
    rows[:, 0] = np.where(valid, _VALUE, _NULL)
    for place, word in enumerate(words):
        ordered = (word.view(np.uint64) ^ _SIGN).astype(">u8")
        rows[:, 1 + 8 * place : 9 + 8 * place] = ordered.view(np.uint8).reshape(-1, 8)
    kept = np.ones(rows.shape, np.bool_)
    kept[~valid, 1:] = False
    edges = np.concatenate([[0], np.cumsum(np.where(valid, rows.shape[1], 1))]).astype(np.int64)
    return pa.Array.from_buffers(
        _BYTES, len(column), [None, pa.py_buffer(edges.tobytes()), pa.py_buffer(rows[kept].tobytes())]
    )


def decoded(values: pa.Array, type: Type, to_arrow: Callable[[Column], pa.Array]) -> pa.Array:
    """Values of a type from their bytes, none of which is null; `to_arrow` takes columns of numbers and times."""
    starts = np.frombuffer(values.buffers()[1], np.int64, len(values) + 1, values.offset * 8)[:-1]
    content = values.buffers()[2]
    data = np.frombuffer(content, np.uint8) if content is not None and content.size else np.zeros(0, np.uint8)
    return _decoded(data, starts, type, to_arrow)


def _decoded(data: Array, starts: Int64s, type: Type, to_arrow: Callable[[Column], pa.Array]) -> pa.Array:
    valid = data[starts] == _VALUE
    inside = starts[valid] + 1
    if type in (STRING, BINARY):
        edges, content = _unescaped(data, inside)
        buffers = [None, pa.py_buffer(edges.tobytes()), pa.py_buffer(content.tobytes())]
        target = pa.string() if type == STRING else pa.binary()
        return _spread(pa.Array.from_buffers(_BYTES, len(inside), buffers).cast(target), valid)
    if isinstance(type, StructType):
        fields = []
        for _, of in type.fields:
            fields.append(_decoded(data, inside, of, to_arrow))
            inside = _skipped(data, inside, _layout(of))
        return _spread(pa.StructArray.from_arrays(fields, names=[name for name, _ in type.fields]), valid)
    if isinstance(type, ArrayType):
        counts, places = _elements(data, inside, _layout(type.element))
        edges = pa.array(np.concatenate([[0], np.cumsum(counts)]), pa.int32())
        elements = _decoded(data, places, type.element, to_arrow)
        if isinstance(type, MapType):
            return _spread(pa.MapArray.from_arrays(edges, *elements.flatten()), valid)
        return _spread(pa.ListArray.from_arrays(edges, elements), valid)
    width = _width(type)
    words = data[inside[:, None] + np.arange(width)].reshape(-1, width // 8, 8)
    ordered = [
        (words[:, place].copy().view(">u8")[:, 0].astype(np.uint64) ^ _SIGN).view(np.int64)
        for place in range(width // 8)
    ]
    return _spread(to_arrow(from_order(type, ordered, np.ones(len(inside), np.bool_))), valid)


def _spread(present: pa.Array, valid: Bools) -> pa.Array:
    """Values at the places where there is one, nulls elsewhere."""
    if valid.all():
        return present
    return present.take(pa.array(np.cumsum(valid) - 1, mask=~valid))


def _width(type: Type) -> int:
    return 16 if dtype_of(type) == WIDE else 8


def _layout(type: Type) -> Int64s:
    """How to step over a value, a row for each type in it: its kind, and where the type beside it stands."""
    rows: list[list[int]] = []

    def add(of: Type) -> None:
        place = len(rows)
        rows.append([_TEXT, 0])
        if isinstance(of, ArrayType):
            rows[place][0] = _ARRAY
            add(of.element)
        elif isinstance(of, StructType):
            rows[place][0] = _ARRAY - len(of.fields)
            for _, field in of.fields:
                add(field)
        elif of not in (STRING, BINARY):
            rows[place][0] = _width(of)
        rows[place][1] = len(rows)

    add(type)
    return np.array(rows, np.int64)


@compiled
def _after(data: Array, at: int, layout: Int64s, inside: Int64s) -> int:
    """Where the value at `at` ends.

    `inside` is scratch, as long as the layout: the arrays and structs around the present place, the innermost last,
    each with its fields to come (-1 for an array) and the place of the type that comes next.
    """
    depth = place = 0
    while True:
        kind = layout[place, 0]
        at += 1
        if data[at - 1] == _NULL:
            pass
        elif kind > 0:
            at += kind
        elif kind == _TEXT:
            while data[at] != 0 or data[at + 1] != 0:
                at += 1 if data[at] != 0 else 2
            at += 2
        else:
            inside[depth, 0], inside[depth, 1] = -1 if kind == _ARRAY else _ARRAY - kind, place + 1
            depth += 1
        while depth > 0:
            if inside[depth - 1, 0] < 0 and data[at] == _END:
                at += 1
            elif inside[depth - 1, 0] != 0:
                break
            depth -= 1
        if depth == 0:
            return at
        place = inside[depth - 1, 1]
        if inside[depth - 1, 0] > 0:
            inside[depth - 1, 0] -= 1
            inside[depth - 1, 1] = layout[place, 1]


@compiled
def _skipped(data: Array, starts: Int64s, layout: Int64s) -> Int64s:
    ends, inside = np.empty(len(starts), np.int64), np.empty_like(layout)
    for i in range(len(starts)):
        ends[i] = _after(data, starts[i], layout, inside)
    return ends


@compiled
def _elements(data: Array, starts: Int64s, layout: Int64s) -> tuple[Int64s, Int64s]:
    """How many elements each array has, and where they all begin."""
    counts = np.zeros(len(starts), np.int64)
    places, inside = np.empty(max(1, len(starts)), np.int64), np.empty_like(layout)
    total = 0
    for i in range(len(starts)):
        at = starts[i]
        while data[at] != _END:
            if total == len(places):
                longer = np.empty(2 * total, np.int64)
                longer[:total] = places
                places = longer
            places[total] = at
            total += 1
            counts[i] += 1
            at = _after(data, at, layout, inside)
    return counts, places[:total]


@compiled
def _unescaped(data: Array, starts: Int64s) -> tuple[Int64s, Array]:
    """The texts that begin at places: where each ends, and their bytes."""
    edges = np.zeros(len(starts) + 1, np.int64)
    for i in range(len(starts)):
        at, length = starts[i], 0
        while data[at] != 0 or data[at + 1] != 0:
            at += 1 if data[at] != 0 else 2
            length += 1
        edges[i + 1] = edges[i] + length
    content = np.empty(edges[-1], np.uint8)
    for i in range(len(starts)):
        at = starts[i]
        for place in range(edges[i], edges[i + 1]):
            content[place] = data[at]
            at += 1 if data[at] != 0 else 2
    return edges, content
