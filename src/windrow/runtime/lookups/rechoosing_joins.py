"""Join synopses change their form when what is asked of them does, as other synopses do (`rechoosing`).

All forms have the same slices, so that changing is merging what is above them anew; answers are the same before and
after.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from windrow.batch import Dictionary
from windrow.operators.synopses.maintain_join import JoinSummaries
from windrow.physical.synopses import join_kind
from windrow.plan.aggregates import traits_of
from windrow.plan.running_nodes import GroupSynopsis, JoinSynopsis, WindowSynopsis
from windrow.plan.synopsis_kinds import JoinSynopsisKind
from windrow.runtime.lookups.rechoosing import Rechoosing, RechoosingWindow, Summarised
from windrow.sharing.join_synopsis_choice import JoinWorkload, join_monitor
from windrow.sharing.synopsis_choice import Choice


class RechoosingJoin(Rechoosing):
    """Watches a join synopsis."""

    def __init__(self, plan: JoinSynopsis) -> None:
        super().__init__(plan)
        self._shape = plan.slices, plan.difference
        self._start_counting()
        given = zip(plan.aggregates, plan.kinds, strict=True)
        self._watches = [join_monitor(traits_of(named.call), JoinSynopsisKind(kind)) for named, kind in given]

    def _start_counting(self) -> None:
        self._pairs = self._lookups = self._slices = 0

    def _count(self, states: Sequence[Summarised]) -> int:
        for state in states:
            assert isinstance(state, JoinSummaries), state
            self._pairs, self._lookups = self._pairs + state.pairs, self._lookups + state.lookups
            self._slices += state.slices
            state.pairs = state.lookups = state.slices = 0
        return self._pairs + self._lookups

    def _choose(self, states: Sequence[Summarised], memory: float) -> Mapping[int, Choice[Any]]:
        width = max(1, self._slices // max(1, self._lookups))
        rates, groups = (float(self._pairs), float(self._lookups)), max(1, sum(len(state.groups) for state in states))
        load = JoinWorkload(*rates, (width,), *self._shape, groups, memory)
        polled = ((place, watch.poll(load)) for place, watch in enumerate(self._watches))
        return {place: choice for place, choice in polled if choice is not None}

    def convert(self, state: Summarised, dictionary: Dictionary) -> None:
        """All slices are merged anew, as the plan says now."""
        assert isinstance(state, JoinSummaries), state
        state.synopses = [
            one.converted(join_kind(kind)) for one, kind in zip(state.synopses, self.plan.kinds, strict=True)
        ]


def rechoosing_of(plan: GroupSynopsis) -> Rechoosing:
    """What watches a synopsis."""
    if isinstance(plan, JoinSynopsis):
        return RechoosingJoin(plan)
    assert isinstance(plan, WindowSynopsis), plan
    return RechoosingWindow(plan)
