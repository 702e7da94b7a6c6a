"""Parameters: `:name` in a text stands for a value that is handed over beside it.

Values take the places of nodes in syntax trees, after the text has been read: none of them is ever read as text, so
whatever one contains, it is one constant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
    for kind, typed in _KINDS.items():
        if isinstance(value, kind) and (found := typed(value)) is not None:
            return found
    hint = "parameters are numbers, texts, bytes, times, dates, timedeltas, truth values and None"
    raise WindrowError(f"parameter {name} cannot be {type(value).__name__} {value!r:.40}", hint)


def _integer(value: int) -> tuple[int, Type] | None:
    if not -(2**63) <= value < 2**63:
        return None
    return value, INT if -(2**31) <= value < 2**31 else BIGINT


def _decimal(value: Decimal) -> tuple[Decimal, Type] | None:
    if not value.is_finite():
        return None
    digits, scale = len(value.as_tuple().digits), max(0, -int(value.as_tuple().exponent))
    return value, decimal(max(digits, scale, 1), scale)


def _moment(value: datetime) -> tuple[int, Type]:
    moment = value if value.tzinfo is not None else value.replace(tzinfo=timezone.utc)
    return (moment - _EPOCH) // _TICK, TIMESTAMP


# A datetime is a date too, so it is asked for before.
_KINDS: dict[type[Any], Callable[[Any], tuple[Any, Type] | None]] = {
    int: _integer,
    float: lambda value: (value, DOUBLE),
    Decimal: _decimal,
    datetime: _moment,
    date: lambda value: (value.toordinal() - _EPOCH.toordinal(), DATE),
    timedelta: lambda value: (value // _TICK, INTERVAL),
    bytes: lambda value: (value, BINARY),
}
