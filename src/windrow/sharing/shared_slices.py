"""Slices of several queries: windows of any length and slide over the same groups are merged from the same partials.

Rows within the greatest common divisor of a window's length and slide get the same lifetime from it, so they can be put
together before the window is looked at, once for all queries with that divisor: those that start together, and those
that come later, whatever their lists of aggregates are. Slices of a width are made from the widest slices that divide
it, and only those that nothing divides from rows. Partial results are exact, so sharing shows in no answer.

A slice has each partial result once (thesis 8.3.1, SS2): SUM and AVG of a column are merged from the same sum and
count, and COUNT of it from that count. Queries that start together get slices with the partials of all of them; slices
that run are used where they have all that is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import gcd

from windrow.plan.aggregate_class import SliceForm
from windrow.plan.aggregates import aggregate_call, values_of
from windrow.plan.analysis.per_node import per_node
from windrow.plan.analysis.slices import slice_form
from windrow.plan.expressions import AggregateCall, ColumnReference, Named, NamedAggregate
from windrow.plan.nodes import Node, Windowed
from windrow.plan.printer import aggregate_text
from windrow.plan.rewrite import bottom_up, without_exchanges
from windrow.plan.running_nodes import MergeGroups, SharedSlices, SlicePartials
from windrow.plan.slice_columns import slice_columns
from windrow.plan.strategy import Strategy
from windrow.plan.windows import Range, RangeAgo, Window
from windrow.sharing.starting import Plans, Starting
from windrow.sharing.stream_rows import StreamRows, named_by_text, stream_rows

_FINEST = 4  # slices in a slide, up to which they are worth it


@dataclass(frozen=True)
class _Groups:
    """Whose slices can be the same: rows and keys, in the terms of the stream."""

    rows: Node
    keys: tuple[Named, ...]


@dataclass(frozen=True, eq=False)
class _PeriodicGroups:
    """Groups of one query that are merged from slices."""

    node: MergeGroups
    of: StreamRows
    window: Window
    width: int

    @cached_property
    def groups(self) -> _Groups:
        return _Groups(self.of.selected, named_by_text(self.of.meaning(key.expression) for key in self.node.keys))

    @cached_property
    def partials(self) -> frozenset[AggregateCall]:
        return frozenset(partial_for(self.of, named.call) for named in self.node.aggregates)


def with_shared_slices(plans: Plans, starting: Starting) -> Plans:
    """Plans over slices that others can share; NT takes back rows, not slices."""
    if starting.strategy is Strategy.NT:
        return plans
    asked: dict[_Groups, list[_PeriodicGroups]] = {}
    for plan in plans.values():
        for one in _all_asked(plan):
            asked.setdefault(one.groups, []).append(one)
    running = _running(starting.running)
    found: dict[Node, Node] = {
        one.node: over for groups, members in asked.items() for one, over in _shared(groups, members, running)
    }
    return {name: bottom_up(plan, lambda node: found.get(node)) for name, plan in plans.items()}


def partial_for(rows: StreamRows, call: AggregateCall) -> AggregateCall:
    """What slices keep for an aggregate, in the terms of the stream."""
    values = tuple(rows.meaning(value) for value in values_of(call))
    return aggregate_call(_KEPT[call.function], values)


_SUM, _COUNT = "SUM", "COUNT"
_KEPT = {
    **dict.fromkeys((_SUM, "AVG", "APPROX_SUM"), _SUM),
    **dict.fromkeys((_COUNT, "APPROX_COUNT"), _COUNT),
    **{name: name for name in ("MIN", "MAX")},
}


def _all_asked(plan: Node) -> Iterator[_PeriodicGroups]:
    for node in plan.walk():
        one = _asked(node) if isinstance(node, MergeGroups) and isinstance(node.input, SlicePartials) else None
        if one is not None:
            yield one


def _asked(node: MergeGroups) -> _PeriodicGroups | None:
    rows = stream_rows(node.input.inputs[0])
    if rows is None or rows.window is None:
        return None
    width = _width(rows.window)
    partial = all(slice_form(named.call) is SliceForm.PARTIAL for named in node.aggregates)
    return _PeriodicGroups(node, rows, rows.window, width) if partial and width is not None else None


def _width(window: Window) -> int | None:
    """How long slices are that a window takes as a whole; None where they would be much shorter than its slide."""
    extent, slide = window.extent, window.slide
    if not isinstance(slide, int) or not isinstance(extent, Range | RangeAgo):
        return None
    lengths = (extent.length,) if isinstance(extent, Range) else (extent.begin, extent.end)
    width = gcd(slide, *lengths)
    return width if slide <= _FINEST * width else None


def _running(plans: Iterable[Node]) -> dict[_Groups, list[SharedSlices]]:
    """Slices that run, by the rows that they are made of in the end."""
    found: dict[_Groups, list[SharedSlices]] = {}
    for node in dict.fromkeys(node for plan in plans for node in _slices_in(plan)):
        found.setdefault(_Groups(_rows_of(node), node.keys), []).append(node)
    return found


@per_node
def _slices_in(plan: Node) -> tuple[SharedSlices, ...]:
    return tuple(node for node in without_exchanges(plan).walk() if isinstance(node, SharedSlices))


def _rows_of(node: SharedSlices) -> Node:
    return _rows_of(node.input) if isinstance(node.input, SharedSlices) else node.input


def _shared(
    groups: _Groups, members: Sequence[_PeriodicGroups], running: dict[_Groups, list[SharedSlices]]
) -> Iterator[tuple[_PeriodicGroups, Node]]:
    """Each of the groups over slices that run, or over new ones that are made for all of them."""
    known = running.get(groups, [])
    fitting = {one: next((n for n in known if n.width == one.width and _has(n, one.partials)), None) for one in members}
    made = _made(groups, [one for one in members if fitting[one] is None], known)
    for one in members:
        yield one, _merged(one, fitting[one] or made[one.width])


def _made(groups: _Groups, asked: Sequence[_PeriodicGroups], known: Sequence[SharedSlices]) -> dict[int, SharedSlices]:
    """Slices of every width that is asked for, the short ones first."""
    partials = frozenset[AggregateCall]().union(*(one.partials for one in asked))
    aggregates = named_partials(partials)
    made: dict[int, SharedSlices] = {}
    for width in sorted({one.width for one in asked}):
        usable = [node for node in (*made.values(), *known) if not width % node.width and _has(node, partials)]
        below = max(usable, key=lambda node: node.width) if usable else groups.rows
        made[width] = SharedSlices(below, groups.keys, aggregates, slice_columns(aggregates).fields, width)
    return made


def named_partials(calls: Iterable[AggregateCall]) -> tuple[NamedAggregate, ...]:
    """Each partial once, under a name that says what it is; a count that comes with a sum is not there twice."""
    wanted = set(calls)
    sums = {call.arguments for call in wanted if call.function == _SUM}
    kept = [call for call in wanted if call.function != _COUNT or call.arguments not in sums]
    ordered = sorted(kept, key=lambda call: (aggregate_text(call), repr(call)))
    return tuple(NamedAggregate(aggregate_text(call), call) for call in ordered)


def _has(node: SharedSlices, partials: Iterable[AggregateCall]) -> bool:
    return all(_columns_for(node, call) is not None for call in partials)


def _columns_for(node: SharedSlices, partial: AggregateCall) -> tuple[ColumnReference, ...] | None:
    """The columns of a partial result; None where slices do not have it."""
    contents = slice_columns(node.aggregates)
    for named, places in zip(node.aggregates, contents.places, strict=True):
        is_counted = partial.function == _COUNT and named.call.function == _SUM
        if named.call == partial or (is_counted and named.call.arguments == partial.arguments):
            fields = [contents.fields[place] for place in (places[-1:] if is_counted else places)]
            return tuple(ColumnReference(field.name, field.type) for field in fields)
    return None


def _merged(one: _PeriodicGroups, slices: SharedSlices) -> MergeGroups:
    """The groups of a query, merged from the slices in its window."""
    names = {key.expression: key.name for key in slices.keys}
    keys = [names[one.of.meaning(key.expression)] for key in one.node.keys]
    partials = (_columns_for(slices, partial_for(one.of, named.call)) or () for named in one.node.aggregates)
    columns = (*keys, *(column.name for found in partials for column in found))
    return replace(one.node, input=Windowed(slices, one.window), columns=columns)
