"""RESTORE: a periodic query beside the same one refreshed on every tuple, whose short-lived results it restores."""

from __future__ import annotations

from windrow.plan.analysis.refreshes import refresh_interval, without_slides
from windrow.plan.nodes import Node, OutputKind, OutputStream
from windrow.plan.rewrite import bottom_up
from windrow.plan.running_nodes import RestoredAnswer, RestoredInserts
from windrow.sharing.starting import Plans, Starting


def with_restored(plans: Plans, starting: Starting) -> Plans:
    return {name: bottom_up(plan, _restored) for name, plan in plans.items()}


def _restored(node: Node) -> Node | None:
    if not isinstance(node, OutputStream) or not node.restore:
        return None
    slide, continuous = refresh_interval(node), without_slides(node.input)
    assert slide is not None, node
    if node.kind is OutputKind.ISTREAM:
        return node.with_inputs(RestoredInserts(continuous, slide))
    return node.with_inputs(RestoredAnswer(node.input, continuous, slide))
