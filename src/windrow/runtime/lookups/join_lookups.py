"""Questions to join synopses: lengths of two windows, as of the last refresh before the instant that is asked for."""

from __future__ import annotations

from collections.abc import Iterable

from windrow.batch import Batch
from windrow.operators.synopses.maintain_join import JoinQuestion, JoinSummaries, MaintainJoinSynopsis
from windrow.plan.running_nodes import JoinLookup
from windrow.plan.windows import Range
from windrow.runtime.lookups.maintained import MaintainedSynopsis
from windrow.units import FOREVER


class JoinSynopsisReader:
    def __init__(self, lookup: JoinLookup) -> None:
        self._slide = lookup.input.slide
        places = {named.call: place for place, named in enumerate(lookup.input.aggregates)}
        self._places = tuple(places[named.call] for named in lookup.aggregates)
        first, second = (window.extent for window in lookup.windows)
        assert isinstance(first, Range) and isinstance(second, Range), lookup
        self._lengths = first.length, second.length

    def groups(self, synopsis: MaintainedSynopsis, instant: int, final: int) -> Batch:
        """The groups of the join at an instant, with their aggregates; what is kept is final."""
        operator, state = synopsis
        assert isinstance(operator, MaintainJoinSynopsis) and isinstance(state, JoinSummaries), operator
        refresh = instant // self._slide * self._slide
        return operator.answer(state, JoinQuestion(self._places, self._lengths, refresh, instant))

    def earliest(self, synopses: Iterable[MaintainedSynopsis], final: int) -> int:
        """Pairs are merged as they come: nothing is known of refreshes before the last one."""
        states = (state for _, state in synopses if isinstance(state, JoinSummaries))
        return max((state.refreshed for state in states), default=-FOREVER)
