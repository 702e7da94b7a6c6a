"""Operators as EXPLAIN names and describes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from windrow.plan.analysis.relations import is_non_retroactive
from windrow.plan.analysis.update_pattern import update_pattern
from windrow.plan.by_kind import ByKind
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
    LOOKUPS,
    EndWithParts,
    Exchange,
    Grouping,
    GroupSynopsis,
    IndexedSelection,
    JoinLookup,
    JoinSynopsis,
    LastSubWindows,
    MergeGroups,
    Numbered,
    PeriodicLookup,
    PeriodicSynopsis,
    RestoredAnswer,
    RestoredInserts,
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

_NAMES: ByKind[str] = ByKind(
    {
        Stream: "Stream",
        Table: "Table",
        Windowed: "Window",
        Filter: "Selection",
        Project: "Projection",
        Alias: "SubQuery",
        Join: "Join",
        SemiJoin: "SemiJoin",
        (AntiJoin, Except): "Negation",
        Union: "Union",
        Intersect: "Intersection",
        Distinct: "Distinct",
        GroupBy: "GroupBy",
        Sort: "Sort",
        Limit: "Limit",
        AppendOnly: "AppendOnly",
        OutputStream: "OutputStream",
        WithEnd: "WithEnd",
        Numbered: "Numbered",
        EndWithParts: "EndWithParts",
        Stamped: "Stamped",
        RestoredInserts: "RestoredInserts",
        RestoredAnswer: "RestoredAnswer",
        Exchange: "Exchange",
        IndexedSelection: "IndexedSelection",
        SlicePartials: "SlicePartials",
        SharedSlices: "SharedSlices",
        SliceSummaries: "SliceSummaries",
        SubWindows: "SubWindows",
        LastSubWindows: "LastSubWindows",
        MergeGroups: "MergeGroups",
        (WindowSynopsis, PeriodicSynopsis): "Synopsis",
        JoinSynopsis: "JoinSynopsis",
        LOOKUPS: "Lookup",
    }
)


def operator_name(node: Node) -> str:
    return _NAMES[node]


def describe_operator(node: Node) -> str:
    """What this operator does, in the words of CQL."""
    return _DESCRIPTIONS[node](node)


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
    return node.name if node.alias == node.name else f"{node.name} AS {node.alias}"


def _stream(node: Stream) -> str:
    lifetime = "" if node.lifetime is None else f", lifetime by {node.lifetime}"
    punctuated = f", punctuated by {', '.join(node.punctuated)}" if node.punctuated else ""
    return f"{_source(node)}{lifetime}{punctuated}"


def _table(node: Table) -> str:
    return _source(node) if node.retroactive else f"{_source(node)}, non-retroactive"


def _window(node: Windowed | SubWindows) -> str:
    return window_text(node.window)


def _selection(node: Filter | IndexedSelection) -> str:
    return _printer(node.input).text(node.predicate)


def _projection(node: Project) -> str:
    printer = _printer(node.input)
    return ", ".join(_named(column.name, printer.text(column.expression)) for column in node.columns)


def _column_name(node: Alias | WithEnd | Numbered | Stamped) -> str:
    return f"AS {node.name}"


def _join(node: Join) -> str:
    kind = "" if node.kind is JoinKind.INNER else f"{node.kind.value} "
    table = ", as of the stream tuple's time" if is_non_retroactive(node.right) or is_non_retroactive(node.left) else ""
    condition = "every pair" if node.condition is None else f"ON {expression_text(node.condition)}"
    return f"{kind}{condition}{table}"


def _exists(node: SemiJoin) -> str:
    return "EXISTS" if node.condition is None else f"EXISTS {expression_text(node.condition)}"


def _not_exists(node: AntiJoin) -> str:
    parts = [] if node.condition is None else [expression_text(node.condition)]
    if node.not_in is not None:
        parts.insert(0, " <> ALL ".join(expression_text(side) for side in node.not_in))
    return f"{'NOT EXISTS' if node.not_in is None else 'NOT IN'} {' AND '.join(parts)}".strip()


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


def _order(node: Sort | Limit) -> str:
    return f"BY {', '.join(sort_key_text(key) for key in node.keys)}" if node.keys else ""


def _limit(node: Limit) -> str:
    offset = f" OFFSET {node.offset}" if node.offset else ""
    return f"{node.count}{offset} {_order(node)}".strip()


def _exchange(node: Exchange) -> str:
    printer = _printer(node.input)
    return f"BY {', '.join(printer.text(key) for key in node.keys)}" if node.keys else "TO ONE SHARD"


def _output(node: OutputStream) -> str:
    return f"{node.kind.value}{' RESTORE' if node.restore else ''}"


def _restored(node: RestoredInserts | RestoredAnswer) -> str:
    what = "what came" if isinstance(node, RestoredInserts) else "and what came and went"
    return f"every {format_duration(node.slide)}, {what} since the refresh before"


def _append_only(node: AppendOnly) -> str:
    stays = update_pattern(node) is Pattern.MONOTONIC
    return "results stay when their INTERNAL windows move on" + ("" if stays else ", and end with their external parts")


def _end_with_parts(node: EndWithParts) -> str:
    return f"results end with the first of {', '.join((*node.ends, *(column for column, _ in node.numbers)))}"


def _shared_slices(node: SharedSlices) -> str:
    return f"{_group_by(node)} in slices of {format_duration(node.width)}"


def _last_sub_windows(node: LastSubWindows) -> str:
    return window_text(node.window.window)


def _join_synopsis(node: JoinSynopsis) -> str:
    apart = f", two windows up to {node.difference} apart" if node.difference else ""
    return f"{_group_by(node)} in {node.slices} slices of {format_duration(node.slice)}{apart}"


def _window_lookup(node: WindowLookup) -> str:
    return f"{_group_by(node)} over {window_text(node.window)}"


def _join_lookup(node: JoinLookup) -> str:
    return f"{_group_by(node)} over {' and '.join(map(window_text, node.windows))}"


def _periodic_lookup(node: PeriodicLookup) -> str:
    return f"{_group_by(node)} over {window_text(node.question.window)}"


_DESCRIPTIONS: ByKind[Callable[..., str]] = ByKind(
    {
        Stream: _stream,
        Table: _table,
        (Windowed, SubWindows): _window,
        (Filter, IndexedSelection): _selection,
        Project: _projection,
        (Alias, WithEnd, Numbered, Stamped): _column_name,
        Join: _join,
        SemiJoin: _exists,
        AntiJoin: _not_exists,
        Union: lambda _: "UNION ALL",
        Except: lambda node: "EXCEPT ALL" if node.all else "EXCEPT",
        Intersect: lambda node: "INTERSECT ALL" if node.all else "INTERSECT",
        Distinct: lambda _: "rows",
        (GroupBy, SlicePartials, SliceSummaries, MergeGroups, WindowSynopsis, PeriodicSynopsis): _group_by,
        Sort: _order,
        Limit: _limit,
        AppendOnly: _append_only,
        OutputStream: _output,
        (RestoredInserts, RestoredAnswer): _restored,
        Exchange: _exchange,
        EndWithParts: _end_with_parts,
        SharedSlices: _shared_slices,
        LastSubWindows: _last_sub_windows,
        JoinSynopsis: _join_synopsis,
        WindowLookup: _window_lookup,
        JoinLookup: _join_lookup,
        PeriodicLookup: _periodic_lookup,
    }
)
