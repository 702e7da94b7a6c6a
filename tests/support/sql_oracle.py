"""The oracle: recomputes an answer from scratch. It gives the rows in view to DuckDB and runs the query as plain SQL.

Windows are their definitions, row by row, in Python; nothing here is shared with the kernels. Where DuckDB and Spark
SQL differ, the SQL is written to give Spark's meaning; every such case is in `_as_duckdb`.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from itertools import chain, count
from typing import Any

import duckdb
import pyarrow as pa

from windrow.plan.aggregates import AGGREGATES
from windrow.plan.expressions import Literal, Named, SortKey
from windrow.plan.functions import call
from windrow.plan.nodes import (
    Alias,
    AntiJoin,
    Filter,
    GroupBy,
    Join,
    Limit,
    Node,
    Project,
    SemiJoin,
    Stream,
    Table,
    Union,
    Windowed,
)
from windrow.plan.printer import query_text
from windrow.plan.windows import (
    Between,
    Latest,
    Now,
    Range,
    RangeAgo,
    RowCount,
    Rows,
    RowsAgo,
    Since,
    Window,
)
from windrow.types import BIGINT, TIMESTAMP

Row = dict[str, Any]  # with its time in microseconds under "ts"
CONNECTION = duckdb.connect(config={"threads": 1})
CONNECTION.execute("SET GLOBAL ieee_floating_point_ops = false")
with contextlib.suppress(duckdb.CatalogException):  # older versions give null without being asked
    CONNECTION.execute("SET GLOBAL error_on_division_by_zero = false")
CONNECTION.execute("SET GLOBAL TimeZone = 'UTC'")
CONNECTION.execute("SET GLOBAL default_null_order = 'nulls_first_on_asc_last_on_desc'")


def is_approximate(plan: Node) -> bool:
    """Approximate answers are not what SQL gives over the same rows; they have laws of their own."""
    groups = [node for node in plan.walk() if isinstance(node, GroupBy)]
    names = {named.call.function for node in groups for named in node.aggregates}
    return any(name in AGGREGATES and AGGREGATES[name].approximation is not None for name in names)


def stream_order(rows: Sequence[Row], ties: Sequence[str]) -> list[Row]:
    """By time, then by the tie columns, then by the values in column order; nulls first."""

    def key(row: Row) -> list[Any]:
        names = [*ties, *(name for name in row if name not in ties)]
        return [row["ts"], *((row[name] is not None, row[name] if row[name] is not None else 0) for name in names)]

    return sorted(rows, key=key)


def in_view(rows: Sequence[Row], window: Window | None, now: int, lifetime: str | None = None) -> list[Row]:
    """The rows of a stream, in its order, that a window shows at an instant; `lifetime` names the column of their own.

    A window that slides in time shows what it would show without SLIDE one tick before its last refresh.
    """
    if window is not None and isinstance(window.slide, int):
        return in_view(rows, replace(window, slide=None), now // window.slide * window.slide - 1, lifetime)
    past = [row for row in rows if row["ts"] <= now]
    seen = past if window is None else _through(past, window, now)
    return [row for row in seen if lifetime is None or row[lifetime] is None or now < row["ts"] + row[lifetime]]


def _through(past: list[Row], window: Window, now: int) -> list[Row]:
    extent, edge = window.extent, now
    if isinstance(extent, Rows | Latest):
        return _last_of_each(past, extent, window.slide.count if isinstance(window.slide, RowCount) else 1)
    if isinstance(window.slide, RowCount):
        past = past[: len(past) // window.slide.count * window.slide.count]
        edge = past[-1]["ts"] if past else now
    if isinstance(extent, Range):
        return [row for row in past if edge - extent.length < row["ts"]]
    if isinstance(extent, RangeAgo):
        return [row for row in past if edge - extent.begin < row["ts"] <= edge - extent.end]
    if isinstance(extent, Now):
        return [row for row in past if row["ts"] == edge]
    if isinstance(extent, Since):
        return [row for row in past if row["ts"] >= extent.begin]
    if isinstance(extent, Between):
        return [row for row in past if extent.begin <= row["ts"] < extent.end]
    if isinstance(extent, RowsAgo):
        return past[max(0, len(past) - extent.begin) : max(0, len(past) - extent.end)]
    return past


def _last_of_each(past: Sequence[Row], extent: Rows | Latest, slide: int) -> list[Row]:
    """As of each `slide`-th row of a partition; without columns all rows are one."""
    names = [name.rpartition(".")[2] for name in extent.partition]
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in past:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    count = extent.count if isinstance(extent, Rows) else 1
    return [row for group in groups.values() for row in group[: len(group) // slide * slide][-count:]]


def answer_at(plan: Node, streams: dict[str, list[Row]], schemas: dict[str, pa.Schema], now: int) -> Counter[Any]:
    """The bag of rows that the same query gives over what its windows show at an instant."""
    views: dict[str, pa.Table] = {}
    sql = _as_duckdb(query_text(_without_windows(plan, streams, schemas, now, views)))
    with CONNECTION.cursor() as cursor:  # one of its own: an error leaves a connection unusable
        for name, table in views.items():
            cursor.register(name, table)
        found = cursor.sql(sql).to_arrow_table()
    rows = zip(*(column.to_pylist() for column in found.columns), strict=True)
    return Counter(normal_row(row) for row in rows)


def _without_windows(
    plan: Node, streams: dict[str, list[Row]], schemas: dict[str, pa.Schema], now: int, views: dict[str, pa.Table]
) -> Node:
    """The plan with every stream and its window replaced by a table of the rows in view."""
    window = plan.window if isinstance(plan, Windowed) and isinstance(plan.input, Stream) else None
    leaf = plan.input if window is not None else plan
    if isinstance(plan, Table):
        views[plan.name] = _table(streams[plan.name], schemas[plan.name])
        return plan
    if isinstance(plan, Limit):
        ties = tuple(SortKey(column) for column in plan.schema.columns)
        plan = replace(plan, keys=(*plan.keys, *ties))
    if isinstance(leaf, Stream):
        name = f"view{len(views)}"
        rows = in_view(streams[leaf.name], window, now, leaf.lifetime)
        views[name] = _table(rows, schemas[leaf.name])
        table = Table(name, leaf.alias, leaf.columns)
        if window is not None and isinstance(window.extent, Latest):
            return Filter(table, window.extent.predicate)
        return table
    if isinstance(plan, Windowed):  # a suffix of the window of a sub-query: the rows say their time
        assert isinstance(plan.window.extent, Range), plan
        times = next(column for column in plan.schema.columns if column.name.endswith(".ts"))
        oldest = now - plan.window.extent.length
        below = _without_windows(plan.input, streams, schemas, now, views)
        return Filter(below, call(">", times, Literal(oldest, TIMESTAMP)))
    if isinstance(plan, GroupBy) and any(named.call.function in ("FIRST", "LAST") for named in plan.aggregates):
        plan = _with_times(plan)
    return plan.with_inputs(*(_without_windows(below, streams, schemas, now, views) for below in plan.inputs))


def _with_times(plan: GroupBy) -> GroupBy:
    """FIRST(x) as FIRST(x, n, n times, ties): of the stream rows that a row is made of, handed up as columns."""
    below, orders = _carried(plan.input)
    times = [order[0] for order in orders]
    ties = [name for order in orders if len(order) > 1 for name in (order if len(orders) > 1 else order[1:])]
    columns = tuple(below.schema.column(name) for name in (*times, *ties))
    calls = [
        replace(named.call, arguments=(*named.call.arguments, Literal(len(times), BIGINT), *columns))
        if named.call.function in ("FIRST", "LAST")
        else named.call
        for named in plan.aggregates
    ]
    named = tuple(replace(one, call=call) for one, call in zip(plan.aggregates, calls, strict=True))
    return replace(plan, input=below, aggregates=named)


def _carried(plan: Node) -> tuple[Node, list[list[str]]]:
    """The plan with the order of its rows: for each stream that they come from the columns of its time and its ties."""
    if isinstance(plan, Stream):
        return plan, [[f"{plan.alias}.{name}" for name in ("ts", *plan.ties)]]
    if isinstance(plan, Table):
        return plan, []
    if isinstance(plan, SemiJoin | AntiJoin):
        left, orders = _carried(plan.left)
        return plan.with_inputs(left, plan.right), orders
    parts = [_carried(below) for below in plan.inputs]
    if isinstance(plan, Project):
        below, orders = parts[0]
        numbers = count()
        names = [[f"carried_{next(numbers)}" for _ in order] for order in orders]
        pairs = zip(chain.from_iterable(names), chain.from_iterable(orders), strict=True)
        more = (Named(name, below.schema.column(old)) for name, old in pairs)
        return Project(below, (*plan.columns, *more)), names
    if isinstance(plan, Union):  # of two projections, whose columns correspond by position
        return plan.with_inputs(*(below for below, _ in parts)), parts[0][1]
    assert isinstance(plan, Alias | Filter | Join | Windowed), plan
    orders = [order for _, some in parts for order in some]
    if isinstance(plan, Alias):
        orders = [[f"{plan.name}.{name.rpartition('.')[2]}" for name in order] for order in orders]
    return plan.with_inputs(*(below for below, _ in parts)), orders


def _table(rows: Sequence[Row], schema: pa.Schema) -> pa.Table:
    arrays = [pa.array([row[field.name] for row in rows], _storage(field.type)).view(field.type) for field in schema]
    return pa.table(arrays, schema=schema)


def _storage(of: pa.DataType) -> pa.DataType:
    return pa.int64() if pa.types.is_timestamp(of) or pa.types.is_duration(of) else of


def _as_duckdb(sql: str) -> str:
    """Spark's meaning in DuckDB's words."""
    sql = re.sub(r"\bVAR\(", "VAR_SAMP(", sql)
    sql = re.sub(r"\bQUANTILE\(([\w.\"]+), ([\d.]+)\)", _quantile, sql)  # the element at ⌈φN⌉, as we define it
    sql = re.sub(r"\bTOP\((\d+), ([\w.\"]+)\)", _top, sql)
    argument = r"\(([\w.\"]+)\)"
    sql = re.sub(rf"\b(?:MERGED_|ROW_)?SQUARES{argument}", r"SUM(CAST(\1 AS DOUBLE) * CAST(\1 AS DOUBLE))", sql)
    sql = re.sub(rf"\bSPAN{argument}", r"(MAX(CAST(\1 AS DOUBLE)) - MIN(CAST(\1 AS DOUBLE)))", sql)
    return re.sub(r"\b(FIRST|LAST)\(([^()]+)\)", _edge, sql)


def _quantile(match: re.Match[str]) -> str:
    x, fraction = match[1], match[2]
    return f"list_sort(list({x}) FILTER ({x} IS NOT NULL))[greatest(1, CAST(ceil({fraction} * count({x})) AS INT))]"


def _top(match: re.Match[str]) -> str:
    """The most frequent first, among equals the smaller value; an empty list without values."""
    count, x = match[1], match[2]
    counted = f"map_entries(histogram({x} + 0))"  # one zero, not two
    by_count = f"list_sort(list_transform({counted}, lambda e: {{'c': -CAST(e.value AS BIGINT), 'i': e.key}}))"
    return f"coalesce(list_transform({by_count}[1:{count}], lambda e: {{'item': e.i, 'count': -e.c}}), [])"


def _edge(match: re.Match[str]) -> str:
    """FIRST and LAST by the time of the row, then by ties and the value; nulls are skipped."""
    function, (x, count, *order) = match[1], match[2].split(", ")
    time, ties = f"greatest({', '.join(order[: int(count)])})", order[int(count) :]
    direction, nulls = ("ASC", "NULLS FIRST") if function == "FIRST" else ("DESC", "NULLS LAST")
    by = ", ".join(f"{part} {direction} {nulls}" for part in (time, *ties, x))
    return f"(list({x} ORDER BY {by}) FILTER ({x} IS NOT NULL))[1]"


def normal_row(row: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(normal(value) for value in row)


def normal(value: Any) -> Any:
    """Values that count as equal become equal: doubles to nine digits, times as UTC, numbers of all types alike."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, datetime):
        return value.replace(tzinfo=timezone.utc) if value.tzinfo is None else value.astimezone(timezone.utc)
    if isinstance(value, pa.MonthDayNano):
        return timedelta(days=value.days, microseconds=value.nanoseconds // 1000)
    if isinstance(value, float):
        return "NaN" if value != value else float(f"{value:.9g}") + 0.0
    if isinstance(value, int | Decimal):
        return (
            float(f"{float(value):.9g}") if isinstance(value, Decimal) and value != value.to_integral() else int(value)
        )
    if isinstance(value, list):
        return tuple(normal(item) for item in value)
    return tuple(normal(item) for item in value.values()) if isinstance(value, dict) else value
