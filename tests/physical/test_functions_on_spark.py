"""Functions against Spark SQL itself, all in one query of it: values, nulls and edges.

Spark runs without ANSI mode, where it gives null for what it would refuse otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from support.function_page import is_here
from support.normal_rows import normal_row
from support.spark_forms import COLUMNS, rows, texts
from windrow.batch import Dictionary, arrow_type, column_to_arrow, columns_from_arrow, inserts
from windrow.cql import compile_query
from windrow.physical.expressions import ExpressionCompiler
from windrow.plan.expressions import Expression
from windrow.plan.functions.spark_names import ABSENT, SYNTAX, reason_for
from windrow.plan.nodes import Project
from windrow.session import Session

COUNT = 120
SESSION = Session()
SESSION.execute(
    f"CREATE STREAM r (ts TIMESTAMP, {', '.join(f'`{n}` {of}' for n, of in COLUMNS.items())}) TIMESTAMP BY ts"
)
TYPES = {field.name: field.type for field in SESSION.plan("SELECT * FROM r").schema if field.name != "ts"}
TABLE = pa.table({name: pa.array(values, arrow_type(TYPES[name])) for name, values in rows(COUNT).items()})


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """A session of its own: of the Spark that this process has already, or of one that is gone afterwards."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    from windrow.runtime.spark.own_spark import started_session

    is_there = SparkContext._active_spark_context is not None
    session = (SparkSession.builder.getOrCreate() if is_there else started_session("local[1]")).newSession()
    for setting in ("spark.sql.ansi.enabled", "spark.sql.legacy.sizeOfNull"):
        session.conf.set(setting, "false")
    yield session
    if not is_there:
        session.stop()


@pytest.fixture(scope="module")
def answers(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """What Spark SQL gives for each text."""
    import pyarrow.parquet as pq

    file = tmp_path_factory.mktemp("functions") / "rows.parquet"
    pq.write_table(TABLE, file)
    spark.read.parquet(str(file)).coalesce(1).createOrReplaceTempView("function_rows")
    found: dict[str, list[Any]] = {}
    every = texts()
    for start in range(0, len(every), 80):
        some = every[start : start + 80]
        listed = ", ".join(f"{text} AS c{place}" for place, text in enumerate(some))
        table = spark.sql(f"SELECT {listed} FROM function_rows").toArrow()
        found.update(zip(some, (column.to_pylist() for column in table.columns), strict=True))
    return found


@cache
def bound(text: str) -> Expression:
    plan = compile_query(f"SELECT {text} AS answer FROM r", SESSION.catalog)
    assert isinstance(plan, Project)
    return plan.columns[0].expression


def computed(text: str, start: int = 0, end: int = COUNT) -> list[Any]:
    dictionary, table = Dictionary(), TABLE.slice(start, end - start)
    batch = inserts(columns_from_arrow(table, dictionary), np.zeros(table.num_rows, np.int64))
    ordinals = {f"r.{name}": place for place, name in enumerate(table.column_names)}
    column = ExpressionCompiler(ordinals, dictionary).column(bound(text))(batch)
    array = column_to_arrow(column)
    array.validate(full=True)
    return list(array.to_pylist())


def same(found: Any, wanted: Any) -> bool:
    if isinstance(found, float) and isinstance(wanted, float):
        return normal_row([found]) == normal_row([wanted]) or abs(found - wanted) <= 1e-12 * abs(wanted)
    if isinstance(found, dict) and isinstance(wanted, dict):
        return same(list(found.values()), list(wanted.values()))
    if isinstance(found, list) and isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(same, found, wanted))
    return normal_row([found]) == normal_row([wanted])


@pytest.mark.parametrize("text", texts())
def test_spark_sql_gives_the_same(text: str, answers: dict[str, list[Any]]) -> None:
    for place, (one, other) in enumerate(zip(computed(text), answers[text], strict=True)):
        row = {name: TABLE[name][place].as_py() for name in TABLE.column_names if name in text}
        assert same(one, other), f"{text} is {one!r}, Spark SQL has {other!r}, in {row}"


@pytest.mark.parametrize("text", texts())
def test_rows_do_not_depend_on_their_batch(text: str) -> None:
    pieces = [value for start in range(0, COUNT, 17) for value in computed(text, start, min(start + 17, COUNT))]
    assert normal_row([pieces]) == normal_row([computed(text)])
    assert computed(text, 0, 0) == []


def test_every_function_of_spark_sql_is_here_or_said_why_not(spark: Any) -> None:
    names = [row[0] for row in spark.sql("SHOW FUNCTIONS").collect()]
    here = {name for name in names if is_here(name) or name in SYNTAX}

    assert [name for name in names if name not in here and reason_for(name) is None] == []
    assert [name for name in ABSENT if name in here or name not in names] == []
    assert len(here) >= 250
