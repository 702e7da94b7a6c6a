"""Origins: the column of a source that a column of a plan is a copy of."""

from __future__ import annotations

from windrow.plan.expressions import ColumnReference, Expression
from windrow.plan.nodes import Alias, Node, Project, Stream, Table
from windrow.plan.running_nodes import Grouping, MergeGroups
from windrow.plan.schema import unqualified


def origin_of(node: Node, column: str) -> tuple[Stream | Table, str] | None:
    """The source and column that a column is a copy of; None for a computed one."""
    if isinstance(node, Stream | Table):
        return node, unqualified(column)
    if isinstance(node, Alias):
        return next(
            (
                origin_of(node.input, name)
                for name in node.input.schema.names
                if f"{node.name}.{unqualified(name)}" == column
            ),
            None,
        )
    if isinstance(node, Project | Grouping):
        source = _computed(node).get(column)
        return origin_of(node.input, source.name) if isinstance(source, ColumnReference) else None
    holder = next((below for below in node.inputs if column in below.schema), None)
    return None if holder is None else origin_of(holder, column)


def _computed(node: Project | Grouping) -> dict[str, Expression]:
    """What columns are, in terms of the input."""
    if isinstance(node, MergeGroups):
        return {key.name: below for key, below in zip(node.keys, node.key_columns, strict=True)}
    return {named.name: named.expression for named in (node.columns if isinstance(node, Project) else node.keys)}
