"""The runtime on Spark: one streaming query reads all sources, every micro-batch is one job, state is in shards.

The only folder that imports PySpark.
"""

from windrow.runtime.spark.engine import Engine
from windrow.runtime.spark.query import Query

__all__ = ["Engine", "Query"]
