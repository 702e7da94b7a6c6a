"""Operators as EXPLAIN names and describes them."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.plan.analysis.relations import is_non_retroactive
from windrow.plan.analysis.update_pattern import update_pattern
from windrow.plan.explain.slices import slice_notes
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
    JoinKind,
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
from windrow.plan.pattern import Pattern
from windrow.plan.printer import ExpressionPrinter, aggregate_text, expression_text, sort_key_text, window_text
from windrow.plan.running_nodes import (
    Exchange,
    Grouping,
    GroupSynopsis,
    JoinLookup,
    JoinSynopsis,
    LastSubWindows,
    MergeGroups,
    Numbered,
    PeriodicLookup,
    PeriodicSynopsis,
    SharedSlices,
    SlicePartials,
    SliceSummaries,
    Stamped,
    SubWindows,
    WindowLookup,
    WindowSynopsis,
    WithEnd,
)
from windrow.units import format_duration, format_timestamp

_NAMES: dict[type[Node], str] = {
    Stream: "Stream",
    Table: "Table",
    Windowed: "Window",
    Filter: "Selection",
    Project: "Projection",
    Alias: "SubQuery",
    Join: "Join",
    SemiJoin: "SemiJoin",
    AntiJoin: "Negation",
    Union: "Union",
    Except: "Negation",
    Intersect: "Intersection",
    Distinct: "Distinct",
    GroupBy: "GroupBy",
    SlicePartials: "SlicePartials",
    SharedSlices: "SharedSlices",
    SliceSummaries: "SliceSummaries",
    SubWindows: "SubWindows",
    LastSubWindows: "LastSubWindows",
    MergeGroups: "MergeGroups",
    WindowSynopsis: "Synopsis",
    JoinSynopsis: "JoinSynopsis",
    JoinLookup: "Lookup",
    PeriodicSynopsis: "Synopsis",
    WindowLookup: "Lookup",
    PeriodicLookup: "Lookup",
    Sort: "Sort",
    Limit: "Limit",
    AppendOnly: "AppendOnly",
    OutputStream: "OutputStream",
    WithEnd: "WithEnd",
    Numbered: "Numbered",
    Stamped: "Stamped",
    Exchange: "Exchange",
}


def operator_name(node: Node) -> str:
    return _NAMES[type(node)]


def describe_operator(node: Node) -> str:
    """What this operator does, in the words of CQL."""
    if isinstance(node, Stream | Table):
        return _source(node)
    if isinstance(node, Windowed | SubWindows):
        return window_text(node.window)
    if isinstance(node, Filter):
        return _printer(node.input).text(node.predicate)
    if isinstance(node, Project):
        printer = _printer(node.input)
        return ", ".join(_named(column.name, printer.text(column.expression)) for column in node.columns)
    if isinstance(node, Alias):
        return f"AS {node.name}"
    if isinstance(node, Join):
        return _join(node)
    if isinstance(node, SemiJoin | AntiJoin):
        return _exists(node)
    if isinstance(node, PeriodicLookup):
        return f"{_group_by(node)} over {window_text(node.question.window)}"
    if isinstance(node, WindowLookup):
        return f"{_group_by(node)} over {window_text(node.window)}"
    if isinstance(node, JoinLookup):
        return f"{_group_by(node)} over {' and '.join(map(window_text, node.windows))}"
    if isinstance(node, JoinSynopsis):
        apart = f", two windows up to {node.difference} apart" if node.difference else ""
        return f"{_group_by(node)} in {node.slices} slices of {format_duration(node.slice)}{apart}"
    if isinstance(node, SharedSlices):
        return f"{_group_by(node)} in slices of {format_duration(node.width)}"
    if isinstance(node, Grouping | SlicePartials | SliceSummaries | GroupSynopsis):
        return _group_by(node)
    if isinstance(node, LastSubWindows):
        return window_text(node.window.window)
    if isinstance(node, Sort | Limit):
        return _ordered(node)
    if isinstance(node, Exchange):
        printer = _printer(node.input)
        return f"BY {', '.join(printer.text(key) for key in node.keys)}" if node.keys else "TO ONE SHARD"
    if isinstance(node, WithEnd | Numbered | Stamped):
        return f"AS {node.name}"
    if isinstance(node, OutputStream):
        return f"{node.kind.value}{' RESTORE' if node.restore else ''}"
    return _set_operation(node)


def _printer(below: Node) -> ExpressionPrinter:
    """Over a group-by, keys and aggregates are printed as what they are."""
    while isinstance(below, Filter):
        below = below.input
    if not isinstance(below, Grouping):
        return ExpressionPrinter()
    keys = {key.name: key.expression for key in below.keys}
    return ExpressionPrinter({**keys, **{named.name: named.call for named in below.aggregates}})


def _named(name: str, text: str) -> str:
    return text if text == name or text.endswith(f".{name}") else f"{text} AS {name}"


def _source(node: Stream | Table) -> str:
    name = node.name if node.alias == node.name else f"{node.name} AS {node.alias}"
    if isinstance(node, Table):
        return name if node.retroactive else f"{name}, non-retroactive"
    lifetime = "" if node.lifetime is None else f", lifetime by {node.lifetime}"
    punctuated = f", punctuated by {', '.join(node.punctuated)}" if node.punctuated else ""
    return f"{name}{lifetime}{punctuated}"


def _join(node: Join) -> str:
    kind = "" if node.kind is JoinKind.INNER else f"{node.kind.value} "
    table = ", as of the stream tuple's time" if is_non_retroactive(node.right) or is_non_retroactive(node.left) else ""
    condition = "every pair" if node.condition is None else f"ON {expression_text(node.condition)}"
    return f"{kind}{condition}{table}"


def _exists(node: SemiJoin | AntiJoin) -> str:
    word = "EXISTS" if isinstance(node, SemiJoin) else "NOT EXISTS"
    parts = [] if node.condition is None else [expression_text(node.condition)]
    if isinstance(node, AntiJoin) and node.not_in is not None:
        word = "NOT IN"
        parts.insert(0, " <> ALL ".join(expression_text(side) for side in node.not_in))
    return f"{word} {' AND '.join(parts)}".strip()


def _group_by(node: Grouping | SlicePartials | SharedSlices | SliceSummaries | GroupSynopsis) -> str:
    keys = ", ".join(expression_text(key.expression) for key in node.keys)
    aggregates = ", ".join(aggregate_text(named.call) for named in node.aggregates)
    return " computes ".join(part for part in (keys or "all rows", aggregates) if part)


def aggregate_notes(node: Node) -> tuple[str, ...]:
    """How aggregates are kept when rows leave or to be looked up, and what is certain about approximate ones."""
    if isinstance(node, GroupSynopsis):
        given = zip(node.aggregates, node.reasons, strict=True)
        return tuple(f"{aggregate_text(named.call)} in {reason}" for named, reason in given)
    if not isinstance(node, Grouping):
        return ()
    users = (named.call.user for named in node.aggregates)
    own = (user.description for user in users if user is not None)
    return tuple(dict.fromkeys((*own, *slice_notes(node), *_left_out(node))))


def _left_out(node: Grouping) -> Iterator[str]:
    """Rows that are kept for others, and that are older than the query."""
    if isinstance(node, WindowLookup) and node.since is not None:
        yield f"rows from before {format_timestamp(node.since)} are not in its windows"


def _ordered(node: Sort | Limit) -> str:
    order = f"BY {', '.join(sort_key_text(key) for key in node.keys)}" if node.keys else ""
    if isinstance(node, Sort):
        return order
    offset = f" OFFSET {node.offset}" if node.offset else ""
    return f"{node.count}{offset} {order}".strip()


def _set_operation(node: Node) -> str:
    if isinstance(node, Except | Intersect):
        word = "EXCEPT" if isinstance(node, Except) else "INTERSECT"
        return f"{word} ALL" if node.all else word
    if isinstance(node, Union):
        return "UNION ALL"
    if not isinstance(node, AppendOnly):
        return "rows"
    stays = update_pattern(node) is Pattern.MONOTONIC
    return "results stay when their INTERNAL windows move on" + ("" if stays else ", and end with their external parts")
