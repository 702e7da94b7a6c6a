"""Sources that Spark brings: DataFrames of the user's, rate, sockets. Their rows leave the JVM packed into Arrow blobs.

Spark keeps their offsets and replays them. Files, generators and pushed rows are none of these: the driver reads them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.fs
from pyspark.errors import PySparkTypeError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_type
from pyspark.sql.streaming.readwriter import DataStreamReader
from pyspark.sql.types import StructField

from windrow.batch import sql_type
from windrow.catalog import Connector, StreamEntry
from windrow.errors import WindrowError
from windrow.runtime.modes import Mode, emitted_schema
from windrow.runtime.shards.query import ShardedQuery
from windrow.runtime.shards.running_plan import query_statement
from windrow.runtime.shards.serving.arrow_streams import rows_to
from windrow.runtime.shards.tasks.router import PACKED
from windrow.runtime.spark.data_sources import LOG, Log
from windrow.runtime.spark.spark_session import has_named_sources, registered
from windrow.runtime.spark.workers import python_of_workers
from windrow.types import NULL, Type


def brought_stream(spark: SparkSession, stream: StreamEntry) -> DataFrame:
    """The streaming DataFrame of a stream whose source is Spark's own."""
    connector, name = stream.connector, stream.name.lower()
    assert connector is not None, stream
    if connector.name == "dataframe":
        hint = f"call engine.stream('{stream.name}', df, timestamp=...) before the engine runs, after a restart too"
        raise WindrowError(f"the DataFrame of stream {stream.name} has not been handed over", hint)
    reader = _reader(spark, name).format(connector.name)
    rows = reader.options(**BROUGHT[connector.name](connector)).load()
    return packed_rows(rows, name, rows.columns)


def _rate(connector: Connector) -> dict[str, str]:
    rows = connector.option("rows_per_second")
    rows = 1 if rows is None else rows
    if not isinstance(rows, int) or rows < 1:
        raise WindrowError(f"{rows!r} rows a second cannot be made", "write rate(rows_per_second => 1000)")
    return {"rowsPerSecond": str(rows)}


def _socket(connector: Connector) -> dict[str, str]:
    host, port = connector.arguments
    return {"host": str(host), "port": str(port)}


BROUGHT = {"rate": _rate, "socket": _socket}  # sources of Spark's, with their options


def declared_columns(rows: DataFrame) -> list[tuple[str, str]]:
    """The columns of a DataFrame, with the types that CQL has for them."""
    return [(field.name, str(_declared_type(field))) for field in rows.schema.fields]


def _declared_type(field: StructField) -> Type:
    try:
        found = sql_type(to_arrow_type(field.dataType, timezone="UTC"))
    except (PySparkTypeError, WindrowError):
        found = NULL
    if found == NULL:
        hint = "cast it, or select the parts of it that you need, before you hand the DataFrame over"
        raise WindrowError(f"column {field.name} is {field.dataType.simpleString()}, which has no type here", hint)
    return found


def packed_rows(rows: DataFrame, name: str, columns: Sequence[str]) -> DataFrame:
    """Any DataFrame, its rows packed; only these columns leave the JVM."""
    rows = rows.select(*(F.col(f"`{column.replace('`', '``')}`") for column in columns))

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            blob = rows_to(pa.Table.from_batches([batch])).to_pybytes()
            yield pa.RecordBatch.from_arrays(
                [pa.array([name]), *(pa.nulls(1, pa.int32()) for _ in range(2)), pa.array([blob], pa.binary())],
                names=["source", "task", "tasks", "blob"],
            )

    with python_of_workers(rows.sparkSession.sparkContext):
        return rows.mapInArrow(pack, PACKED)


def log_stream(spark: SparkSession, checkpoint: str, query: ShardedQuery, mode: Mode) -> DataFrame:
    """What a query has emitted and will emit, read from the log of the checkpoint; a DataFrame of this session."""
    schema = from_arrow_schema(emitted_schema(query.plan.schema, mode, query.slide))
    reader = _reader(registered(spark, Log), f"{query.name}_{mode.value}").format(LOG)
    created = str(query_statement(query.keys[0]))
    options = {"checkpoint": checkpoint, "query": query.name, "created": created, "mode": mode.value}
    options["schema"] = schema.json()
    return reader.options(**options).load()


def _reader(spark: SparkSession, name: str) -> DataStreamReader:
    """Sources have names where the session wants them: plain letters as they are, others by their bytes."""
    if not has_named_sources(spark):
        return spark.readStream
    plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name)
    return spark.readStream.name(name if plain else f"_{name.encode().hex()}")
