"""Semi-join and anti-join: rows of the left with a match on the right, or without one (EXISTS, IN, NOT EXISTS).

Whether a key is present on the right is itself a relation, with each key at most once: the strict DISTINCT of the
right's keys. Then both are bilinear again:

    semi = left ⋈ present        anti = left − left ⋈ present

With a residual condition presence belongs to the left row and not to a key: `present` is then the DISTINCT of the
left rows that the inner join with the residual finds, joined back on the whole row. A null key matches nothing: such
rows are never in the semi-join, and always in the anti-join.

Costs what the join and the DISTINCT cost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from windrow.batch.batch import Batch, Segment, concat
from windrow.operators.distinct import DistinctStar, DistinctStarState, distinct_strict
from windrow.operators.join import Join, JoinState, Pairs
from windrow.operators.multiplicity import MultiplicityOperator, MultiplicityState
from windrow.operators.operator import Parts, Predicate
from windrow.state import StructureKind
from windrow.state.snapshot import Part


class SemiJoinState(Parts):
    """What is present on the right, the rows of the left, and with a residual the join that finds matches."""

    def __init__(self, spec: SemiJoin) -> None:
        self.found: JoinState | None = spec.finding.fresh_state() if spec.residual is not None else None
        self.present: MultiplicityState | DistinctStarState = spec.presence.fresh_state()
        self.matched: JoinState = spec.matching.fresh_state()

    def __len__(self) -> int:
        return len(self.present) + len(self.matched) + (len(self.found) if self.found else 0)

    def parts(self) -> Mapping[str, Part]:
        found = {"found": self.found} if self.found is not None else {}
        return {**found, "present": self.present, "matched": self.matched}


@dataclass(frozen=True)
class SemiJoin:
    """`left_width` is how many columns the left has; `residual` sees left and right columns side by side.

    `weak` is for inputs that take nothing back (the right; with a residual both): presence then comes from δ*, with its
    ends, one stretch after the other, and the semi-join takes nothing back either.
    """

    left_width: int
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    residual: Predicate | None = None
    left_structure: StructureKind = StructureKind.CALENDAR
    right_structure: StructureKind = StructureKind.CALENDAR
    weak: bool = False

    @cached_property
    def finding(self) -> Join:
        """The inner join whose pairs are matches; needed with a residual only."""
        return Join(
            self.left_keys,
            self.right_keys,
            self.residual,
            left_structure=self.left_structure,
            right_structure=self.right_structure,
        )

    @cached_property
    def presence(self) -> MultiplicityOperator | DistinctStar:
        if self.weak:
            return DistinctStar()
        return distinct_strict(StructureKind.CALENDAR if self.residual is not None else self.right_structure)

    @cached_property
    def matching(self) -> Join:
        """The left with what is present: on the keys, or with a residual on the whole row."""
        by_row = tuple(range(self.left_width))
        keys, presents = (self.left_keys, tuple(range(len(self.right_keys))))
        if self.residual is not None:
            keys, presents = by_row, by_row
        return Join(
            keys,
            presents,
            nulls_match=self.residual is not None,
            left_structure=self.left_structure,
            right_structure=StructureKind.CALENDAR if self.weak else StructureKind.HASH,
        )

    def fresh_state(self) -> SemiJoinState:
        return SemiJoinState(self)

    def step(self, state: SemiJoinState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        matched = self.matches(state, inputs, segment)
        both = concat([matched.of_new_left, matched.of_old_left])
        return both.with_columns(both.columns[: self.left_width]).sorted_by_time()

    def matches(self, state: SemiJoinState, inputs: Sequence[Batch], segment: Segment) -> Pairs:
        """The left's rows with what is present of the right."""
        left, right = inputs
        if state.found is None:
            candidates = right.with_columns(right.select(self.right_keys))
        else:
            pairs = self.finding.step(state.found, inputs, segment)
            candidates = pairs.with_columns(pairs.columns[: self.left_width])
        present = self.presence.step(state.present, (candidates.sorted_by_time(),), segment)  # type: ignore[arg-type]
        return self.matching.pairs(state.matched, (left, present), segment)


@dataclass(frozen=True)
class AntiJoin:
    """The rows of the left that the semi-join leaves."""

    semi: SemiJoin

    def fresh_state(self) -> SemiJoinState:
        return self.semi.fresh_state()

    def step(self, state: SemiJoinState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        (left, _), width = inputs, self.semi.left_width
        matched = self.semi.matches(state, inputs, segment)
        # A match that covers a new row's whole life takes it back in the same breath: neither is said.
        pairs, rows = matched.of_new_left, matched.positions
        whole = (pairs.ts == left.ts[rows]) & (pairs.exp == left.exp[rows])
        covers = np.bincount(rows[whole], pairs.sign[whole] * left.sign[rows[whole]], len(left)) > 0
        taken_back = concat([pairs.take(~whole), matched.of_old_left])
        taken_back = taken_back.with_columns(taken_back.columns[:width]).negated()
        return concat([left.take(~covers), taken_back]).sorted_by_time()
