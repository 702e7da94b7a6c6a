"""The columns that a join hashes, by position, and the condition that is tested on each pair."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.plan.analysis.key_pairs import key_pairs
from windrow.plan.expressions import Expression
from windrow.plan.functions import conjunction
from windrow.plan.schema import Schema


@dataclass(frozen=True)
class JoinKeys:
    """Ordinals of equal columns on both sides, and the residual condition over left and right side by side."""

    left: tuple[int, ...]
    right: tuple[int, ...]
    residual: Expression | None


def join_keys(condition: Expression | None, left: Schema, right: Schema) -> JoinKeys:
    pairs, rest = key_pairs(condition, left, right)
    ours = tuple(left.names.index(one.name) for one, _ in pairs)
    theirs = tuple(right.names.index(other.name) for _, other in pairs)
    return JoinKeys(ours, theirs, conjunction(rest))
