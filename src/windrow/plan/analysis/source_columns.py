"""Which columns of its streams a plan reads: the others need not be read at all.

Where rows are compared as a whole, or counted in the order of a stream (ties in time are broken by all values), every
column is read; so it is below operators that this analysis does not look into.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeGuard

from windrow.plan.aggregates import AGGREGATES
from windrow.plan.expressions import Expression, columns_of
from windrow.plan.nodes import Alias, Filter, GroupBy, Join, Node, Project, Sort, Stream, Windowed
from windrow.plan.running_nodes import Exchange, SharedSlices, SlicePartials, WindowSynopsis, below_exchange
from windrow.plan.schema import unqualified

Columns = frozenset[str]


def source_columns(plans: Iterable[Node]) -> dict[str, Columns]:
    """By stream (lower case), the columns that some of the plans read."""
    found: dict[str, Columns] = {}
    for plan in plans:
        for name, columns in _read(plan, frozenset(plan.schema.names)):
            found[name] = found.get(name, frozenset()) | columns
    return found


def _read(node: Node, used: Columns) -> Iterable[tuple[str, Columns]]:
    """What is read for the `used` columns of a node."""
    if isinstance(node, Stream):
        kept = {unqualified(name) for name in used if name in node.schema}
        yield node.name.lower(), frozenset(kept)
        return
    for below in node.inputs:
        yield from _read(below, _used_below(node, below, used))


def _used_below(node: Node, below: Node, used: Columns) -> Columns:
    if isinstance(node, Filter):
        return used | columns_of(node.predicate)
    if isinstance(node, Sort):
        return used | _columns(key.expression for key in node.keys)
    if isinstance(node, Project):
        return _columns(column.expression for column in node.columns)
    if isinstance(node, Exchange):
        return used | _columns(node.keys)
    if isinstance(node, Alias):
        names = {f"{node.name}.{unqualified(name)}": name for name in below.schema.names}
        return frozenset(names[name] for name in used if name in names)
    if _groups_rows(node, below) and not _is_ordered(node):
        arguments = (argument for named in node.aggregates for argument in named.call.arguments)
        return _columns([*(key.expression for key in node.keys), *arguments])
    if isinstance(node, Join):
        return used if node.condition is None else used | columns_of(node.condition)
    if isinstance(node, Windowed) and node.window.is_time_based and not node.window.partition:
        return used
    return frozenset(below.schema.names)


_Groups = GroupBy | SlicePartials | SharedSlices | WindowSynopsis


def _groups_rows(node: Node, below: Node) -> TypeGuard[_Groups]:
    """Whether a node computes keys and aggregates from rows, not from what was made of them before."""
    return isinstance(node, _Groups) and not isinstance(below_exchange(below), SharedSlices)


def _is_ordered(node: _Groups) -> bool:
    """Whether the order of rows may matter, in which all values break ties."""
    if isinstance(node, WindowSynopsis) and node.by_rows:
        return True
    names = {named.call.function for named in node.aggregates}
    return bool(names & {"FIRST", "LAST"}) or not names <= AGGREGATES.keys()


def _columns(expressions: Iterable[Expression]) -> Columns:
    return frozenset().union(*(columns_of(expression) for expression in expressions))
