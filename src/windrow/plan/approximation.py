"""Errors that users state, and the sizes that follow from them."""

from __future__ import annotations

import math
from fractions import Fraction

from windrow.plan.aggregate_class import Approximation
from windrow.plan.aggregates import approximation_of
from windrow.plan.expressions import AggregateCall, Literal

_DEVIATION = 1.04  # of the estimate from registers, times the square root of their number (Flajolet et al. 2007)
_DEVIATIONS = 2  # an error is stated for 95 of 100 answers
_LEAST, _MOST = 4, 18  # binary logarithms of the number of registers


def error_of(call: AggregateCall) -> Fraction:
    """The error that is stated in a call: its last argument."""
    stated = call.arguments[-1]
    assert isinstance(stated, Literal), call
    return Fraction(str(stated.value))


def registers_of(call: AggregateCall) -> int | None:
    """The binary logarithm of how many registers count distinct values within the error; None: count exactly."""
    if approximation_of(call) is not Approximation.DISTINCT:
        return None
    needed = math.ceil(2 * math.log2(_DEVIATIONS * _DEVIATION / float(error_of(call))))
    return None if needed > _MOST else max(_LEAST, needed)
