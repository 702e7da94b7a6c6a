"""Refreshes: the window ends of a periodic query at which it gives its whole answer."""

from __future__ import annotations

from windrow.plan.analysis.refreshes import refresh_interval
from windrow.plan.nodes import Node, OutputKind, OutputStream


def refresh_slide(plan: Node) -> int | None:
    """How far apart the refreshes of a query are; None when it gives its changes instead."""
    if isinstance(plan, OutputStream) and plan.kind is not OutputKind.RSTREAM:
        return None
    return refresh_interval(plan)
