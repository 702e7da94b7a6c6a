"""What an operator is: a specification that is also its kernel, and a state that is passed in.

A specification is a frozen dataclass. `fresh_state()` gives the state of an operator that has seen nothing, and
`step(state, inputs, segment)` takes the operator through one segment of time: it is given, for each input, the changes
with ts in the segment, all of them, and returns its own changes with ts in the segment. Segments follow one another
without a gap. However time is cut into segments, the changelogs that come out stand for the same answers.

Inputs come sorted by ts; outputs need not be, the runtime sorts them once (`Batch.sorted_by_time`).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Protocol, TypeVar

from windrow.batch.arrays import Bools
from windrow.batch.batch import Batch, Segment
from windrow.batch.column import Column
from windrow.state.snapshot import Piece, Snapshot

Predicate = Callable[[Batch], Bools]  # True where SQL's condition is true; false and null are False
CompiledExpression = Callable[[Batch], Column]


class State(Protocol):
    """What an operator remembers between steps."""

    def __len__(self) -> int:
        """How many rows or keys are kept."""
        ...

    def snapshot(self, known: Container[str]) -> Snapshot: ...

    def restore(self, pieces: Mapping[str, Piece]) -> None: ...


SomeState = TypeVar("SomeState", bound=State)


class Operator(Protocol[SomeState]):
    def fresh_state(self) -> SomeState: ...

    def step(self, state: SomeState, inputs: Sequence[Batch], segment: Segment) -> Batch: ...
