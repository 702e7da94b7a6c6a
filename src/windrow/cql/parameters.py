"""Parameters: `:name` in a text stands for a value that is handed over beside it.

Values take the places of nodes in syntax trees, after the text has been read: none of them is ever read as text, so
whatever one contains, it is one constant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from sqlglot import exp

from windrow.cql.syntax import TypedLiteral, span_of
from windrow.errors import CqlNameError, WindrowError, nearest
from windrow.types import BIGINT, BINARY, DATE, DOUBLE, INT, INTERVAL, TIMESTAMP, Type, decimal

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_TICK = timedelta(microseconds=1)


def put_in(trees: Sequence[exp.Expr], parameters: Mapping[str, Any]) -> None:
    """Put values in the places of their names; every name has a value, and every value a place."""
    used = set()
    for tree in trees:
        for place in list(tree.find_all(exp.Placeholder)):
            name = str(place.this)
            if name not in parameters:
                hint = nearest(name, parameters, "parameters") if parameters else f"write sql(text, {name}=value)"
                raise CqlNameError(f"there is no value for :{name}", span_of(place), hint)
            node = _constant(name, parameters[name])
            node.meta.update(place.meta)
            place.replace(node)
            used.add(name)
    unused = [name for name in parameters if name not in used]
    if unused:
        raise WindrowError(f"there is no :{unused[0]} in the statements", "write it where the value is to stand")


def _constant(name: str, value: object) -> exp.Expr:
    if value is None:
        return exp.Null()
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, str):
        return exp.Literal.string(value)
    this, of = _typed(name, value)
    return TypedLiteral(this=this, type=of)


def _typed(name: str, value: object) -> tuple[Any, Type]:
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return value, INT if -(2**31) <= value < 2**31 else BIGINT
    if isinstance(value, float):
        return value, DOUBLE
    if isinstance(value, Decimal) and value.is_finite():
        digits, scale = len(value.as_tuple().digits), max(0, -int(value.as_tuple().exponent))
        return value, decimal(max(digits, scale, 1), scale)
    if isinstance(value, datetime):
        moment = value if value.tzinfo is not None else value.replace(tzinfo=timezone.utc)
        return (moment - _EPOCH) // _TICK, TIMESTAMP
    if isinstance(value, date):
        return value.toordinal() - _EPOCH.toordinal(), DATE
    if isinstance(value, timedelta):
        return value // _TICK, INTERVAL
    if isinstance(value, bytes):
        return value, BINARY
    hint = "parameters are numbers, texts, bytes, times, dates, timedeltas, truth values and None"
    raise WindrowError(f"parameter {name} cannot be {type(value).__name__} {value!r:.40}", hint)
