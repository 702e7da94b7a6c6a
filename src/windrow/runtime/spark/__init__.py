"""The runtime on Spark: one streaming query reads all sources, every micro-batch is one job, state is in shards.

The only folder that imports PySpark. Spark starts a process for every source of ours, which imports this package; the
engine is loaded where somebody asks for it, so that those processes are there in time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from windrow.runtime.spark.engine import Engine
    from windrow.runtime.spark.query import Query

__all__ = ["Engine", "Query"]


def __getattr__(name: str) -> Any:
    if name == "Engine":
        from windrow.runtime.spark.engine import Engine

        return Engine
    if name == "Query":
        from windrow.runtime.spark.query import Query

        return Query
    raise AttributeError(name)
