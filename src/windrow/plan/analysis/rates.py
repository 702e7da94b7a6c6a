"""Rates and sizes: how many results a second an edge carries and how many are alive at an instant.

The unit-time view of Kang, Naughton and Viglas (2003): everything is an expectation for one second of the stream.
Statistics say what was measured; where nothing was measured the defaults below are assumed, and the estimate says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from windrow.plan.aggregate_class import SliceForm
from windrow.plan.aggregates import values_of
from windrow.plan.analysis.keys import keys
from windrow.plan.analysis.origins import origin_of
from windrow.plan.analysis.refreshes import refresh_interval
from windrow.plan.analysis.relations import is_relation
from windrow.plan.analysis.slices import counted_sub_windows, slice_form
from windrow.plan.analysis.update_pattern import gives_stream, lifetime_length, update_pattern
from windrow.plan.by_kind import ByKind
from windrow.plan.expressions import Call, ColumnReference, Expression, Literal
from windrow.plan.functions import conjuncts, equal_columns
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
from windrow.plan.running_nodes import (
    LOOKUPS,
    SYNOPSES,
    EndWithParts,
    Exchange,
    Grouping,
    GroupLookup,
    GroupSynopsis,
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
from windrow.plan.windows import Between, Latest, Now, Range, RangeAgo, Rows, RowsAgo, Since, Unbounded, Window
from windrow.types import BOOLEAN
from windrow.units import SECOND

DEFAULT_RATE = 1_000.0  # rows a second of a stream that nobody has measured
DEFAULT_TABLE_ROWS = 1_000.0
DEFAULT_DISTINCT = 100.0
DEFAULT_LIFETIME = 60.0  # seconds, for LIFETIME BY
EQUALITY, INEQUALITY, OTHER = 0.1, 1 / 3, 0.5  # selectivities where nothing better is known
OVERLAP = 0.5  # of the values of one input, those that the other ever has: nobody measures that
FOREVER = float("inf")


class Statistics(Protocol):
    """What has been measured; None where nothing has."""

    def rate(self, source: str) -> float | None: ...

    def distinct(self, source: str, column: str) -> float | None: ...


@dataclass(frozen=True)
class Estimate:
    """Results a second, results alive at an instant (infinite: grows for ever), and whether defaults were used.

    `negatives` are the results a second that are taken back before the end they were given: on strict edges only.
    """

    rate: float
    rows: float
    assumed: bool
    negatives: float = 0.0

    def scaled(self, by: float) -> Estimate:
        return Estimate(self.rate * by, self.rows * by if by else 0.0, self.assumed, self.negatives * by)


class Rates:
    """The estimates of one plan under one set of statistics."""

    def __init__(self, statistics: Statistics) -> None:
        self._statistics = statistics
        self._known: dict[int, tuple[Node, Estimate]] = {}

    def of(self, node: Node) -> Estimate:
        known = self._known.get(id(node))
        if known is None:
            known = self._known[id(node)] = (node, _ESTIMATES[node](self, node))
        return known[1]

    def distinct(self, node: Node, column: str) -> float:
        """How many different values a column has, never more than there are rows."""
        rows = self.of(node).rows
        if frozenset({column}) in keys(node):
            return max(1.0, rows)
        return max(1.0, min(self._values(node, column) or DEFAULT_DISTINCT, rows))

    def _values(self, node: Node, column: str) -> float | None:
        """How many values the column has at its source; None where nobody measured it."""
        origin = origin_of(node, column)
        if origin is None:
            return None
        source, name = origin
        if isinstance(source, Stream) and name == source.timestamp:
            return FOREVER
        return self._statistics.distinct(source.name, name)

    def _source(self, node: Stream | Table) -> Estimate:
        measured = self._statistics.rate(node.name)
        if isinstance(node, Table):
            return Estimate(0.0, measured or DEFAULT_TABLE_ROWS, measured is None)
        rate = DEFAULT_RATE if measured is None else measured
        rows = FOREVER if node.lifetime is None else rate * DEFAULT_LIFETIME
        return Estimate(rate, rows, measured is None or node.lifetime is not None)

    def _windowed(self, node: Windowed | SubWindows) -> Estimate:
        below = self.of(node.input)
        rows = FOREVER if gives_stream(node.input) else below.rows
        taken_back = below.rate if update_pattern(node) is Pattern.STR else 0.0
        return Estimate(below.rate, min(rows, self._in_view(node, below.rate)), below.assumed, taken_back)

    def _in_view(self, node: Windowed | SubWindows, rate: float) -> float:
        extent = node.window.extent
        return _IN_VIEW[extent](extent, rate) * self._partitions(node.input, node.window)

    def _partitions(self, node: Node, window: Window) -> float:
        count = 1.0
        for column in window.partition:
            count *= self._values(node, column) or DEFAULT_DISTINCT
        return count

    def selectivity(self, node: Node, predicate: Expression | None) -> float:
        """Of the rows of a node, those that meet a condition."""
        product = 1.0
        for part in conjuncts(predicate):
            product *= self._part_selectivity(node, part)
        return product

    def _part_selectivity(self, node: Node, part: Expression) -> float:
        if not isinstance(part, Call):
            return OTHER
        pair = equal_columns(part)
        if pair is not None:
            return 1 / max(self.distinct(node, column.name) for column in pair)
        if part.function in ("<", "<=", ">", ">="):
            return INEQUALITY
        column, constant = part.arguments[0], part.arguments[-1]
        if part.function in ("=", "IN") and isinstance(column, ColumnReference) and isinstance(constant, Literal):
            measured = self._values(node, column.name)
            return min(1.0, (len(part.arguments) - 1) * (EQUALITY if measured is None else 1 / max(1.0, measured)))
        return OTHER

    def _join(self, node: Join) -> Estimate:
        left, right = self.of(node.left), self.of(node.right)
        share = self.pair_share(node)
        met_left, met_right = finite_rows(left) * share, finite_rows(right) * share
        by_left = 0.0 if is_relation(node.left) else left.rate * met_right
        by_right = 0.0 if is_relation(node.right) else right.rate * met_left
        negatives = left.negatives * met_right + right.negatives * met_left
        if node.kind is not JoinKind.INNER:
            negatives += by_left + by_right  # rows without a partner are taken back when one comes
        return Estimate(by_left + by_right, left.rows * right.rows * share, left.assumed or right.assumed, negatives)

    def pair_share(self, node: Join | SemiJoin | AntiJoin) -> float:
        """Of all pairs of the two inputs, those that meet the condition."""
        parts = conjuncts(node.condition)
        if isinstance(node, AntiJoin) and node.not_in is not None:
            parts = (*parts, Call("=", node.not_in, BOOLEAN))
        share = 1.0
        for part in parts:
            pair = equal_columns(part)
            share *= 1 / self._larger_distinct(node, pair) if pair else self._part_selectivity(node, part)
        return share

    def equality_share(self, node: Join | SemiJoin | AntiJoin) -> float:
        """Of all pairs, those that a hash on the equal columns brings together."""
        pairs = (equal_columns(part) for part in conjuncts(node.condition))
        return math.prod(1 / self._larger_distinct(node, pair) for pair in pairs if pair)

    def _larger_distinct(
        self, node: Join | SemiJoin | AntiJoin, pair: tuple[ColumnReference, ColumnReference]
    ) -> float:
        """The larger domain: two rows match by chance in one of its values, however few rows are alive."""
        sides = [(node.left, c) if c.name in node.left.schema else (node.right, c) for c in pair]
        return max(self._domain(side, column.name) for side, column in sides)

    def _domain(self, node: Node, column: str) -> float:
        values = self._values(node, column)
        return self.distinct(node, column) if values is None or values == FOREVER else max(1.0, values)

    def _presence(self, node: SemiJoin | AntiJoin) -> float:
        """How likely the right has a match for a row of the left, if it ever has one; matches come independently."""
        return 1 - math.exp(-finite_rows(self.of(node.right)) * self.pair_share(node))

    def _matched(self, node: SemiJoin) -> Estimate:
        found = self.of(node.left).scaled(OVERLAP * self._presence(node))
        return Estimate(found.rate, found.rows, found.assumed or self.of(node.right).assumed, found.negatives)

    def _unmatched(self, node: AntiJoin) -> Estimate:
        """A match that appears takes back all rows it is a match for, and gives them again when it is gone."""
        left, right = self.of(node.left), self.of(node.right)
        presence = self._presence(node)
        appearances = (right.rate + right.negatives) * (1 - presence)
        taken_back = appearances * OVERLAP * finite_rows(left) * self.pair_share(node)
        kept = left.scaled(1 - OVERLAP * presence)
        assumed = left.assumed or right.assumed
        return Estimate(kept.rate + taken_back, kept.rows, assumed, kept.negatives + taken_back)

    def _distinct(self, node: Distinct) -> Estimate:
        """One row of a value is shown at a time; over strict input its end is announced by a negative tuple."""
        below = self.of(node.input)
        rows = min(below.rows, self._groups(node))
        met = finite_rows(below)
        rate = below.rate if rows == FOREVER else below.rate * rows / max(met, rows, 1.0)
        strict = update_pattern(node) is Pattern.STR
        return Estimate(rate, rows, below.assumed, rate if strict else 0.0)

    def _grouped(self, node: Grouping) -> Estimate:
        """A periodic group-by gives each group once a refresh, any other on each change; the new replaces the old."""
        below = self.of(node.input)
        groups = min(below.rows, self._groups(node))
        slide = refresh_interval(node)
        rate = below.rate if slide is None else min(below.rate, groups * SECOND / slide)
        return Estimate(rate, groups, below.assumed, rate)

    def groups(self, node: Grouping | GroupSynopsis | SlicePartials | SharedSlices) -> float:
        """How many different keys rows have."""
        keys = tuple(key.expression for key in node.keys)
        found = node.key_columns if isinstance(node, MergeGroups) else keys
        columns = (column for column, key in zip(found, keys, strict=True) if isinstance(key, ColumnReference))
        return math.prod(self.distinct(node.input, c.name) for c in columns if isinstance(c, ColumnReference))

    def _groups(self, node: Distinct | Grouping) -> float:
        if isinstance(node, Distinct):
            return math.prod(self.distinct(node.input, name) for name in node.schema.names)
        return self.groups(node.input if isinstance(node, GroupLookup) else node)


def _selected(rates: Rates, node: Filter | IndexedSelection) -> Estimate:
    return rates.of(node.input).scaled(rates.selectivity(node.input, node.predicate))


def _united(rates: Rates, node: Union) -> Estimate:
    left, right = rates.of(node.left), rates.of(node.right)
    assumed, negatives = left.assumed or right.assumed, left.negatives + right.negatives
    return Estimate(left.rate + right.rate, left.rows + right.rows, assumed, negatives)


def _remaining(rates: Rates, node: Except) -> Estimate:
    """Half of the rows, since which values both have is not known; each may be taken back."""
    left = rates.of(node.left)
    return replace(left.scaled(OTHER), assumed=_is_assumed(rates, node), negatives=left.rate * OTHER)


def _common(rates: Rates, node: Intersect) -> Estimate:
    left, right = rates.of(node.left), rates.of(node.right)
    fewer = left if left.rows <= right.rows else right
    negatives = (left.negatives + right.negatives) * OTHER
    return replace(fewer.scaled(OTHER), assumed=_is_assumed(rates, node), negatives=negatives)


def _is_assumed(rates: Rates, node: Node) -> bool:
    return any(rates.of(below).assumed for below in node.inputs)


def _limited(rates: Rates, node: Limit) -> Estimate:
    below = rates.of(node.input)
    return Estimate(below.rate, min(below.rows, float(node.count)), below.assumed, below.rate)


def _emitted(rates: Rates, node: AppendOnly | OutputStream | RestoredInserts) -> Estimate:
    below = rates.of(node.input)
    stays = update_pattern(node) is Pattern.MONOTONIC
    return Estimate(below.rate, FOREVER, below.assumed) if stays else below


def _as_below(rates: Rates, node: Node) -> Estimate:
    return rates.of(node.inputs[0])


def _sliced(rates: Rates, node: SlicePartials) -> Estimate:
    """A row for each group in each slice, and for each value that is counted there; never more than came."""
    below, slices = rates.of(node.input), _slices_in_view(node.input)
    if slices is None or not below.rows:
        return below
    share = min(1.0, _rows_of_slice(rates, node) * slices / below.rows)
    return below.scaled(share)


def _in_slices(rates: Rates, node: SharedSlices) -> Estimate:
    below = rates.of(node.input)
    return replace(below, rate=min(below.rate, _rows_of_slice(rates, node) * SECOND / node.width))


def _rows_of_slice(rates: Rates, node: SlicePartials | SharedSlices) -> float:
    counted = [named.call for named in node.aggregates if slice_form(named.call) is not SliceForm.PARTIAL]
    values = {value for call in counted for value in values_of(call)}
    partials = 1.0 if len(counted) < len(node.aggregates) or not counted else 0.0
    return rates.groups(node) * (partials + sum(_different(rates, node.input, value) for value in values))


def _different(rates: Rates, node: Node, value: Expression) -> float:
    return rates.distinct(node, value.name) if isinstance(value, ColumnReference) else DEFAULT_DISTINCT


def _slices_in_view(node: Node) -> float | None:
    """How many slices a window has in view: between two edges, or with the edges of the length between its own."""
    while isinstance(node, Filter | IndexedSelection | Project | Alias | Exchange):
        node = node.input
    if isinstance(node, SubWindows):
        counted = counted_sub_windows(node.window)
        return None if counted is None else float(counted[1])
    length_and_slide = lifetime_length(node) if isinstance(node, Windowed) else None
    if length_and_slide is None:
        return None
    length, slide = length_and_slide
    return length / slide * (1 if length % slide == 0 else 2) if slide else None


def finite_rows(of: Estimate) -> float:
    """What a new tuple meets: an unbounded input is taken at its size after a minute."""
    return of.rows if of.rows != FOREVER else of.rate * 60


# By the extent of a window and the rate below it: the rows that it shows, of each partition.
_IN_VIEW: ByKind[Callable[..., float]] = ByKind(
    {
        Range: lambda extent, rate: rate * extent.length / SECOND,
        RangeAgo: lambda extent, rate: rate * (extent.begin - extent.end) / SECOND,
        Now: lambda extent, rate: max(1.0, rate / SECOND),
        Rows: lambda extent, rate: float(extent.count),
        RowsAgo: lambda extent, rate: float(extent.begin - extent.end),
        Latest: lambda extent, rate: OTHER,
        (Since, Between, Unbounded): lambda extent, rate: FOREVER,
    }
)

_ESTIMATES: ByKind[Callable[..., Estimate]] = ByKind(
    {
        (Stream, Table): Rates._source,
        (Windowed, SubWindows): Rates._windowed,
        (Filter, IndexedSelection): _selected,
        (Project, Alias, Sort): _as_below,
        Join: Rates._join,
        SemiJoin: Rates._matched,
        AntiJoin: Rates._unmatched,
        Union: _united,
        Except: _remaining,
        Intersect: _common,
        Distinct: Rates._distinct,
        (GroupBy, MergeGroups, *LOOKUPS): Rates._grouped,
        Limit: _limited,
        (AppendOnly, OutputStream, RestoredInserts): _emitted,
        (WithEnd, Numbered, EndWithParts, Stamped, RestoredAnswer, Exchange): _as_below,
        SlicePartials: _sliced,
        SharedSlices: _in_slices,
        (SliceSummaries, LastSubWindows): _as_below,
        SYNOPSES: _as_below,
    }
)
