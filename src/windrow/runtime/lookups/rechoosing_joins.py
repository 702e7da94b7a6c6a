"""Join synopses change their form when what is asked of them does, as other synopses do (`rechoosing`).

All forms have the same slices, so that changing is merging what is above them anew; answers are the same before and
after.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from windrow.operators.synopses.maintain_join import JoinSummaries
from windrow.physical.synopses import join_kind
from windrow.plan.aggregates import traits_of
from windrow.plan.running_nodes import GroupSynopsis, JoinSynopsis, WindowSynopsis
from windrow.plan.synopsis_kinds import JoinSynopsisKind
from windrow.runtime.lookups import rechoosing
from windrow.runtime.lookups.rechoosing import Rechoosing
from windrow.sharing.join_synopsis_choice import JoinSynopsisMonitor, JoinWorkload


class RechoosingJoin:
    """Watches one join synopsis; `plan` says how it is to be kept."""

    def __init__(self, plan: JoinSynopsis) -> None:
        self.plan = plan
        self._pairs = self._lookups = self._slices = 0
        given = zip(plan.aggregates, plan.kinds, strict=True)
        self._watches = [JoinSynopsisMonitor(traits_of(named.call), JoinSynopsisKind(kind)) for named, kind in given]

    def look(self, states: Sequence[JoinSummaries], memory: float) -> bool:
        """Compare the pairs that have come with what was asked; whether `plan` has changed."""
        for state in states:
            self._pairs, self._lookups = self._pairs + state.pairs, self._lookups + state.lookups
            self._slices += state.slices
            state.pairs = state.lookups = state.slices = 0
        if self._pairs + self._lookups < rechoosing.BETWEEN_LOOKS:
            return False
        width = max(1, self._slices // max(1, self._lookups))
        rates, groups = (float(self._pairs), float(self._lookups)), max(1, sum(len(state.groups) for state in states))
        shape = self.plan.slices, self.plan.difference
        load = JoinWorkload(*rates, (width,), *shape, groups, memory / len(self.plan.aggregates))
        self._pairs = self._lookups = self._slices = 0
        found = {place: choice for place, watch in enumerate(self._watches) if (choice := watch.poll(load)) is not None}
        for place, choice in found.items():
            self._note(place, choice.kind.value, f"{choice.reason}, as measured")
        return bool(found)

    def convert(self, state: JoinSummaries) -> None:
        """All slices are merged anew, as the plan says now."""
        state.synopses = [
            one.converted(join_kind(kind)) for one, kind in zip(state.synopses, self.plan.kinds, strict=True)
        ]

    def _note(self, place: int, kind: str, reason: str) -> None:
        kinds, reasons = list(self.plan.kinds), list(self.plan.reasons)
        kinds[place], reasons[place] = kind, reason
        self.plan = replace(self.plan, kinds=tuple(kinds), reasons=tuple(reasons))


def rechoosing_of(plan: GroupSynopsis) -> Rechoosing | RechoosingJoin:
    """What watches a synopsis."""
    if isinstance(plan, JoinSynopsis):
        return RechoosingJoin(plan)
    assert isinstance(plan, WindowSynopsis), plan
    return Rechoosing(plan)
