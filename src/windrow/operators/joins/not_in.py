"""NOT IN, with SQL's null logic: a row stays when `x NOT IN (right)` is true, neither false nor unknown.

That is: the right is empty; or x is not null, the right has no null, and no y equals x. "The right" means the right's
rows with the same correlation keys. Each condition is an anti-join:

    x is null        left ▷ right                               on the correlation keys
    x is not null    (left ▷ rows of the right with y null) ▷ right   on the keys, then on the keys and x = y
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from windrow.batch.batch import Batch, Segment, concat
from windrow.operators.joins.semi_join import AntiJoin, SemiJoin
from windrow.operators.operator import Remembers
from windrow.state import StructureKind
from windrow.state.snapshot import Part, Parts


class NotInState(Parts):
    def __init__(self, spec: NotIn) -> None:
        self.empty = spec.for_null.fresh_state()
        self.null_free = spec.for_null.fresh_state()
        self.unequal = spec.for_value.fresh_state()

    def __len__(self) -> int:
        return len(self.empty) + len(self.null_free) + len(self.unequal)

    def parts(self) -> Mapping[str, Part]:
        return {"empty": self.empty, "null_free": self.null_free, "unequal": self.unequal}


@dataclass(frozen=True)
class NotIn:
    """`left_value` and `right_value` are the compared columns; the keys are the correlation."""

    left_width: int
    left_value: int
    right_value: int
    left_keys: tuple[int, ...] = ()
    right_keys: tuple[int, ...] = ()
    left_structure: StructureKind = StructureKind.CALENDAR
    right_structure: StructureKind = StructureKind.CALENDAR

    remembers: ClassVar = Remembers.RESULTS

    @cached_property
    def for_null(self) -> AntiJoin:
        return self._anti(self.left_keys, self.right_keys, self.left_structure)

    @cached_property
    def for_value(self) -> AntiJoin:
        # The left comes out of an anti-join here, so its rows are taken back by negative tuples.
        keys = (*self.left_keys, self.left_value), (*self.right_keys, self.right_value)
        return self._anti(*keys, StructureKind.HASH)

    def fresh_state(self) -> NotInState:
        return NotInState(self)

    def step(self, state: NotInState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        left, right = inputs
        has_value = left.columns[self.left_value].valid_mask()
        null_rows = right.take(~right.columns[self.right_value].valid_mask())
        nulls = self.for_null.step(state.empty, (left.take(~has_value), right), segment)
        candidates = self.for_null.step(state.null_free, (left.take(has_value), null_rows), segment)
        values = self.for_value.step(state.unequal, (candidates, right), segment)
        return concat([nulls, values]).sorted_by_time()

    def alive(self, state: NotInState, inputs: Sequence[Batch], at: int) -> Batch:
        nulls = self.for_null.alive(state.empty, inputs, at)
        return concat([nulls, self.for_value.alive(state.unequal, inputs, at)])

    def _anti(self, left: tuple[int, ...], right: tuple[int, ...], structure: StructureKind) -> AntiJoin:
        return AntiJoin(
            SemiJoin(self.left_width, left, right, left_structure=structure, right_structure=self.right_structure)
        )
