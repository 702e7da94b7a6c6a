"""Columns of a stream that are computed from the others of their row, as they would be in a SELECT over it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from windrow.batch import Column, Dictionary, inserts
from windrow.catalog import Catalog, StreamEntry
from windrow.cql import compile_query
from windrow.operators import CompiledExpression
from windrow.physical.expressions import ExpressionCompiler
from windrow.plan.nodes import Project
from windrow.plan.printer import identifier
from windrow.runtime.intake.side_output import SideOutput


class ComputedColumns:
    def __init__(self, stream: StreamEntry, dictionary: Dictionary, rejected: SideOutput) -> None:
        self._stream, self._rejected = stream, rejected
        self._given = [column.name for column in stream.given]
        self._compiled = _compiled(stream, dictionary)

    def __call__(self, given: list[Column], rows: pa.Table) -> tuple[list[Column], pa.Table]:
        """All columns, from those that rows come with; a row without a value that must not be NULL is rejected."""
        if not self._compiled:
            return given, rows
        batch = inserts(tuple(given), np.zeros(rows.num_rows, np.int64))
        by_name = {
            **dict(zip(self._given, given, strict=True)),
            **{name: compute(batch) for name, compute in self._compiled.items()},
        }
        good = np.ones(rows.num_rows, np.bool_)
        for column in self._stream.columns:
            if column.computed is not None and not column.nullable:
                missing = good & ~by_name[column.name].valid_mask()
                self._rejected.put(rows.filter(pa.array(missing)), f"{column.name} is null")
                good &= ~missing
        columns = [by_name[column.name] for column in self._stream.columns]
        if good.all():
            return columns, rows
        return [column.take(good) for column in columns], rows.filter(pa.array(good))


def _compiled(stream: StreamEntry, dictionary: Dictionary) -> dict[str, CompiledExpression]:
    computed = {column.name: column.computed for column in stream.columns if column.computed is not None}
    if not computed:
        return {}
    catalog = Catalog()
    catalog.put(replace(stream, columns=stream.given, punctuations=(), timestamp=None, ties=(), lifetime=None))
    listed = ", ".join(f"{text} AS {identifier(name)}" for name, text in computed.items())
    plan = compile_query(f"SELECT {listed} FROM {identifier(stream.name)}", catalog)
    project = next(node for node in plan.walk() if isinstance(node, Project))
    places = {f"{stream.name}.{column.name}": place for place, column in enumerate(stream.given)}
    compiler = ExpressionCompiler(places, dictionary)
    return {column.name: compiler.column(column.expression) for column in project.columns}
