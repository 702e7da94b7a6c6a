"""Aggregates over joins that are looked up: the plan in which their groups come from a join synopsis that they share.

Queries over the same join by the same keys, refreshed at the same times, share one synopsis, whatever the lengths of
their windows and their aggregates (thesis 8.3.2, rule SS3). The join is computed once, over the longest windows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd
from typing import NamedTuple

from windrow.errors import WindrowError
from windrow.optimizer.prune_columns import prune_columns
from windrow.plan.aggregates import aggregate_call, traits_of
from windrow.plan.analysis.join_lookups import MOST_ROWS, JoinForm, with_lengths
from windrow.plan.analysis.lookups import ASKED
from windrow.plan.analysis.rates import Rates, Statistics
from windrow.plan.expressions import AggregateCall, Expression, Named, NamedAggregate, columns_of
from windrow.plan.nodes import GroupBy, Node, Windowed
from windrow.plan.rewrite import bottom_up, top_down, without_exchanges
from windrow.plan.row_time import TimedPairs, with_times_of_pairs
from windrow.plan.running_nodes import JoinLookup, JoinSynopsis
from windrow.plan.synopsis_kinds import rows_of
from windrow.sharing.join_synopsis_choice import JoinWorkload, chosen_for_join
from windrow.sharing.rows_of_window import rows_of_window
from windrow.units import format_duration

PRESENT = aggregate_call("COUNT", [])  # which groups there are in a window


class _SynopsisKey(NamedTuple):
    """What a synopsis is of: equal ones are shared."""

    pairs: Node  # of windows as long as their slide
    keys: tuple[Expression, ...]


@dataclass(frozen=True)
class JoinQuery:
    plan: Node
    form: JoinForm

    @property
    def synopsis_key(self) -> _SynopsisKey:
        slide = self.form.slide
        keys = tuple(key.expression for key in self.form.groups.keys)
        return _SynopsisKey(with_lengths(self.form.pairs, slide, slide), keys)

    @property
    def calls(self) -> tuple[AggregateCall, ...]:
        """The first tells which groups there are; without keys there is always one."""
        own = (named.call for named in self.form.groups.aggregates)
        return tuple(dict.fromkeys((PRESENT, *own) if self.form.groups.keys else own))


@dataclass(frozen=True)
class _Slices:
    """How long the windows of queries are, in slices that all of them are made of."""

    slice: int
    lengths: tuple[int, int]
    difference: int

    @property
    def longest(self) -> int:
        return max(self.lengths) // self.slice

    @property
    def rows(self) -> int:
        return rows_of(self.longest, self.difference)


def over_join_synopses(queries: Sequence[JoinQuery], statistics: Statistics, memory: float) -> list[Node]:
    """Plans of queries that start together, over the synopses that they share."""
    sharing: list[list[JoinQuery]] = []
    for query in queries:
        fitting = (members for members in sharing if _fits(query, members))
        members = next(fitting, None)
        if members is None:
            sharing.append(members := [])
        members.append(query)
    synopses = [(members, _synopsis(members, statistics, memory)) for members in sharing]
    return [_over(query, next(one for members, one in synopses if query in members)) for query in queries]


def covered_join(query: JoinQuery, synopses: Sequence[JoinSynopsis]) -> Node:
    """A query over a join synopsis that is kept; an error when none covers it."""
    of_same = [one for one in synopses if _is_of(query, one)]
    if not of_same:
        hint = "create a query with this join, these groups, aggregates and SLIDE, and REFRESH ON LOOKUP"
        raise WindrowError("nothing that is kept answers this query", hint)
    found = next((one for one in of_same if _covers(one, query.form)), None)
    if found is None:
        one = of_same[0]
        raise WindrowError("the windows of this join are not among those that are kept", _what_is_kept(one))
    return _over(query, found)


def _fits(query: JoinQuery, members: Sequence[JoinQuery]) -> bool:
    """One more common divisor can make slices so short that two synopses are smaller than one."""
    return query.synopsis_key == members[0].synopsis_key and _slices([*members, query]).rows <= MOST_ROWS


def _slices(members: Sequence[JoinQuery]) -> _Slices:
    slice = gcd(*(query.form.slice for query in members))
    first, second = zip(*(query.form.lengths for query in members), strict=True)
    apart = max(abs(a - b) // slice for a, b in zip(first, second, strict=True))
    return _Slices(slice, (max(first), max(second)), apart)


def _synopsis(members: Sequence[JoinQuery], statistics: Statistics, memory: float) -> JoinSynopsis:
    slices, form = _slices(members), members[0].form
    calls = tuple(dict.fromkeys(call for query in members for call in query.calls))
    timed = _timed(form, slices.lengths, calls)
    load = _workload(members, slices, timed.plan, statistics, memory / len(calls))
    choices = [chosen_for_join(traits_of(call), load) for call in calls]
    return JoinSynopsis(
        timed.plan,
        form.groups.keys,
        named_aggregates(calls),
        tuple(choice.kind.value for choice in choices),
        tuple(choice.reason for choice in choices),
        (timed.first, timed.second),
        slices.lengths,
        form.slide,
        slices.slice,
        slices.difference,
    )


def _timed(form: JoinForm, lengths: tuple[int, int], calls: Sequence[AggregateCall]) -> TimedPairs:
    """The pairs of the longest windows, with the columns that somebody uses and the times of their rows."""
    groups = GroupBy(with_lengths(form.pairs, *lengths), form.groups.keys, named_aggregates(calls))
    (pairs,) = (prune_columns(groups) or groups).inputs
    return with_times_of_pairs(pairs)


def named_aggregates(calls: Sequence[AggregateCall]) -> tuple[NamedAggregate, ...]:
    """Under the names that they have in a synopsis."""
    return tuple(NamedAggregate(f"aggregate{number}", call) for number, call in enumerate(calls))


def _workload(
    members: Sequence[JoinQuery], slices: _Slices, pairs: Node, statistics: Statistics, memory: float
) -> JoinWorkload:
    """As expected before anything has been measured."""
    rates, keys = Rates(statistics), members[0].form.groups.keys
    groups = max(1.0, rates.of(GroupBy(pairs, keys, ())).rows) if keys else 1.0
    widths = tuple(sorted({min(query.form.lengths) // slices.slice for query in members}))
    loads = rates.of(pairs).rate, ASKED * len(members) * groups
    return JoinWorkload(*loads, widths, slices.longest, slices.difference, int(groups), memory)


def _is_of(query: JoinQuery, synopsis: JoinSynopsis) -> bool:
    """Whether it is what would be kept for the query, had that the windows and aggregates of the synopsis."""
    calls = tuple(named.call for named in synopsis.aggregates)
    if not set(query.calls) <= {*calls} or _keys(query.form.groups.keys) != _keys(synopsis.keys):
        return False
    used = {name for call in calls for argument in call.arguments for name in columns_of(argument)}
    if not used <= {*query.form.pairs.schema.names}:
        return False
    wanted = _timed(query.form, synopsis.lengths, calls).plan
    return _as_sent(wanted) == _as_sent(without_exchanges(synopsis.input))


def _as_sent(plan: Node) -> Node:
    """With windows above the rows that they are of, as on shards."""

    def rule(node: Node) -> Node | None:
        found = None if isinstance(node, Windowed) else rows_of_window(node)
        return None if found is None else Windowed(*found)

    return top_down(plan, rule)


def _keys(keys: Sequence[Named]) -> tuple[Expression, ...]:
    return tuple(key.expression for key in keys)


def _covers(synopsis: JoinSynopsis, form: JoinForm) -> bool:
    on_edges = all(length % synopsis.slice == 0 for length in form.lengths)
    short_enough = all(asked <= kept for asked, kept in zip(form.lengths, synopsis.lengths, strict=True))
    return on_edges and short_enough and abs(form.lengths[0] - form.lengths[1]) <= synopsis.difference * synopsis.slice


def _what_is_kept(synopsis: JoinSynopsis) -> str:
    first, second = map(format_duration, synopsis.lengths)
    apart = format_duration(synopsis.difference * synopsis.slice)
    return f"ask for up to {first} and {second}, multiples of {format_duration(synopsis.slice)}, at most {apart} apart"


def _over(query: JoinQuery, synopsis: JoinSynopsis) -> Node:
    groups = query.form.groups
    found = JoinLookup(synopsis, groups.keys, groups.aggregates, query.form.windows)
    return bottom_up(query.plan, lambda node: found if node == groups else None)
