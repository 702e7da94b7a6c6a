"""Compiled loops: the one place that knows how Numba is called.

A loop that must be a loop is compiled once and kept on disk where that is possible, and runs without the interpreter's
lock, so that shards may run on threads.
"""

from __future__ import annotations

import os
import pickle
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
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
    folder = _temporary_folder()
    if folder is None:
        return False
    numba.config.CACHE_DIR = folder  # type: ignore[attr-defined]  # from here on, for all loops
    with suppress(RuntimeError):
        dispatcher.enable_caching()
        return True
    return False


@cache
def _temporary_folder() -> str | None:
    """A folder of the user's alone, since what is in it is run; None when somebody else has taken its name."""
    try:
        user = os.getuid()
        folder = Path(tempfile.gettempdir()) / f"windrow-compiled-{user}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except (OSError, AttributeError):  # AttributeError: a system without users
        return None
    is_own = stat.S_ISDIR(found.st_mode) and found.st_uid == user and not found.st_mode & 0o077
    return str(folder) if is_own else None
