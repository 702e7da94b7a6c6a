"""How values are written and sent: as pickles in which classes of ours go by stable names, and dataclasses by fields.

So nothing on disk names a module of ours, and what is remembered on an object besides its fields is left out. What is
read back is data (`state/plain_values.py`): it can name nothing but these classes and values of Python's and NumPy's
own. Functions of the user's own are code and travel apart (`own_functions.py`). Invariant: `decoded(encoded(x)) == x`.
"""

from __future__ import annotations

import copyreg
import io
import pickle
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType
from typing import Any

import pyarrow as pa

from windrow.batch import Dictionary
from windrow.errors import CheckpointError
from windrow.plan.user_aggregate import Own, UserAggregate, UserFunction
from windrow.runtime.shards.storage.files.file_names import file_name
from windrow.runtime.shards.storage.stable_names import classes, names
from windrow.state.plain_values import PlainUnpickler

LOST = "restore it from a copy, or register the aggregate again before the engine is made"
OTHER_VERSION = "it was written by another version of Windrow: run that one, or start with an empty checkpoint"

_OURS = "windrow."
_DICTIONARY = "dictionary"  # of the shard, which is written beside its state
_ROWS = "rows"  # of Arrow, in its own format: what tables have rejected
_AGGREGATE = "aggregate "  # one of the user's own, by its name: it is one thing, wherever it is called


_PLAIN = frozenset((int, str, float, bytes, bool, tuple, list, dict, NoneType))  # most of what there is


def _persistent_id(value: object) -> str | tuple[str, bytes] | None:
    """What stands for a class of ours, an aggregate of the user's own, the dictionary of a shard, or rows of Arrow."""
    if isinstance(value, type):
        return names().get(value)
    if isinstance(value, UserAggregate | UserFunction):
        return _AGGREGATE + value.name
    if isinstance(value, pa.Table):
        return _ROWS, table_to_bytes(value)
    return _DICTIONARY if isinstance(value, Dictionary) else None


def table_to_bytes(table: pa.Table) -> bytes:
    """An Arrow stream."""
    written = pa.BufferOutputStream()
    with pa.ipc.new_stream(written, table.schema) as writer:
        writer.write_table(table)
    content: bytes = written.getvalue().to_pybytes()
    return content


def _by_fields(value: object) -> Any:
    """How to write a dataclass of ours: by its fields."""
    kind = type(value)
    if kind not in names() or not is_dataclass(kind):
        return NotImplemented
    return copyreg.__newobj__, (kind,), {name: getattr(value, name) for name in _fields(kind)}  # type: ignore[attr-defined]


@cache
def _fields(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


class _Pickler(pickle.Pickler):
    """For what consists of classes of ours alone."""

    def persistent_id(self, value: Any) -> str | tuple[str, bytes] | None:
        if type(value) in _PLAIN:  # first, and without another call: this is asked of every single value
            return None
        name = _persistent_id(value)
        if name is None and isinstance(value, type):
            assert not value.__module__.startswith(_OURS), f"{value} has no stable name"
        return name

    def reducer_override(self, value: Any) -> Any:
        return _by_fields(value)


class _Unpickler(PlainUnpickler):
    def __init__(
        self,
        content: bytes | memoryview,
        aggregates: Mapping[str, Own],
        dictionary: Dictionary | None = None,
        buffers: list[memoryview] | None = None,
    ) -> None:
        super().__init__(content, buffers or ())
        self._classes = classes()
        self._aggregates = aggregates
        self._dictionary = dictionary

    def persistent_load(self, name: Any) -> object:
        kind = self._classes.get(name)
        if kind is not None:
            return kind
        if isinstance(name, tuple) and name[0] == _ROWS:
            return pa.ipc.open_stream(name[1]).read_all()
        if name == _DICTIONARY:
            return self._dictionary
        if isinstance(name, str) and name.startswith(_AGGREGATE):
            own = name.removeprefix(_AGGREGATE)
            if own not in self._aggregates:
                raise CheckpointError(f"aggregates/{file_name(own.lower())} of the checkpoint is missing", LOST)
            return self._aggregates[own]
        raise CheckpointError(
            f"the checkpoint has a {name}, which this version of Windrow does not know", OTHER_VERSION
        )


def encoded(record: object) -> bytes:
    """A record of the checkpoint, or a message; arrays are written in place."""
    written = io.BytesIO()
    _Pickler(written, 5).dump(record)
    return written.getvalue()


def decoded(content: bytes | memoryview, aggregates: Mapping[str, Own] | None = None) -> Any:
    """A record; `aggregates` are those of the user's own that it may name."""
    return _Unpickler(content, {} if aggregates is None else aggregates).load()


def encode_piece(piece: object, add_buffer: Callable[[pickle.PickleBuffer], object]) -> bytes:
    """A piece of state without its arrays, which are handed over one by one as they are."""
    header = io.BytesIO()
    _Pickler(header, 5, buffer_callback=add_buffer).dump(piece)
    return header.getvalue()


def decode_piece(header: memoryview, buffers: list[memoryview], dictionary: Dictionary) -> Any:
    return _Unpickler(header, {}, dictionary, buffers).load()
