"""From optimized plans to plans that run: what queries share, and in which form groups and results are computed.

EXPLAIN, the engine in this process, the one on shards and the command line all ask `prepare`, so that what is shown is
what runs. Queries share with those that start together in the same way (SET strategy, SET optimizer), and with what
runs already: plans that run stay as they are, and a new one is written in terms of their parts where that serves it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from windrow.plan.analysis.rates import Statistics
from windrow.plan.nodes import Node
from windrow.plan.running_nodes import GroupSynopsis
from windrow.plan.strategy import Strategy
from windrow.sharing.exchanges import distributed, distributed_lookup
from windrow.sharing.followed_parts import with_followed_parts
from windrow.sharing.indexed_selections import with_indexed_selections
from windrow.sharing.indexed_thresholds import with_indexed_thresholds
from windrow.sharing.lookups import is_over_running, with_lookups
from windrow.sharing.restored import with_restored
from windrow.sharing.row_times import with_row_times
from windrow.sharing.shared_joins import with_shared_joins
from windrow.sharing.shared_slices import with_shared_slices
from windrow.sharing.slices import with_slices, with_summaries
from windrow.sharing.starting import Plans, RunningQueryPlan, Settings, Starting, StartingQuery, Step

# All that is good for queries which start together.
PREPARATION: tuple[Step, ...] = (
    with_row_times,  # first: what comes later recognises aggregates by their arguments
    with_restored,  # before slices: those of refreshes do not show what happens between them
    with_lookups,
    with_indexed_thresholds,  # before slices: it takes whole groups of a window away from them
    with_slices,
    with_shared_slices,  # of the slices that there are by now
    with_shared_joins,
    with_followed_parts,  # parts are whatever the plan has become
    with_indexed_selections,  # last: nothing above looks for selections any more
)

# Without these a plan has no meaning: they run even when the optimizer is set off.
REQUIRED: tuple[Step, ...] = (with_row_times, with_restored, with_lookups, with_summaries, with_followed_parts)


def prepare(
    queries: Iterable[StartingQuery],
    settings: Settings,
    statistics: Statistics,
    synopses: Sequence[GroupSynopsis] = (),
    running: Iterable[RunningQueryPlan] = (),
) -> Plans:
    """The plans of queries that start, as they will run; `synopses` and others run already, the oldest first."""
    beside: dict[Strategy, list[Node]] = {}
    for one in running:
        beside.setdefault(one.strategy, []).append(one.plan)
    simultaneous: dict[tuple[int, Strategy, bool], list[StartingQuery]] = {}
    for query in queries:
        simultaneous.setdefault((query.start, query.strategy, query.is_optimized), []).append(query)
    plans: Plans = {}
    for members in simultaneous.values():
        plans_beside = tuple(beside.get(members[0].strategy, ()))
        starting = Starting(tuple(members), settings, statistics, tuple(synopses), plans_beside)
        steps = PREPARATION if starting.is_optimized else REQUIRED
        found = {query.name: query.optimized for query in members}
        for step in (*steps, with_exchanges) if settings.is_sharded else steps:
            found = step(found, starting)
        plans |= found
    return plans


def with_exchanges(plans: Plans, starting: Starting) -> Plans:
    """Plans that are spread over shards; a synopsis that runs is where it is."""
    placed = {}
    for query in starting.queries:
        plan = plans[query.name]
        if not query.is_looked_up:
            placed[query.name] = distributed(plan, query.strategy, query.upsert_key)
        elif is_over_running(plan, query.start, starting.synopses):
            placed[query.name] = plan
        else:
            placed[query.name] = distributed_lookup(plan, query.strategy)
    return placed
