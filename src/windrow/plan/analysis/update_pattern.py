"""Update patterns of the edges of a plan, derived bottom-up (thesis 3.2, 3.3 and 3.5.1).

Where the rules differ from the thesis's printed ones, its own definitions decide:
a union is weakest only over equal lifetime lengths (rule 2 misses unequal ones), and a join with exactly one external
window is weak, not weakest (3.3.2): with S1 external of length 10 and tuples at 1 and 5, S2 internal with tuples at 8
and 9, results begin at 8 and 9 but end at 11, 15, 11 and 15, so they do not end a fixed time after they began.
"""

from __future__ import annotations

from collections.abc import Callable

from windrow.plan.analysis.internal import has_internal, joins_and_unites
from windrow.plan.analysis.per_node import per_node
from windrow.plan.analysis.relations import is_non_retroactive, is_relation
from windrow.plan.by_kind import ByKind
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
    OutputKind,
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
    RestoredAnswer,
    RestoredInserts,
    SharedSlices,
    SlicePartials,
    SliceSummaries,
    Stamped,
    SubWindows,
    WithEnd,
)
from windrow.plan.windows import Now, Range, RangeAgo, RowCount

PatternOf = Callable[[Node], Pattern]


@per_node
def update_pattern(node: Node) -> Pattern:
    """The pattern of the edge that leaves the node; inner edges over INTERNAL windows keep the window's pattern."""
    return _PATTERNS[node](node, update_pattern)


@per_node
def _external_pattern(node: Node) -> Pattern:
    """The pattern of results that end only with their external parts."""
    if not has_internal(node):
        own = update_pattern(node)
        # A part that may go on when the rows that brought it have ended is watched until it ends.
        return own if own is Pattern.MONOTONIC or joins_and_unites(node) else Pattern.STR
    if isinstance(node, Windowed | SubWindows | Grouping | Intersect):
        return Pattern.MONOTONIC  # those over external windows too are refused
    if isinstance(node, SemiJoin):
        ends = max(_external_pattern(node.left), _presence(node.right))
        return Pattern.WK if ends is Pattern.WKS else ends
    return _PATTERNS[node](node, _external_pattern)


def _presence(node: Node) -> Pattern:
    """How a match ends beside INTERNAL windows: with the last of equal rows, which is not known."""
    return Pattern.MONOTONIC if has_internal(node) or update_pattern(node) is Pattern.MONOTONIC else Pattern.STR


def _stream(node: Stream, of: PatternOf) -> Pattern:
    return Pattern.MONOTONIC if node.lifetime is None else Pattern.WK


def _table(node: Table, of: PatternOf) -> Pattern:
    return Pattern.STR if node.retroactive else Pattern.MONOTONIC


def _as_below(node: Node, of: PatternOf) -> Pattern:
    return of(node.inputs[0])


def _append_only(node: AppendOnly | EndWithParts, of: PatternOf) -> Pattern:
    return _external_pattern(node.input)


def _intersection(node: Intersect, of: PatternOf) -> Pattern:
    """Of copies that are counted nobody knows which one ends first."""
    pattern = _weak(node, of)
    return Pattern.STR if node.all and pattern is not Pattern.MONOTONIC else pattern


def _strict(node: Node, of: PatternOf) -> Pattern:
    return Pattern.STR


def _output(node: OutputStream, of: PatternOf) -> Pattern:
    """ISTREAM and DSTREAM are emitted for good."""
    if node.kind is not OutputKind.RSTREAM:
        return Pattern.MONOTONIC
    return _restored(node, of) if node.restore else of(node.input)


def _restored(node: OutputStream | RestoredAnswer, of: PatternOf) -> Pattern:
    """What RSTREAM RESTORE emits besides the answer ends with the next refresh."""
    below = of(node.inputs[0])
    return below if below is Pattern.MONOTONIC else max(Pattern.WK, below)


def _emitted(node: RestoredInserts, of: PatternOf) -> Pattern:
    return Pattern.MONOTONIC


def _windowed(node: Windowed | SubWindows, of: PatternOf) -> Pattern:
    window = node.window
    own = Pattern.WKS if window.is_time_based else Pattern.MONOTONIC if window.is_open else Pattern.STR
    stays = gives_stream(node.input) or isinstance(node.input, AppendOnly)  # WSTREAM: whatever is below
    return max(own, Pattern.MONOTONIC if stays else update_pattern(node.input))


def gives_stream(node: Node) -> bool:
    """Written with an output stream, so what leaves it is append-only whatever is below."""
    return gives_stream(node.input) if isinstance(node, Alias | Exchange | Stamped) else isinstance(node, OutputStream)


def _joined(node: Join | SemiJoin | AntiJoin, of: PatternOf) -> Pattern:
    left, right = node.left, node.right
    if is_non_retroactive(right) and not is_relation(left):
        return of(left)
    if is_non_retroactive(left) and not is_relation(right) and isinstance(node, Join):
        return of(right)
    if is_relation(left) or is_relation(right) or isinstance(node, AntiJoin):
        return Pattern.STR
    if isinstance(node, Join) and node.kind is not JoinKind.INNER:
        return Pattern.STR
    return _weak(node, of)


def _weak(node: Node, of: PatternOf) -> Pattern:
    """Weak operators: monotonic over monotonic inputs only."""
    patterns = {of(below) for below in node.inputs}
    if patterns == {Pattern.MONOTONIC}:
        return Pattern.MONOTONIC
    return Pattern.STR if Pattern.STR in patterns else Pattern.WK


def _union(node: Union, of: PatternOf) -> Pattern:
    left, right = of(node.left), of(node.right)
    if left is right is Pattern.WKS:
        same = lifetime_length(node.left) == lifetime_length(node.right)
        return Pattern.WKS if same else Pattern.WK
    if left is right is Pattern.MONOTONIC:
        return Pattern.MONOTONIC
    return Pattern.STR if Pattern.STR in (left, right) else Pattern.WK


@per_node
def lifetime_length(node: Node) -> tuple[int, int] | None:
    """Length and slide of the lifetimes on a weakest edge; None where lifetimes have no one length."""
    if isinstance(node, Windowed):
        return _window_length(node)
    lengths = {lifetime_length(below) for below in node.inputs if not is_relation(below)}
    return lengths.pop() if len(lengths) == 1 else None


def _window_length(node: Windowed) -> tuple[int, int] | None:
    extent, slide = node.window.extent, node.window.slide or 0
    if isinstance(slide, RowCount):
        return None
    if isinstance(extent, Range):
        return extent.length, slide
    if isinstance(extent, RangeAgo):
        return extent.begin - extent.end, slide
    return (1, 0) if isinstance(extent, Now) else None


_PATTERNS: ByKind[Callable[..., Pattern]] = ByKind(
    {
        Stream: _stream,
        Table: _table,
        (Windowed, SubWindows): _windowed,
        (Filter, Project, Alias, Sort): _as_below,
        (WithEnd, Stamped, Exchange, IndexedSelection): _as_below,
        (SlicePartials, SharedSlices, SliceSummaries, *SYNOPSES): _as_below,
        (Join, SemiJoin, AntiJoin): _joined,
        Union: _union,
        Intersect: _intersection,
        Distinct: _weak,
        (Except, GroupBy, Limit): _strict,
        (Numbered, LastSubWindows, MergeGroups, *LOOKUPS): _strict,
        (AppendOnly, EndWithParts): _append_only,
        OutputStream: _output,
        RestoredInserts: _emitted,
        RestoredAnswer: _restored,
    }
)
