"""Functions of dates and times: the calendar, formats, zones. Times are microseconds, dates are days."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.batch.arrays import Array, Int64s
from windrow.batch.column import Column
from windrow.batch.dictionary import Dictionary
from windrow.physical.expressions.arithmetic import Kernel
from windrow.physical.expressions.functions.plain_values import of_typed, of_values
from windrow.physical.expressions.functions.time_formats import formatted, parsed, zone_of
from windrow.physical.expressions.vectors import among, both_valid, vector
from windrow.types import DATE, STRING, TIMESTAMP, Type

DAY = 86_400_000_000
_EPOCH = date(1970, 1, 1).toordinal()
_WEEKDAYS = ("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY")
_UNITS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": DAY,
    "WEEK": 7 * DAY,
}
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}


def days(source: Column) -> Int64s:
    """Since 1970."""
    values = source.values.astype(np.int64)
    return values if source.type == DATE else values // DAY


def microseconds(source: Column) -> Int64s:
    return source.values.astype(np.int64) * (DAY if source.type == DATE else 1)


def _months(day: Int64s) -> tuple[Int64s, Int64s]:
    """Months since 1970, and the day in the month from 0."""
    months = day.astype("datetime64[D]").astype("datetime64[M]")
    return months.astype(np.int64), day - months.astype("datetime64[D]").astype(np.int64)


def _first_of(months: Int64s) -> Int64s:
    return months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)


def _after_months(day: Int64s, count: Int64s) -> Int64s:
    """The same day of another month, or its last."""
    months, place = _months(day)
    target = months + count
    length = _first_of(target + 1) - _first_of(target)
    return np.asarray(_first_of(target) + np.minimum(place, length - 1), np.int64)


def _of_days(compute: Callable[..., Array]) -> Kernel:
    """A function of days, and of whole numbers beside them."""

    def kernel(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
        rest = [argument.values.astype(np.int64) for argument in arguments[1:]]
        return vector(of, compute(days(arguments[0]), *rest), both_valid(*arguments))

    return kernel


def _day_of_year(day: Int64s) -> Int64s:
    years = day.astype("datetime64[D]").astype("datetime64[Y]")
    return day - years.astype("datetime64[D]").astype(np.int64) + 1


def _week(day: Int64s) -> Array:
    return np.asarray(pc.iso_week(pa.array(day.astype(np.int32)).view(pa.date32())), np.int64)


def _months_between(types: Sequence[Type], of: Type, one: int, other: int, rounded: bool = True) -> float:
    """Whole where both are the same day of the month or the last; else days of 31 to a month."""
    (first, one_time), (second, other_time) = (
        (divmod(value, DAY) if kind != DATE else (value, 0)) for value, kind in ((one, types[0]), (other, types[1]))
    )
    (a, a_place), (b, b_place) = (_month_of(day) for day in (first, second))
    if a_place == b_place or (_is_last(first) and _is_last(second)):
        return float(a - b)
    seconds = (a_place - b_place) * 86_400 + one_time // 1_000_000 - other_time // 1_000_000
    result = (a - b) + seconds / (31 * 86_400)
    return math.copysign(math.floor(abs(result) * 1e8 + 0.5) / 1e8, result) if rounded else result


def _month_of(day: int) -> tuple[int, int]:
    months, place = _months(np.array([day]))
    return int(months[0]), int(place[0])


def _is_last(day: int) -> bool:
    return _month_of(day + 1)[1] == 0


def _difference(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
    return vector(of, days(arguments[0]) - days(arguments[1]), both_valid(*arguments))


def _unit_of(unit: Column) -> str:
    texts = unit.dictionary.decode(pa.array(unit.values[:1]), pa.string()) if unit.dictionary is not None else [None]
    word = str(texts[0]).upper()
    return word[:-1] if word.endswith("S") and word[:-1] in {**_UNITS, **_MONTHS} else word


def _added(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
    unit, count, time = _unit_of(arguments[0]), arguments[1].values.astype(np.int64), microseconds(arguments[2])
    valid = both_valid(arguments[1], arguments[2])
    if unit in _UNITS:
        return vector(of, time + count * _UNITS[unit], valid)
    if unit not in _MONTHS:
        return vector(of, np.zeros(len(time), np.int64), np.zeros(len(time), np.bool_))
    day = time // DAY
    return vector(of, _after_months(day, count * _MONTHS[unit]) * DAY + (time - day * DAY), valid)


def _between(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
    """Whole units, towards zero."""
    unit, start, end = _unit_of(arguments[0]), microseconds(arguments[1]), microseconds(arguments[2])
    valid = both_valid(arguments[1], arguments[2])
    difference = end - start
    if unit in _UNITS:
        return vector(of, np.sign(difference) * (np.abs(difference) // _UNITS[unit]), valid)
    if unit not in _MONTHS:
        return vector(of, np.zeros(len(difference), np.int64), np.zeros(len(difference), np.bool_))
    months = _months(end // DAY)[0] - _months(start // DAY)[0]
    back = _after_months(start // DAY, months) * DAY + start % DAY
    months = months - ((months > 0) & (back > end)) + ((months < 0) & (back < end))
    whole = np.sign(months) * (np.abs(months) // _MONTHS[unit])
    return vector(of, whole, valid)


def _next_weekday(types: Sequence[Type], of: Type, day: int, name: str) -> int | None:
    day = day // DAY if types[0] == TIMESTAMP else day
    word = name.strip().upper()
    found = [place for place, known in enumerate(_WEEKDAYS) if word in (known, known[:3], known[:2])]
    return day + 1 + (found[0] - (day + 4)) % 7 if found else None


def _truncated_day(types: Sequence[Type], of: Type, day: int, unit: str) -> int | None:
    day = day // DAY if types[0] == TIMESTAMP else day
    word = unit.upper()
    months, place = _month_of(day)
    if word == "WEEK":
        return day - (day + 3) % 7
    if word in ("MONTH", "MON", "MM"):
        return day - place
    length = 3 if word == "QUARTER" else 12 if word in ("YEAR", "YYYY", "YY") else None
    return None if length is None else int(_first_of(np.array([months // length * length]))[0])


@lru_cache(100_000)
def _day_number(year: int, month: int, day: int) -> int | None:
    try:
        return date(year, month, day).toordinal() - _EPOCH
    except (ValueError, OverflowError):
        return None


def _made_timestamp(year: Any, month: Any, day: Any, hour: Any, minute: Any, second: Any) -> int | None:
    number = _day_number(int(year), int(month), int(day))
    micros = int(Decimal(str(second)) * 1_000_000)
    whole = 0 <= hour <= 23 and 0 <= minute <= 59 and 0 <= micros <= 60_000_000
    if number is None or not whole:
        return None
    return number * DAY + (int(hour) * 60 + int(minute)) * 60_000_000 + micros


def _made_interval(day: Any, hour: Any = 0, minute: Any = 0, second: Any = 0) -> int | None:
    micros = int(Decimal(str(second)) * 1_000_000)
    total = int(day) * DAY + int(hour) * 3_600_000_000 + int(minute) * 60_000_000 + micros
    return total if abs(total) < 2**63 else None


def _divided(by: int) -> Kernel:
    def kernel(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
        (source,) = arguments
        return vector(of, microseconds(source) // by, source.valid)

    return kernel


def _seconds_as_double(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
    (source,) = arguments
    return vector(of, microseconds(source) / 1_000_000, source.valid)


def _times_thousand(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
    (source,) = arguments
    fits = np.abs(source.values) < 2**63 // 1000
    return vector(of, np.where(fits, source.values, 0) * 1000, among(source.valid, fits))


def _from_seconds(seconds: Any) -> int | None:
    if isinstance(seconds, float) and not math.isfinite(seconds):
        return None
    micros = int(seconds * 1_000_000)
    return micros if abs(micros) < 2**63 else None


def _unix_time(types: Sequence[Type], of: Type, source: Any, pattern: str = "yyyy-MM-dd HH:mm:ss") -> int | None:
    if types[0] == STRING:
        found = parsed(source, pattern)
        return None if found is None else found // 1_000_000
    return int(source * (DAY if types[0] == DATE else 1) // 1_000_000)


def _moved(forward: bool) -> Callable[..., int | None]:
    """A time of UTC as the clock of a zone shows it, or back."""

    def compute(types: Sequence[Type], of: Type, time: int, zone: str) -> int | None:
        known = zone_of(zone)
        micros = time * DAY if types[0] == DATE else time
        if known is None:
            return None
        return known.local(micros) if forward else known.universal(micros)

    return compute


def _bucket(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
    """The beginning of the stretch of that width, counted from 1970, in which a time lies."""
    width, time = arguments[0].values, microseconds(arguments[1])
    usable = width > 0
    values = time // np.where(usable, width, 1) * width
    shape = np.broadcast_to(usable, values.shape)
    return vector(of, values, among(both_valid(*arguments), shape))


def _formatted(types: Sequence[Type], of: Type, time: int, pattern: str) -> str | None:
    return formatted(time * DAY if types[0] == DATE else time, pattern)


KERNELS: dict[str, Kernel] = {
    "QUARTER": _of_days(lambda day: _months(day)[0] % 12 // 3 + 1),
    "DAYOFYEAR": _of_days(_day_of_year),
    "WEEKDAY": _of_days(lambda day: (day + 3) % 7),
    "WEEKOFYEAR": _of_days(_week),
    "DATE_FORMAT": of_typed(_formatted),
    "PARSE_TIMESTAMP": of_values(parsed),
    "DATE_ADD": _of_days(lambda day, count: day + count),
    "ADD_MONTHS": _of_days(_after_months),
    "MONTHS_BETWEEN": of_typed(_months_between),
    "DATEDIFF": _difference,
    "TIMESTAMPADD": _added,
    "TIMESTAMPDIFF": _between,
    "LAST_DAY": _of_days(lambda day: _first_of(_months(day)[0] + 1) - 1),
    "NEXT_DAY": of_typed(_next_weekday),
    "TRUNC": of_typed(_truncated_day),
    "DAYNAME": of_typed(lambda types, of, day: _formatted(types, of, day, "EEE")),
    "MONTHNAME": of_typed(lambda types, of, day: _formatted(types, of, day, "MMM")),
    "MAKE_DATE": of_values(lambda year, month, day: _day_number(int(year), int(month), int(day))),
    "MAKE_TIMESTAMP": of_values(_made_timestamp),
    "MAKE_DT_INTERVAL": of_values(_made_interval),
    "UNIX_DATE": _of_days(lambda day: day),
    "DATE_FROM_UNIX_DATE": of_values(lambda day: day),
    "UNIX_SECONDS": _divided(1_000_000),
    "UNIX_MILLIS": _divided(1_000),
    "TIMESTAMP_SECONDS": of_values(_from_seconds),
    "TIMESTAMP_MILLIS": _times_thousand,
    "EPOCH": _seconds_as_double,
    "UNIX_TIMESTAMP": of_typed(_unix_time),
    "FROM_UTC_TIMESTAMP": of_typed(_moved(forward=True)),
    "TO_UTC_TIMESTAMP": of_typed(_moved(forward=False)),
    "TIME_BUCKET": _bucket,
}
