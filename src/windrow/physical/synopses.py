"""From aggregate calls to the synopses that keep them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from windrow.aggregates.user.user_functions import UserFunctions
from windrow.batch.dictionary import Dictionary
from windrow.operators.synopses.maintain_join import JoinSynopsisColumn
from windrow.operators.synopses.maintain_synopsis import SynopsisColumn
from windrow.plan import running_nodes
from windrow.plan.analysis.join_synopses import JoinSynopsisKind
from windrow.plan.analysis.synopses import INDEX_LEVELS, SynopsisKind
from windrow.plan.approximation import error_of
from windrow.plan.expressions import AggregateCall, Literal
from windrow.synopses import (
    BasicInterval,
    Interval,
    IntervalStates,
    JoinSynopsis,
    JoinSynopsisForm,
    NestedLandmarks,
    Quantile,
    Running,
    RunningStates,
    Synopsis,
    TwoStacks,
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
from windrow.synopses.positions.quantile import Median
from windrow.synopses.sketches.group_sketches import DecayedSketch, GroupSketch, HistogramSketch
from windrow.types import BINARY, STRING, DecimalType, is_integer

_OF_WORDS: dict[SynopsisKind, Callable[[WordAggregate], Synopsis]] = {
    SynopsisKind.RUNNING: Running,
    SynopsisKind.INTERVAL: Interval,
    SynopsisKind.BASIC_INTERVAL: BasicInterval,
    SynopsisKind.LANDMARKS: NestedLandmarks,
    SynopsisKind.TWO_STACKS: TwoStacks,
}


_OF_PAIRS = {
    JoinSynopsisKind.BASIC: JoinSynopsisForm.BASIC,
    JoinSynopsisKind.INTERVAL: JoinSynopsisForm.INTERVAL,
    JoinSynopsisKind.RUNNING: JoinSynopsisForm.RUNNING,
}


def kept_column(
    call: AggregateCall, arguments: tuple[int, ...], kind: str, indexed: bool, dictionary: Dictionary
) -> SynopsisColumn:
    """An aggregate in a synopsis of a kind; `arguments` are the ordinals of its columns."""
    index = (lambda: _index(call)) if indexed else None
    if SynopsisKind(kind) in (SynopsisKind.HISTOGRAM, SynopsisKind.FADED):
        return SynopsisColumn(arguments, sketch=lambda: _sketch(call), index=index)
    return SynopsisColumn(arguments, synopsis=lambda: kept_in(call, SynopsisKind(kind), dictionary), index=index)


def kept_in(call: AggregateCall, kind: SynopsisKind, dictionary: Dictionary) -> Synopsis:
    """What keeps an aggregate by the positions of its elements."""
    if call.user is not None:
        user = call.user
        functions = UserFunctions(
            user.name, user.functions, user.vectorized, user.result, dictionary, user.failures.report
        )
        return RunningStates(functions) if kind is SynopsisKind.RUNNING else IntervalStates(functions)
    if kind is SynopsisKind.QUANTILE:
        of = call.arguments[0].type
        return Median(of) if call.function == "MEDIAN" else Quantile(of, Fraction(str(_constant(call))))
    return _OF_WORDS[kind](_aggregate(call, dictionary))


def join_column(
    call: AggregateCall, arguments: tuple[int, ...], kind: str, plan: running_nodes.JoinSynopsis, dictionary: Dictionary
) -> JoinSynopsisColumn:
    """An aggregate over pairs in a join synopsis of a kind."""
    shape = join_kind(kind), plan.slice, plan.slices, plan.difference
    return JoinSynopsisColumn(arguments, lambda: JoinSynopsis(_aggregate(call, dictionary), *shape))


def join_kind(kind: str) -> JoinSynopsisForm:
    return _OF_PAIRS[JoinSynopsisKind(kind)]


def _aggregate(call: AggregateCall, dictionary: Dictionary) -> WordAggregate:
    if call.function == "COUNT":
        return count()
    of = call.arguments[0].type
    if call.function in ("MIN", "MAX"):
        extremum = minimum if call.function == "MIN" else maximum
        return extremum(call.type, dictionary if call.type in (STRING, BINARY) else None)
    is_exact = is_integer(of) or isinstance(of, DecimalType)
    if call.function == "SUM":
        return sum_of_integers(call.type) if is_exact else sum_of_doubles()
    if isinstance(of, DecimalType) and isinstance(call.type, DecimalType):
        return average_of_decimals(of, call.type)
    return average_of_integers() if is_exact else average_of_doubles()


def _sketch(call: AggregateCall) -> GroupSketch:
    if call.function in ("APPROX_COUNT", "APPROX_SUM"):
        return HistogramSketch(float(error_of(call)), call.type, call.function == "APPROX_SUM")
    return DecayedSketch(_constant(call), call.function.removeprefix("DECAYED_"))


def _index(call: AggregateCall) -> ThresholdIndex:
    if call.function in ("MIN", "MAX"):
        return ExtremeIndex(call.function == "MAX")
    return WeightIndex(INDEX_LEVELS, call.function == "SUM")


def _constant(call: AggregateCall) -> Any:
    constant = call.arguments[-1]
    assert isinstance(constant, Literal), call
    return constant.value
