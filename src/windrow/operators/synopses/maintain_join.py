"""The pairs of a join in join synopses: nothing comes out, joins of windows are looked up on demand.

The windows below are those that are refreshed every `slide`, at their longest: so a pair comes at the first refresh
that sees both of its rows, and after a step the synopses are as of the last refresh. A question is of a refresh too,
the last one at its instant, and lengths of two windows. When time runs out the last refresh depends on the question:
the pairs that are left wait, and a copy takes in those that the question sees.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from windrow.batch.batch import Batch, Segment, empty, inserts
from windrow.batch.dictionary import Dictionary
from windrow.operators.operator import Remembers
from windrow.operators.synopses.maintained import LookupWindow, SynopsisUse
from windrow.state.key_directory import KeyDirectory
from windrow.state.row_queue import RowQueue
from windrow.state.snapshot import Part, Parts, Piece
from windrow.synopses.join import PairSynopsis
from windrow.types import Type
from windrow.units import FOREVER


@dataclass(frozen=True)
class JoinSynopsisColumn:
    """An aggregate: the columns of its argument, and what makes its synopsis."""

    arguments: tuple[int, ...]
    synopsis: Callable[[], PairSynopsis]


class JoinSummaries(Parts):
    """Groups, and what is kept of their pairs as of the last refresh."""

    def __init__(self, spec: MaintainJoinSynopsis) -> None:
        self.groups = KeyDirectory()
        self.synopses = [column.synopsis() for column in spec.columns]
        self.waiting = RowQueue()
        self.use = SynopsisUse()
        self.later: tuple[int, JoinSummaries] | None = None  # a copy as of a later refresh, for the next question

    def __len__(self) -> int:
        return len(self.groups) + len(self.waiting)

    @property
    def refreshed(self) -> int:
        """The last refresh."""
        return self.synopses[0].end * self.synopses[0].slice

    @property
    def positions(self) -> int:
        return len(self.groups) * self.synopses[0].longest

    @property
    def known_since(self) -> int:
        """Pairs are merged as they come: nothing is known of refreshes before the last one."""
        return self.refreshed

    def parts(self) -> Mapping[str, Part]:
        synopses: dict[str, Part] = {f"synopsis{place}": synopsis for place, synopsis in enumerate(self.synopses)}
        return {"groups": self.groups, "waiting": self.waiting, **synopses}

    def restore(self, pieces: Mapping[str, Piece]) -> None:
        super().restore(pieces)
        self.use.arrived += self.positions


class JoinQuestion(NamedTuple):
    """Aggregates, by place, over the join of windows of two lengths that end at a refresh, asked for at an instant."""

    places: tuple[int, ...]
    lengths: tuple[int, int]
    refresh: int
    now: int


@dataclass(frozen=True)
class MaintainJoinSynopsis:
    """Keys come first, then the times of the two rows of a pair, then arguments; `pairs` are the types of all of these.

    With keys, the first aggregate is COUNT(*): it tells which groups there are.
    """

    keys: int
    columns: tuple[JoinSynopsisColumn, ...]
    pairs: tuple[Type, ...]
    types: tuple[Type, ...]
    slide: int
    dictionary: Dictionary

    remembers: ClassVar = Remembers.UNKNOWN

    def fresh_state(self) -> JoinSummaries:
        return JoinSummaries(self)

    def step(self, state: JoinSummaries, inputs: Sequence[Batch], segment: Segment) -> Batch:
        (pairs,) = inputs
        assert pairs.is_positive, "pairs of windows of time are not taken back"
        state.later = None
        if segment.end == FOREVER:
            state.waiting.push(pairs)
        else:
            self._insert(state, pairs, (segment.end - 1) // self.slide * self.slide)
        return empty(self.types, self.dictionary)

    def _insert(self, state: JoinSummaries, pairs: Batch, refresh: int) -> None:
        """All pairs up to a refresh, when there has been one."""
        if refresh <= state.refreshed:
            return
        state.use.arrived += len(pairs)
        if len(pairs):
            group = state.groups.intern(pairs.columns[: self.keys], len(pairs))
            first, second = (column.values.astype(np.int64) for column in pairs.columns[self.keys : self.keys + 2])
            for column, synopsis in zip(self.columns, state.synopses, strict=True):
                synopsis.insert(group, first, second, pairs.select(column.arguments))
        for synopsis in state.synopses:
            synopsis.advance(refresh)
        self._forget(state)

    def _forget(self, state: JoinSummaries) -> None:
        """Groups of which no window has a pair; whoever gets their place finds it empty."""
        if self.keys:
            group, present = state.groups.known(), state.synopses[0]
            longest = np.full(len(group), present.longest, np.int64)
            state.groups.forget(group[present.lookup(group, longest, longest).values == 0])

    def answer(self, state: JoinSummaries, question: JoinQuestion) -> Batch:
        """The groups that have pairs in the windows: keys and aggregates. Without keys there is always one."""
        asked, state = state, self._as_of(state, question.refresh)
        slice = state.synopses[0].slice
        group = state.groups.known() if self.keys else state.groups.intern((), 1)
        first, second = (np.full(len(group), length // slice, np.int64) for length in question.lengths)
        if self.keys:
            group = group[state.synopses[0].lookup(group, first, second).values > 0]
            first, second = first[: len(group)], second[: len(group)]
        asked.use.lookups += len(group)
        shorter = min(question.lengths)
        asked.use.widths[LookupWindow(shorter, ends_now=True)] = max(1, shorter // slice)
        if not len(group):
            found = (self.types[self.keys + place] for place in question.places)
            return empty((*self.types[: self.keys], *found), self.dictionary)
        columns = [state.synopses[place].lookup(group, first, second) for place in question.places]
        return inserts((*state.groups.columns(group), *columns), np.full(len(group), question.now, np.int64))

    def convert(self, state: JoinSummaries) -> None:
        """All forms have the same slices: what is above them is merged anew."""
        forms = (column.synopsis().form for column in self.columns)
        state.synopses = [one.converted(form) for one, form in zip(state.synopses, forms, strict=True)]

    def _as_of(self, state: JoinSummaries, refresh: int) -> JoinSummaries:
        assert refresh >= state.refreshed, "what is kept is of the last refresh"
        if refresh == state.refreshed:
            return state
        if state.later is None or state.later[0] != refresh:
            later = self.fresh_state()
            later.restore(state.snapshot().pieces)
            seen = later.waiting.pop_before(refresh + 1, empty(self.pairs, self.dictionary))
            self._insert(later, seen, refresh)
            state.later = refresh, later
        return state.later[1]
