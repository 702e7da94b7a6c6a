"""Rows of one stream in the terms of that stream: what plans have in common shows when names and nesting are gone.

Two queries may read the same rows under other aliases, through sub-queries, or with their conditions in another order.
Here a plan of selections, projections and names over one stream, in a window of time or in none, becomes a stream under
its own name, conditions on its columns, and columns as expressions of these. A window of time looks at no column, so it
does not matter where in the plan it stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from windrow.plan.expressions import ColumnReference, Expression, Named, transform
from windrow.plan.functions import conjunction, conjuncts
from windrow.plan.nodes import Alias, Filter, Node, Project, Stream, Windowed
from windrow.plan.printer import expression_text
from windrow.plan.schema import unqualified
from windrow.plan.windows import Window


@dataclass(frozen=True)
class StreamRows:
    """`columns` are those of the plan, `conditions` are each there once, in the order of their texts."""

    stream: Stream
    window: Window | None
    conditions: tuple[Expression, ...]
    columns: Mapping[str, Expression]

    @property
    def selected(self) -> Node:
        """The stream with its selection."""
        return selected(self.stream, self.conditions)

    def meaning(self, expression: Expression) -> Expression:
        """An expression over the plan's columns as one over the stream's."""
        return transform(
            expression, lambda part: self.columns[part.name] if isinstance(part, ColumnReference) else None
        )


def selected(rows: Node, conditions: Iterable[Expression]) -> Node:
    predicate = conjunction(tuple(conditions))
    return rows if predicate is None else Filter(rows, predicate)


def stream_rows(node: Node) -> StreamRows | None:
    """None where there is anything else in the plan."""
    if isinstance(node, Stream):
        return None if node.lifetime is not None else _of_stream(node)
    if not isinstance(node, Alias | Filter | Project | Windowed):
        return None
    below = stream_rows(node.input)
    if below is None:
        return None
    if isinstance(node, Windowed):
        is_of_time = node.window.is_time_based or node.window.is_open
        return replace(below, window=node.window) if is_of_time and below.window is None else None
    if isinstance(node, Filter):
        return replace(below, conditions=in_order((*below.conditions, *conjuncts(below.meaning(node.predicate)))))
    return replace(below, columns=_columns(node, below))


def in_order(expressions: Iterable[Expression]) -> tuple[Expression, ...]:
    """Each once, whatever order they came in."""
    return tuple(sorted(dict.fromkeys(expressions), key=lambda one: (expression_text(one), repr(one))))


def named_by_text(expressions: Iterable[Expression]) -> tuple[Named, ...]:
    """Each once, under a name that says what it is."""
    texts: dict[str, int] = {}
    named = []
    for expression in in_order(expressions):
        text = expression_text(expression)
        texts[text] = texts.get(text, 0) + 1
        named.append(Named(text if texts[text] == 1 else f"{text} {texts[text]}", expression))
    return tuple(named)


def _of_stream(stream: Stream) -> StreamRows:
    own = replace(stream, alias=stream.name)
    return StreamRows(own, None, (), dict(zip(stream.schema.names, own.schema.columns, strict=True)))


def _columns(node: Alias | Project, below: StreamRows) -> dict[str, Expression]:
    if isinstance(node, Project):
        return {column.name: below.meaning(column.expression) for column in node.columns}
    return {f"{node.name}.{unqualified(name)}": meaning for name, meaning in below.columns.items()}
