"""What a shard server has freed goes back to the machine, when it is much beside what is in use.

The C library keeps what is freed for the next batch, which is right as long as batches are alike: giving it back costs
as much as fetching it again. After a large one, such as the first of a long backlog, it would keep it for ever.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

_LEAST = 32 << 20  # bytes that are not worth it
_SHARE = 4  # of what is in use a quarter may be kept
_NUMBERS = ("arena", "ordblks", "smblks", "hblks", "mapped", "usmblks", "fsmblks", "in_use", "free", "keepcost")


class _Used(ctypes.Structure):
    """`struct mallinfo2` of glibc: ten numbers of bytes."""

    _fields_ = [(name, ctypes.c_size_t) for name in _NUMBERS]


def _found() -> tuple[Callable[[], _Used], Callable[[int], int]] | None:
    """How to ask and how to give back; None where the C library is another one."""
    library = ctypes.CDLL(None)
    try:
        usage, trim = library.mallinfo2, library.malloc_trim
    except AttributeError:
        return None
    usage.restype = _Used
    trim.argtypes = [ctypes.c_size_t]
    return usage, trim


_LIBRARY = _found()


def give_back() -> None:
    """Called when a server has answered."""
    if _LIBRARY is None:
        return
    usage, trim = _LIBRARY
    now = usage()
    if now.free > max(_LEAST, (now.in_use + now.mapped) // _SHARE):
        trim(0)
