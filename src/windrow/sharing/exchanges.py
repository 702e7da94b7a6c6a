"""Where a plan is computed when rows are spread over shards: exchanges are put in where rows have to meet.

Every node has a *place*:

    ANYWHERE    rows as they are read, with nothing to remember: stage 0, before the first exchange
    by keys     rows with equal keys are on one shard; `Place.options` are the keys that this is true for
    scattered   on some shard each, by nothing that is left of the row (`options` is empty)
    ONE         all rows on one shard
    EVERYWHERE  every shard has all rows: tables

A node says what it needs of its inputs: that rows which it compares meet. Where an input's place gives that, nothing
moves; otherwise an exchange is put on the input. Rows arrive at the *stage* after the one they come from; a node whose
inputs arrive at different stages is computed at the last of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from windrow.plan import nodes, running_nodes
from windrow.plan.analysis.refreshes import refresh_interval
from windrow.plan.analysis.state import is_grouped
from windrow.plan.analysis.update_pattern import update_pattern
from windrow.plan.expressions import Column, Expression, Named, columns_of, rename_columns
from windrow.plan.join_keys import join_keys
from windrow.plan.nodes import JoinKind, Node, OutputKind
from windrow.plan.pattern import Pattern
from windrow.plan.rewrite import bottom_up
from windrow.plan.running_nodes import Exchange
from windrow.plan.schema import unqualified
from windrow.plan.strategy import Strategy
from windrow.plan.windows import Latest, RowCount, Rows, RowsAgo

Keys = tuple[Expression, ...]


@dataclass(frozen=True)
class Place:
    stage: int
    options: tuple[Keys, ...] = ()
    anywhere: bool = False
    everywhere: bool = False

    @property
    def is_one(self) -> bool:
        return () in self.options


@dataclass(frozen=True)
class Placed:
    """A node with its exchanges, and where its results are."""

    node: Node
    place: Place

    @property
    def columns(self) -> Keys:
        return self.node.schema.columns


def distributed(plan: Node, strategy: Strategy, together: Sequence[str] | None = None) -> Node:
    """The plan with exchanges; each result is on one shard, those that are equal in `together` on the same."""
    placed = _Placing(strategy).of(plan)
    if together is None:
        return _settled(placed).node
    return _moved(placed, tuple(plan.schema.column(name) for name in together)).node


def distributed_lookup(plan: Node, strategy: Strategy) -> Node:
    """A query that is looked up: its synopsis is on shards, and what is found is put together where somebody asks."""

    def rule(node: Node) -> Node | None:
        return distributed(node, strategy) if isinstance(node, running_nodes.GroupSynopsis) else None

    return bottom_up(plan, rule)


def results_meet(distributed: Node, strategy: Strategy, columns: Sequence[str]) -> bool:
    """Whether results of a distributed plan that are equal in these columns are on one shard."""
    wanted = {distributed.schema.column(name) for name in columns}
    return any(set(option) <= wanted for option in _Placing(strategy).of(distributed).place.options)


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
    def __init__(self, strategy: Strategy) -> None:
        self._strategy = strategy
        self._known: dict[Node, Placed] = {}

    def of(self, plan: Node) -> Placed:
        if plan not in self._known:
            self._known[plan] = self._place(plan)
        return self._known[plan]

    def _place(self, plan: Node) -> Placed:
        if isinstance(plan, nodes.Stream):
            read = Placed(plan, Place(0, anywhere=True))
            # Rows are compared with the punctuations of their keys before anything else is done with them.
            return _exactly(read, _columns(plan, plan.punctuated)) if plan.punctuated else read
        if isinstance(plan, nodes.Table):
            return Placed(plan, Place(0, everywhere=True))
        if isinstance(plan, Exchange):
            return Placed(plan, Place(plan.stage, (plan.keys,)))
        if isinstance(plan, nodes.Windowed | running_nodes.SubWindows):
            return self._windowed(plan)
        if isinstance(plan, nodes.Project | nodes.Alias):
            below = self.of(plan.input)
            return Placed(plan.with_inputs(below.node), _renamed(below.place, _new_names(plan)))
        if isinstance(plan, running_nodes.GroupSynopsis):
            return _over(plan, _moved(self.of(plan.input), tuple(key.expression for key in plan.keys)))
        if isinstance(plan, running_nodes.PeriodicLookup):
            below = self.of(plan.input)
            names = {key.expression: Column(key.name, key.expression.type) for key in plan.keys}
            options = tuple(tuple(names[key] for key in option) for option in below.place.options)
            return Placed(plan.with_inputs(below.node), Place(below.place.stage, options))
        if isinstance(plan, running_nodes.SlicePartials):
            return _over(plan, self.of(plan.input))  # where rows are read, or wherever they are
        if isinstance(plan, running_nodes.SharedSlices):  # partial results move once for all windows over them
            return _moved(_over(plan, self.of(plan.input)), _named(plan.keys))
        if isinstance(plan, running_nodes.SliceSummaries):  # whole slices of a group
            return _over(plan, _meeting(self.of(plan.input), _named(plan.keys)))
        if isinstance(plan, running_nodes.LastSubWindows):
            return _over(plan, *_same_stage(self.of(plan.input), self.of(plan.window)))
        if isinstance(plan, nodes.GroupBy | running_nodes.MergeGroups):
            return self._group_by(plan)
        if isinstance(plan, nodes.Join):
            return self._join(plan)
        if isinstance(plan, nodes.SemiJoin | nodes.AntiJoin):
            return self._matching(plan)
        if isinstance(plan, nodes.Union):
            return _union(plan, self.of(plan.left), self.of(plan.right))
        if isinstance(plan, nodes.Except | nodes.Intersect):
            left, right = _by_value(self.of(plan.left), self.of(plan.right))
            return _over(plan, left, right)
        return self._append_only(plan) if isinstance(plan, nodes.AppendOnly) else self._one_input(plan)

    def _one_input(self, plan: Node) -> Placed:
        below = self.of(plan.inputs[0])
        if isinstance(plan, nodes.Filter | nodes.Sort | running_nodes.Stamped):
            return _over(plan, below)
        if isinstance(plan, nodes.OutputStream) and plan.kind is OutputKind.RSTREAM and not plan.restore:
            return _over(plan, below)
        if isinstance(plan, nodes.Limit):
            return _over(plan, _moved(below, ()))
        assert isinstance(plan, nodes.Distinct | nodes.OutputStream), plan
        return _over(plan, _equal_rows_together(below))

    def _append_only(self, plan: nodes.AppendOnly) -> Placed:
        """Results that end with their parts are computed where all parts are."""
        if update_pattern(plan) is not Pattern.MONOTONIC:
            return _over(plan, self._on_one(plan.input))
        below = self.of(plan.input)
        if is_grouped(plan.input) and refresh_interval(plan) is not None:
            return _over(plan, _moved(below, ()))  # how long a value that stays is told depends on all of them
        return _over(plan, _equal_rows_together(below))

    def _on_one(self, plan: Node) -> Placed:
        """A plan all of whose windows are on one shard."""
        ends_block = nodes.Windowed | running_nodes.SubWindows | nodes.Stream | nodes.AppendOnly | nodes.OutputStream
        if isinstance(plan, ends_block):
            return _moved(self.of(plan), ())
        if isinstance(plan, nodes.Table):
            return self.of(plan)
        inputs = [self._on_one(below) for below in plan.inputs]
        stage = max(placed.place.stage for placed in inputs)
        inputs = [_at_stage(placed, stage) for placed in inputs]
        everywhere = all(placed.place.everywhere for placed in inputs)
        place = inputs[0].place if everywhere else Place(stage, ((),))
        return Placed(plan.with_inputs(*(placed.node for placed in inputs)), place)

    def _windowed(self, plan: nodes.Windowed | running_nodes.SubWindows) -> Placed:
        below, window = self.of(plan.input), plan.window
        if _names_answer(plan.input):  # how long an answer that stays is told depends on all of it
            return _over(plan, _moved(below, ()))
        counted = isinstance(window.extent, Rows | RowsAgo | Latest) or isinstance(window.slide, RowCount)
        if counted:
            return _over(plan, _moved(below, tuple(plan.input.schema.column(name) for name in window.partition)))
        # Ends that are told by negative tuples have to be remembered, and so rows have to be somewhere.
        return _over(plan, _settled(below) if self._strategy is Strategy.NT else below)

    def _group_by(self, plan: nodes.GroupBy | running_nodes.MergeGroups) -> Placed:
        computed = _named(plan.keys)
        named = dict(zip((key.expression for key in plan.keys), computed, strict=True))
        if isinstance(plan, running_nodes.MergeGroups):
            named = {column: column for column in computed}
        keys = tuple(named)
        below = _meeting(self.of(plan.input), keys)
        options = tuple(tuple(named[key] for key in option) for option in below.place.options if set(option) <= {*keys})
        return Placed(plan.with_inputs(below.node), Place(below.place.stage, options))

    def _join(self, plan: nodes.Join) -> Placed:
        left, right = self.of(plan.left), self.of(plan.right)
        keeps_left = plan.kind in (JoinKind.LEFT, JoinKind.FULL)
        keeps_right = plan.kind in (JoinKind.RIGHT, JoinKind.FULL)
        if left.place.everywhere and right.place.everywhere:
            return _over(plan, left, right)
        if right.place.everywhere and not keeps_right:
            return _over(plan, _settled(left), right)
        if left.place.everywhere and not keeps_left:
            right = _settled(right)
            return Placed(plan.with_inputs(left.node, right.node), right.place)
        left, right = _by_join_keys(left, right, plan.condition)
        node = plan.with_inputs(left.node, right.node)
        sides = {JoinKind.INNER: (left, right), JoinKind.LEFT: (left,), JoinKind.RIGHT: (right,), JoinKind.FULL: ()}
        one = ((),) if left.place.is_one else ()
        options = one or tuple(option for side in sides[plan.kind] for option in side.place.options)
        return Placed(node, Place(left.place.stage, options))

    def _matching(self, plan: nodes.SemiJoin | nodes.AntiJoin) -> Placed:
        left, right = self.of(plan.left), self.of(plan.right)
        if right.place.everywhere:
            return _over(plan, left if left.place.everywhere else _settled(left), right)
        if isinstance(plan, nodes.AntiJoin) and plan.not_in is not None:  # one null anywhere is a match for all
            return _over(plan, *_same_stage(_moved(left, ()), _moved(right, ())))
        return _over(plan, *_by_join_keys(left, right, plan.condition))


def _all_on_one(plan: nodes.AppendOnly) -> Placed:
    """A query over INTERNAL windows: its parts are followed through the whole plan, which is not cut for that."""

    def moved(node: Node) -> Node | None:
        return Exchange(node, (), 1) if isinstance(node, nodes.Stream) else None

    return Placed(bottom_up(plan, moved), Place(1, ((),)))


def _named(keys: Sequence[Named]) -> Keys:
    """Keys that have been computed."""
    return tuple(Column(key.name, key.expression.type) for key in keys)


def _columns(stream: nodes.Stream, names: Sequence[str]) -> Keys:
    return tuple(stream.schema.column(f"{stream.alias}.{name}") for name in names)


def _over(plan: Node, *inputs: Placed) -> Placed:
    """Over inputs that stand where they have to; the results are where those of the first are."""
    return Placed(plan.with_inputs(*(placed.node for placed in inputs)), inputs[0].place)


def _moved(placed: Placed, keys: Keys) -> Placed:
    """Where rows with equal keys meet, by all of the keys or by some; all rows meet when there are none."""
    return _meeting(placed, keys) if keys else _exactly(placed, ())


def _meeting(placed: Placed, keys: Keys) -> Placed:
    if any(set(option) <= set(keys) for option in placed.place.options):
        return placed
    return _exactly(placed, keys)


def _exactly(placed: Placed, keys: Keys) -> Placed:
    if keys in placed.place.options:
        return placed
    node = placed.node
    if isinstance(node, nodes.Union) and placed.place.anywhere:
        return _union_moved(node, keys)
    if _names_answer(node):
        return _moved_below(node, keys, placed.place)
    stage = placed.place.stage + 1
    return Placed(Exchange(node, keys, stage), Place(stage, (keys,)))


def _union_moved(node: nodes.Union, keys: Keys) -> Placed:
    """Rows of both sides are sent on from where they are read."""
    names = dict(zip(node.left.schema.names, node.right.schema.columns, strict=True))
    theirs = tuple(_substituted(key, names) for key in keys)
    anywhere = Place(0, anywhere=True)
    left, right = _exactly(Placed(node.left, anywhere), keys), _exactly(Placed(node.right, anywhere), theirs)
    return Placed(node.with_inputs(left.node, right.node), left.place)


def _names_answer(node: Node) -> bool:
    """RSTREAM in a sub-query: what leaves it is an answer that the window above looks at, and is not sent as it is."""
    output = node.input if isinstance(node, nodes.Alias) else node
    return isinstance(output, nodes.OutputStream) and output.kind is OutputKind.RSTREAM


def _moved_below(node: Node, keys: Keys, place: Place) -> Placed:
    (below,) = node.inputs
    names = dict(zip(node.schema.names, below.schema.columns, strict=True))
    moved = _exactly(Placed(below, replace(place, options=())), tuple(_substituted(key, names) for key in keys))
    return Placed(node.with_inputs(moved.node), Place(moved.place.stage, (keys,)))


def _settled(placed: Placed) -> Placed:
    """On shards, each row on one; equal rows together when they have to move for it."""
    if placed.place.anywhere or placed.place.everywhere:
        return _exactly(placed, placed.columns)
    return placed


def _equal_rows_together(placed: Placed) -> Placed:
    return placed if placed.place.options else _exactly(placed, placed.columns)


def _at_stage(placed: Placed, stage: int) -> Placed:
    """The same rows on the same shards, at a later stage."""
    if placed.place.stage == stage or placed.place.everywhere:
        return placed
    if isinstance(placed.node, Exchange):
        return Placed(replace(placed.node, stage=stage), replace(placed.place, stage=stage))
    options = placed.place.options or (placed.columns,)
    return Placed(Exchange(placed.node, options[0], stage), Place(stage, options))


def _same_stage(left: Placed, right: Placed) -> tuple[Placed, Placed]:
    stage = max(left.place.stage, right.place.stage)
    return _at_stage(left, stage), _at_stage(right, stage)


def _by_join_keys(left: Placed, right: Placed, condition: Expression | None) -> tuple[Placed, Placed]:
    """Both sides where equal keys meet; without equal columns all rows have to."""
    found = join_keys(condition, left.node.schema, right.node.schema)
    ours = tuple(left.columns[ordinal] for ordinal in found.left)
    theirs = tuple(right.columns[ordinal] for ordinal in found.right)
    return _by_pairs(left, right, tuple(zip(ours, theirs, strict=True)))


def _by_value(left: Placed, right: Placed) -> tuple[Placed, Placed]:
    return _by_pairs(left, right, tuple(zip(left.columns, right.columns, strict=True)))


def _by_pairs(left: Placed, right: Placed, pairs: Sequence[tuple[Expression, Expression]]) -> tuple[Placed, Placed]:
    """Both sides by the same of the pairs: those that one side is placed by already, or all of them."""
    if left.place.is_one and right.place.is_one:
        return _same_stage(left, right)
    to_right = dict(pairs)
    to_left = {right: left for left, right in pairs}
    chosen = tuple(key for key, _ in pairs)
    for option in left.place.options:
        if option and set(option) <= set(to_right):
            chosen = option
            break
    else:
        for option in right.place.options:
            if option and set(option) <= set(to_left):
                chosen = tuple(to_left[key] for key in option)
                break
    return _same_stage(_exactly(left, chosen), _exactly(right, tuple(to_right[key] for key in chosen)))


def _union(plan: nodes.Union, left: Placed, right: Placed) -> Placed:
    if left.place.anywhere and right.place.anywhere:
        return _over(plan, left, right)
    if left.place.everywhere and right.place.everywhere:
        return _over(plan, left, right)
    left, right = _settled(left), _settled(right)
    if left.place.is_one != right.place.is_one:  # what is on one shard is computed there alone
        left, right = (_exactly(side, side.columns) if side.place.is_one else side for side in (left, right))
    left, right = _same_stage(left, right)
    names = dict(zip(left.node.schema.names, right.columns, strict=True))
    same = tuple(o for o in left.place.options if tuple(_substituted(k, names) for k in o) in right.place.options)
    return Placed(plan.with_inputs(left.node, right.node), Place(left.place.stage, same))


def _new_names(plan: nodes.Project | nodes.Alias) -> dict[str, str]:
    if isinstance(plan, nodes.Alias):
        return {name: f"{plan.name}.{unqualified(name)}" for name in plan.input.schema.names}
    return {c.expression.name: c.name for c in plan.columns if isinstance(c.expression, Column)}


def _renamed(place: Place, names: Mapping[str, str]) -> Place:
    """The place under new names; keys that are not among them are lost."""
    kept = (option for option in place.options if all(columns_of(key) <= set(names) for key in option))
    return replace(place, options=tuple(tuple(rename_columns(key, dict(names)) for key in option) for option in kept))


def _substituted(key: Expression, columns: Mapping[str, Expression]) -> Expression:
    return rename_columns(key, {name: column.name for name, column in columns.items() if isinstance(column, Column)})
