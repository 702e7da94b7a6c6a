"""Compiled loops: the one place that knows how Numba is called.

A loop that must be a loop is compiled once and kept on disk where that is possible, and runs without the interpreter's
lock, so that shards may run on threads.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar, cast

import numba
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from windrow.batch.arrays import Array
from windrow.cache_folder import temporary_folder

_READ, _ALL_CACHES, _DATA = 0, 3, 1  # what LLVM calls them

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """`function`, compiled on its first call for the types it is called with."""
    return cast(Function, _on_disk(numba.njit(nogil=True)(function)))


def compiled_in_place(function: Function) -> Function:
    """The same for a loop that makes no array but writes into those that it is given.

    Numba then counts no references. Else it does so for every array that is handed to an `inlined` part, often in each
    turn of the loop, and an atomic addition costs as much as a look into the cache.
    """
    without_references = numba.njit(nogil=True, _nrt=False)  # type: ignore[call-overload]  # not in Numba's types
    return cast(Function, _on_disk(without_references(function)))


def inlined(function: Function) -> Function:
    """A part of compiled loops: what is done for every element, where a call would cost more than what it does."""
    return cast(Function, _on_disk(numba.njit(nogil=True, inline="always")(function)))


def _prefetch(context: Any, array: Any, place: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [address.type, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [address.type], kind)
        builder.call(function, [address, number(_READ), number(_ALL_CACHES), number(_DATA)])
        return context.get_dummy_value()

    return types.void(array, place), code


# Asks memory for what is at a place of an array in C order, counted in elements, and does not wait for it: a loop that
# asks for many is answered side by side, where a load would hold up all that follows it. The place may lie outside.
prefetch = cast(Callable[[Array, int], None], intrinsic(_prefetch))


def _on_disk(dispatcher: Any) -> Any:
    """Have a loop kept beside the package, else in the user's own cache, else in a temporary folder, if one can be.

    What is on disk names the classes of the tuples that a loop takes, and cannot be read when one has been renamed.
    Numba asks whether the file has changed only after it has read all of that. So then the loop is compiled anew.
    """
    if not _is_enabled(dispatcher):
        return dispatcher
    kept = dispatcher._cache
    load, save = kept.load_overload, kept.save_overload

    def load_if_readable(signature: Any, target: Any) -> Any:
        try:
            return load(signature, target)
        except (AttributeError, ImportError, OSError, EOFError, pickle.UnpicklingError):
            with suppress(OSError):
                kept.flush()
            return None

    def save_if_writable(signature: Any, data: Any) -> None:
        with suppress(OSError):  # a full disk: the next process compiles it again
            save(signature, data)

    kept.load_overload, kept.save_overload = load_if_readable, save_if_writable
    return dispatcher


def _is_enabled(dispatcher: Any) -> bool:
    """Whether there is a place for the cache of a loop; Numba knows only the package and the home of the user."""
    with suppress(RuntimeError):
        dispatcher.enable_caching()
        return True
    folder = temporary_folder()
    if folder is None:
        return False
    numba.config.CACHE_DIR = folder  # type: ignore[attr-defined]  # from here on, for all loops
    with suppress(RuntimeError):
        dispatcher.enable_caching()
        return True
    return False
