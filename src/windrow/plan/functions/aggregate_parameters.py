"""Constant arguments of aggregates: what they are called, and what they may be."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.plan.expressions import Expression, Literal
from windrow.plan.functions import SignatureError
from windrow.types import INTERVAL


@dataclass(frozen=True)
class Parameter:
    """A constant argument, such as the fraction of a quantile or an error bound."""

    name: str
    least: float
    most: float
    whole: bool = False
    is_time: bool = False


def check_parameter(parameter: Parameter, argument: Expression) -> None:
    if not isinstance(argument, Literal) or isinstance(argument.value, str | bool | None):
        raise SignatureError(f"the {parameter.name} should be a number written out")
    if parameter.is_time != (argument.type == INTERVAL):
        should = "a length of time, such as INTERVAL 10 MINUTES" if parameter.is_time else "a number written out"
        raise SignatureError(f"the {parameter.name} should be {should}")
    number = argument.value
    whole = isinstance(number, int)
    if isinstance(number, bytes) or (parameter.whole and not whole):
        raise SignatureError(f"the {parameter.name} should be a whole number")
    if not parameter.least <= number <= parameter.most and parameter.is_time:
        raise SignatureError(f"the {parameter.name} should be longer than nothing")
    if not parameter.least <= number <= parameter.most:
        raise SignatureError(f"the {parameter.name} should be from {parameter.least:g} to {parameter.most:g}")
