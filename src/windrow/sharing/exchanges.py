"""Where a plan is computed when rows are spread over shards: exchanges are put in where rows have to meet.

Every node has a *place* (`places`), and says what it needs of its inputs: that rows which it compares meet. A node
whose inputs arrive at different stages is computed at the last of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from windrow.plan import nodes
from windrow.plan.analysis.refreshes import refresh_interval
from windrow.plan.analysis.state import is_grouped
from windrow.plan.analysis.update_pattern import update_pattern
from windrow.plan.by_kind import ByKind
from windrow.plan.expressions import ColumnReference, Expression, Named
from windrow.plan.nodes import JoinKind, Node, OutputKind
from windrow.plan.pattern import Pattern
from windrow.plan.rewrite import bottom_up
from windrow.plan.running_nodes import (
    SYNOPSES,
    EndWithParts,
    Exchange,
    GroupSynopsis,
    IndexedSelection,
    JoinLookup,
    LastSubWindows,
    MergeGroups,
    Numbered,
    PeriodicLookup,
    RestoredAnswer,
    RestoredInserts,
    SharedSlices,
    SlicePartials,
    SliceSummaries,
    Stamped,
    SubWindows,
    WindowLookup,
    WithEnd,
)
from windrow.plan.schema import unqualified
from windrow.plan.strategy import Strategy
from windrow.plan.windows import Latest, RowCount, Rows, RowsAgo
from windrow.sharing.places import (
    Keys,
    Place,
    Placed,
    at_same_stage,
    at_stage,
    by_join_keys,
    by_value,
    equal_rows_meeting,
    meeting,
    moved,
    moved_exactly,
    names_answer,
    of_columns,
    placed_over,
    settled,
)


def distributed(plan: Node, strategy: Strategy, upsert_key: Sequence[str] | None = None) -> Node:
    """The plan with exchanges; each result is on one shard, those that are equal in `upsert_key` on the same."""
    placed = _Placing(strategy).of(plan)
    if upsert_key is None:
        return settled(placed).node
    return moved(placed, tuple(plan.schema.column(name) for name in upsert_key)).node


def distributed_lookup(plan: Node, strategy: Strategy) -> Node:
    """A query that is looked up: its synopsis is on shards, and its groups are put together where somebody asks."""

    def rule(node: Node) -> Node | None:
        return distributed(node, strategy) if isinstance(node, GroupSynopsis) else None

    return bottom_up(plan, rule)


def place_of(distributed: Node, strategy: Strategy) -> Place:
    """Where the results of a part of a distributed plan are."""
    return _Placing(strategy).of(distributed).place


def results_meet(distributed: Node, strategy: Strategy, columns: Sequence[str]) -> bool:
    """Whether results of a distributed plan that are equal in these columns are on one shard."""
    wanted = {distributed.schema.column(name) for name in columns}
    return any(set(option) <= wanted for option in place_of(distributed, strategy).options)


def stage_of(plan: Node) -> int:
    """At which stage a node is computed; 0 is where rows are read."""
    if isinstance(plan, Exchange):
        return plan.stage
    return max((stage_of(below) for below in plan.inputs), default=0)


def is_on_one_shard(plan: Node) -> bool:
    """Whether all rows that a plan compares are on one shard; the others have nothing to compute."""
    if isinstance(plan, Exchange):
        return not plan.keys
    return any(is_on_one_shard(below) for below in plan.inputs)


class _Placing:
    """Places the nodes of plans under one strategy, each once."""

    def __init__(self, strategy: Strategy) -> None:
        self.strategy = strategy
        self._known: dict[Node, Placed] = {}

    def of(self, plan: Node) -> Placed:
        if plan not in self._known:
            self._known[plan] = _PLACES[plan](plan, self)
        return self._known[plan]


def _stream(plan: nodes.Stream, placing: _Placing) -> Placed:
    """Rows are compared with the punctuations of their keys before anything else is done with them."""
    read = Placed(plan, Place(0, anywhere=True))
    keys = tuple(plan.schema.column(f"{plan.alias}.{name}") for name in plan.punctuated)
    return moved_exactly(read, keys) if keys else read


def _table(plan: nodes.Table, placing: _Placing) -> Placed:
    return Placed(plan, Place(0, everywhere=True))


def _exchange(plan: Exchange, placing: _Placing) -> Placed:
    return Placed(plan, Place(plan.stage, (plan.keys,)))


def _as_below(plan: Node, placing: _Placing) -> Placed:
    return placed_over(plan, placing.of(plan.inputs[0]))


def _windowed(plan: nodes.Windowed | SubWindows, placing: _Placing) -> Placed:
    below, window = placing.of(plan.input), plan.window
    if names_answer(plan.input):  # how long an answer that stays is shown depends on all of it
        return placed_over(plan, moved(below, ()))
    counted = isinstance(window.extent, Rows | RowsAgo | Latest) or isinstance(window.slide, RowCount)
    if counted:
        partition = tuple(plan.input.schema.column(name) for name in window.partition)
        return placed_over(plan, moved(below, partition))
    # Ends that are announced by negative tuples have to be remembered, and so rows have to be somewhere.
    return placed_over(plan, settled(below) if placing.strategy is Strategy.NT else below)


def _project(plan: nodes.Project, placing: _Placing) -> Placed:
    names = {c.expression.name: c.name for c in plan.columns if isinstance(c.expression, ColumnReference)}
    below = placing.of(plan.input)
    return Placed(plan.with_inputs(below.node), below.place.renamed(names))


def _alias(plan: nodes.Alias, placing: _Placing) -> Placed:
    names = {name: f"{plan.name}.{unqualified(name)}" for name in plan.input.schema.names}
    below = placing.of(plan.input)
    return Placed(plan.with_inputs(below.node), below.place.renamed(names))


def _join(plan: nodes.Join, placing: _Placing) -> Placed:
    left, right = placing.of(plan.left), placing.of(plan.right)
    keeps_left = plan.kind in (JoinKind.LEFT, JoinKind.FULL)
    keeps_right = plan.kind in (JoinKind.RIGHT, JoinKind.FULL)
    if left.place.everywhere and right.place.everywhere:
        return placed_over(plan, left, right)
    if right.place.everywhere and not keeps_right:
        return placed_over(plan, settled(left), right)
    if left.place.everywhere and not keeps_left:
        right = settled(right)
        return Placed(plan.with_inputs(left.node, right.node), right.place)
    left, right = by_join_keys(left, right, plan.condition)
    sides = {JoinKind.INNER: (left, right), JoinKind.LEFT: (left,), JoinKind.RIGHT: (right,), JoinKind.FULL: ()}
    on_one: tuple[Keys, ...] = ((),) if left.place.is_one else ()
    options = on_one or tuple(option for side in sides[plan.kind] for option in side.place.options)
    return Placed(plan.with_inputs(left.node, right.node), Place(left.place.stage, options))


def _semi_join(plan: nodes.SemiJoin | nodes.AntiJoin, placing: _Placing) -> Placed:
    left, right = placing.of(plan.left), placing.of(plan.right)
    if right.place.everywhere:
        return placed_over(plan, left if left.place.everywhere else settled(left), right)
    return placed_over(plan, *by_join_keys(left, right, plan.condition))


def _anti_join(plan: nodes.AntiJoin, placing: _Placing) -> Placed:
    left, right = placing.of(plan.left), placing.of(plan.right)
    if plan.not_in is None or right.place.everywhere:
        return _semi_join(plan, placing)
    # One null anywhere is a match for all.
    return placed_over(plan, *at_same_stage(moved(left, ()), moved(right, ())))


def _union(plan: nodes.Union, placing: _Placing) -> Placed:
    left, right = placing.of(plan.left), placing.of(plan.right)
    if left.place.anywhere and right.place.anywhere:
        return placed_over(plan, left, right)
    if left.place.everywhere and right.place.everywhere:
        return placed_over(plan, left, right)
    left, right = settled(left), settled(right)
    if left.place.is_one != right.place.is_one:  # what is on one shard is computed there alone
        left, right = (moved_exactly(side, side.columns) if side.place.is_one else side for side in (left, right))
    left, right = at_same_stage(left, right)
    names = dict(zip(left.node.schema.names, right.columns, strict=True))
    same = tuple(o for o in left.place.options if tuple(of_columns(k, names) for k in o) in right.place.options)
    return Placed(plan.with_inputs(left.node, right.node), Place(left.place.stage, same))


def _by_value(plan: nodes.Except | nodes.Intersect, placing: _Placing) -> Placed:
    return placed_over(plan, *by_value(placing.of(plan.left), placing.of(plan.right)))


def _distinct(plan: nodes.Distinct, placing: _Placing) -> Placed:
    return placed_over(plan, equal_rows_meeting(placing.of(plan.input)))


def _limit(plan: nodes.Limit, placing: _Placing) -> Placed:
    return placed_over(plan, moved(placing.of(plan.input), ()))


def _output(plan: nodes.OutputStream, placing: _Placing) -> Placed:
    below = placing.of(plan.input)
    names_it = plan.kind is OutputKind.RSTREAM or plan.restore
    return placed_over(plan, below if names_it else equal_rows_meeting(below))


def _restored_inserts(plan: RestoredInserts, placing: _Placing) -> Placed:
    return placed_over(plan, equal_rows_meeting(placing.of(plan.input)))


def _restored_answer(plan: RestoredAnswer, placing: _Placing) -> Placed:
    return placed_over(plan, *by_value(placing.of(plan.answer), placing.of(plan.continuous)))


def _append_only(plan: nodes.AppendOnly, placing: _Placing) -> Placed:
    """Results that end with their parts are computed where all parts are."""
    if update_pattern(plan) is not Pattern.MONOTONIC:
        return placed_over(plan, _windows_on_one(plan.input, placing))
    below = placing.of(plan.input)
    if is_grouped(plan.input) and refresh_interval(plan) is not None:
        return placed_over(plan, moved(below, ()))  # how long a value that stays is shown depends on all of them
    return placed_over(plan, equal_rows_meeting(below))


def _windows_on_one(plan: Node, placing: _Placing) -> Placed:
    """A plan all of whose windows are on one shard, at one stage: what follows their rows has no exchange within."""
    windows = [moved(placing.of(node), ()) for node in _windows_below(plan)]
    stage = max(placed.place.stage for placed in windows)
    return _at_one_stage(plan, placing, stage)


_WINDOWS = nodes.Windowed | nodes.Stream | nodes.AppendOnly | nodes.OutputStream


def _windows_below(plan: Node) -> Iterator[Node]:
    if isinstance(plan, _WINDOWS):
        yield plan
        return
    for below in plan.inputs:
        yield from _windows_below(below)


def _at_one_stage(plan: Node, placing: _Placing, stage: int) -> Placed:
    if isinstance(plan, _WINDOWS):
        return at_stage(moved(placing.of(plan), ()), stage)
    if isinstance(plan, nodes.Table):
        return placing.of(plan)
    inputs = [_at_one_stage(below, placing, stage) for below in plan.inputs]
    everywhere = all(placed.place.everywhere for placed in inputs)
    place = inputs[0].place if everywhere else Place(stage, ((),))
    return Placed(plan.with_inputs(*(placed.node for placed in inputs)), place)


def _group_by(plan: nodes.GroupBy, placing: _Placing) -> Placed:
    return _grouped(plan, placing, dict(zip((key.expression for key in plan.keys), _named(plan.keys), strict=True)))


def _merge_groups(plan: MergeGroups, placing: _Placing) -> Placed:
    return _grouped(plan, placing, dict(zip(plan.key_columns, _named(plan.keys), strict=True)))


def _grouped(plan: nodes.GroupBy | MergeGroups, placing: _Placing, names: dict[Expression, ColumnReference]) -> Placed:
    """Where rows with equal keys meet; `names` are what keys of the input are called above."""
    below = meeting(placing.of(plan.input), tuple(names))
    options = (option for option in below.place.options if set(option) <= names.keys())
    named = tuple(tuple(names[key] for key in option) for option in options)
    return Placed(plan.with_inputs(below.node), Place(below.place.stage, named))


def _shared_slices(plan: SharedSlices, placing: _Placing) -> Placed:
    """Partial results move once for all windows over them."""
    return moved(placed_over(plan, placing.of(plan.input)), _named(plan.keys))


def _slice_summaries(plan: SliceSummaries, placing: _Placing) -> Placed:
    """Whole slices of a group."""
    return placed_over(plan, meeting(placing.of(plan.input), _named(plan.keys)))


def _last_sub_windows(plan: LastSubWindows, placing: _Placing) -> Placed:
    return placed_over(plan, *at_same_stage(placing.of(plan.input), placing.of(plan.window)))


def _synopsis(plan: GroupSynopsis, placing: _Placing) -> Placed:
    return placed_over(plan, moved(placing.of(plan.input), tuple(key.expression for key in plan.keys)))


def _periodic_lookup(plan: PeriodicLookup, placing: _Placing) -> Placed:
    below = placing.of(plan.input)
    names = dict(zip((key.expression for key in plan.keys), _named(plan.keys), strict=True))
    options = tuple(tuple(names[key] for key in option) for option in below.place.options)
    return Placed(plan.with_inputs(below.node), Place(below.place.stage, options))


def _named(keys: Sequence[Named]) -> tuple[ColumnReference, ...]:
    """Keys that have been computed."""
    return tuple(ColumnReference(key.name, key.expression.type) for key in keys)


_PLACES: ByKind[Callable[..., Placed]] = ByKind(
    {
        nodes.Stream: _stream,
        nodes.Table: _table,
        (nodes.Windowed, SubWindows): _windowed,
        (nodes.Filter, nodes.Sort, IndexedSelection): _as_below,
        nodes.Project: _project,
        nodes.Alias: _alias,
        nodes.Join: _join,
        nodes.SemiJoin: _semi_join,
        nodes.AntiJoin: _anti_join,
        nodes.Union: _union,
        (nodes.Except, nodes.Intersect): _by_value,
        nodes.Distinct: _distinct,
        nodes.GroupBy: _group_by,
        nodes.Limit: _limit,
        nodes.AppendOnly: _append_only,
        nodes.OutputStream: _output,
        RestoredInserts: _restored_inserts,
        RestoredAnswer: _restored_answer,
        Exchange: _exchange,
        Stamped: _as_below,
        SlicePartials: _as_below,  # where rows are read, or wherever they are
        SharedSlices: _shared_slices,
        SliceSummaries: _slice_summaries,
        LastSubWindows: _last_sub_windows,
        MergeGroups: _merge_groups,
        SYNOPSES: _synopsis,
        PeriodicLookup: _periodic_lookup,
    },
    never={
        (WithEnd, Numbered, EndWithParts): "parts of results are followed where all of them are, on one shard",
        (WindowLookup, JoinLookup): "groups are looked up where somebody asks: `distributed_lookup`",
    },
)
