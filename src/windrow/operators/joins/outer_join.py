"""Outer joins: the inner join, and the rows of a side that have no match, padded with nulls.

    left outer = inner + pad(left ▷ right)        full outer = inner + pad(left ▷ right) + pad(right ▷ left)

The pattern is strict: the padded row goes when a match comes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from windrow.batch.arrays import Bools
from windrow.batch.batch import Batch, Segment, concat
from windrow.batch.column import Column, nulls
from windrow.operators.joins.join import Join
from windrow.operators.joins.semi_join import AntiJoin, PresenceState, SemiJoin
from windrow.operators.operator import Predicate, Remembers
from windrow.state.snapshot import Part, Parts


class OuterJoinState(Parts):
    def __init__(self, spec: OuterJoin) -> None:
        self.inner = spec.inner.fresh_state()
        self.left: PresenceState | None = spec.unmatched_left.fresh_state() if spec.keep_left else None
        self.right: PresenceState | None = spec.unmatched_right.fresh_state() if spec.keep_right else None

    def __len__(self) -> int:
        return len(self.inner) + sum(len(side) for side in (self.left, self.right) if side is not None)

    def parts(self) -> Mapping[str, Part]:
        sides = {"left": self.left, "right": self.right}
        return {"inner": self.inner, **{name: side for name, side in sides.items() if side is not None}}


@dataclass(frozen=True)
class OuterJoin:
    """LEFT keeps the left, RIGHT the right, FULL both; widths are the numbers of columns of the inputs."""

    inner: Join
    left_width: int
    right_width: int
    keep_left: bool
    keep_right: bool

    remembers: ClassVar = Remembers.RESULTS

    @cached_property
    def unmatched_left(self) -> AntiJoin:
        j = self.inner
        return AntiJoin(
            SemiJoin(self.left_width, j.left_keys, j.right_keys, j.residual, j.left_structure, j.right_structure)
        )

    @cached_property
    def unmatched_right(self) -> AntiJoin:
        j = self.inner
        swapped = None if j.residual is None else _swapped(j.residual, self.right_width)
        return AntiJoin(
            SemiJoin(self.right_width, j.right_keys, j.left_keys, swapped, j.right_structure, j.left_structure)
        )

    def fresh_state(self) -> OuterJoinState:
        return OuterJoinState(self)

    def step(self, state: OuterJoinState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        left, right = inputs
        parts = [self.inner.step(state.inner, inputs, segment)]
        if state.left is not None:
            parts.append(_padded_right(self.unmatched_left.step(state.left, (left, right), segment), right))
        if state.right is not None:
            parts.append(_padded_left(self.unmatched_right.step(state.right, (right, left), segment), left))
        return concat(parts).sorted_by_time()

    def alive(self, state: OuterJoinState, inputs: Sequence[Batch], at: int) -> Batch:
        left, right = inputs
        parts = [self.inner.alive(state.inner, inputs, at)]
        if state.left is not None:
            parts.append(_padded_right(self.unmatched_left.alive(state.left, (left, right), at), right))
        if state.right is not None:
            parts.append(_padded_left(self.unmatched_right.alive(state.right, (right, left), at), left))
        return concat(parts)


def _padded_right(alone: Batch, right: Batch) -> Batch:
    return alone.with_columns(alone.columns + _padding(right, len(alone)))


def _padded_left(alone: Batch, left: Batch) -> Batch:
    return alone.with_columns(_padding(left, len(alone)) + alone.columns)


def _padding(like: Batch, length: int) -> tuple[Column, ...]:
    return tuple(nulls(column.type, length, column.dictionary) for column in like.columns)


def _swapped(residual: Predicate, right_width: int) -> Predicate:
    """The residual for pairs whose right columns come first."""

    def on_swapped(pairs: Batch) -> Bools:
        columns = pairs.columns
        return np.asarray(residual(pairs.with_columns(columns[right_width:] + columns[:right_width])))

    return on_swapped
