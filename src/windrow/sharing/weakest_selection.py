"""Conditions that follow from others, and the weakest condition that all of several have in common.

Only what is seen from the text: a condition that is there itself, a comparison of the same value with another constant
(x > 5 says that x > 3), and one of the alternatives of OR.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from windrow.plan.expressions import Call, ColumnReference, Expression, Literal
from windrow.plan.functions import conjunction, conjuncts
from windrow.sharing.stream_rows import in_order
from windrow.types import BOOLEAN, is_integer

_DOWN, _UP = ("<", "<="), (">", ">=")


def implies(conditions: Collection[Expression], other: Expression) -> bool:
    """Whether a row with all of the conditions has the other one too."""
    if other in conditions or any(_is_stronger(one, other) for one in conditions):
        return True
    if not isinstance(other, Call) or other.function != "OR":
        return False
    return any(all(implies(conditions, part) for part in conjuncts(branch)) for branch in other.arguments)


def weakest(alternatives: Sequence[tuple[Expression, ...]]) -> tuple[Expression, ...]:
    """Conditions that hold for every row for which all conditions of one of the alternatives hold."""
    common = [one for one in alternatives[0] if all(implies(other, one) for other in alternatives[1:])]
    common += [one for other in alternatives[1:] for one in other if all(implies(each, one) for each in alternatives)]
    rest = [tuple(one for one in each if one not in common) for each in alternatives]
    shortest = [each for each in rest if not any(_all_imply(each, other) for other in rest if other != each)]
    if not all(rest):
        return in_order(common)
    branches = [branch for each in dict.fromkeys(shortest or rest) if (branch := conjunction(each)) is not None]
    either = branches[0] if len(branches) == 1 else Call("OR", in_order(branches), BOOLEAN)
    return in_order((*common, *conjuncts(either)))


def _all_imply(conditions: Collection[Expression], others: Collection[Expression]) -> bool:
    return all(implies(conditions, other) for other in others)


def _is_stronger(one: Expression, other: Expression) -> bool:
    """Whether one comparison of a column with a constant implies another."""
    ours, theirs = _bound(one), _bound(other)
    if ours is None or theirs is None or ours[0] != theirs[0]:
        return False
    (_, how, value), (_, asked, limit) = ours, theirs
    if how == "=":
        told = {"<": value < limit, "<=": value <= limit, ">": value > limit, ">=": value >= limit}
        return bool(told.get(asked, False))
    if how in _DOWN and asked in _DOWN:
        return bool(value <= limit if how == "<" or asked == "<=" else value < limit)
    if how in _UP and asked in _UP:
        return bool(value >= limit if how == ">" or asked == ">=" else value > limit)
    return False


_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


def _bound(condition: Expression) -> tuple[ColumnReference, str, Any] | None:
    """A column, how it is compared, and with which number."""
    if not isinstance(condition, Call) or condition.function not in _TURNED:
        return None
    left, right = condition.arguments
    how = condition.function
    if isinstance(left, Literal):
        left, right, how = right, left, _TURNED[how]
    if not isinstance(left, ColumnReference) or not isinstance(right, Literal):
        return None
    # Whole numbers alone: how others compare is a matter of the types on both sides.
    is_whole = is_integer(left.type) and is_integer(right.type) and right.value is not None
    return (left, how, right.value) if is_whole else None
