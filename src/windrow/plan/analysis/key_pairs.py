"""What of a join condition is equality of columns, and what is left to be tested on each pair."""

from __future__ import annotations

from windrow.plan.expressions import ColumnReference, Expression
from windrow.plan.functions import conjuncts, equal_columns
from windrow.plan.schema import Schema
from windrow.types import Type, is_integer


def key_pairs(
    condition: Expression | None, left: Schema, right: Schema
) -> tuple[list[tuple[ColumnReference, ColumnReference]], list[Expression]]:
    """Columns of both sides that are equal, the left one first; and the other parts of the condition."""
    pairs: list[tuple[ColumnReference, ColumnReference]] = []
    rest: list[Expression] = []
    for part in conjuncts(condition):
        pair = _sides(part, left, right)
        if pair is None:
            rest.append(part)
        else:
            pairs.append(pair)
    return pairs, rest


def _sides(part: Expression, left: Schema, right: Schema) -> tuple[ColumnReference, ColumnReference] | None:
    pair = equal_columns(part)
    if pair is None or not _same_words(pair[0].type, pair[1].type):
        return None
    one, other = pair
    if one.name in left and other.name in right:
        return one, other
    return (other, one) if other.name in left and one.name in right else None


def _same_words(one: Type, other: Type) -> bool:
    """Whether equal values are held as equal words."""
    return one == other or (is_integer(one) and is_integer(other))
