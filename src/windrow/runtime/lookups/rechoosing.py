"""Synopses change their form when what is asked of them does: the planner's choice, looked at again as things run.

Every so many elements or lookups the two are compared. When another form has been much cheaper for a while it takes
over; answers are the same before and after.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from windrow.batch import Dictionary
from windrow.operators.synopses.maintain_synopsis import LookupWindow, Summaries
from windrow.physical.synopses import synopsis_for
from windrow.plan.aggregates import traits_of
from windrow.plan.analysis.lookups import synopses_of
from windrow.plan.running_nodes import WindowSynopsis
from windrow.plan.synopsis_kinds import SynopsisKind
from windrow.sharing.synopsis_choice import Choice, SynopsisMonitor, Workload

BETWEEN_LOOKS = 10_000  # elements and lookups together


class Rechoosing:
    """Watches one synopsis; `plan` says how it is to be kept."""

    def __init__(self, plan: WindowSynopsis) -> None:
        self.plan = plan
        self._elements = self._lookups = 0
        self._windows: dict[LookupWindow, int] = {}
        self._watches: dict[int, SynopsisMonitor] = {}
        for place, (named, kind) in enumerate(zip(plan.aggregates, plan.kinds, strict=True)):
            among = synopses_of(named.call)
            if len(among) > 1:
                first = Choice(SynopsisKind(kind), 0.0, 0.0, plan.reasons[place])
                self._watches[place] = SynopsisMonitor(traits_of(named.call), first, among)

    def look(self, states: Sequence[Summaries], memory: float) -> bool:
        """Compare what has come with what was asked, if it is enough to say something; whether `plan` has changed."""
        for state in states:
            self._elements, self._lookups = self._elements + state.elements, self._lookups + state.lookups
            self._windows |= state.windows
            state.elements, state.lookups, state.windows = 0, 0, {}
        if self._elements + self._lookups < BETWEEN_LOOKS:
            return False
        load = self._measured(states, memory / len(self.plan.aggregates)) if self._watches else None
        self._elements, self._lookups, self._windows = 0, 0, {}
        if load is None:
            return False
        found = {place: choice for place, watch in self._watches.items() if (choice := watch.poll(load)) is not None}
        for place, choice in found.items():
            self._note(place, choice)
        return bool(found)

    def convert(self, state: Summaries, dictionary: Dictionary) -> None:
        """All elements move over to what the plan says now."""
        by_position = [
            synopsis_for(named.call, SynopsisKind(kind), dictionary)
            for named, kind in zip(self.plan.aggregates, self.plan.kinds, strict=True)
            if SynopsisKind(kind) not in (SynopsisKind.HISTOGRAM, SynopsisKind.FADED)
        ]
        state.synopsis = state.synopsis.converted(by_position)

    def _measured(self, states: Sequence[Summaries], memory: float) -> Workload:
        groups = max(1, sum(len(state.groups) for state in states))
        kept = sum(len(state.synopsis.elements) for state in states) // groups
        widths = tuple(max(1, width) for width in self._windows.values()) or (max(1, kept),)
        are_suffixes = all(window.ends_now for window in self._windows)
        rates = float(self._elements), float(self._lookups)
        return Workload(*rates, widths, are_suffixes=are_suffixes, kept=kept, groups=groups, memory=memory)

    def _note(self, place: int, choice: Choice[SynopsisKind]) -> None:
        kinds, reasons = list(self.plan.kinds), list(self.plan.reasons)
        kinds[place], reasons[place] = choice.kind.value, f"{choice.reason}, as measured"
        self.plan = replace(self.plan, kinds=tuple(kinds), reasons=tuple(reasons))
