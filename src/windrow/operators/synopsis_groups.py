"""Groups of periodic windows from a synopsis: rows are kept once, and every query looks its own windows up.

`KeepElements` holds the rows of a stream in a synopsis, whatever windows there are; it stands below all windows, and
its edge carries the synopsis with the rows (`KeptRows`). `WindowLookups` is one query over it: at each refresh E it
asks for the window [E − T, E) of the groups to which something happened, that is whose slices came in or left since the
last one. Since a synopsis answers windows that have ended as well, all refreshes of a segment are looked up together.

What is kept reaches as far back as the longest window that was asked for (thesis 8.3.1, rule SS1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from windrow.batch.arrays import Int64s
from windrow.batch.batch import Batch, Segment
from windrow.operators.group_by import GroupBy, Versions
from windrow.operators.operator import Parts
from windrow.operators.time_window import next_multiple
from windrow.state.key_directory import KeyDirectory
from windrow.state.keyed_arrays import KeyedArrays
from windrow.state.shown_rows import ShownRows
from windrow.state.snapshot import Part
from windrow.synopses.shared import Kept, SharedSynopsis


@dataclass(frozen=True)
class KeptColumn:
    """An aggregate: how a synopsis of it is made, and the columns of its argument."""

    make: Callable[[], Kept]
    arguments: tuple[int, ...]


class KeptElements(Parts):
    """Groups, and their elements in a synopsis."""

    def __init__(self, spec: KeepElements) -> None:
        self.groups = KeyDirectory()
        self.synopsis = SharedSynopsis([column.make() for column in spec.kept], spec.slice)
        self.reach = 0  # how long elements are asked for; nothing leaves before somebody has said

    def __len__(self) -> int:
        return len(self.synopsis.elements)

    def parts(self) -> Mapping[str, Part]:
        return {"groups": self.groups, "synopsis": self.synopsis}


@dataclass(frozen=True, eq=False)
class KeptRows(Batch):
    """The rows of a step, and what holds them together with those before."""

    held: KeptElements

    def sorted_by_time(self) -> Batch:
        return self


@dataclass(frozen=True)
class KeepElements:
    """Windows over it begin and end at multiples of `slice`."""

    keys: tuple[int, ...]
    kept: tuple[KeptColumn, ...]
    slice: int

    def fresh_state(self) -> KeptElements:
        return KeptElements(self)

    def step(self, state: KeptElements, inputs: Sequence[Batch], segment: Segment) -> Batch:
        (rows,) = inputs
        assert rows.is_positive, "rows of a stream are not taken back"
        self._let_go(state, segment)
        group = state.groups.intern(rows.select(self.keys), len(rows))
        state.synopsis.insert(group, rows.ts, [rows.select(column.arguments) for column in self.kept])
        return KeptRows(rows.columns, rows.ts, rows.exp, rows.sign, state)

    def _let_go(self, state: KeptElements, segment: Segment) -> None:
        """Of what had left all windows before the segment: everybody has told so."""
        if not state.reach:
            return
        state.synopsis.expire_until((segment.begin - state.reach) // self.slice * self.slice)
        if self.keys:
            known = state.groups.known()
            elements = state.synopsis.elements
            state.groups.forget(known[elements.first[known] == elements.next[known]])


class ShownGroups(Parts):
    """The row that each group shows to one query."""

    def __init__(self) -> None:
        self.shown = ShownRows()
        self.begun = KeyedArrays(yes=np.bool_)
        self.begun.reserve(1)
        self.groups = KeyDirectory()  # that of the kept elements, in a step
        self.marks: Int64s = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return 0

    def parts(self) -> Mapping[str, Part]:
        return {"shown": self.shown, "begun": self.begun}


@dataclass(frozen=True)
class WindowLookups:
    """The aggregates at `places` among the kept ones, over [E − length, E) at every multiple E of `slide`.

    `rows` is the place of COUNT(*), which says whether a group is there.
    """

    keys: tuple[int, ...]
    places: tuple[int, ...]
    rows: int
    length: int
    slide: int

    def fresh_state(self) -> ShownGroups:
        return ShownGroups()

    def step(self, state: ShownGroups, inputs: Sequence[Batch], segment: Segment) -> Batch:
        (rows,) = inputs
        assert isinstance(rows, KeptRows), rows
        held = rows.held
        held.reach = max(held.reach, self.length + self.slide)
        state.groups = held.groups
        versions = self._versions(state, held, segment)
        return GroupBy(self.keys, ()).changes(state, versions, rows).sorted_by_time()

    def _versions(self, state: ShownGroups, held: KeptElements, segment: Segment) -> Versions:
        group, time = self._refreshes(held, segment)
        begin = time - self.length
        if not self.keys and not state.begun["yes"][0]:  # the one group is there from the first instant on
            state.begun.reserve(1)
            state.begun["yes"][0] = True
            only = held.groups.intern((), 1)
            later = time > segment.begin
            group, begin = np.concatenate([only, group[later]]), np.concatenate([[segment.begin], begin[later]])
            time = np.concatenate([[segment.begin], time[later]])
        elements = held.synopsis.elements
        spans = elements.between(group, begin, time)
        found = {place: held.synopsis.kept[place].lookup(elements, spans) for place in {*self.places, self.rows}}
        present = found[self.rows].values > 0
        return Versions(group, time, present | (not self.keys), tuple(found[place] for place in self.places))

    def _refreshes(self, held: KeptElements, segment: Segment) -> tuple[Int64s, Int64s]:
        """The groups and refreshes between which and the ones before something came in or left, by time."""
        groups, refreshes = [], []
        elements = held.synopsis.elements
        for delay in (0, self.length):
            spans = elements.since(segment.begin - delay - self.slide, segment.end - delay)
            groups.append(np.repeat(spans.group, spans.end - spans.begin))
            refreshes.append(next_multiple(elements.times(spans) + delay, self.slide))
        group, time = np.concatenate(groups), np.concatenate(refreshes)
        inside = (time >= segment.begin) & (time < segment.end)
        pairs = np.unique(np.stack([time[inside], group[inside]], axis=1), axis=0)
        return np.ascontiguousarray(pairs[:, 1]), np.ascontiguousarray(pairs[:, 0])
