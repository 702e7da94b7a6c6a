"""The local runtime: everything in this process."""

from windrow.runtime.local.engine import LocalEngine
from windrow.runtime.local.query import LocalQuery

__all__ = ["LocalEngine", "LocalQuery"]
