"""What synopses of the running plan have in common, of windows or of joins: they are asked, and change their form."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeVar

from windrow.batch.batch import Batch

State = TypeVar("State", contravariant=True)
Asked = TypeVar("Asked", contravariant=True)


class LookupWindow(NamedTuple):
    """The length of a window, in time or rows, and whether there was nothing behind it."""

    length: int
    ends_now: bool


@dataclass
class SynopsisUse:
    """What has come into a synopsis and what was asked of it, for whoever compares the two."""

    arrived: int = 0  # elements or pairs, also those that were read back
    lookups: int = 0
    widths: dict[LookupWindow, int] = field(default_factory=dict)  # in positions, on average

    def add(self, other: SynopsisUse) -> None:
        self.arrived += other.arrived
        self.lookups += other.lookups
        self.widths |= other.widths


class SynopsisState(Protocol):
    use: SynopsisUse

    @property
    def groups(self) -> Sized: ...

    @property
    def positions(self) -> int:
        """How many there are, of all groups."""

    @property
    def known_since(self) -> int:
        """From when on what has come is still known."""


class SynopsisOperator(Protocol[State, Asked]):
    def answer(self, state: State, question: Asked) -> Batch:
        """The groups that the question is about: keys and aggregates."""

    def convert(self, state: State) -> None:
        """What is kept in another form moves over to this operator's; answers are the same before and after."""
