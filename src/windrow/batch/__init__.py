"""Columnar batches of rows with lifetimes and signs, and what can be said about rows without knowing an operator.

Arrow comes in and goes out at this folder's border; inside, everything is NumPy arrays. Nothing here knows SQL text,
plans or Spark.
"""

from windrow.batch.arrow import (
    arrow_type,
    changelog_to_arrow,
    column_from_arrow,
    column_to_arrow,
    columns_from_arrow,
    rows_to_arrow,
    sql_type,
)
from windrow.batch.batch import Batch, Segment, alive_at, concat, empty, inserts
from windrow.batch.column import Column, column, concat_columns, dtype_of, nulls, order_of
from windrow.batch.consolidation import consolidate, last_change, past_consolidated
from windrow.batch.dictionary import Dictionary
from windrow.batch.key_table import ABSENT, KeyTable
from windrow.batch.words import any_null, words_of

__all__ = [
    "ABSENT",
    "Batch",
    "Column",
    "Dictionary",
    "KeyTable",
    "Segment",
    "alive_at",
    "any_null",
    "arrow_type",
    "changelog_to_arrow",
    "column",
    "column_from_arrow",
    "column_to_arrow",
    "columns_from_arrow",
    "concat",
    "concat_columns",
    "consolidate",
    "dtype_of",
    "empty",
    "inserts",
    "last_change",
    "nulls",
    "order_of",
    "past_consolidated",
    "rows_to_arrow",
    "sql_type",
    "words_of",
]
