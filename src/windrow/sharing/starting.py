"""What preparing plans is given: the queries that start together, what runs already, settings and statistics."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from windrow.catalog import Connector
from windrow.plan.analysis.keys import chosen_key
from windrow.plan.analysis.rates import Statistics
from windrow.plan.coverage import Coverage
from windrow.plan.nodes import Node
from windrow.plan.running_nodes import GroupSynopsis
from windrow.plan.strategy import Strategy
from windrow.units import BEGINNING


@dataclass(frozen=True)
class StartingQuery:
    """A query that starts: what came before `start` is not in its windows, whoever else keeps it."""

    name: str  # lower case
    # As it was written. Steps so far change the optimized plan alone; one that compares queries wants this one, since
    # each is optimized by itself and what two have in common may be pruned or moved in one of them.
    bound: Node
    optimized: Node
    start: int
    strategy: Strategy
    is_optimized: bool = True
    is_looked_up: bool = False
    upsert_key: tuple[str, ...] | None = None  # on shards, results that are equal in these columns meet


class Settings(NamedTuple):
    """Those of SET that hold for all queries, and whether they run on shards."""

    synopsis_memory: float = math.inf  # bytes of one synopsis
    is_sharded: bool = False


class RunningQueryPlan(NamedTuple):
    """A plan that runs, how, and since when; `own` is the start of operators that only those of the same share."""

    plan: Node
    strategy: Strategy
    start: int = BEGINNING
    own: int = BEGINNING


@dataclass(frozen=True)
class Starting:
    """Queries that start at the same time in the same way, beside plans and synopses that run."""

    queries: tuple[StartingQuery, ...]
    settings: Settings
    statistics: Statistics
    synopses: tuple[GroupSynopsis, ...] = ()  # what has rows from long ago first
    running: tuple[Node, ...] = ()  # plans of queries under the same strategy; they stay as they are

    @property
    def strategy(self) -> Strategy:
        return self.queries[0].strategy

    @property
    def is_optimized(self) -> bool:
        return self.queries[0].is_optimized


Plans: TypeAlias = dict[str, Node]  # by the names of the queries
Step: TypeAlias = Callable[[Plans, Starting], Plans]


class PreparedQuery(NamedTuple):
    """A query as it runs, or will from its start on; `plans` are its own and those of others that it may share with."""

    plans: Mapping[str, Node]
    optimized: Node
    strategy: Strategy
    coverage: Coverage | None = None  # of one that has been taken up


def upsert_key(sink: Connector | None, plan: Node) -> tuple[str, ...] | None:
    """The columns by which a sink replaces rows; None for one that does not."""
    if sink is None or sink.option("mode") != "upsert":
        return None
    return chosen_key(plan, sink.option("key"))
