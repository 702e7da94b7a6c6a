"""`windrow.connect`: the way into an engine from Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.errors import WindrowError

if TYPE_CHECKING:
    from windrow.runtime.local import Engine


def connect(local: bool = False, folder: str | None = None) -> Engine:
    """An engine in this process; with a folder, its streams, tables, windows and queries are remembered there."""
    if not local:
        raise WindrowError("this version runs in this process only", "write windrow.connect(local=True)")
    from windrow.runtime.local import Engine  # loads arrays and compiled kernels, which `import windrow` need not

    return Engine(folder)
