"""What of an aggregate is in a synopsis: words that are merged, ranks, sketches, collective indexes."""

from __future__ import annotations

from windrow.batch.dictionary import Dictionary
from windrow.physical.aggregate_calls import constant, fraction_of, is_exact
from windrow.plan.approximation import error_of
from windrow.plan.expressions import AggregateCall
from windrow.plan.synopsis_kinds import INDEX_LEVELS
from windrow.synopses import (
    QuantileSynopsis,
    Synopsis,
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
from windrow.synopses.collective.thresholds import ExtremeIndex, ThresholdIndex, WeightIndex
from windrow.synopses.positions.quantile import MedianSynopsis
from windrow.synopses.sketches.group_sketches import DecayedKind, DecayedSketch, GroupSketch, HistogramSketch
from windrow.types import BINARY, STRING, DecimalType


def count_words(call: AggregateCall, dictionary: Dictionary) -> WordAggregate:
    return count()


def sum_words(call: AggregateCall, dictionary: Dictionary) -> WordAggregate:
    return sum_of_integers(call.type) if is_exact(call) else sum_of_doubles()


def average_words(call: AggregateCall, dictionary: Dictionary) -> WordAggregate:
    of = call.arguments[0].type
    if isinstance(of, DecimalType) and isinstance(call.type, DecimalType):
        return average_of_decimals(of, call.type)
    return average_of_integers() if is_exact(call) else average_of_doubles()


def minimum_words(call: AggregateCall, dictionary: Dictionary) -> WordAggregate:
    return minimum(call.type, dictionary if call.type in (STRING, BINARY) else None)


def maximum_words(call: AggregateCall, dictionary: Dictionary) -> WordAggregate:
    return maximum(call.type, dictionary if call.type in (STRING, BINARY) else None)


def ranked_median(call: AggregateCall) -> Synopsis:
    return MedianSynopsis(call.arguments[0].type)


def ranked_quantile(call: AggregateCall) -> Synopsis:
    return QuantileSynopsis(call.arguments[0].type, fraction_of(call))


def count_histogram(call: AggregateCall) -> GroupSketch:
    return HistogramSketch(float(error_of(call)), call.type, sums=False)


def sum_histogram(call: AggregateCall) -> GroupSketch:
    return HistogramSketch(float(error_of(call)), call.type, sums=True)


def decayed_sum(call: AggregateCall) -> GroupSketch:
    return DecayedSketch(constant(call.arguments[-1]), DecayedKind.SUM)


def decayed_count(call: AggregateCall) -> GroupSketch:
    return DecayedSketch(constant(call.arguments[-1]), DecayedKind.COUNT)


def decayed_average(call: AggregateCall) -> GroupSketch:
    return DecayedSketch(constant(call.arguments[-1]), DecayedKind.AVERAGE)


def row_index() -> ThresholdIndex:
    return WeightIndex(INDEX_LEVELS, sums=False)


def weight_index() -> ThresholdIndex:
    return WeightIndex(INDEX_LEVELS, sums=True)


def largest_index() -> ThresholdIndex:
    return ExtremeIndex(largest=True)


def smallest_index() -> ThresholdIndex:
    return ExtremeIndex(largest=False)
