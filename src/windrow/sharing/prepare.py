"""The plans of queries that start together, as they run: with slices, and with what queries share."""

from __future__ import annotations

from collections.abc import Sequence

from windrow.physical.strategy import Strategy
from windrow.plan.analysis.rates import Statistics
from windrow.plan.nodes import Node
from windrow.sharing.indexed_thresholds import with_indexed_thresholds
from windrow.sharing.shared_slices import with_shared_slices
from windrow.sharing.slices import with_slices


def running_together(
    plans: Sequence[Node], strategy: Strategy, statistics: Statistics, is_chosen: bool = True
) -> list[Node]:
    """From optimized plans; if not `is_chosen`, only what answers are made of. NT takes back rows, not slices."""
    chosen = with_indexed_thresholds(plans, statistics) if is_chosen and strategy is not Strategy.NT else plans
    sliced = [with_slices(plan, is_chosen) for plan in chosen]
    shared = with_shared_slices(sliced) if strategy is not Strategy.NT else None
    return shared or sliced
