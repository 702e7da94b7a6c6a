"""Who shares what with whom: what EXPLAIN and SHOW SHARING say of the plans of several queries.

A part is named where it is shared by more queries than what is above it: of two equal queries the whole plan, and
further down only what others have too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from windrow.plan.explain.operators import describe_operator, operator_name
from windrow.plan.nodes import Alias, Filter, Join, Node, Project, Sort, Stream, Table, Windowed
from windrow.plan.running_nodes import Exchange, GroupSynopsis, IndexedSelection, SharedSlices, Stamped
from windrow.sharing.indexed_selections import others_in_index
from windrow.sharing.starting import RunningQueryPlan
from windrow.units import BEGINNING, format_timestamp

SHARING = ("part", "rule", "queries", "since")  # the columns of SHOW SHARING

_NAMED = 5  # others that are named, of those that share

# What costs next to nothing, whoever has it.
_CHEAP = Stream | Table | Windowed | Filter | Project | Alias | Sort | Stamped


class SharedPart(NamedTuple):
    """An operator of several queries, with all that is below it."""

    node: Node
    rule: str
    queries: tuple[str, ...]

    def __str__(self) -> str:
        return f"{operator_name(self.node)} {describe_operator(self.node)}".rstrip()


def shared_parts(running: Mapping[str, Node]) -> list[SharedPart]:
    """All that is shared, by the plans that run, each part once."""
    users = _users(running)
    found: dict[Node, SharedPart] = {}
    for plan in running.values():
        found |= {part.node: part for part in _shared_below(plan, users, 1)}
    return list(found.values())


def shared_with(query: str, running: Mapping[str, Node]) -> tuple[str, ...]:
    """A line for each thing that a query shares with others."""
    parts = (
        f"shared with {_listed([name for name in part.queries if name != query])}: {part} ({part.rule})"
        for part in _shared_below(running[query], _users(running), 1)
    )
    return (*parts, *_indexes(query, running))


def _indexes(query: str, running: Mapping[str, Node]) -> Iterator[str]:
    """Selections of a query that are matched by an index together with others."""
    for node in running[query].walk():
        if isinstance(node, IndexedSelection):
            others = list(others_in_index(query, node, running))
            rows = f"{operator_name(node.input)} {describe_operator(node.input)}"
            yield f"shared with {_listed(others)}: index of {len(others) + 1} predicates over {rows}"


def sharing_rows(running: Mapping[str, RunningQueryPlan]) -> Iterator[tuple[str, ...]]:
    """The rows of SHOW SHARING: a part, by which rule, who, since when."""
    for beside in _beside(running):
        for part in shared_parts({name: started.plan for name, started in beside.items()}):
            since = min(beside[name].start for name in part.queries)
            when = "the first row" if since == BEGINNING else format_timestamp(since)
            yield str(part), part.rule, ", ".join(part.queries), when


def _beside(running: Mapping[str, RunningQueryPlan]) -> list[dict[str, RunningQueryPlan]]:
    """Queries that can have operators in common; those that are looked up share synopses, whatever their strategy."""
    found: dict[object, dict[str, RunningQueryPlan]] = {}
    for name, one in running.items():
        is_looked_up = any(isinstance(node, GroupSynopsis) for node in one.plan.walk())
        found.setdefault((None if is_looked_up else one.strategy, one.own), {})[name] = one
    return list(found.values())


def _users(running: Mapping[str, Node]) -> dict[Node, list[str]]:
    """The queries that have a node in their plans."""
    users: dict[Node, list[str]] = {}
    for name, plan in running.items():
        for node in dict.fromkeys(plan.walk()):
            users.setdefault(node, []).append(name)
    return users


def _shared_below(node: Node, users: Mapping[Node, Sequence[str]], above: int) -> Iterator[SharedPart]:
    queries = users[node]
    if len(queries) > above and not isinstance(node, _CHEAP):
        yield SharedPart(node, _rule(node), tuple(queries))
        above = len(queries)
    for below in node.inputs:
        yield from _shared_below(below, users, above)


def _rule(node: Node) -> str:
    if isinstance(node, SharedSlices):
        return "slices of one width"
    if isinstance(node, GroupSynopsis):
        return "one synopsis"
    if isinstance(node, Exchange):
        return "rows sent once"
    return "one join" if isinstance(node, Join) else "equal parts"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
