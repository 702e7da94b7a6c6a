"""Where Windrow keeps what it can make again: the user's cache, else a temporary folder of the user's alone."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path


def cache_folders() -> Iterator[Path]:
    """The folders in which something may have been kept, the better one first; they are there."""
    with suppress(OSError, RuntimeError):  # RuntimeError: a user without a home
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        folder = Path(home) / "windrow"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        yield folder
    if (temporary := temporary_folder()) is not None:
        yield Path(temporary)


@cache
def temporary_folder() -> str | None:
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
