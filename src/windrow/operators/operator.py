"""What an operator is: a specification that is also its kernel, and a state that is passed in.

A specification is a frozen dataclass. `fresh_state()` gives the state of an operator that has seen nothing, and
`step(state, inputs, segment)` takes the operator through one segment of time: it is given, for each input, the changes
with ts in the segment, all of them, and returns its own changes with ts in the segment. Segments follow one another
without a gap. However time is cut into segments, the changelogs that come out stand for the same answers.

Inputs come sorted by ts; outputs need not be, the runtime sorts them once (`Batch.sorted_by_time`).

A query that comes later is put above operators that run. What they have given so far and is still alive is asked of
them (`Remembering`); `remembers` says what an operator can say about it.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Container, Mapping, Sequence
from typing import ClassVar, Protocol, TypeVar

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


class Remembers(enum.Enum):
    """What an operator can say of its results that are alive."""

    RESULTS = enum.auto()  # all of them, from its state
    THROUGH = enum.auto()  # what becomes of that which is alive below
    NOTHING = enum.auto()  # it gives a stream: who reads it begins with what comes
    UNKNOWN = enum.auto()  # it cannot: nothing new can be put above it


class Operator(Protocol[SomeState]):
    remembers: ClassVar[Remembers]

    def fresh_state(self) -> SomeState: ...

    def step(self, state: SomeState, inputs: Sequence[Batch], segment: Segment) -> Batch: ...


class Remembering(Operator[SomeState], Protocol):
    """All that remember RESULTS, and of those THROUGH which anything goes the ones with a state."""

    def alive(self, state: SomeState, inputs: Sequence[Batch], at: int) -> Batch:
        """Results with ts < `at` that have not been taken back and end after it, with their ends, signs +1.

        Everything before `at` has been stepped through. A negative tuple that comes later finds them by row and end;
        when they began need not be known, so ts may be any time before `at`. `inputs` are what is alive below for an
        operator that remembers THROUGH; for the others they are without rows, and only say which columns there are.
        """
        ...
