"""Synopses change their form when what is asked of them does: the planner's choice, looked at again as things run.

Every so many elements or lookups the two are compared. When another form has been much cheaper for a while, all
elements move over; answers are the same before and after.
"""

from __future__ import annotations

from dataclasses import replace

from windrow.batch import Dictionary
from windrow.operators.keep_synopsis import Summaries
from windrow.physical.synopses import kept_in
from windrow.plan.aggregates import traits_of
from windrow.plan.analysis.lookups import synopses_of
from windrow.plan.analysis.synopses import Choice, Synopsis, Watch, Workload
from windrow.plan.nodes import KeptSynopsis

BETWEEN_LOOKS = 10_000  # elements and lookups together


class Rechoosing:
    """Watches one synopsis, in which so many queries are looked up; `plan` says how it is kept at present."""

    def __init__(self, plan: KeptSynopsis, queries: int, dictionary: Dictionary) -> None:
        self.plan = plan
        self._queries, self._dictionary = queries, dictionary
        self._watches: dict[int, Watch] = {}
        for place, (named, kind) in enumerate(zip(plan.aggregates, plan.kinds, strict=True)):
            among = synopses_of(named.call)
            if len(among) > 1:
                first = Choice(Synopsis(kind), 0.0, 0.0, plan.reasons[place])
                self._watches[place] = Watch(traits_of(named.call), first, among)

    def look(self, state: Summaries) -> None:
        """Compare what has come with what was asked, if it is enough to say something."""
        if not self._watches or state.elements + state.lookups < BETWEEN_LOOKS:
            return
        groups = max(1, len(state.groups))
        width = max(1, len(state.synopsis.elements) // groups)
        load = Workload(float(state.elements), float(state.lookups), (width,), self._queries, groups=groups)
        state.elements = state.lookups = 0
        found = {place: choice for place, watch in self._watches.items() if (choice := watch.look(load)) is not None}
        if found:
            self._change(state, found)

    def _change(self, state: Summaries, found: dict[int, Choice]) -> None:
        plan, kinds, reasons = self.plan, list(self.plan.kinds), list(self.plan.reasons)
        for place, choice in found.items():
            kinds[place], reasons[place] = choice.synopsis.value, f"{choice.reason}, as measured"
        self.plan = replace(plan, kinds=tuple(kinds), reasons=tuple(reasons))
        by_position = [
            kept_in(named.call, Synopsis(kind), self._dictionary)
            for named, kind in zip(plan.aggregates, kinds, strict=True)
            if Synopsis(kind) not in (Synopsis.HISTOGRAM, Synopsis.FADED)
        ]
        state.synopsis = state.synopsis.converted(by_position)
