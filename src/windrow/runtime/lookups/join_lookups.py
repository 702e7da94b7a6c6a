"""Questions to join synopses: lengths of two windows, as of the last refresh before the instant that is asked for."""

from __future__ import annotations

from windrow.operators.synopses.maintain_join import JoinQuestion
from windrow.plan.running_nodes import JoinLookup
from windrow.plan.windows import Range


class JoinReader:
    def __init__(self, lookup: JoinLookup) -> None:
        self._slide = lookup.input.slide
        places = {named.call: place for place, named in enumerate(lookup.input.aggregates)}
        self._places = tuple(places[named.call] for named in lookup.aggregates)
        first, second = (window.extent for window in lookup.windows)
        assert isinstance(first, Range) and isinstance(second, Range), lookup
        self._lengths = first.length, second.length

    def question(self, instant: int, final: int) -> JoinQuestion:
        """What is asked for an instant; what is kept is final."""
        refresh = instant // self._slide * self._slide
        return JoinQuestion(self._places, self._lengths, refresh, instant)

    def earliest(self, known_since: int, final: int) -> int:
        return known_since
