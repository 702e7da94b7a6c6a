"""Spark SQL run on DuckDB: read and written by plain sqlglot, and rewritten where the two mean different things.

`MEANINGS` lists every such difference once, with its reason. The relations that a query reads are Arrow tables.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
import sqlglot
from sqlglot import exp

from support.cql_text import Gap
from support.normal_rows import normal_row

# The order of the rows of a view, for FIRST and LAST: their times, and their places among rows of their time.
TIME, PLACES = "_time", "_places"
CONNECTION = duckdb.connect(config={"threads": 1})
CONNECTION.execute("SET GLOBAL ieee_floating_point_ops = false")
CONNECTION.execute("SET GLOBAL TimeZone = 'UTC'")
with contextlib.suppress(duckdb.CatalogException):  # older versions give null without being asked
    CONNECTION.execute("SET GLOBAL error_on_division_by_zero = false")
_SUMS = {"SQUARES", "MERGED_SQUARES", "ROW_SQUARES"}


def run(sql: str, relations: Mapping[str, pa.Table], streams: Mapping[str, str]) -> pa.Table:
    """What a query gives over relations; `streams` names those with times, and their alias where none is written."""
    query = _read(sql, tuple(streams.items()))
    with CONNECTION.cursor() as cursor:  # one of its own: an error leaves a connection unusable
        for name, table in relations.items():
            cursor.register(
                name, table if query.is_timed or name not in streams else table.drop_columns([TIME, PLACES])
            )
        try:
            return cursor.sql(query.text or _with_limits(query.tree, cursor)).to_arrow_table()
        except duckdb.OutOfRangeException as error:
            raise Gap("DuckDB stops where a sum is out of range") from error


def bag(table: pa.Table) -> Counter[Any]:
    if not table.num_columns:
        return Counter({(): table.num_rows})
    return Counter(normal_row(row) for row in zip(*(column.to_pylist() for column in table.columns), strict=True))


@cache
def relations_of(sql: str) -> frozenset[str]:
    """The names of all relations that a query reads."""
    return frozenset(table.name for table in sqlglot.parse_one(sql, read="spark").find_all(exp.Table))


@cache
def is_aggregate(sql: str) -> bool:
    """A SELECT that gives one row for each group, and nothing but these."""
    tree = sqlglot.parse_one(sql, read="spark")
    if not isinstance(tree, exp.Select) or any(tree.args.get(part) for part in ("having", "limit", "distinct")):
        return False
    return tree.args.get("group") is not None or any(_aggregates(item) for item in tree.expressions)


@cache
def branches(sql: str) -> list[str]:
    """The sides of a UNION ALL; the query itself where it is none."""
    tree = sqlglot.parse_one(sql, read="spark")
    if not isinstance(tree, exp.Union) or tree.args.get("distinct") or tree.args.get("limit"):
        return [sql]
    return [part for side in (tree.left, tree.right) for part in branches(side.sql("spark"))]


def _aggregates(item: exp.Expression) -> bool:
    named = {str(call.this).upper() for call in item.find_all(exp.Anonymous)}
    return item.find(exp.AggFunc) is not None or bool(named & {*_SUMS, "VAR", "TOP", "SPAN", "BETWEEN_TWO"})


class Query(NamedTuple):
    """A query in DuckDB's words; with LIMIT its text depends on how many columns its relations have."""

    tree: exp.Expression
    text: str | None
    is_timed: bool


@cache
def _read(sql: str, streams: tuple[tuple[str, str], ...]) -> Query:
    tree = sqlglot.parse_one(re.sub(r"\bPERCENTILE\s*\(", "BETWEEN_TWO(", sql), read="spark")
    names = dict(streams)
    _refuse_approximate(tree)
    for table in tree.find_all(exp.Table):
        if table.name in names and not table.alias:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(names[table.name])))
    for listed in list(tree.find_all(exp.ArrayAgg, exp.GroupConcat)):
        listed.replace(_listed(listed, set(names)))
    for edge in list(tree.find_all(exp.First, exp.Last)):
        edge.replace(_edge(edge, set(names)))
    for node in list(tree.walk()):
        for rewrite in MEANINGS.values():
            replaced = rewrite(node)
            if replaced is not None:
                node.replace(replaced)
                break
    is_timed = any(column.name == TIME for column in tree.find_all(exp.Column))
    return Query(tree, None if tree.find(exp.Limit) else tree.sql("duckdb"), is_timed)


def _refuse_approximate(tree: exp.Expression) -> None:
    for call in tree.find_all(exp.Func):
        name = str(call.this) if isinstance(call, exp.Anonymous) else call.sql_name()
        if name.upper().startswith(("APPROX_", "FREQUENT")):
            raise Gap("approximate aggregates")


def _variance(node: exp.Expression) -> exp.Expression | None:
    return exp.func("VAR_SAMP", *node.expressions) if _is_call(node, {"VAR"}) else None


def _squares(node: exp.Expression) -> exp.Expression | None:
    if not _is_call(node, _SUMS):
        return None
    x = node.expressions[0].sql("duckdb")
    return _duckdb(f"SUM(CAST({x} AS DOUBLE) * CAST({x} AS DOUBLE))")


def _span(node: exp.Expression) -> exp.Expression | None:
    if not _is_call(node, {"SPAN"}):
        return None
    x = node.expressions[0].sql("duckdb")
    return _duckdb(f"(MAX(CAST({x} AS DOUBLE)) - MIN(CAST({x} AS DOUBLE)))")


def _quantile(node: exp.Expression) -> exp.Expression | None:
    if not isinstance(node, exp.Quantile):
        return None
    x, fraction = node.this.sql("duckdb"), node.args["quantile"].sql("duckdb")
    place = f"greatest(1, CAST(ceil({fraction} * count({x})) AS INT))"
    return _duckdb(f"list_extract(list_sort(list({x}) FILTER ({x} IS NOT NULL)), {place})")


def _between_two(node: exp.Expression) -> exp.Expression | None:
    if not _is_call(node, {"BETWEEN_TWO"}):
        return None
    x, fraction = (argument.sql("duckdb") for argument in node.expressions)
    return _duckdb(f"quantile_cont(CAST({x} AS DOUBLE), {fraction})")


def _any_value(node: exp.Expression) -> exp.Expression | None:
    return _duckdb(f"MIN({node.this.sql('duckdb')})") if isinstance(node, exp.AnyValue) else None


def _count_if(node: exp.Expression) -> exp.Expression | None:
    return _duckdb(f"COUNT(*) FILTER (WHERE {node.this.sql('duckdb')})") if isinstance(node, exp.CountIf) else None


def _mode(node: exp.Expression) -> exp.Expression | None:
    if not isinstance(node, exp.Mode):
        return None
    top = _top(exp.Anonymous(this="TOP", expressions=[exp.Literal.number(1), node.this.copy()]))
    assert top is not None
    return _duckdb(f"list_extract({top.sql('duckdb')}, 1).item")


def _extreme_by(node: exp.Expression) -> exp.Expression | None:
    if not isinstance(node, exp.ArgMax | exp.ArgMin):
        return None
    x, y = node.this.sql("duckdb"), node.expression.sql("duckdb")
    way = "DESC NULLS LAST" if isinstance(node, exp.ArgMax) else "ASC NULLS FIRST"
    return _duckdb(f"list_extract(list({x} ORDER BY {y} {way}, {x} {way}) FILTER ({y} IS NOT NULL), 1)")


def _set(node: exp.Expression) -> exp.Expression | None:
    if not isinstance(node, exp.ArrayUniqueAgg):
        return None
    x = node.this.sql("duckdb")
    return _duckdb(f"coalesce(list_sort(list(DISTINCT {x}) FILTER ({x} IS NOT NULL)), [])")


def _top(node: exp.Expression) -> exp.Expression | None:
    if not _is_call(node, {"TOP"}):
        return None
    count, x = (argument.sql("duckdb") for argument in node.expressions)
    counted = f"map_entries(histogram({x}))"
    by_count = f"list_sort(list_transform({counted}, lambda e: {{'c': -CAST(e.value AS BIGINT), 'i': e.key}}))"
    return _duckdb(f"coalesce(list_transform(({by_count})[1:{count}], lambda e: {{'item': e.i, 'count': -e.c}}), [])")


def _edge(node: exp.Expression, streams: set[str]) -> exp.Expression:
    """FIRST and LAST go by the time of the row, then by its ties, then by the value, and skip nulls."""
    select = node.find_ancestor(exp.Select)
    assert select is not None
    x, order = node.this.sql("duckdb"), _order(select, streams)
    way = "ASC" if isinstance(node, exp.First) else "DESC"
    by = ", ".join(f"{key} {way}" for key in (*order, x))
    return _duckdb(f"list_extract(list({x} ORDER BY {by}) FILTER ({x} IS NOT NULL), 1)")


def _listed(node: exp.Expression, streams: set[str]) -> exp.Expression:
    """ARRAY_AGG and STRING_AGG go by what is written, else by the time of the row and its ties; then by the value."""
    value, keys = node.this, []
    if isinstance(value, exp.Order):
        value, keys = value.this, [(key.this.sql("duckdb"), bool(key.args.get("desc"))) for key in value.expressions]
    select = node.find_ancestor(exp.Select)
    assert select is not None
    x = value.sql("duckdb")
    order = keys or [(key, False) for key in _order(select, streams)]
    order = [*order, (x, bool(keys) and keys[0][1])]
    by = ", ".join(f"{key} {'DESC NULLS LAST' if down else 'ASC NULLS FIRST'}" for key, down in order)
    values = f"list({x} ORDER BY {by}) FILTER ({x} IS NOT NULL)"
    if isinstance(node, exp.ArrayAgg):
        return _duckdb(f"coalesce({values}, [])")
    return _duckdb(f"array_to_string({values}, {node.args['separator'].sql('duckdb')})")


def _order(select: exp.Select, streams: set[str]) -> tuple[str, str]:
    """The time of a row of FROM is the latest of its parts', then it goes by the places of its parts, one by one."""
    sources = [select.args["from_"].this, *(join.this for join in select.args.get("joins") or [])]
    names = []
    for source in sources:
        if isinstance(source, exp.Subquery):
            _hand_up(source.this, streams)
        elif source.name not in streams:
            continue
        names.append(source.alias_or_name)
    times = ", ".join(f"{name}.{TIME}" for name in names)
    return f"greatest({times})", " || ".join(f"coalesce({name}.{PLACES}, [0])" for name in names)


def _hand_up(below: exp.Expression, streams: set[str]) -> None:
    """Let a sub-query have the order of its rows as columns."""
    if isinstance(below, exp.Union) and not below.args.get("distinct"):
        _hand_up(below.left, streams)
        _hand_up(below.right, streams)
        return
    if not isinstance(below, exp.Select) or below.args.get("group") or below.args.get("distinct"):
        raise Gap("FIRST or LAST over a sub-query that is no selection")
    if TIME not in below.named_selects:
        time, places = _order(below, streams)
        below.select(f"{time} AS {TIME}", f"{places} AS {PLACES}", dialect="duckdb", copy=False)


def _keys_first(node: exp.Expression) -> exp.Expression | None:
    if not isinstance(node, exp.Select) or not any(isinstance(item, exp.Star) for item in node.expressions):
        return None
    joins = node.args.get("joins") or []
    keys = dict.fromkeys(key.name for join in joins for key in join.args.get("using") or [])
    if not keys or any(item.args.get("except_") for item in node.expressions):
        return None
    rest = exp.Star(except_=[exp.to_identifier(key) for key in keys])
    items = [[*map(exp.column, keys), rest] if isinstance(item, exp.Star) else [item] for item in node.expressions]
    node.set("expressions", [one for some in items for one in some])
    return None


def _arithmetic(node: exp.Expression) -> exp.Expression | None:
    if not isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Neg) or _is_tried(node) or _aggregates(node):
        return None
    return exp.Anonymous(this="TRY", expressions=[node.copy()])


def _is_tried(node: exp.Expression) -> bool:
    return isinstance(node.parent, exp.Anonymous) and node.parent.this == "TRY"


def _is_call(node: exp.Expression, names: set[str]) -> bool:
    return isinstance(node, exp.Anonymous) and str(node.this).upper() in names


def _duckdb(sql: str) -> exp.Expression:
    return sqlglot.parse_one(sql, read="duckdb")


def _with_limits(tree: exp.Expression, cursor: Any) -> str:
    tree = tree.copy()
    for limited in [node for node in tree.walk() if isinstance(node, exp.Query) and node.args.get("limit")]:
        _order_whole_rows(limited, cursor)
    return tree.sql("duckdb")


def _order_whole_rows(limited: exp.Query, cursor: Any) -> None:
    """Which rows LIMIT takes is decided by the whole row, column by column, after the keys that are written."""
    whole = limited.copy()
    for part in ("limit", "offset", "order"):
        whole.set(part, None)
    width = len(cursor.sql(whole.sql("duckdb")).columns)
    keys = [exp.Ordered(this=exp.Literal.number(n + 1), nulls_first=True) for n in range(width)]
    written = limited.args["order"].expressions if limited.args.get("order") else []
    limited.set("order", exp.Order(expressions=[*written, *keys]))


# What CQL and Spark SQL mean where DuckDB means something else, or nothing.
MEANINGS: dict[str, Callable[[exp.Expression], exp.Expression | None]] = {
    "VAR is the variance of a sample": _variance,
    "QUANTILE is the element at the rank ceil(fraction * n), never between two": _quantile,
    "TOP lists values with their counts, the most frequent first, among equals the smaller one": _top,
    "PERCENTILE lies between two values, also of integers": _between_two,
    "ANY_VALUE is the smallest": _any_value,
    "COUNT_IF of no rows is 0": _count_if,
    "MODE is the smallest of the most frequent": _mode,
    "MAX_BY and MIN_BY choose among rows of the same y by x": _extreme_by,
    "COLLECT_SET is in the order of the values, and empty without any": _set,
    "a number that is out of range is null and stops nothing": _arithmetic,
    "SELECT * over JOIN ... USING (k) gives k first": _keys_first,
    "aggregates of the tests' own: sums of squares": _squares,
    "aggregates of the tests' own: the distance of the extremes": _span,
}
