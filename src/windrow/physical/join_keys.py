"""What of a join condition is equality of columns, and what is left to be tested on each pair."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.plan.expressions import Column, Expression
from windrow.plan.functions import conjunction, conjuncts, equal_columns
from windrow.plan.schema import Schema
from windrow.types import Type, is_integer


@dataclass(frozen=True)
class JoinKeys:
    """Ordinals of equal columns on both sides, and the residual condition over left and right side by side."""

    left: tuple[int, ...]
    right: tuple[int, ...]
    residual: Expression | None


def join_keys(condition: Expression | None, left: Schema, right: Schema) -> JoinKeys:
    ours: list[int] = []
    theirs: list[int] = []
    rest: list[Expression] = []
    for part in conjuncts(condition):
        pair = _sides(part, left, right)
        if pair is None:
            rest.append(part)
        else:
            ours.append(left.names.index(pair[0].name))
            theirs.append(right.names.index(pair[1].name))
    return JoinKeys(tuple(ours), tuple(theirs), conjunction(rest))


def _sides(part: Expression, left: Schema, right: Schema) -> tuple[Column, Column] | None:
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
