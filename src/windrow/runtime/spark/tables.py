"""Tables from data: written once as Parquet beside the checkpoint, and from there a table from files like any other.

So every shard reads it for itself, also after a restart, and a DataFrame of any size does not pass through the driver.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet
from pyspark.sql import DataFrame

from windrow.errors import WindrowError
from windrow.runtime.create_statements import Columns, columns_of, no_rows, table_statement
from windrow.runtime.shards.own_tables import own_source
from windrow.runtime.shards.storage.files.folder import Folder
from windrow.runtime.spark.sources import declared_columns
from windrow.sources.rows import rows_table, tables_of


def table_from(data: Any, name: str, place: str, key: Sequence[str], retroactive: bool) -> str:
    """Write the rows of a table to a place; the statement that makes a table of them."""
    if isinstance(data, DataFrame):
        if data.isStreaming:
            hint = f"write engine.stream('{name}', df, timestamp=...)"
            raise WindrowError("a streaming DataFrame is a stream, not a table", hint)
        columns: Columns = declared_columns(data)
        data.write.mode("overwrite").parquet(place)
    else:
        columns = _written(data, name, Folder(place))
    return table_statement(name, columns, key, retroactive, own_source(name))


def _written(data: Any, name: str, place: Folder) -> Columns:
    tables = list(tables_of(rows_table(data) if isinstance(data, list) else data, 1 << 30))
    if not tables:
        raise no_rows(name, "write CREATE TABLE and insert rows")
    table = pa.concat_tables(tables)
    content = pa.BufferOutputStream()
    pa.parquet.write_table(table, content)
    place.write("rows.parquet", content.getvalue().to_pybytes())
    return columns_of(table)
