"""Sources on Spark: every stream as a streaming DataFrame of small rows that say how to get the rows themselves.

Spark keeps the offsets and replays them. What crosses from the JVM to Python is, for files the path, for generators the
numbers of the rows, and for any other DataFrame its rows packed into Arrow blobs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.fs
from pyspark.errors import PySparkTypeError
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_type
from pyspark.sql.types import StructField

from windrow.batch import sql_type
from windrow.catalog import StreamEntry
from windrow.errors import WindrowError
from windrow.runtime.modes import Mode, emitted_schema
from windrow.runtime.shards.query import ShardedQuery
from windrow.runtime.shards.running_plan import emitted_name
from windrow.runtime.shards.tasks import messages
from windrow.runtime.shards.tasks.router import PACKED
from windrow.runtime.spark.data_sources import LOG, NUMBERS, WAKE, Log
from windrow.runtime.spark.spark_session import has_named_sources, registered
from windrow.runtime.spark.workers import python_of_workers
from windrow.sources.generators import generator
from windrow.types import NULL, Type

_FILE = "path string, modificationTime timestamp, length bigint, content binary"


def packed_stream(spark: SparkSession, stream: StreamEntry, pushed: Path, rows_a_batch: int) -> DataFrame:
    """The streaming DataFrame of a stream declared in CQL."""
    connector, name = stream.connector, stream.name.lower()
    if connector is not None and connector.name == "dataframe":
        hint = f"call engine.stream('{stream.name}', df, timestamp=...) before the engine runs, after a restart too"
        raise WindrowError(f"the DataFrame of stream {stream.name} has not been handed over", hint)
    if connector is None:
        pushed.mkdir(parents=True, exist_ok=True)
        # Nobody else reads these files, and they have done their duty once their batch is committed.
        return _files(spark, name, str(pushed), "arrow", {"maxFilesPerTrigger": "1", "cleanSource": "delete"})
    if connector.name in ("parquet", "csv", "json"):
        files = connector.option("max_files")
        if files is not None and (not isinstance(files, int) or files < 1):
            hint = f"write {connector.name}('folder', max_files => 10)"
            raise WindrowError(f"{files!r} files cannot be read at a time", hint)
        most = {"maxBytesPerTrigger": str(128 << 20)} if files is None else {"maxFilesPerTrigger": str(files)}
        return _files(spark, name, _existing(str(connector.arguments[0])), connector.name, most)
    if connector.name == "generator":
        return _numbers(spark, name, stream, rows_a_batch)
    if connector.name == "rate":
        rows = connector.option("rows_per_second")
        rows = 1 if rows is None else rows
        if not isinstance(rows, int) or rows < 1:
            raise WindrowError(f"{rows!r} rows a second cannot be made", "write rate(rows_per_second => 1000)")
        rate = spark.readStream.name(source_name(name)).format("rate").option("rowsPerSecond", str(rows)).load()
        return packed_rows(rate, name, rate.columns)
    if connector.name == "socket":
        host, port = connector.arguments
        lines = (
            spark.readStream.name(source_name(name))
            .format("socket")
            .option("host", str(host))
            .option("port", str(port))
            .load()
        )
        return packed_rows(lines, name, lines.columns)
    raise WindrowError(f"{connector.name} is not a source of streams", "parquet, csv, json, generator, rate or socket")


def rows_of(stream: StreamEntry) -> int | None:
    """How many rows a generator makes in all; None for other sources and for one that does not end."""
    if stream.connector is None or stream.connector.name != "generator":
        return None
    return generator(str(stream.connector.arguments[0]), dict(stream.connector.options)).rows


def files_of(stream: StreamEntry) -> int | None:
    """How many files there are for a stream at this moment; None when it does not read files."""
    if stream.connector is None or stream.connector.name not in ("parquet", "csv", "json"):
        return None
    system, path = pa.fs.FileSystem.from_uri(_uri(_existing(str(stream.connector.arguments[0]))))
    if system.get_file_info(path).is_file:
        return 1
    found = system.get_file_info(pa.fs.FileSelector(path, recursive=True))
    return sum(1 for info in found if info.is_file and _is_read(info.path[len(path) :], stream.connector.name))


def _is_read(path: str, form: str) -> bool:
    """Spark passes over what begins with a dot or an underscore, folders too."""
    words = [word for word in path.split("/") if word]
    hidden = any(word.startswith(".") or (word.startswith("_") and "=" not in word) for word in words)
    return path.endswith(f".{form}") and not hidden


def _uri(place: str) -> str:
    return place if "://" in place else Path(place).as_uri()


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
            blob = messages.table_to_bytes(pa.Table.from_batches([batch]))
            yield pa.RecordBatch.from_arrays(
                [pa.array([name]), pa.array(["blob"]), pa.array([""]), pa.array([blob], pa.binary())],
                names=["source", "how", "what", "blob"],
            )

    with python_of_workers(rows.sparkSession.sparkContext):
        return rows.mapInArrow(pack, PACKED)


def check_named(rows: DataFrame) -> None:
    """Spark finds the place in a source again by its name; a DataFrame made before `connect` may read one without."""
    leaves = rows._jdf.queryExecution().analyzed().collectLeaves()
    for place in range(leaves.size()):
        leaf = leaves.apply(place)
        if leaf.isStreaming() and "Unassigned" in leaf.sourceIdentifyingName().toString():
            hint = "after windrow.connect write spark.readStream.name('trades').format(...).load()"
            raise WindrowError("the DataFrame reads a source without a name", hint)


def wake_stream(spark: SparkSession, file: Path) -> DataFrame:
    """Moves whenever the number in a file does: for statements and heartbeats when sources are silent."""
    source = spark.readStream.name("windrow_wake").format(WAKE).option("path", str(file)).load()
    return source.select(F.lit("").alias("source"), F.lit("wake").alias("how"), "what", _no_blob())


def log_stream(spark: SparkSession, checkpoint: str, query: ShardedQuery, mode: Mode) -> DataFrame:
    """What a query has emitted and will emit, read from the log of the checkpoint; a DataFrame of this session."""
    schema = from_arrow_schema(emitted_schema(query.plan.schema, mode, query.slide))
    reader = registered(spark, Log).readStream.format(LOG)
    if has_named_sources(spark):
        reader = reader.name(source_name(f"{query.name}_{mode.value}"))
    options = {"checkpoint": checkpoint, "name": emitted_name(query.key, mode), "schema": schema.json()}
    return reader.options(**options).load()


def source_name(name: str) -> str:
    """A name that Spark takes for a source: words of plain letters as they are, others by their bytes."""
    return name if re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) else f"_{name.encode().hex()}"


def _files(spark: SparkSession, name: str, place: str, form: str, options: Mapping[str, str]) -> DataFrame:
    reader = (
        spark.readStream.name(source_name(name))
        .format("binaryFile")
        .schema(_FILE)
        .option("pathGlobFilter", f"*.{form}")
    )
    return (
        reader.option("recursiveFileLookup", "true")
        .options(**options)
        .load(place)
        .select(F.lit(name).alias("source"), F.lit("file").alias("how"), F.col("path").alias("what"), _no_blob())
    )


def _numbers(spark: SparkSession, name: str, stream: StreamEntry, rows_a_batch: int) -> DataFrame:
    assert stream.connector is not None
    made = generator(str(stream.connector.arguments[0]), dict(stream.connector.options))
    reader = spark.readStream.name(source_name(name)).format(NUMBERS).option("batch", str(rows_a_batch))
    if made.rows is not None:
        reader = reader.option("rows", str(made.rows))
    reader = reader.option("partitions", str(spark.sparkContext.defaultParallelism))
    return reader.load().select(F.lit(name).alias("source"), F.lit("numbers").alias("how"), "what", _no_blob())


def _existing(place: str) -> str:
    if "://" not in place and not Path(place).exists():
        raise WindrowError(f"there is no file or folder {place}", "give a file, or a folder with such files")
    return place if "://" in place else str(Path(place).resolve())


def _no_blob() -> Column:
    return F.lit(None).cast("binary").alias("blob")
