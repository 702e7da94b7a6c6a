"""Questions to synopses of a window: which stretch of time, or how many rows, at the instant that is asked for.

A window that does not slide ends at that instant, one that slides at its last refresh before. Rows from before a query
are not in its windows, also where they are kept for others.
"""

from __future__ import annotations

from math import gcd

from windrow.operators.synopses.maintain_synopsis import Question
from windrow.plan.running_nodes import WindowLookup
from windrow.plan.synopsis_kinds import SynopsisKind
from windrow.plan.windows import Now, Range, RangeAgo, Rows, Unbounded
from windrow.sharing.lookups import edges_of
from windrow.units import BEGINNING, FOREVER

_OF_NOW = (SynopsisKind.HISTOGRAM.value, SynopsisKind.FADED.value)


class WindowReader:
    def __init__(self, lookup: WindowLookup) -> None:
        self._lookup, self._synopsis = lookup, lookup.input

    def earliest(self, known_since: int, final: int) -> int:
        if self._is_of_now:
            return -FOREVER if final == FOREVER else final - 1
        began = known_since + self._synopsis.reach  # the last step
        if self._lookup.since is not None and began < self._lookup.since:  # nothing of the query's own has left
            return self._lookup.since - 1 if self._lookup.since < final < FOREVER else -FOREVER
        on_edge = began - began % gcd(*edges_of(self._lookup.window)) - 1
        return on_edge if self._edges(on_edge)[0] >= known_since else began - 1

    @property
    def _is_of_now(self) -> bool:
        """Whether only the present can be asked for, whatever others ask the synopsis for."""
        kinds = {named.call: kind for named, kind in zip(self._synopsis.aggregates, self._synopsis.kinds, strict=True)}
        return self._synopsis.by_rows or any(kinds[named.call] in _OF_NOW for named in self._lookup.aggregates)

    def question(self, instant: int, final: int) -> Question:
        """What is asked for an instant; the rows before `final` are there."""
        places = {named.call: place for place, named in enumerate(self._synopsis.aggregates)}
        asked = tuple(places[named.call] for named in self._lookup.aggregates)
        begin, end = self._edges(instant)
        if end >= final or self._is_of_now:
            end = FOREVER
        extent, threshold = self._lookup.window.extent, None
        if self._lookup.threshold is not None:
            calls = {named.name: named.call for named in self._lookup.aggregates}
            one = self._lookup.threshold
            threshold = places[calls[one.aggregate]], one.above, one.bound
        rows = extent.count if isinstance(extent, Rows) else 0
        first, last = self._edges_of_window(instant)
        length = rows or last - first
        return Question(asked, begin, end, instant, length, rows, threshold)

    def _edges(self, instant: int) -> tuple[int, int]:
        """When the window begins, not before the query, and ends."""
        begin, end = self._edges_of_window(instant)
        return begin if self._lookup.since is None else max(begin, self._lookup.since), end

    def _edges_of_window(self, instant: int) -> tuple[int, int]:
        extent, slide = self._lookup.window.extent, self._lookup.window.slide
        last = instant if not isinstance(slide, int) else instant // slide * slide - 1
        if isinstance(extent, Range | Now):
            return last + 1 - (extent.length if isinstance(extent, Range) else 1), last + 1
        if isinstance(extent, RangeAgo):
            return last + 1 - extent.begin, last + 1 - extent.end
        assert isinstance(extent, Rows | Unbounded), extent
        return BEGINNING, instant + 1
