"""Places: where the results of a node are when rows are spread over shards, and how they are moved elsewhere.

    ANYWHERE    rows as they are read, with nothing to remember: stage 0, before the first exchange
    by keys     rows with equal keys are on one shard; `Place.options` are the keys that this is true for
    scattered   on some shard each, by nothing that is left of the row (`options` is empty)
    ONE         all rows on one shard
    EVERYWHERE  every shard has all rows: tables

Where a place gives what is asked for, nothing moves; otherwise an exchange is put on the node. Rows arrive at the
*stage* after the one they come from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from windrow.plan.expressions import ColumnReference, Expression, columns_of, rename_columns
from windrow.plan.join_keys import join_keys
from windrow.plan.nodes import Alias, Node, OutputKind, OutputStream, Sort, Union, Windowed
from windrow.plan.running_nodes import Exchange
from windrow.sharing.rows_of_window import rows_of_window

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

    def renamed(self, names: Mapping[str, str]) -> Place:
        """The place under new names; keys that are not among them are lost."""
        kept = (option for option in self.options if all(columns_of(key) <= set(names) for key in option))
        renamed = tuple(tuple(rename_columns(key, dict(names)) for key in option) for option in kept)
        return replace(self, options=renamed)


@dataclass(frozen=True)
class Placed:
    """A node with its exchanges, and where its results are."""

    node: Node
    place: Place

    @property
    def columns(self) -> Keys:
        return self.node.schema.columns


def placed_over(plan: Node, *inputs: Placed) -> Placed:
    """Over inputs that stand where they have to; the results are where those of the first are."""
    return Placed(plan.with_inputs(*(placed.node for placed in inputs)), inputs[0].place)


def moved(placed: Placed, keys: Keys) -> Placed:
    """Where rows with equal keys meet, by all of the keys or by some; all rows meet when there are none."""
    return meeting(placed, keys) if keys else moved_exactly(placed, ())


def meeting(placed: Placed, keys: Keys) -> Placed:
    """Where rows with equal keys meet, by all of the keys or by some."""
    if any(set(option) <= set(keys) for option in placed.place.options):
        return placed
    return moved_exactly(placed, keys)


def moved_exactly(placed: Placed, keys: Keys) -> Placed:
    """By just these keys."""
    if keys in placed.place.options:
        return placed
    node = placed.node
    if (rows := rows_of_window(node)) is not None:
        return Placed(Windowed(Exchange(rows.node, keys, 1), rows.window), Place(1, (keys,)))
    if isinstance(node, Sort):
        below = moved_exactly(Placed(node.input, placed.place), keys)
        return Placed(node.with_inputs(below.node), below.place)
    if isinstance(node, Union) and placed.place.anywhere:
        return _union_moved(node, keys)
    if names_answer(node):
        return _moved_below(node, keys, placed.place)
    stage = placed.place.stage + 1
    return Placed(Exchange(node, keys, stage), Place(stage, (keys,)))


def settled(placed: Placed) -> Placed:
    """On shards, each row on one; by the whole row when it has to move for that."""
    if placed.place.anywhere or placed.place.everywhere:
        return moved_exactly(placed, placed.columns)
    return placed


def equal_rows_meeting(placed: Placed) -> Placed:
    return placed if placed.place.options else moved_exactly(placed, placed.columns)


def at_stage(placed: Placed, stage: int) -> Placed:
    """The same rows on the same shards, at a later stage."""
    if placed.place.stage == stage or placed.place.everywhere:
        return placed
    if (later := _arriving(placed.node, stage)) is not None:
        return Placed(later, replace(placed.place, stage=stage))
    options = placed.place.options or (placed.columns,)
    return Placed(Exchange(placed.node, options[0], stage), Place(stage, options))


def _arriving(node: Node, stage: int) -> Node | None:
    """What an exchange brings, and a window of it, at another stage."""
    if isinstance(node, Windowed) and isinstance(node.input, Exchange):
        return node.with_inputs(replace(node.input, stage=stage))
    return replace(node, stage=stage) if isinstance(node, Exchange) else None


def at_same_stage(left: Placed, right: Placed) -> tuple[Placed, Placed]:
    stage = max(left.place.stage, right.place.stage)
    return at_stage(left, stage), at_stage(right, stage)


def by_join_keys(left: Placed, right: Placed, condition: Expression | None) -> tuple[Placed, Placed]:
    """Both sides where equal keys meet; without equal columns all rows have to."""
    keys = join_keys(condition, left.node.schema, right.node.schema)
    ours = tuple(left.columns[ordinal] for ordinal in keys.left)
    theirs = tuple(right.columns[ordinal] for ordinal in keys.right)
    return _by_pairs(left, right, tuple(zip(ours, theirs, strict=True)))


def by_value(left: Placed, right: Placed) -> tuple[Placed, Placed]:
    """Both sides where equal rows meet."""
    return _by_pairs(left, right, tuple(zip(left.columns, right.columns, strict=True)))


def _by_pairs(left: Placed, right: Placed, pairs: Sequence[tuple[Expression, Expression]]) -> tuple[Placed, Placed]:
    """Both sides by the same of the pairs: those that one side is placed by already, or all of them."""
    if left.place.is_one and right.place.is_one:
        return at_same_stage(left, right)
    to_right = dict(pairs)
    to_left = {right: left for left, right in pairs}
    by_left = (option for option in left.place.options if option and set(option) <= set(to_right))
    by_right = (
        tuple(to_left[key] for key in option)
        for option in right.place.options
        if option and set(option) <= set(to_left)
    )
    chosen = next(by_left, None) or next(by_right, None) or tuple(key for key, _ in pairs)
    theirs = tuple(to_right[key] for key in chosen)
    return at_same_stage(moved_exactly(left, chosen), moved_exactly(right, theirs))


def names_answer(node: Node) -> bool:
    """RSTREAM in a sub-query: what leaves it is an answer that the window above looks at, and is not sent as it is."""
    output = node.input if isinstance(node, Alias) else node
    return isinstance(output, OutputStream) and output.kind is OutputKind.RSTREAM


def of_columns(key: Expression, columns: Mapping[str, Expression]) -> Expression:
    """A key in terms of other columns."""
    return rename_columns(
        key, {name: column.name for name, column in columns.items() if isinstance(column, ColumnReference)}
    )


def _union_moved(node: Union, keys: Keys) -> Placed:
    """Rows of both sides are sent on from where they are read."""
    names = dict(zip(node.left.schema.names, node.right.schema.columns, strict=True))
    theirs = tuple(of_columns(key, names) for key in keys)
    anywhere = Place(0, anywhere=True)
    left = moved_exactly(Placed(node.left, anywhere), keys)
    right = moved_exactly(Placed(node.right, anywhere), theirs)
    return Placed(node.with_inputs(left.node, right.node), left.place)


def _moved_below(node: Node, keys: Keys, place: Place) -> Placed:
    (below,) = node.inputs
    names = dict(zip(node.schema.names, below.schema.columns, strict=True))
    keys_below = tuple(of_columns(key, names) for key in keys)
    sent = moved_exactly(Placed(below, replace(place, options=())), keys_below)
    return Placed(node.with_inputs(sent.node), Place(sent.place.stage, (keys,)))
