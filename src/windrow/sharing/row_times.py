"""FIRST and LAST get the order that they choose by, the time and ties of rows, as arguments."""

from __future__ import annotations

from dataclasses import replace

from windrow.plan.aggregates import is_ordered, order_of
from windrow.plan.expressions import NamedAggregate
from windrow.plan.nodes import GroupBy, Node
from windrow.plan.rewrite import bottom_up
from windrow.plan.row_time import with_row_time
from windrow.sharing.starting import Plans, Starting


def with_row_times(plans: Plans, starting: Starting) -> Plans:
    """Plans with FIRST(x) and LAST(x) as FIRST(x, time, ties...) and LAST(x, time, ties...), handed up to them."""
    return {name: bottom_up(plan, _with_time_arguments) for name, plan in plans.items()}


def _with_time_arguments(node: Node) -> Node | None:
    if not isinstance(node, GroupBy) or not any(map(_lacks_time, node.aggregates)):
        return None
    timed = with_row_time(node.input)
    assert timed is not None, "the binder refuses what has no time"
    aggregates = tuple(
        replace(named, call=replace(named.call, arguments=(*named.call.arguments, *timed.order)))
        if _lacks_time(named)
        else named
        for named in node.aggregates
    )
    return GroupBy(timed.plan, node.keys, aggregates)


def _lacks_time(named: NamedAggregate) -> bool:
    return is_ordered(named.call) and not order_of(named.call)
