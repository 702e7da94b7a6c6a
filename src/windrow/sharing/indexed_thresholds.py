"""HAVING over many queries: periodic queries with one-sided bounds share a synopsis with a collective index.

A query that asks at each refresh which groups pass a threshold looks at every group, whoever else asks. When enough
queries ask the same aggregate of the same groups, with windows and bounds of their own, an index that finds the groups
costs less than all of them looking (Arasu and Widom, section 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd
from typing import NamedTuple

from windrow.plan.analysis.lookups import LookupForm, groups_of, lookup_form, thresholds_of
from windrow.plan.analysis.rates import Rates, Statistics
from windrow.plan.expressions import AggregateCall, Expression, NamedAggregate
from windrow.plan.nodes import Node
from windrow.plan.rewrite import bottom_up
from windrow.plan.running_nodes import PeriodicLookup, PeriodicQuestion, PeriodicSynopsis, Threshold
from windrow.plan.strategy import Strategy
from windrow.plan.synopsis_kinds import SynopsisKind
from windrow.plan.windows import Range
from windrow.sharing.lookups import choice_of, edges_of
from windrow.sharing.starting import Plans, Starting
from windrow.sharing.synopsis_choice import Workload, is_indexed
from windrow.units import SECOND


class _IndexKey(NamedTuple):
    """Questions about the same aggregate of the same groups share an index."""

    rows: Node
    keys: tuple[Expression, ...]
    call: AggregateCall


@dataclass(frozen=True)
class _Query:
    name: str
    form: LookupForm
    threshold: Threshold

    @property
    def call(self) -> AggregateCall:
        return next(one.call for one in self.form.groups.aggregates if one.name == self.threshold.aggregate)

    @property
    def index_key(self) -> _IndexKey:
        return _IndexKey(self.form.rows, tuple(key.expression for key in self.form.groups.keys), self.call)

    @property
    def slide(self) -> int:
        assert isinstance(self.form.window.slide, int)
        return self.form.window.slide


def with_indexed_thresholds(plans: Plans, starting: Starting) -> Plans:
    """Those that an index is worth it for share one; NT takes back rows, which an index does not."""
    if starting.strategy is Strategy.NT:
        return plans
    sharing: dict[_IndexKey, list[_Query]] = {}
    for name, plan in plans.items():
        query = _threshold_query(name, plan)
        if query is not None:
            sharing.setdefault(query.index_key, []).append(query)
    found = dict(plans)
    for key, members in sharing.items():
        synopsis = _synopsis(key, members, starting.statistics)
        if synopsis is not None:
            for query in members:
                found[query.name] = _over(plans[query.name], query, synopsis)
    return found


def _threshold_query(name: str, plan: Node) -> _Query | None:
    """Groups of a window that slides in time, of which HAVING takes those above or below a bound."""
    groups = groups_of(plan)
    form = None if groups is None or not groups.keys else lookup_form(plan)
    if not isinstance(form, LookupForm) or not isinstance(form.window.slide, int):
        return None
    thresholds = thresholds_of(plan, form.groups)
    if not isinstance(form.window.extent, Range) or not thresholds:
        return None
    return _Query(name, form, thresholds[0])


def _synopsis(key: _IndexKey, members: Sequence[_Query], statistics: Statistics) -> PeriodicSynopsis | None:
    groups = members[0].form.groups
    calls = tuple(dict.fromkeys(named.call for query in members for named in query.form.groups.aggregates))
    rates = Rates(statistics)
    rate, number = rates.of(groups.input).rate, max(1.0, rates.of(groups).rows)
    questions = sum(SECOND / query.slide for query in members)
    windows = {query.form.window: query for query in members}.values()  # queries with the same one share its groups
    is_used, compared = is_indexed(rate, questions, number, sum(SECOND / query.slide for query in windows))
    if not is_used:
        return None
    named = tuple(NamedAggregate(f"aggregate{place}", call) for place, call in enumerate(calls))
    names = {one.call: one.name for one in named}
    widths = [max(1, int(rate / number * query.form.reach / SECOND)) for query in windows]
    load = Workload(rate, questions * number, tuple(widths), groups=int(number))
    choices = [choice_of(call, load) for call in calls]
    why = f"{len(members)} thresholds in HAVING: a collective index finds the groups ({compared})"
    reasons = tuple(
        f"{choice.reason}; {why}" if call == key.call else choice.reason
        for call, choice in zip(calls, choices, strict=True)
    )
    every_value = any(choice.kind is SynopsisKind.QUANTILE for choice in choices)
    slice = 0 if every_value else gcd(*(edge for query in members for edge in edges_of(query.form.window)))
    return PeriodicSynopsis(
        key.rows,
        groups.keys,
        named,
        tuple(choice.kind.value for choice in choices),
        reasons,
        max(query.form.reach for query in members),
        slice=slice,
        indexed=(names[key.call],),
        questions=tuple(dict.fromkeys(_question(query, names) for query in members)),
    )


def _question(query: _Query, names: dict[AggregateCall, str]) -> PeriodicQuestion:
    asked = tuple(names[named.call] for named in query.form.groups.aggregates)
    return PeriodicQuestion(query.form.window, asked, replace(query.threshold, aggregate=names[query.call]))


def _over(plan: Node, query: _Query, synopsis: PeriodicSynopsis) -> Node:
    groups, names = query.form.groups, {named.call: named.name for named in synopsis.aggregates}
    found = PeriodicLookup(synopsis, groups.keys, groups.aggregates, _question(query, names))
    return bottom_up(plan, lambda node: found if node == groups else None)
