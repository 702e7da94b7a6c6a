"""Compiled loops: the one place that knows how Numba is called.

A loop that must be a loop is compiled once and kept on disk, and runs without the interpreter's lock, so that
shards may run on threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """`function`, compiled on its first call for the types it is called with."""
    return cast(Function, _on_disk(numba.njit(nogil=True)(function)))


def inlined(function: Function) -> Function:
    """A part of compiled loops: what is done for every element, where a call would cost more than what it does."""
    return cast(Function, _on_disk(numba.njit(nogil=True, inline="always")(function)))


def _on_disk(dispatcher: Any) -> Any:
    """What is on disk names the classes of the tuples that a loop takes, and cannot be read when one has been renamed.

    Numba asks whether the file has changed only after it has read all of that. So then the loop is compiled anew.
    """
    dispatcher.enable_caching()
    cache = dispatcher._cache
    load = cache.load_overload

    def load_if_readable(signature: Any, target: Any) -> Any:
        try:
            return load(signature, target)
        except (AttributeError, ImportError):
            cache.flush()
            return None

    cache.load_overload = load_if_readable
    return dispatcher
