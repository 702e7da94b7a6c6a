"""Synopses: small summaries of streams from which aggregates over windows of any length are answered."""

from windrow.synopses.aggregates import (
    KeptAggregate,
    average_of_decimals,
    average_of_doubles,
    average_of_integers,
    count,
    maximum,
    minimum,
    sum_of_doubles,
    sum_of_integers,
)
from windrow.synopses.basic_interval import BasicInterval
from windrow.synopses.collective import Collective, CollectiveIndex
from windrow.synopses.collective_extremes import CollectiveExtremes
from windrow.synopses.daba import Daba
from windrow.synopses.decayed import Decayed
from windrow.synopses.elements import Elements, Spans
from windrow.synopses.exponential_histogram import ExponentialHistogram
from windrow.synopses.interval import Interval
from windrow.synopses.join import JoinKind, JoinSynopsis
from windrow.synopses.kept import Kept
from windrow.synopses.landmark import Landmark
from windrow.synopses.materialized import Materialized
from windrow.synopses.nested_landmarks import NestedLandmarks
from windrow.synopses.quantile import Quantile
from windrow.synopses.running import Running
from windrow.synopses.search_tree import SearchTree
from windrow.synopses.shared import SharedSynopsis
from windrow.synopses.two_stacks import TwoStacks
from windrow.synopses.user_states import IntervalStates, RunningStates

__all__ = [
    "BasicInterval",
    "Collective",
    "CollectiveExtremes",
    "CollectiveIndex",
    "Daba",
    "Decayed",
    "Elements",
    "ExponentialHistogram",
    "Interval",
    "IntervalStates",
    "JoinKind",
    "JoinSynopsis",
    "Kept",
    "KeptAggregate",
    "Landmark",
    "Materialized",
    "NestedLandmarks",
    "Quantile",
    "Running",
    "RunningStates",
    "SearchTree",
    "SharedSynopsis",
    "Spans",
    "TwoStacks",
    "average_of_decimals",
    "average_of_doubles",
    "average_of_integers",
    "count",
    "maximum",
    "minimum",
    "sum_of_doubles",
    "sum_of_integers",
]
