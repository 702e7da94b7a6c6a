"""A question: a SELECT without a name over tables and answers that are kept, answered once.

Its plan reads these as tables. It is lowered like any other, over their present rows, and stepped once: the kernels
that keep answers up to date also give this one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa

from windrow.batch import Batch, Dictionary, Segment, column_from_arrow, concat, empty, inserts, rows_to_arrow
from windrow.cql import Ask, InsertAnswer, TableChange
from windrow.errors import WindrowError
from windrow.physical.lower import Lowering
from windrow.physical.physical_node import PhysicalNode, contents_of
from windrow.plan.expressions import Value
from windrow.plan.nodes import Limit, Node, OutputStream, Sort, Stream, Table
from windrow.plan.printer import identifier, query_text
from windrow.runtime.bounds import with_bounds
from windrow.runtime.shown_order import in_shown_order
from windrow.runtime.stepping import SegmentPass
from windrow.runtime.view import View
from windrow.session import Result
from windrow.types import DATE, INTERVAL, TIMESTAMP, Type
from windrow.units import format_timestamp

Present = Callable[[str], pa.Table]  # the rows that a name holds now

_NOW = Segment(0, 1)  # no time goes by in a question: which instant it is called does not matter


def answered(result: Result, optimize: Callable[[Node], Node], present: Present) -> Result:
    """What a bare SELECT gives, with its rows as Arrow; any other result as it is."""
    if not isinstance(result.statement, Ask):
        return result
    plan = result.statement.plan
    check_kept(plan)
    rows = ask(optimize(plan), present)
    shown = tuple(tuple(map(_shown, row.values())) for row in rows.to_pylist())
    count = f"{rows.num_rows:,} row{'' if rows.num_rows == 1 else 's'}"
    return replace(result, message=count, columns=tuple(rows.column_names), rows=shown, answer=rows, explanation=None)


def ask(plan: Node, present: Present) -> pa.Table:
    """The rows of a plan over what names hold now, in the order of ORDER BY and then of their values."""
    dictionary = Dictionary()
    root = Lowering(dictionary).lower(plan)

    def received(source: PhysicalNode, segment: Segment | None) -> Batch:
        assert isinstance(source.plan, Table), source.plan
        if segment is None or source.source != contents_of(source.plan.name):
            return empty(source.plan.schema.types, dictionary)
        return _rows(present(source.plan.name), source.plan, dictionary)

    changes = SegmentPass(lambda node: _NOW, received).changes(root)
    assert changes is not None, plan
    view = View()
    view.add(changes)
    rows = concat([empty(plan.schema.types, dictionary), *view.at(_NOW.begin)])
    keys = plan.keys if isinstance(plan, Sort | Limit) else ()
    return with_bounds(rows_to_arrow(in_shown_order(rows, plan.schema, keys), plan.schema.names), plan)


def inserted(statement: InsertAnswer, optimize: Callable[[Node], Node], present: Present) -> TableChange:
    """The change of a table that INSERT ... SELECT makes: with the rows of its answer now."""
    check_kept(statement.plan)
    answer = ask(optimize(statement.plan), present)
    columns = [_values(column, of) for column, of in zip(answer.columns, statement.plan.schema.types, strict=True)]
    for name, values in zip(answer.column_names, columns, strict=True):
        if None in values and name in statement.not_null:
            raise WindrowError(f"{name} of {statement.table} cannot be NULL", f"add WHERE {name} IS NOT NULL")
    return TableChange("INSERT", statement.table, tuple(zip(*columns, strict=True)), effect=statement.effect)


def _values(column: pa.ChunkedArray, of: Type) -> list[Value]:
    """Times and intervals as whole microseconds, dates as whole days."""
    if of in (TIMESTAMP, INTERVAL, DATE):
        column = column.cast(pa.int32() if of == DATE else pa.int64())
    values: list[Value] = column.to_pylist()
    return values


def _rows(table: pa.Table, plan: Table, dictionary: Dictionary) -> Batch:
    columns = zip(table.columns, plan.schema.types, strict=True)
    typed = tuple(column_from_arrow(values, dictionary, of) for values, of in columns)
    return inserts(typed, np.full(table.num_rows, _NOW.begin, np.int64))


def check_kept(plan: Node) -> None:
    """Refuse what cannot be answered from rows that are there, with what would keep them."""
    streams = [node.name for node in plan.walk() if isinstance(node, Stream)]
    if streams:
        hint = (
            f"have its answer kept: CREATE QUERY answer AS {query_text(plan)}; then SELECT * FROM answer. "
            "EXPLAIN SELECT ... shows how it would run"
        )
        raise WindrowError(f"rows of {identifier(streams[0])} are not kept for questions", hint)
    output = next((node for node in plan.walk() if isinstance(node, OutputStream)), None)
    if output is not None:
        hint = "leave it out to have the rows as they are, or create a query to have its changes"
        raise WindrowError(f"a question is answered once, and {output.kind.value} tells changes", hint)


def _shown(value: object) -> str:
    """As CQL would write it, without quotes."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, datetime):
        return format_timestamp(round(value.timestamp() * 1_000_000))
    if isinstance(value, date | Decimal | int | float | str):
        return str(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name}: {_shown(of)}' for name, of in value.items())}}}"
    return str(value)
