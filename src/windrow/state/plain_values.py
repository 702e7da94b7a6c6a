"""Pickles that are data: values of Python's and NumPy's own, and of classes that their reader has named.

A pickle can call anything that it can name. What is read back from a folder or comes from another process may name only
what is in the table here, or is a class of a package that the reader trusts, such as that of a user's own functions.
What could not be read is not written either.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np

from windrow.batch.arrays import Array
from windrow.errors import CheckpointError

_NUMPY = ("ndarray", "dtype", *sorted({kind.__name__ for kind in np.sctypeDict.values()}))
_PLAIN: dict[str, frozenset[str]] = {
    "builtins": frozenset(("bytearray", "complex", "dict", "frozenset", "list", "object", "range", "set", "slice")),
    "collections": frozenset(("Counter", "OrderedDict", "defaultdict", "deque")),
    "datetime": frozenset(("date", "datetime", "time", "timedelta", "timezone")),
    "decimal": frozenset(("Decimal",)),
    "fractions": frozenset(("Fraction",)),
    "uuid": frozenset(("UUID",)),
    "numpy": frozenset(_NUMPY),
    "numpy._core.multiarray": frozenset(("_reconstruct", "scalar")),
    "numpy._core.numeric": frozenset(("_frombuffer",)),
    "numpy.core.multiarray": frozenset(("_reconstruct", "scalar")),
}


class PlainUnpickler(pickle.Unpickler):
    """`packages` are those whose classes may be in it."""

    def __init__(
        self,
        content: bytes | memoryview,
        buffers: Iterable[memoryview] = (),
        packages: Collection[str] = (),
    ) -> None:
        super().__init__(io.BytesIO(content), buffers=buffers)
        self._packages = packages

    def find_class(self, module: str, name: str) -> Any:
        if name in _PLAIN.get(module, ()):
            return super().find_class(module, name)
        if module.partition(".")[0] in self._packages and "." not in name:
            found = super().find_class(module, name)
            if isinstance(found, type):
                return found
        raise CheckpointError(f"a stored value is not data: it names {module}.{name}", "do not use this checkpoint")


class _PlainPickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, packages: Collection[str]) -> None:
        super().__init__(file, 5)
        self._packages = packages

    def reducer_override(self, value: Any) -> Any:
        """Asked for all that is no number, text or list: whether it can be read back."""
        kind = value if isinstance(value, type) else type(value)
        known = kind.__name__ in _PLAIN.get(kind.__module__, ()) or isinstance(value, np.dtype) or callable(value)
        if not known and kind.__module__.partition(".")[0] not in self._packages:
            raise CheckpointError(
                f"a state of {kind.__module__}.{kind.__qualname__} cannot be stored",
                "states consist of values of Python's own and NumPy's, or of classes beside the aggregate's functions",
            )
        return NotImplemented


def objects_to_bytes(objects: Array, packages: Collection[str]) -> bytes:
    """An array of Python objects; `packages` are those whose classes they may be of."""
    written = io.BytesIO()
    _PlainPickler(written, packages).dump(objects)
    return written.getvalue()


def objects_from_bytes(content: bytes, packages: Collection[str]) -> Array:
    return np.asarray(PlainUnpickler(content, packages=packages).load())
