"""Spark SQL's casts and texts of values, as plain Python functions of one value: what does not fit is null."""

from __future__ import annotations

import math
import re
from datetime import date, datetime, timedelta, timezone
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.plan.expressions import Literal
from windrow.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGERS,
    INTERVAL,
    STRING,
    TIMESTAMP,
    DecimalType,
    Type,
)
from windrow.units import parse_duration

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def python_value(literal: Literal) -> Any:
    value = literal.value
    if value is None:
        return None
    if literal.type == TIMESTAMP:
        return EPOCH + timedelta(microseconds=value)
    if literal.type == INTERVAL:
        return timedelta(microseconds=value)
    if literal.type == DATE:
        return EPOCH.date() + timedelta(days=value)
    return float(value) if literal.type in (DOUBLE, FLOAT) else value


def as_type(value: Any, source: Type, of: Type) -> Any:
    """Casts, after Spark SQL's try_cast."""
    if value is None or source == of:
        return value
    if source == FLOAT and (of == STRING or isinstance(of, DecimalType)):
        value = shortest(value, source)
    if of == STRING:
        return text_of(value)
    if isinstance(value, str):
        return from_text(value.strip(), of)
    if of == BOOLEAN:
        return value != 0
    if of == TIMESTAMP:
        return datetime(value.year, value.month, value.day, tzinfo=timezone.utc)
    if of == DATE:
        return value.date()
    if of in (DOUBLE, FLOAT):
        return single(float(value)) if of == FLOAT else float(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(of, DecimalType):
        return fit(
            Decimal(repr(value))
            if isinstance(value, float)
            else Decimal(int(value) if isinstance(value, bool) else value),
            of,
        )
    whole = int(value)
    return whole if within(whole, of) else None


def shortest(value: float, of: Type) -> float:
    """The double that the shortest text of a FLOAT names."""
    return float(str(np.float32(value))) if of == FLOAT else value


def single(value: float) -> float:
    try:
        return float(pa.array([value], pa.float64()).cast(pa.float32(), safe=False)[0].as_py())
    except OverflowError:
        return math.copysign(math.inf, value)


def text_of(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return double_text(value)
    if isinstance(value, datetime):
        text = value.replace(tzinfo=None).isoformat(sep=" ")
        return text.rstrip("0") if "." in text else text
    if isinstance(value, timedelta):
        sign, rest = ("-" if micros(value) < 0 else ""), abs(micros(value))
        days, rest = divmod(rest, 86_400_000_000)
        seconds, fraction = divmod(rest, 1_000_000)
        clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        return f"INTERVAL '{sign}{days} {clock}{f'.{fraction:06}'.rstrip('0') if fraction else ''}' DAY TO SECOND"
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def double_text(value: float) -> str:
    """Java's: a point always, an exponent outside 0.001 to 10,000,000."""
    if not math.isfinite(value):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits)).rstrip("0")
    if not text:
        return "-0.0" if sign else "0.0"
    point = len(digits) + exponent  # the value is 0.text * 10 ** point
    if -3 < point <= 7:
        padded = text.ljust(point, "0") if point > 0 else text
        body = f"{padded[:point]}.{padded[point:] or '0'}" if point > 0 else f"0.{'0' * -point}{text}"
    else:
        body = f"{text[0]}.{text[1:] or '0'}E{point - 1}"
    return f"-{body}" if sign else body


def from_text(text: str, of: Type) -> Any:
    if of in INTEGERS:
        whole = int(text) if re.fullmatch(r"[+-]?[0-9]+", text) else None
        return whole if whole is not None and within(whole, of) else None
    if of == BOOLEAN:
        known = {
            **dict.fromkeys(("t", "true", "y", "yes", "1"), True),
            **dict.fromkeys(("f", "false", "n", "no", "0"), False),
        }
        return known.get(text.lower())
    if isinstance(of, DecimalType):
        return (
            fit(Decimal(text), of) if re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text) else None
        )
    if of in (DOUBLE, FLOAT):
        if re.fullmatch(r"[+-]?(inf|infinity)|nan", text, re.IGNORECASE):
            return float(text)
        number = float(text) if re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text) else None
        return number if number is None or of == DOUBLE else single(number)
    if of == INTERVAL:
        try:
            return timedelta(microseconds=parse_duration(text))
        except (ValueError, OverflowError):
            return None
    try:
        moment = datetime.fromisoformat(text) if re.match(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text) else None
    except ValueError:
        return None
    if moment is None:
        return None
    moment = moment.replace(tzinfo=timezone.utc) if moment.tzinfo is None else moment.astimezone(timezone.utc)
    return moment if of == TIMESTAMP else moment.date()


def fit(value: Decimal, of: DecimalType) -> Decimal | None:
    """Rounded half up to the scale; null when it has too many digits."""
    with localcontext() as context:
        context.prec = 400
        value = value or Decimal(0)
        if value.adjusted() > 100:
            return None
        rounded = value.quantize(Decimal(1).scaleb(-of.scale), ROUND_HALF_UP)
    return rounded if abs(rounded) < Decimal(10) ** (of.precision - of.scale) else None


def within(value: int, of: Type) -> bool:
    bits = {"TINYINT": 7, "SMALLINT": 15, "INT": 31, "BIGINT": 63}[of.name]
    return -(2**bits) <= value < 2**bits


def micros(value: Any) -> int:
    if isinstance(value, datetime):
        return (value - EPOCH) // timedelta(microseconds=1)
    if isinstance(value, timedelta):
        return value // timedelta(microseconds=1)
    assert isinstance(value, date)
    return (value - EPOCH.date()).days * 86_400_000_000
