"""The local runtime: everything in this process."""

from windrow.runtime.local.engine import Engine
from windrow.runtime.local.query import Query

__all__ = ["Engine", "Query"]
