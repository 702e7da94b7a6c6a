"""The runtime on Spark: every micro-batch is one job over all sources, state is in shards.

The only folder that imports PySpark. Spark starts a process for every source of ours, which imports this package; the
engine is loaded where somebody asks for it, so that those processes are there in time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from windrow.runtime.spark.engine import SparkEngine
    from windrow.runtime.spark.query import SparkQuery

__all__ = ["SparkEngine", "SparkQuery"]


def __getattr__(name: str) -> Any:
    if name == "SparkEngine":
        from windrow.runtime.spark.engine import SparkEngine

        return SparkEngine
    if name == "SparkQuery":
        from windrow.runtime.spark.query import SparkQuery

        return SparkQuery
    raise AttributeError(name)
