"""Synopses: small summaries of streams from which aggregates over windows of any length are answered."""

from windrow.synopses.collective.collective import Collective
from windrow.synopses.collective.collective_extremes import CollectiveExtremes
from windrow.synopses.collective.collective_index import CollectiveIndex
from windrow.synopses.join import JoinSynopsisForm, PairSynopsis
from windrow.synopses.positions.basic_interval import BasicInterval
from windrow.synopses.positions.elements import Elements, Spans
from windrow.synopses.positions.interval import Interval
from windrow.synopses.positions.nested_landmarks import NestedLandmarks
from windrow.synopses.positions.quantile import QuantileSynopsis
from windrow.synopses.positions.running import Running
from windrow.synopses.positions.shared import SharedSynopsis
from windrow.synopses.positions.synopsis import Synopsis
from windrow.synopses.positions.two_stacks import TwoStacks
from windrow.synopses.positions.user_states import IntervalStates, RunningStates
from windrow.synopses.positions.word_aggregates import (
    WordAggregate,
    average_of_decimals,
    average_of_doubles,
    average_of_integers,
    count,
    maximum,
    minimum,
    sum_of_doubles,
    sum_of_integers,
)
from windrow.synopses.sketches.decayed import Decayed
from windrow.synopses.sketches.exponential_histogram import ExponentialHistogram

__all__ = [
    "BasicInterval",
    "Collective",
    "CollectiveExtremes",
    "CollectiveIndex",
    "Decayed",
    "Elements",
    "ExponentialHistogram",
    "Interval",
    "IntervalStates",
    "JoinSynopsisForm",
    "NestedLandmarks",
    "PairSynopsis",
    "QuantileSynopsis",
    "Running",
    "RunningStates",
    "SharedSynopsis",
    "Spans",
    "Synopsis",
    "TwoStacks",
    "WordAggregate",
    "average_of_decimals",
    "average_of_doubles",
    "average_of_integers",
    "count",
    "maximum",
    "minimum",
    "sum_of_doubles",
    "sum_of_integers",
]
