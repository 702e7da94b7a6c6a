"""What is certain about approximate aggregates, and what is kept for it; and which columns of an answer it is about."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from windrow.plan.aggregate_class import Approximation
from windrow.plan.aggregates import approximation_of
from windrow.plan.analysis.slices import is_summarised
from windrow.plan.approximation import error_of, registers_of
from windrow.plan.by_kind import ByKind
from windrow.plan.expressions import AggregateCall, ColumnReference, Literal
from windrow.plan.nodes import (
    Alias,
    AntiJoin,
    AppendOnly,
    Distinct,
    Except,
    Filter,
    GroupBy,
    Intersect,
    Join,
    Limit,
    Node,
    OutputStream,
    Project,
    SemiJoin,
    Sort,
    Stream,
    Table,
    Union,
    Windowed,
)
from windrow.plan.running_nodes import (
    LOOKUPS,
    SYNOPSES,
    EndWithParts,
    Exchange,
    Grouping,
    IndexedSelection,
    LastSubWindows,
    MergeGroups,
    Numbered,
    OnDemandLookup,
    RestoredAnswer,
    RestoredInserts,
    SharedSlices,
    SlicePartials,
    SliceSummaries,
    Stamped,
    SubWindows,
    WithEnd,
)
from windrow.plan.schema import unqualified

_SUBTRACTED = (Approximation.COUNT, Approximation.SUM)  # exact wherever every change is emitted
_MISSING = "there may be others with more, unless complete is true"


def bounds_of(node: Node) -> dict[str, str]:
    """By column that shows an approximate aggregate: what is certain about it."""
    return _BOUNDS[node](node)


def _no_bounds(node: Node) -> dict[str, str]:
    return {}


def _as_below(node: Node) -> dict[str, str]:
    return bounds_of(node.inputs[0])


def _renamed(node: Alias) -> dict[str, str]:
    return {f"{node.name}.{unqualified(name)}": bound for name, bound in bounds_of(node.input).items()}


def _projected(node: Project) -> dict[str, str]:
    below = bounds_of(node.input)
    shown = {column.name: column.expression for column in node.columns}
    return {name: below[of.name] for name, of in shown.items() if isinstance(of, ColumnReference) and of.name in below}


def _grouped(node: Grouping) -> dict[str, str]:
    bounds = ((named.name, bound_of(node, named.call)) for named in node.aggregates)
    return {name: bound for name, bound in bounds if bound is not None}


def bound_of(node: Grouping, call: AggregateCall) -> str | None:
    """What is certain about an aggregate of a group-by; None for one that is always exact."""
    of = approximation_of(call)
    if of is None:
        return None
    if of is Approximation.FREQUENT:
        return f"every item has more rows than the threshold, at least count and at most most; {_MISSING}"
    if isinstance(node, OnDemandLookup):
        return _looked_up(call)
    if of is Approximation.DISTINCT:
        return f"within {_percent(call)} in 95 of 100 answers" if registers_of(call) is not None else "exact"
    if of in _SUBTRACTED or not (isinstance(node, MergeGroups) or _is_summarised(node)):
        return "exact"
    if of is Approximation.ITEMS:
        return f"an item has at least count rows and at most most, which is up to {_percent(call)} of all rows more"
    return f"within {_percent(call)} of all rows in rank"


def stored_for(node: Grouping, call: AggregateCall) -> str:
    """What is kept of a slice, or of the values, so that the bound holds."""
    of = approximation_of(call)
    if of is Approximation.FREQUENT:
        size = call.arguments[1]
        assert isinstance(size, Literal), call
        return f"the {size.value!r} most frequent values of each sub-window and group"
    if isinstance(node, OnDemandLookup):
        return "what the synopsis below says"
    if of in _SUBTRACTED:
        return "one value a group: rows that leave are subtracted"
    if of is Approximation.DISTINCT:
        registers = registers_of(call)
        return "a counter a value" if registers is None else f"{1 << registers:,} registers a group"
    if not isinstance(node, MergeGroups) and not _is_summarised(node):
        return "a counter a value: the window has no slices"
    return f"at most {math.ceil(1 / error_of(call)):,} values of each slice and group"


def _is_summarised(node: Grouping) -> bool:
    return isinstance(node, GroupBy) and is_summarised(node)


def _looked_up(call: AggregateCall) -> str:
    """What is certain about what a synopsis gives."""
    of = approximation_of(call)
    if of is Approximation.FADED:
        return "up to the rounding of floating-point numbers"
    null = "; null while a negative value is in the window" if of is Approximation.SUM else ""
    return f"within {_percent(call)}{null}"


def _percent(call: AggregateCall) -> str:
    return f"{float(error_of(call) * Fraction(100)):g}%"


_BOUNDS: ByKind[Callable[..., dict[str, str]]] = ByKind(
    {
        (Filter, IndexedSelection, Sort, Limit, AppendOnly, OutputStream): _as_below,
        (RestoredInserts, RestoredAnswer, Exchange): _as_below,
        Alias: _renamed,
        Project: _projected,
        (GroupBy, MergeGroups, *LOOKUPS): _grouped,
        (Stream, Table, Windowed): _no_bounds,
        (Join, SemiJoin, AntiJoin, Union, Except, Intersect, Distinct): _no_bounds,
        (WithEnd, Numbered, EndWithParts, Stamped): _no_bounds,
        (SlicePartials, SharedSlices, SliceSummaries, SubWindows, LastSubWindows, *SYNOPSES): _no_bounds,
    }
)
