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
    return cast(Function, numba.njit(cache=True, nogil=True)(function))


def inlined(function: Function) -> Function:
    """A part of compiled loops: what is done for every element, where a call would cost more than what it does."""
    return cast(Function, numba.njit(cache=True, nogil=True, inline="always")(function))
