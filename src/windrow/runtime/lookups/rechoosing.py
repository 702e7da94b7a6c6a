"""Synopses change their form when what is asked of them does: the planner's choice, looked at again as things run.

Every so many elements or lookups the two are compared. When another form has been much cheaper for a while it takes
over; answers are the same before and after.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from windrow.operators.synopses.maintained import SynopsisState, SynopsisUse
from windrow.plan.aggregates import traits_of
from windrow.plan.analysis.lookups import synopses_of
from windrow.plan.running_nodes import GroupSynopsis, JoinSynopsis
from windrow.plan.synopsis_kinds import JoinSynopsisKind, SynopsisKind
from windrow.sharing.join_synopsis_choice import JoinWorkload, join_monitor
from windrow.sharing.synopsis_choice import Choice, Monitor, Workload, window_monitor

BETWEEN_POLLS = 10_000  # rows and lookups together


class Rechoosing(ABC):
    """Watches one synopsis; `plan` says which form it should have."""

    def __init__(self, plan: GroupSynopsis) -> None:
        self.plan = plan
        self._use = SynopsisUse()
        self._monitors: Mapping[int, Monitor[Any, Any]] = self._monitored(plan)

    def poll(self, states: Sequence[SynopsisState], memory: float) -> bool:
        """Compare what has come with what was asked, if it is enough to say something; whether `plan` has changed."""
        for state in states:
            self._use.add(state.use)
            state.use = SynopsisUse()
        if self._use.arrived + self._use.lookups < BETWEEN_POLLS:
            return False
        load = self._load(states, memory / len(self.plan.aggregates))
        polled = {place: monitor.poll(load) for place, monitor in self._monitors.items()}
        chosen: dict[int, Choice[Any]] = {place: choice for place, choice in polled.items() if choice is not None}
        self._use = SynopsisUse()
        kinds, reasons = list(self.plan.kinds), list(self.plan.reasons)
        for place, choice in chosen.items():
            kinds[place], reasons[place] = choice.kind.value, f"{choice.reason}, as measured"
        self.plan = replace(self.plan, kinds=tuple(kinds), reasons=tuple(reasons))
        return bool(chosen)

    @abstractmethod
    def _monitored(self, plan: GroupSynopsis) -> Mapping[int, Monitor[Any, Any]]:
        """By the places of aggregates, where there is a choice."""

    @abstractmethod
    def _load(self, states: Sequence[SynopsisState], memory: float) -> object:
        """What was measured since the last choice."""


class RechoosingWindow(Rechoosing):
    """Watches the synopsis of a window."""

    def _monitored(self, plan: GroupSynopsis) -> Mapping[int, Monitor[SynopsisKind, Workload]]:
        found = {}
        for place, (named, kind) in enumerate(zip(plan.aggregates, plan.kinds, strict=True)):
            among = synopses_of(named.call)
            if len(among) > 1:
                found[place] = window_monitor(traits_of(named.call), SynopsisKind(kind), among)
        return found

    def _load(self, states: Sequence[SynopsisState], memory: float) -> Workload:
        groups = _groups(states)
        kept = sum(state.positions for state in states) // groups
        widths = tuple(max(1, width) for width in self._use.widths.values()) or (max(1, kept),)
        are_suffixes = all(window.ends_now for window in self._use.widths)
        rates = float(self._use.arrived), float(self._use.lookups)
        return Workload(*rates, widths, are_suffixes=are_suffixes, stored_positions=kept, groups=groups, memory=memory)


class RechoosingJoin(Rechoosing):
    """Watches a join synopsis."""

    def __init__(self, plan: JoinSynopsis) -> None:
        super().__init__(plan)
        self._shape = plan.slices, plan.difference

    def _monitored(self, plan: GroupSynopsis) -> Mapping[int, Monitor[JoinSynopsisKind, JoinWorkload]]:
        given = enumerate(zip(plan.aggregates, plan.kinds, strict=True))
        return {place: join_monitor(traits_of(named.call), JoinSynopsisKind(kind)) for place, (named, kind) in given}

    def _load(self, states: Sequence[SynopsisState], memory: float) -> JoinWorkload:
        widths = tuple(self._use.widths.values()) or (1,)
        rates = float(self._use.arrived), float(self._use.lookups)
        return JoinWorkload(*rates, widths, *self._shape, _groups(states), memory)


def _groups(states: Sequence[SynopsisState]) -> int:
    return max(1, sum(len(state.groups) for state in states))


def rechoosing_of(plan: GroupSynopsis) -> Rechoosing:
    """What watches a synopsis."""
    return RechoosingJoin(plan) if isinstance(plan, JoinSynopsis) else RechoosingWindow(plan)
