"""What kernels read off the call of an aggregate."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from windrow.plan.expressions import AggregateCall, Expression, Literal
from windrow.types import DecimalType, is_integer


def is_exact(call: AggregateCall) -> bool:
    """Whether it adds up integers or decimals, and not floating-point numbers."""
    of = call.arguments[0].type
    return is_integer(of) or isinstance(of, DecimalType)


def constant(argument: Expression) -> Any:
    """The value of a constant argument."""
    assert isinstance(argument, Literal), argument
    return argument.value


def fraction_of(call: AggregateCall) -> Fraction:
    """Of a quantile."""
    return Fraction(str(constant(call.arguments[1])))
