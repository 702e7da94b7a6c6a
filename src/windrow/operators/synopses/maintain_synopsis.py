"""Rows of a stream in a synopsis: nothing comes out, windows are looked up on demand.

Any number of queries look their windows up in the same state. An answer is of one instant, the groups that have rows in
the window then; where thresholds are asked for, only groups that may pass are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from windrow.batch.arrays import Bools, Int64s
from windrow.batch.batch import Batch, Segment, empty, inserts
from windrow.batch.column import Column
from windrow.batch.dictionary import Dictionary
from windrow.operators.operator import Remembers
from windrow.operators.synopses.maintained import LookupWindow, SynopsisUse
from windrow.state.key_directory import KeyDirectory
from windrow.state.keyed_arrays import KeyedArrays
from windrow.state.snapshot import Part, Parts, Piece
from windrow.synopses.collective.thresholds import ThresholdIndex
from windrow.synopses.positions.elements import Elements, Spans
from windrow.synopses.positions.shared import SharedSynopsis
from windrow.synopses.positions.synopsis import Synopsis
from windrow.synopses.sketches.group_sketches import GroupSketch
from windrow.types import Type
from windrow.units import BEGINNING, FOREVER


@dataclass(frozen=True)
class SynopsisColumn:
    """An aggregate: the columns of its argument, and what makes its synopsis, or a sketch that needs no positions."""

    arguments: tuple[int, ...]
    synopsis: Callable[[], Synopsis] | None = None
    sketch: Callable[[], GroupSketch] | None = None
    index: Callable[[], ThresholdIndex] | None = None


class Summaries(Parts):
    """Groups, and what is kept of their rows."""

    def __init__(self, spec: MaintainSynopsis) -> None:
        self.groups = KeyDirectory()
        self.newest = KeyedArrays(time=np.int64)
        made = [column.synopsis() for column in spec.columns if column.synopsis is not None]
        self.synopsis = SharedSynopsis(made, spec.slice)
        self.sketches = {
            place: column.sketch() for place, column in enumerate(spec.columns) if column.sketch is not None
        }
        self.indexes = {place: column.index() for place, column in enumerate(spec.columns) if column.index is not None}
        self.use = SynopsisUse()

    def __len__(self) -> int:
        return len(self.synopsis.elements) + len(self.groups) * len(self.sketches)

    @property
    def positions(self) -> int:
        return len(self.synopsis.elements)

    @property
    def known_since(self) -> int:
        return self.synopsis.elements.covered_since

    @property
    def without_positions(self) -> list[GroupSketch | ThresholdIndex]:
        """Summaries that do not grow with the elements of a group."""
        return [*self.sketches.values(), *self.indexes.values()]

    @property
    def newest_of_all(self) -> int:
        """The time of the last row of all groups that are known."""
        return int(self.newest["time"][self.groups.known()].max(initial=-FOREVER))

    def parts(self) -> Mapping[str, Part]:
        sketches: dict[str, Part] = {f"sketch{place}": sketch for place, sketch in self.sketches.items()}
        indexes: dict[str, Part] = {f"index{place}": index for place, index in self.indexes.items()}
        return {"groups": self.groups, "newest": self.newest, "synopsis": self.synopsis, **sketches, **indexes}

    def restore(self, pieces: Mapping[str, Piece]) -> None:
        super().restore(pieces)
        self.use.arrived += len(self.synopsis.elements)


class Question(NamedTuple):
    """Aggregates, by place, over the rows in [begin, end), as of an instant; or over the newest `rows` of each group,
    of those that have come since `begin`.

    `threshold` is the place of an aggregate, whether it is to be above a bound, and the bound.
    """

    places: tuple[int, ...]
    begin: int
    end: int
    now: int
    length: int  # of the window if no rows were left out, in time or rows
    rows: int = 0
    threshold: tuple[int, bool, int] | None = None


@dataclass(frozen=True)
class MaintainSynopsis:
    """Windows reach back `reach`, in time or with `by_rows` in rows; 0 is for aggregates that need none."""

    keys: tuple[int, ...]
    columns: tuple[SynopsisColumn, ...]
    types: tuple[Type, ...]
    reach: int
    dictionary: Dictionary
    by_rows: bool = False
    slice: int = 0

    remembers: ClassVar = Remembers.UNKNOWN

    def fresh_state(self) -> Summaries:
        return Summaries(self)

    def step(self, state: Summaries, inputs: Sequence[Batch], segment: Segment) -> Batch:
        (rows,) = inputs
        self.expire(state, segment)
        self.insert(state, rows)
        return empty(self.types, self.dictionary)

    def insert(self, state: Summaries, rows: Batch) -> None:
        assert rows.is_positive, "rows of a stream are not taken back"
        group = state.groups.intern(rows.select(self.keys), len(rows))
        state.use.arrived += len(rows)
        if not len(rows):
            return
        state.newest.reserve(int(group.max()) + 1)
        state.newest["time"][group] = rows.ts  # the last one of a group is the newest
        values = [rows.select(column.arguments) for column in self.columns]
        by_position = [given for column, given in zip(self.columns, values, strict=True) if column.synopsis is not None]
        if by_position:
            state.synopsis.insert(group, rows.ts, by_position)
        for place, sketch in state.sketches.items():
            sketch.insert(group, rows.ts, values[place])
        for place, index in state.indexes.items():
            index.insert(group, rows.ts, values[place])
        if self.by_rows:
            state.synopsis.keep_newest(self.reach)

    def expire(self, state: Summaries, segment: Segment) -> None:
        """Forget what has left all windows, and groups of which nothing is left."""
        if not self.reach or self.by_rows or segment.end == FOREVER:
            return
        until = segment.begin - self.reach
        if self.slice:
            until = until // self.slice * self.slice
        state.synopsis.expire_until(until)
        for summary in state.without_positions:
            summary.expire_until(until)
        known = state.groups.known()
        gone = known[state.newest["time"][known] < until] if self.keys else known[:0]
        if len(gone):
            for summary in state.without_positions:
                summary.forget(gone)
            if state.synopsis.synopses:
                state.synopsis.forget(gone)
            state.groups.forget(gone)

    def answer(self, state: Summaries, question: Question) -> Batch:
        """The groups that have rows in the window: keys and aggregates. Without keys there is always one."""
        group, columns = self.lookup(state, question)
        none = empty(self.types[: len(self.keys)], self.dictionary)
        keys = state.groups.columns(group) if len(group) else none.columns
        return inserts((*keys, *columns), np.full(len(group), question.now, np.int64))

    def convert(self, state: Summaries) -> None:
        """All elements move over."""
        made = [column.synopsis() for column in self.columns if column.synopsis is not None]
        state.synopsis = state.synopsis.converted(made)

    def lookup(self, state: Summaries, question: Question) -> tuple[Int64s, list[Column]]:
        """The same, with the groups by their numbers."""
        group = self._groups(state, question)
        spans = self._spans(state, question, group)
        if self.keys:
            present = (
                spans.end > spans.begin if state.synopsis.synopses else self._newest(state, group) >= question.begin
            )
            group, spans = group[present], Spans(*(array[present] for array in spans))
        state.use.lookups += len(group)
        self._note(state, question, spans)
        return group, self._looked_up(state, question, group, spans)

    def _note(self, state: Summaries, question: Question, spans: Spans) -> None:
        if state.synopsis.synopses and len(spans.group):
            window = LookupWindow(question.length, state.synopsis.elements.end_now(spans))
            state.use.widths[window] = int((spans.end - spans.begin).mean())

    def _groups(self, state: Summaries, question: Question) -> Int64s:
        """The groups to look at."""
        if not self.keys:
            return state.groups.intern((), 1)
        if question.threshold is not None and question.end == FOREVER:
            return self.candidates(state, question.begin, question.threshold)
        return state.groups.known()

    def candidates(self, state: Summaries, begin: int, threshold: tuple[int, bool, int]) -> Int64s:
        """Groups among which are all that pass a threshold over what has come since."""
        place, above, bound = threshold
        found = state.indexes[place].candidates(begin, above, bound) if place in state.indexes else None
        return state.groups.known() if found is None else found

    def suffixes(self, state: Summaries, group: Int64s, begin: Int64s) -> tuple[Bools, list[Column]]:
        """Which groups have had rows since, and all aggregates over them."""
        elements = state.synopsis.elements
        spans = elements.between(group, begin, np.full(len(group), FOREVER, np.int64))
        present = spans.end > spans.begin
        return present, state.synopsis.lookup(Spans(*(array[present] for array in spans)))

    def _spans(self, state: Summaries, question: Question, group: Int64s) -> Spans:
        elements, count = state.synopsis.elements, len(group)
        if self.by_rows:
            newest = elements.by_rows(group, np.full(count, question.rows, np.int64), np.zeros(count, np.int64))
            return newest if question.begin == BEGINNING else _not_before(elements, newest, question.begin)
        begin, end = np.full(count, question.begin, np.int64), np.full(count, question.end, np.int64)
        return elements.by_time(group, begin, end) if state.synopsis.synopses else Spans(group, begin, end)

    def _newest(self, state: Summaries, group: Int64s) -> Int64s:
        return np.asarray(state.newest["time"][group])

    def _looked_up(self, state: Summaries, question: Question, group: Int64s, spans: Spans) -> list[Column]:
        places = [place for place, column in enumerate(self.columns) if column.synopsis is not None]
        synopses = dict(zip(places, state.synopsis.synopses, strict=True))
        begin = np.full(len(group), question.begin, np.int64)
        return [
            synopses[place].lookup(state.synopsis.elements, spans)
            if place in synopses
            else state.sketches[place].lookup(group, begin, question.now)
            for place in question.places
        ]


def _not_before(elements: Elements, newest: Spans, begin: int) -> Spans:
    """Of spans that end now, what is not older."""
    count = len(newest.group)
    later = elements.between(newest.group, np.full(count, begin, np.int64), np.full(count, FOREVER, np.int64))
    return newest._replace(begin=np.maximum(newest.begin, later.begin))
