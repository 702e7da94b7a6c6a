"""Binding constants: numbers by how they are written, and texts beside times as times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date
from decimal import Decimal

from sqlglot import exp

from windrow.cql.syntax import span_of
from windrow.errors import CqlTypeError, Span
from windrow.plan.expressions import Expression, Literal
from windrow.types import BIGINT, DATE, DOUBLE, INT, INTERVAL, STRING, TIMESTAMP, decimal
from windrow.units import parse_duration, parse_timestamp


def read_number(node: exp.Literal) -> Literal:
    """INT or BIGINT without a point, an exact decimal with one, DOUBLE with an exponent."""
    text = str(node.this)
    if "e" in text.lower():
        return _double(text, node)
    if "." in text:
        value = Decimal(text)
        digits, exponent = value.as_tuple().digits, value.as_tuple().exponent
        scale = -int(exponent)
        if max(len(digits), scale) > 38:
            return _double(text, node)
        return Literal(value, decimal(max(len(digits), scale, 1), scale))
    number = int(text) if len(text) < 20 else 2**63  # Python refuses to read thousands of digits
    if number >= 2**63:
        raise CqlTypeError("this does not fit into BIGINT", span_of(node), "write a point behind it for a decimal")
    return Literal(number, INT if number < 2**31 else BIGINT)


_EXAMPLES = {
    TIMESTAMP: "write it as '2026-01-31 12:00:00'",
    DATE: "write it as '2026-01-31'",
    INTERVAL: "write it as '10 minutes' or '1 hour 30 minutes'",
}


def _double(text: str, node: exp.Literal) -> Literal:
    if math.isinf(float(text)):
        raise CqlTypeError("this does not fit into DOUBLE", span_of(node), "the largest is about 1.8e308")
    return Literal(float(text), DOUBLE)


def read_as_time(argument: Expression, beside: Sequence[Expression], span: Span | None) -> Expression:
    """A string constant beside a time, a date or an interval is read as one."""
    if not isinstance(argument, Literal) or argument.type != STRING:
        return argument
    wanted = next((other.type for other in beside if other.type in (TIMESTAMP, DATE, INTERVAL)), None)
    if wanted is None:
        return argument
    text = str(argument.value)
    try:
        if wanted == INTERVAL:
            return Literal(parse_duration(text), INTERVAL)
        if wanted == DATE and len(text.strip()) <= 10:
            return Literal(date.fromisoformat(text.strip()).toordinal() - date(1970, 1, 1).toordinal(), DATE)
        return Literal(parse_timestamp(text), TIMESTAMP)
    except (ValueError, OverflowError):
        raise CqlTypeError(f"'{text}' cannot be read as {wanted}", span, _EXAMPLES[wanted]) from None
