"""Arguments of aggregates as further columns of a projection."""

from __future__ import annotations

from collections.abc import Sequence

from windrow.operators.operator import CompiledExpression
from windrow.physical.expressions import ExpressionCompiler
from windrow.plan.expressions import Expression


def appended(
    values: Sequence[Expression], compiler: ExpressionCompiler, columns: list[CompiledExpression]
) -> tuple[int, ...]:
    """The ordinals of arguments, computed as further columns."""
    first = len(columns)
    columns.extend(compiler.column(value) for value in values)
    return tuple(range(first, len(columns)))
