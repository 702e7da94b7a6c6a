"""What of the language a plan uses, as words: to see what generated queries reach, and what they miss."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.plan import nodes
from windrow.plan.aggregates import AGGREGATES
from windrow.plan.expressions import Call, Case, Cast, Expression, walk
from windrow.plan.nodes import Node, Stream
from windrow.plan.windows import RowCount, Window

WINDOWS = ("Range", "RangeAgo", "Rows", "RowsAgo", "Latest", "Since", "Between", "Now")
EXPECTED = {
    **{f"window {extent}": 30 for extent in WINDOWS},
    "window Rows, partitioned": 30,
    "window Range, slide": 30,
    "window RangeAgo, slide": 10,
    "window Rows, slide": 10,
    "window Rows, partitioned, slide": 10,
    "window RowsAgo, slide": 10,
    "window Range, slide by rows": 3,
    "window Rows, slide by rows": 5,
    "window Rows, partitioned, slide by rows": 5,
    "no window": 30,
    "lifetime by": 60,
    **{f"lifetime by, window {extent}": 4 for extent in WINDOWS},
    "window on a sub-query": 3,
    **{f"{kind} join": 20 for kind in ("INNER", "LEFT", "RIGHT", "FULL")},
    "join of three": 20,
    "every pair": 5,
    "band": 20,
    "SemiJoin": 30,
    "AntiJoin": 30,
    "NOT IN": 20,
    "mark": 30,
    "table": 20,
    "non-retroactive table": 20,
    "Distinct": 50,
    "Union": 30,
    "Except": 10,
    "Except all": 10,
    "Intersect": 10,
    "Intersect all": 10,
    "GroupBy": 100,
    "GroupBy, all rows": 30,
    "nested groups": 5,
    "HAVING": 30,
    "Limit": 50,
    "Limit, sorted": 30,
    "OFFSET": 20,
    "Sort": 20,
    "sub-query": 50,
    "CASE": 30,
    "CAST": 20,
    "LIKE": 10,
    "IN": 10,
    "COALESCE": 10,
    **{
        f"aggregate {name}": 6
        for name in ("COUNT", "SUM", "AVG", "MIN", "MAX", "VAR", "STDDEV", "MEDIAN", "QUANTILE", "TOP", "FIRST", "LAST")
    },
    "aggregate, distinct": 20,
    "FIRST or LAST over a sub-query": 3,
}


def features(plan: Node) -> set[str]:
    """The words for everything in a plan."""
    return {word for node in plan.walk() for word in _of(node)}


def _of(node: Node) -> Iterator[str]:
    if isinstance(node, nodes.Windowed):
        yield from _windowed(node)
    elif isinstance(node, nodes.Join):
        yield f"{node.kind.value} join"
        if node.condition is None:
            yield "every pair"
        if any(isinstance(below, nodes.Join) for below in node.inputs):
            yield "join of three"
    elif isinstance(node, nodes.GroupBy):
        yield from _grouped(node)
    elif isinstance(node, nodes.Table):
        yield "table" if node.retroactive else "non-retroactive table"
    elif isinstance(node, nodes.Stream):
        yield "lifetime by" if node.lifetime else "no window"
    elif isinstance(node, nodes.Except | nodes.Intersect):
        yield f"{type(node).__name__}{' all' if node.all else ''}"
    elif isinstance(node, nodes.Limit):
        yield from ("Limit", *(["Limit, sorted"] if node.keys else []), *(["OFFSET"] if node.offset else []))
    elif isinstance(node, nodes.Alias):
        yield "mark" if node.name.startswith("_sub") else "sub-query"
    else:
        yield type(node).__name__
        if isinstance(node, nodes.AntiJoin) and node.not_in is not None:
            yield "NOT IN"
        if isinstance(node, nodes.Filter) and isinstance(node.input, nodes.GroupBy):
            yield "HAVING"
    for expression in _expressions(node):
        yield from (word for part in walk(expression) for word in _word(part))


def _windowed(node: nodes.Windowed) -> Iterator[str]:
    yield f"window {_name(node.window)}"
    if not isinstance(node.input, Stream):
        yield "window on a sub-query"
    elif node.input.lifetime is not None:
        yield f"lifetime by, window {type(node.window.extent).__name__}"


def _name(window: Window) -> str:
    partitioned = ", partitioned" if window.partition and type(window.extent).__name__ == "Rows" else ""
    slide = ", slide by rows" if isinstance(window.slide, RowCount) else ", slide" if window.slide else ""
    return f"{type(window.extent).__name__}{partitioned}{slide}"


def _grouped(node: nodes.GroupBy) -> Iterator[str]:
    yield "GroupBy" if node.keys else "GroupBy, all rows"
    if any(isinstance(below, nodes.GroupBy) for below in node.input.walk()):
        yield "nested groups"
    for named in node.aggregates:
        yield f"aggregate {named.call.function}"
        if named.call.distinct:
            yield "aggregate, distinct"
        if named.call.function in ("FIRST", "LAST") and any(isinstance(b, nodes.Alias) for b in node.input.walk()):
            yield "FIRST or LAST over a sub-query"


def _expressions(node: Node) -> Iterator[Expression]:
    if isinstance(node, nodes.Filter):
        yield node.predicate
    elif isinstance(node, nodes.Project):
        yield from (named.expression for named in node.columns)
    elif isinstance(node, nodes.Join | nodes.SemiJoin | nodes.AntiJoin) and node.condition is not None:
        yield node.condition


def _word(part: Expression) -> Iterator[str]:
    if isinstance(part, Case):
        yield "CASE"
    elif isinstance(part, Cast):
        yield "CAST"
    elif isinstance(part, Call) and part.function in ("LIKE", "IN", "COALESCE"):
        yield part.function
    elif (
        isinstance(part, Call)
        and part.function in ("<=", ">=")
        and all(isinstance(a, Call) for a in part.arguments[1:])
    ):
        yield "band"


def is_approximate(plan: Node) -> bool:
    """Approximate answers are not what SQL gives over the same rows; they have laws of their own."""
    groups = [node for node in plan.walk() if isinstance(node, nodes.GroupBy)]
    names = {named.call.function for node in groups for named in node.aggregates}
    return any(name in AGGREGATES and AGGREGATES[name].approximation is not None for name in names)
