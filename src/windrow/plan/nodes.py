"""The nodes of a logical plan: immutable, checked when made, schema derived.

Each thing can be said in one way: UNION is DISTINCT over a bag union, an output window (WSTREAM) is a window over an
append-only result, nothing written after a stream and RANGE UNBOUNDED are both the bare stream.
Relations in FROM give columns qualified names (`s.price`); select lists give plain ones (`price`).
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from windrow.errors import PlanError
from windrow.plan.expressions import Expression, Named, NamedAggregate, SortKey, columns_of
from windrow.plan.schema import Field, Schema, unqualified
from windrow.plan.windows import Latest, Rows, Window
from windrow.types import BOOLEAN, NULL

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: object):
        """Part of `typing` from Python 3.11 on; only type checkers look at it."""
        return lambda decorator: decorator


_HASH = "remembered hash"
Kind = TypeVar("Kind")


@dataclass_transform(frozen_default=True)
def plan_node(kind: type[Kind]) -> type[Kind]:
    """A frozen dataclass; plans are looked up by themselves all the time, so a tree is hashed once a node."""
    made = dataclass(frozen=True)(kind)
    compute = made.__hash__

    def remembered(self: Kind) -> int:
        known: int | None = self.__dict__.get(_HASH)
        if known is None:
            known = self.__dict__[_HASH] = compute(self)
        return known

    made.__hash__ = remembered  # type: ignore[method-assign, assignment]
    return made


@plan_node
class Node:
    """What all nodes share: inputs are found among the fields, checks run when the node is made."""

    @cached_property
    def inputs(self) -> tuple[Node, ...]:
        return tuple(value for field in fields(self) if isinstance(value := getattr(self, field.name), Node))

    @cached_property
    def schema(self) -> Schema:
        return self._derive_schema()

    def _derive_schema(self) -> Schema:
        return self.inputs[0].schema

    def with_inputs(self, *inputs: Node) -> Node:
        """The same node over other inputs."""
        waiting = iter(inputs)
        changes = {f.name: next(waiting) for f in fields(self) if isinstance(getattr(self, f.name), Node)}
        return replace(self, **changes)

    def __getstate__(self) -> dict[str, object]:
        """Without the hash: it is another one in another process."""
        return {name: value for name, value in self.__dict__.items() if name != _HASH}

    def walk(self) -> Iterator[Node]:
        """The node and everything below it, inputs after their consumer."""
        yield self
        for below in self.inputs:
            yield from below.walk()


@plan_node
class Stream(Node):
    """A source stream; `lifetime` names the column that says how long each tuple lives, `punctuated` those whose
    values may be closed: no later row has them any more."""

    name: str
    alias: str
    columns: tuple[Field, ...]
    timestamp: str | None  # None: arrival time
    lifetime: str | None = None
    punctuated: tuple[str, ...] = ()
    ties: tuple[str, ...] = ()  # in which order rows of one time come

    def _derive_schema(self) -> Schema:
        return Schema(tuple(Field(f"{self.alias}.{field.name}", field.type) for field in self.columns))


@plan_node
class Table(Node):
    """A relation; changes of a retroactive one revisit stream tuples that are already in a window."""

    name: str
    alias: str
    columns: tuple[Field, ...]
    primary_key: tuple[str, ...] = ()
    retroactive: bool = True

    def _derive_schema(self) -> Schema:
        return Schema(tuple(Field(f"{self.alias}.{field.name}", field.type) for field in self.columns))


@plan_node
class Windowed(Node):
    """A window on an append-only input; over AppendOnly it is a window on the output (WSTREAM)."""

    input: Node
    window: Window

    def __post_init__(self) -> None:
        extent = self.window.extent
        if isinstance(extent, Rows | Latest):
            require_columns(self, frozenset(extent.partition), self.input.schema)
        if isinstance(extent, Latest):
            _require_condition(self, extent.predicate, self.input.schema)


@plan_node
class Filter(Node):
    input: Node
    predicate: Expression

    def __post_init__(self) -> None:
        _require_condition(self, self.predicate, self.input.schema)


@plan_node
class Project(Node):
    input: Node
    columns: tuple[Named, ...]

    def __post_init__(self) -> None:
        for column in self.columns:
            require_columns(self, columns_of(column.expression), self.input.schema)

    def _derive_schema(self) -> Schema:
        return Schema(tuple(Field(column.name, column.expression.type) for column in self.columns))


@plan_node
class Alias(Node):
    """A sub-query with a name: its columns become `name.column`."""

    input: Node
    name: str

    def _derive_schema(self) -> Schema:
        renamed = (Field(f"{self.name}.{unqualified(field.name)}", field.type) for field in self.input.schema)
        return Schema(tuple(renamed))


class JoinKind(enum.Enum):
    INNER = "INNER"
    LEFT = "LEFT"
    RIGHT = "RIGHT"
    FULL = "FULL"


@plan_node
class Join(Node):
    left: Node
    right: Node
    condition: Expression | None = None
    kind: JoinKind = JoinKind.INNER

    def __post_init__(self) -> None:
        if self.condition is not None:
            _require_condition(self, self.condition, self.schema)

    def _derive_schema(self) -> Schema:
        return self.left.schema + self.right.schema


@plan_node
class SemiJoin(Node):
    """EXISTS and IN: rows of the left for which the right has a match."""

    left: Node
    right: Node
    condition: Expression | None = None

    def __post_init__(self) -> None:
        both = self.left.schema + self.right.schema
        if self.condition is not None:
            _require_condition(self, self.condition, both)


@plan_node
class AntiJoin(Node):
    """NOT EXISTS and, with `not_in`, NOT IN: rows of the left for which the right has no match.

    `not_in` is the pair compared by NOT IN: a null on either side is a possible match.
    """

    left: Node
    right: Node
    condition: Expression | None = None
    not_in: tuple[Expression, Expression] | None = None

    def __post_init__(self) -> None:
        both = self.left.schema + self.right.schema
        if self.condition is not None:
            _require_condition(self, self.condition, both)
        for side in self.not_in or ():
            require_columns(self, columns_of(side), both)


@plan_node
class Union(Node):
    """All rows of both, duplicates kept."""

    left: Node
    right: Node

    def __post_init__(self) -> None:
        _require_same_types(self, self.left, self.right)


@plan_node
class Except(Node):
    """EXCEPT, or with `all` EXCEPT ALL: max(v1 - v2, 0) copies of each row."""

    left: Node
    right: Node
    all: bool = False

    def __post_init__(self) -> None:
        _require_same_types(self, self.left, self.right)


@plan_node
class Intersect(Node):
    """INTERSECT, or with `all` INTERSECT ALL: min(v1, v2) copies of each row."""

    left: Node
    right: Node
    all: bool = False

    def __post_init__(self) -> None:
        _require_same_types(self, self.left, self.right)


@plan_node
class Distinct(Node):
    input: Node


@plan_node
class GroupBy(Node):
    """One row a group, or one row in all when there are no keys."""

    input: Node
    keys: tuple[Named, ...]
    aggregates: tuple[NamedAggregate, ...]

    def __post_init__(self) -> None:
        for key in self.keys:
            require_columns(self, columns_of(key.expression), self.input.schema)
        for aggregate in self.aggregates:
            for argument in aggregate.call.arguments:
                require_columns(self, columns_of(argument), self.input.schema)

    def _derive_schema(self) -> Schema:
        return grouped_schema(self.keys, self.aggregates)


@plan_node
class Sort(Node):
    """The order in which the current answer is shown; the answer itself is the same."""

    input: Node
    keys: tuple[SortKey, ...]

    def __post_init__(self) -> None:
        _require_sort_keys(self, self.keys, self.input.schema)


@plan_node
class Limit(Node):
    """The first `count` rows of the current answer; ties are broken by the row's values in column order."""

    input: Node
    keys: tuple[SortKey, ...]
    count: int
    offset: int = 0

    def __post_init__(self) -> None:
        _require_sort_keys(self, self.keys, self.input.schema)
        if self.count < 0 or self.offset < 0:
            raise PlanError("LIMIT and OFFSET are not negative")


@plan_node
class AppendOnly(Node):
    """The results of a query over INTERNAL windows: they end with their external parts only (thesis 3.3.2)."""

    input: Node


class OutputKind(enum.Enum):
    ISTREAM = "ISTREAM"
    DSTREAM = "DSTREAM"
    RSTREAM = "RSTREAM"


@plan_node
class OutputStream(Node):
    """What comes out: insertions, deletions, or the whole answer at each refresh."""

    input: Node
    kind: OutputKind
    restore: bool = False

    def __post_init__(self) -> None:
        if self.restore and self.kind is OutputKind.DSTREAM:
            raise PlanError("DSTREAM has no RESTORE")


def grouped_schema(keys: tuple[Named, ...], aggregates: tuple[NamedAggregate, ...]) -> Schema:
    """The columns of rows that stand for groups."""
    values = tuple(Field(named.name, named.call.type) for named in aggregates)
    return Schema(tuple(Field(key.name, key.expression.type) for key in keys) + values)


def aliased(node: Node, name: str) -> Node:
    """`(node) AS name`; nothing is added where the columns have these names already."""
    if isinstance(node, Project) and _only_drops_qualifier(node, name):
        return node.input
    if all(field.name == f"{name}.{unqualified(field.name)}" for field in node.schema):
        return node
    return Alias(node, name)


def _only_drops_qualifier(project: Project, name: str) -> bool:
    below = project.input.schema
    if [f"{name}.{column.name}" for column in project.columns] != list(below.names):
        return False
    return all(column.expression == source for column, source in zip(project.columns, below.columns, strict=True))


def require_columns(node: Node, used: frozenset[str], schema: Schema) -> None:
    missing = sorted(name for name in used if name not in schema)
    if missing:
        raise PlanError(f"{type(node).__name__} uses {', '.join(missing)}, its input has {', '.join(schema.names)}")


def _require_condition(node: Node, predicate: Expression, schema: Schema) -> None:
    require_columns(node, columns_of(predicate), schema)
    if predicate.type not in (BOOLEAN, NULL):
        raise PlanError(f"the condition of {type(node).__name__} is {predicate.type}, not BOOLEAN")


def _require_same_types(node: Node, left: Node, right: Node) -> None:
    if left.schema.types != right.schema.types:
        raise PlanError(f"the inputs of {type(node).__name__} have different types")


def _require_sort_keys(node: Node, keys: tuple[SortKey, ...], schema: Schema) -> None:
    for key in keys:
        require_columns(node, columns_of(key.expression), schema)
