"""Join synopses change their form when what is asked of them does, as other synopses do (`rechoosing`).

All forms have the same slices, so that changing is merging what is above them anew; answers are the same before and
after.
"""

from __future__ import annotations

from dataclasses import replace

from windrow.operators.keep_join import JoinSummaries
from windrow.physical.synopses import join_kind
from windrow.plan.aggregates import traits_of
from windrow.plan.analysis.join_synopses import JoinSynopsisKind, JoinWatch, JoinWorkload
from windrow.plan.nodes import KeptJoin
from windrow.runtime.local import rechoosing


class RechoosingJoin:
    """Watches one join synopsis; `plan` says how it is kept at present."""

    def __init__(self, plan: KeptJoin) -> None:
        self.plan = plan
        given = zip(plan.aggregates, plan.kinds, strict=True)
        self._watches = [JoinWatch(traits_of(named.call), JoinSynopsisKind(kind)) for named, kind in given]

    def look(self, state: JoinSummaries) -> None:
        """Compare the pairs that have come with what was asked, if it is enough to say something."""
        if state.pairs + state.lookups < rechoosing.BETWEEN_LOOKS:
            return
        width = max(1, state.slices // max(1, state.lookups))
        load = JoinWorkload(float(state.pairs), float(state.lookups), (width,), self.plan.slices, self.plan.difference)
        state.pairs = state.lookups = state.slices = 0
        for place, watch in enumerate(self._watches):
            found = watch.look(load)
            if found is not None:
                state.kept[place] = state.kept[place].converted(join_kind(found.kind.value))
                self._note(place, found.kind.value, f"{found.reason}, as measured")

    def _note(self, place: int, kind: str, reason: str) -> None:
        kinds, reasons = list(self.plan.kinds), list(self.plan.reasons)
        kinds[place], reasons[place] = kind, reason
        self.plan = replace(self.plan, kinds=tuple(kinds), reasons=tuple(reasons))
