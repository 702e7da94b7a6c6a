"""Synopses change their form when what is asked of them does: the planner's choice, looked at again as things run.

Every so many elements or lookups the two are compared. When another form has been much cheaper for a while it takes
over; answers are the same before and after.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from windrow.batch import Dictionary
from windrow.operators.synopses.maintain_join import JoinSummaries
from windrow.operators.synopses.maintain_synopsis import LookupWindow, Summaries
from windrow.physical.synopses import synopsis_for
from windrow.plan.aggregates import traits_of
from windrow.plan.analysis.lookups import synopses_of
from windrow.plan.running_nodes import GroupSynopsis, WindowSynopsis
from windrow.plan.synopsis_kinds import SynopsisKind
from windrow.sharing.synopsis_choice import Choice, Monitor, Workload, window_monitor

BETWEEN_POLLS = 10_000  # rows and lookups together

Summarised: TypeAlias = Summaries | JoinSummaries


class Rechoosing(ABC):
    """Watches one synopsis; `plan` says which form it should have."""

    def __init__(self, plan: GroupSynopsis) -> None:
        self.plan = plan

    def poll(self, states: Sequence[Summarised], memory: float) -> bool:
        """Compare what has come with what was asked, if it is enough to say something; whether `plan` has changed."""
        if self._count(states) < BETWEEN_POLLS:
            return False
        chosen = self._choose(states, memory / len(self.plan.aggregates))
        self._start_counting()
        kinds, reasons = list(self.plan.kinds), list(self.plan.reasons)
        for place, choice in chosen.items():
            kinds[place], reasons[place] = choice.kind.value, f"{choice.reason}, as measured"
        self.plan = replace(self.plan, kinds=tuple(kinds), reasons=tuple(reasons))
        return bool(chosen)

    @abstractmethod
    def convert(self, state: Summarised, dictionary: Dictionary) -> None:
        """What is kept moves over to the form that the plan says now."""

    @abstractmethod
    def _count(self, states: Sequence[Summarised]) -> int:
        """Take over what states have counted; rows and lookups since the last choice."""

    @abstractmethod
    def _choose(self, states: Sequence[Summarised], memory: float) -> Mapping[int, Choice[Any]]:
        """The forms that should take over, by the places of their aggregates."""

    @abstractmethod
    def _start_counting(self) -> None: ...


class RechoosingWindow(Rechoosing):
    """Watches the synopsis of a window."""

    def __init__(self, plan: WindowSynopsis) -> None:
        super().__init__(plan)
        self._start_counting()
        self._watches: dict[int, Monitor[SynopsisKind, Workload]] = {}
        for place, (named, kind) in enumerate(zip(plan.aggregates, plan.kinds, strict=True)):
            among = synopses_of(named.call)
            if len(among) > 1:
                self._watches[place] = window_monitor(traits_of(named.call), SynopsisKind(kind), among)

    def _start_counting(self) -> None:
        self._elements = self._lookups = 0
        self._windows: dict[LookupWindow, int] = {}

    def _count(self, states: Sequence[Summarised]) -> int:
        for state in states:
            assert isinstance(state, Summaries), state
            self._elements, self._lookups = self._elements + state.elements, self._lookups + state.lookups
            self._windows |= state.windows
            state.elements, state.lookups, state.windows = 0, 0, {}
        return self._elements + self._lookups

    def _choose(self, states: Sequence[Summarised], memory: float) -> Mapping[int, Choice[Any]]:
        if not self._watches:
            return {}
        load = self._measured([state for state in states if isinstance(state, Summaries)], memory)
        polled = ((place, watch.poll(load)) for place, watch in self._watches.items())
        return {place: choice for place, choice in polled if choice is not None}

    def convert(self, state: Summarised, dictionary: Dictionary) -> None:
        """All elements move over to what the plan says now."""
        assert isinstance(state, Summaries), state
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
        return Workload(*rates, widths, are_suffixes=are_suffixes, stored_positions=kept, groups=groups, memory=memory)
