"""A synopsis that is asked at refreshes: for each query, the groups that may pass its threshold.

Rows come in up to a refresh, then everybody whose window ends there asks; a collective index finds the candidates, so
that a query costs as much as it finds and not as many groups as there are. The candidates of all queries are looked up
together, and become changes as the groups of one group-by do, by query and group. A selection above drops those that
do not pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from windrow.batch.arrays import Int64s, grown
from windrow.batch.batch import Batch, Segment, empty
from windrow.batch.column import Column, concat_columns, nulls
from windrow.operators.groups.group_by import GroupBy, Versions
from windrow.operators.operator import Remembers
from windrow.operators.synopses.maintain_synopsis import MaintainSynopsis, Summaries
from windrow.state.key_directory import KeyDirectory
from windrow.state.shown_rows import ShownRows
from windrow.state.snapshot import NoState, Part, Parts
from windrow.types import BIGINT
from windrow.units import FOREVER


@dataclass(frozen=True)
class Periodic:
    """Aggregates by place over [E - length, E) at every multiple E of `slide`, of groups that may pass a threshold."""

    places: tuple[int, ...]
    length: int
    slide: int
    threshold: tuple[int, bool, int]


class Refreshing(Parts):
    """The synopsis, and what each query shows: rows by query and group."""

    def __init__(self, maintain: MaintainSynopsis) -> None:
        self.summaries = Summaries(maintain)
        self.groups = KeyDirectory()
        self.shown = ShownRows()
        self.marks: Int64s = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return len(self.summaries) + len(self.groups)

    def parts(self) -> Mapping[str, Part]:
        return {"summaries": self.summaries, "groups": self.groups, "shown": self.shown}


@dataclass(frozen=True, eq=False)
class ChangesByQuery(Batch):
    """Changes of all queries; those of query n are rows [begins[n], begins[n + 1])."""

    begins: Int64s

    def sorted_by_time(self) -> Batch:
        return self


@dataclass(frozen=True)
class RefreshSynopsis:
    """Comes out as the keys and all aggregates of the synopsis, query by query."""

    maintain: MaintainSynopsis
    questions: tuple[Periodic, ...]

    remembers: ClassVar = Remembers.UNKNOWN

    def fresh_state(self) -> Refreshing:
        return Refreshing(self.maintain)

    def step(self, state: Refreshing, inputs: Sequence[Batch], segment: Segment) -> Batch:
        (rows,) = inputs
        self.maintain.expire(state.summaries, segment)
        versions: list[Versions] = []
        shown, taken = state.shown.present(), 0
        for refresh in self._refreshes(state, rows, segment):
            upto = int(np.searchsorted(rows.ts, refresh))
            self.maintain.insert(state.summaries, rows.slice(taken, upto))
            taken = upto
            due = [number for number, question in enumerate(self.questions) if refresh % question.slide == 0]
            found, shown = self._lookup(state, due, refresh, shown)
            versions.append(found)
        self.maintain.insert(state.summaries, rows.slice(taken, len(rows)))
        return self._answers(state, [one for one in versions if len(one.group)])

    def _refreshes(self, state: Refreshing, rows: Batch, segment: Segment) -> list[int]:
        """The refreshes of a segment, up to the one after which all windows are empty."""
        newest = max(state.summaries.newest_of_all, int(rows.ts.max(initial=-FOREVER)))
        found: set[int] = set()
        for length, slide in {(question.length, question.slide) for question in self.questions}:
            first = -(-segment.begin // slide) * slide
            found.update(range(first, min(segment.end, newest + length + slide + 1), slide))
        return sorted(found)

    def _lookup(self, state: Refreshing, due: Sequence[int], refresh: int, shown: Int64s) -> tuple[Versions, Int64s]:
        """The groups that may pass the thresholds that are asked now, those that do no more; and all that are shown."""
        begins = [refresh - self.questions[number].length for number in due]
        asked = [
            self.maintain.candidates(state.summaries, begin, self.questions[number].threshold)
            for number, begin in zip(due, begins, strict=True)
        ]
        sizes = [len(one) for one in asked]
        group, begin = np.concatenate(asked), np.repeat(np.array(begins, np.int64), sizes)
        present, columns = self.maintain.suffixes(state.summaries, group, begin)
        number = np.repeat(np.array(due, np.int64), sizes)[present]
        pairs = state.groups.intern((Column(BIGINT, number), Column(BIGINT, group[present])), len(number))
        gone, left = self._gone(state, due, pairs, shown)
        both = tuple(concat_columns([column, nulls(column.type, len(gone), column.dictionary)]) for column in columns)
        ids = np.concatenate([pairs, gone])
        versions = Versions(ids, np.full(len(ids), refresh, np.int64), np.arange(len(ids)) < len(pairs), both)
        return versions, np.concatenate([left, pairs])

    def _gone(self, state: Refreshing, due: Sequence[int], pairs: Int64s, shown: Int64s) -> tuple[Int64s, Int64s]:
        """Of what is shown: what is asked for now and not there any more, and what is not asked for."""
        is_due = np.zeros(len(self.questions), np.bool_)
        is_due[list(due)] = True
        marks = state.marks = grown(state.marks, state.groups.capacity)
        marks[pairs] = 1
        asked = is_due[state.groups.columns(shown)[0].values] if len(shown) else np.zeros(0, np.bool_)
        gone = shown[asked & (marks[shown] == 0)]
        marks[pairs] = 0
        return gone, shown[~asked]

    def _forget(self, state: Refreshing, pairs: Int64s) -> None:
        """Of pairs those that are not shown any more."""
        marks = state.marks = grown(state.marks, state.groups.capacity)
        marks[pairs] = 1
        marks[state.shown.present()] = 0
        gone = np.flatnonzero(marks)
        marks[gone] = 0
        state.groups.forget(gone)

    def _answers(self, state: Refreshing, versions: Sequence[Versions]) -> Batch:
        none = empty(self.maintain.types, self.maintain.dictionary)
        if not versions:
            return ChangesByQuery(
                none.columns, none.ts, none.exp, none.sign, np.zeros(len(self.questions) + 1, np.int64)
            )
        columns = tuple(concat_columns(same) for same in zip(*(one.columns for one in versions), strict=True))
        group, time = (np.concatenate([getattr(one, name) for one in versions]) for name in ("group", "time"))
        together = Versions(group, time, np.concatenate([one.present for one in versions]), columns)
        changes = GroupBy((0, 1), ()).changes(state, together, none)
        number, groups = (column.values.astype(np.int64) for column in changes.columns[:2])
        order = np.argsort(number, kind="stable")
        sorted_changes = changes.take(order)
        keys = state.summaries.groups.columns(groups[order]) if len(order) else none.columns[: len(self.maintain.keys)]
        begins = np.searchsorted(number[order], np.arange(len(self.questions) + 1))
        self._forget(state, group)
        aggregates = sorted_changes.columns[2:]
        return ChangesByQuery(
            (*keys, *aggregates), sorted_changes.ts, sorted_changes.exp, sorted_changes.sign, begins.astype(np.int64)
        )


@dataclass(frozen=True)
class TakeAnswer:
    """The changes of one query: the keys, and its aggregates by place."""

    question: int
    keys: int
    places: tuple[int, ...]

    remembers: ClassVar = Remembers.THROUGH

    def fresh_state(self) -> NoState:
        return NoState()

    @cached_property
    def columns(self) -> tuple[int, ...]:
        return (*range(self.keys), *(self.keys + place for place in self.places))

    def step(self, state: NoState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        (answers,) = inputs
        assert isinstance(answers, ChangesByQuery), answers
        begin, end = answers.begins[self.question : self.question + 2]
        columns = tuple(column.slice(int(begin), int(end)) for column in answers.select(self.columns))
        return Batch(columns, answers.ts[begin:end], answers.exp[begin:end], answers.sign[begin:end])
