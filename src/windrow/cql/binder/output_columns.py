"""The columns of an answer: names for a select list, and the same types on both sides of a set operation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from windrow.errors import CqlNameError, CqlTypeError, Span
from windrow.plan.expressions import Cast, ColumnReference, Expression, Named
from windrow.plan.nodes import Alias, Node, Project
from windrow.plan.schema import unqualified
from windrow.types import Type, common_type

RESERVED_COLUMNS = frozenset({"_ts", "_exp", "_sign", "_window_end"})


@dataclass(frozen=True)
class Item:
    """One column of a select list: `given` is the alias, `proposed` the name it has without one."""

    expression: Expression
    given: str | None
    proposed: str
    span: Span | None


def named_columns(items: Sequence[Item]) -> tuple[Named, ...]:
    """Aliases as given; columns that share a name get their relation's in front, calls a number."""
    wanted = [item.given or item.proposed for item in items]
    counts = Counter(name.lower() for name in wanted)
    taken: set[str] = set()
    columns = []
    for position, (item, name) in enumerate(zip(items, wanted, strict=True), 1):
        if counts[name.lower()] > 1 and item.given is None:
            name = _distinguished(item, name, position)
        if name.lower() in RESERVED_COLUMNS:
            raise CqlNameError(f"{name} is a column that Windrow adds itself", item.span, "choose another name")
        if name.lower() in taken:
            raise CqlNameError(f"two columns are called {name}", item.span, "give one of them another name with AS")
        taken.add(name.lower())
        columns.append(Named(name, item.expression))
    return tuple(columns)


def position(node: exp.Expr) -> int | None:
    """The number by which GROUP BY or ORDER BY calls a column of the select list; None for anything else."""
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    text = str(node.this)
    return int(text) if text.isdigit() and len(text) < 10 else 0


def positions(count: int) -> str:
    """The numbers by which columns of a select list can be called."""
    return "1" if count == 1 else f"1 to {count}"


def _distinguished(item: Item, name: str, position: int) -> str:
    if isinstance(item.expression, ColumnReference) and "." in item.expression.name:
        return f"{item.expression.name.partition('.')[0]}_{unqualified(item.expression.name)}"
    return f"{name}_{position}"


def aligned(left: Node, right: Node, span: Span | None) -> tuple[Node, Node]:
    """Both sides of a set operation with the same types, cast where one side must give way."""
    if len(left.schema) != len(right.schema):
        message = f"the two sides have {len(left.schema)} and {len(right.schema)} columns"
        raise CqlTypeError(message, span, "select the same number of columns on both sides")
    types = []
    for one, other in zip(left.schema, right.schema, strict=True):
        common = common_type(one.type, other.type)
        if common is None:
            hint = f"write CAST({unqualified(other.name)} AS {one.type})"
            raise CqlTypeError(f"{one.name} is {one.type} on one side and {other.type} on the other", span, hint)
        types.append(common)
    return _cast_to(left, types), _cast_to(right, types)


def _cast_to(node: Node, types: Sequence[Type]) -> Node:
    """The node with these types; casts go into its select list where it has one."""
    if list(node.schema.types) == list(types):
        return node
    below = node.input if isinstance(node, Project) else Alias(node, "_side")
    sources = [c.expression for c in node.columns] if isinstance(node, Project) else list(below.schema.columns)
    columns = (
        Named(name, source if source.type == of else Cast(source, of))
        for name, source, of in zip(node.schema.names, sources, types, strict=True)
    )
    return Project(below, tuple(columns))
