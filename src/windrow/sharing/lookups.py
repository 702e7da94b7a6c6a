"""Queries that are looked up: the plan in which their groups come from a synopsis that they share.

Queries over the same rows by the same keys share one synopsis, whatever their windows and aggregates: it holds the
aggregates of all, reaches as far back as the longest window, and is kept in the form that costs least for all of them
(thesis 8.3.1, rules SS1 and SS2). One that starts later is looked up in what runs already, if that covers it: its
windows then begin no earlier than the query itself.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import gcd
from typing import NamedTuple

from windrow.errors import WindrowError
from windrow.plan.aggregate_class import IndexForm
from windrow.plan.aggregates import AGGREGATES, traits_of
from windrow.plan.analysis.join_lookups import form_of
from windrow.plan.analysis.lookups import ASKED, LookupForm, Refusal, synopses_of, thresholds_of
from windrow.plan.analysis.rates import Rates, Statistics
from windrow.plan.expressions import AggregateCall, ColumnReference, Expression, rename_columns
from windrow.plan.functions import conjunction
from windrow.plan.nodes import Filter, Node
from windrow.plan.rewrite import bottom_up, without_exchanges
from windrow.plan.running_nodes import (
    GroupSynopsis,
    JoinSynopsis,
    OnDemandLookup,
    Threshold,
    WindowLookup,
    WindowSynopsis,
)
from windrow.plan.synopsis_kinds import SynopsisKind
from windrow.plan.windows import Range, RangeAgo, Rows, Unbounded, Window
from windrow.sharing.join_lookups import PRESENT, JoinQuery, covered_join, named_aggregates, over_join_synopses
from windrow.sharing.starting import Plans, Starting
from windrow.sharing.synopsis_choice import Choice, Workload, chosen, is_indexed
from windrow.units import BEGINNING, SECOND, format_duration


class _SynopsisKey(NamedTuple):
    """What a synopsis is of: equal ones are shared. Rows are kept one by one, or in slices where all windows slide."""

    rows: Node
    keys: tuple[Expression, ...]
    by_rows: bool
    fades: bool
    sliced: bool


@dataclass(frozen=True)
class _Query:
    plan: Node
    form: LookupForm

    @property
    def synopsis_key(self) -> _SynopsisKey:
        calls = (named.call for named in self.form.groups.aggregates)
        whole = any(synopses_of(call) == (SynopsisKind.QUANTILE,) for call in calls)  # needs every value
        keys = tuple(key.expression for key in self.form.groups.keys)
        sliced = self.form.window.slide is not None and not whole
        return _SynopsisKey(
            self.form.rows, keys, self.form.by_rows, isinstance(self.form.window.extent, Unbounded), sliced
        )

    @property
    def calls(self) -> tuple[AggregateCall, ...]:
        """Something that is kept row by row tells which groups are in a window."""
        return tuple(named.call for named in self.form.groups.aggregates) or (PRESENT,)

    @property
    def thresholds(self) -> tuple[Threshold, ...]:
        """Those that an index could answer: over windows of time that end now."""
        is_suffix = isinstance(self.form.window.extent, Range) and self.form.window.slide is None
        return thresholds_of(self.plan, self.form.groups) if is_suffix and self.form.groups.keys else ()


def with_lookups(plans: Plans, starting: Starting) -> Plans:
    """Queries that are looked up, over synopses that run and cover them, or else over new ones that they share."""
    found: Plans = {}
    new: dict[str, _Query | JoinQuery] = {}
    for query in (query for query in starting.queries if query.is_looked_up):
        plan = plans[query.name]
        later = over_running(plan, query.start, starting.synopses)
        if later is None:
            new[query.name] = _query(plan)
        else:
            found[query.name] = later
    joins = {name: query for name, query in new.items() if isinstance(query, JoinQuery)}
    others = {name: query for name, query in new.items() if isinstance(query, _Query)}
    given = starting.statistics, starting.settings.synopsis_memory
    found |= zip(joins, over_join_synopses([*joins.values()], *given), strict=True)
    found |= zip(others, _over_synopses([*others.values()], *given), strict=True)
    return {name: found.get(name, plan) for name, plan in plans.items()}


def _over_synopses(queries: Sequence[_Query], statistics: Statistics, memory: float) -> list[Node]:
    sharing: dict[_SynopsisKey, list[_Query]] = {}
    for query in queries:
        sharing.setdefault(query.synopsis_key, []).append(query)
    synopses = {key: _synopsis(key, members, statistics, memory) for key, members in sharing.items()}
    return [_over(query, synopses[query.synopsis_key]) for query in queries]


def covered(plan: Node, synopses: Sequence[GroupSynopsis]) -> Node:
    """A query over the first synopsis of those that are kept that covers it; an error when none does."""
    query = _query(plan)
    if isinstance(query, JoinQuery):
        return covered_join(query, [one for one in synopses if isinstance(one, JoinSynopsis)])
    of_same = [one for one in synopses if isinstance(one, WindowSynopsis) and _is_of(query, one)]
    if not of_same:
        hint = "create a query with these groups and aggregates, and REFRESH ON LOOKUP"
        raise WindrowError("nothing that is kept answers this query", hint)
    found = next((one for one in of_same if query.synopsis_key.fades or query.form.reach <= one.reach), None)
    if found is None:
        longest = max(of_same, key=lambda one: one.reach)
        kept = f"{longest.reach} rows" if longest.by_rows else format_duration(longest.reach)
        raise WindrowError(f"the window begins before what is kept, which is {kept}", "ask for a shorter one")
    return _over(query, found)


def over_running(plan: Node, start: int, synopses: Collection[GroupSynopsis]) -> Node | None:
    """A query that starts later than synopses, over the one of them that covers it with the fewest rows; or None.

    Older rows cannot be left out of what fades, of a slice that has begun before, and of pairs that have been merged.
    """
    query = _query(plan)
    if isinstance(query, JoinQuery) or query.synopsis_key.fades:
        return None
    of_same = (one for one in synopses if isinstance(one, WindowSynopsis) and _is_of(query, one))
    since = None if start == BEGINNING else start  # nothing has come before
    on_edges = (one for one in of_same if since is None or not one.slice or since % one.slice == 0)
    covering = [one for one in on_edges if query.form.reach <= one.reach]
    return _over(query, min(covering, key=lambda one: one.reach), since) if covering else None


def synopsis_below(plan: Node) -> GroupSynopsis:
    """The synopsis that a query is looked up in."""
    return next(node for node in plan.walk() if isinstance(node, GroupSynopsis))


def is_over_running(plan: Node, start: int, synopses: Collection[GroupSynopsis]) -> bool:
    """Whether a query is looked up in a synopsis that runs; one that is equal and starts with the query is another."""
    lookup = next(node for node in plan.walk() if isinstance(node, OnDemandLookup))
    is_later = isinstance(lookup, WindowLookup) and lookup.since is not None
    return lookup.input in synopses and (is_later or start == BEGINNING)


def _is_of(query: _Query, synopsis: WindowSynopsis) -> bool:
    """Whether it is of the rows, groups and aggregates of a query, and of its windows but for their length."""
    key = query.synopsis_key
    if not {*query.calls} <= {named.call for named in synopsis.aggregates}:
        return False
    fits = not synopsis.slice or all(edge % synopsis.slice == 0 for edge in edges_of(query.form.window))
    if not fits or key.by_rows != synopsis.by_rows or key.fades != (synopsis.reach == 0):
        return False
    has_keys = key.keys == tuple(column.expression for column in synopsis.keys)
    return has_keys and key.rows == without_exchanges(synopsis.input)


def _query(plan: Node) -> _Query | JoinQuery:
    form = form_of(plan)
    if isinstance(form, Refusal):
        raise WindrowError(form.why, form.hint)
    return _Query(plan, form) if isinstance(form, LookupForm) else JoinQuery(plan, form)


def edges_of(window: Window) -> tuple[int, ...]:
    """Windows begin and end at multiples of these; one that does not slide begins anywhere."""
    extent, slide = window.extent, window.slide
    if not isinstance(slide, int) or not isinstance(extent, Range | RangeAgo):
        return (1,)
    return (slide, extent.length) if isinstance(extent, Range) else (slide, extent.begin, extent.end)


def _synopsis(key: _SynopsisKey, members: Sequence[_Query], statistics: Statistics, memory: float) -> WindowSynopsis:
    calls = tuple(dict.fromkeys(call for query in members for call in query.calls))
    reach = 0 if key.fades else max(query.form.reach for query in members)
    slice = gcd(*(edge for query in members for edge in edges_of(query.form.window))) if key.sliced else 0
    load = _workload(members, statistics, memory / len(calls))
    choices = [choice_of(call, load) for call in calls]
    indexes = [_index(call, members, load) for call in calls]
    named = named_aggregates(calls)
    return WindowSynopsis(
        key.rows,
        members[0].form.groups.keys,
        named,
        tuple(choice.kind.value for choice in choices),
        tuple("; ".join(filter(None, (c.reason, index.reason))) for c, index in zip(choices, indexes, strict=True)),
        reach,
        key.by_rows,
        slice,
        tuple(one.name for one, index in zip(named, indexes, strict=True) if index.is_used),
    )


def _workload(members: Sequence[_Query], statistics: Statistics, memory: float) -> Workload:
    """As expected before anything has been measured; every query asks on its own."""
    rates, groups = Rates(statistics), members[0].form.groups
    rate, number = rates.of(groups.input).rate, max(1.0, rates.of(groups).rows if groups.keys else 1.0)
    widths = {query.form.window: max(1, _width(query.form, rate / number)) for query in members}
    are_suffixes = all(isinstance(window.extent, Range | Rows) and window.slide is None for window in widths)
    questions = ASKED * len(members)
    return Workload(
        rate, questions * number, tuple(widths.values()), are_suffixes=are_suffixes, groups=int(number), memory=memory
    )


def _width(form: LookupForm, rate: float) -> int:
    """How many positions of a group a window has."""
    if form.by_rows or isinstance(form.window.extent, Unbounded):
        return form.reach if form.by_rows else 1
    if isinstance(form.window.slide, int):
        return form.reach // gcd(*edges_of(form.window))
    return int(rate * form.reach / SECOND)


def choice_of(call: AggregateCall, load: Workload) -> Choice[SynopsisKind]:
    """How an aggregate is kept, of the ways that answer any window."""
    among = synopses_of(call)
    if len(among) == 1:
        return Choice(among[0], 0.0, 0.0, _ONLY[among[0]])
    return chosen(traits_of(call), load, among)


_ONLY = {
    SynopsisKind.INTERVAL: "interval: what merges, and cannot be subtracted",
    SynopsisKind.QUANTILE: "quantile: any fraction over any window",
    SynopsisKind.HISTOGRAM: "exponential histogram: buckets that double in size, within the error that is stated",
    SynopsisKind.FADED: "faded: one value a group, which halves with every half-life",
}


class _Index(NamedTuple):
    is_used: bool
    reason: str


def _index(call: AggregateCall, members: Sequence[_Query], load: Workload) -> _Index:
    """Whether a collective index finds the groups that pass the thresholds that are asked of an aggregate."""
    asking = sum(1 for query in members if _threshold(query, {call}) is not None)
    if not asking:
        return _Index(False, "")
    is_used, compared = is_indexed(load.updates, ASKED * asking, float(load.groups), ASKED * asking)
    having = f"{asking} threshold{'s' if asking > 1 else ''} in HAVING"
    found = "a collective index finds the groups" if is_used else "every group is looked at"
    negative = "; until a value is negative" if is_used and AGGREGATES[call.function].index is IndexForm.WEIGHTS else ""
    return _Index(is_used, f"{having}: {found} ({compared}{negative})")


def _threshold(query: _Query, calls: Collection[AggregateCall]) -> Threshold | None:
    """The bound of a query on one of these aggregates."""
    own = {named.name: named.call for named in query.form.groups.aggregates}
    return next((one for one in query.thresholds if own[one.aggregate] in calls), None)


def _over(query: _Query, synopsis: WindowSynopsis, since: int | None = None) -> Node:
    """The query with its groups looked up; conditions on the keys of whole groups are checked afterwards."""
    form = query.form
    groups = form.groups
    threshold = _threshold(query, {named.call for named in synopsis.aggregates if named.name in synopsis.indexed})
    found: Node = WindowLookup(synopsis, groups.keys, groups.aggregates, form.window, threshold, since)
    if form.later:
        names = {key.expression.name: key.name for key in groups.keys if isinstance(key.expression, ColumnReference)}
        condition = conjunction([rename_columns(part, names) for part in form.later])
        assert condition is not None
        found = Filter(found, condition)
    return bottom_up(query.plan, lambda node: found if node == groups else None)
