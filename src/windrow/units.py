"""Units of time and change: everything counts in whole microseconds (ticks).

People write `10 MINUTES`, `10 min` or `1 hour 30 minutes`; the engine sees one integer.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from typing import NewType

Timestamp = NewType("Timestamp", int)  # microseconds since 1970-01-01 UTC
Duration = NewType("Duration", int)  # microseconds

NO_TIME = Duration(0)
FOREVER = Timestamp(2**63 - 1)  # the end of a lifetime whose end is not known
BEGINNING = Timestamp(-(2**62))  # before every timestamp that is taken
MAX_DURATION = Duration(2**62)  # a timestamp plus a duration still fits in 64 bits

MICROSECOND = 1
MILLISECOND = 1_000
SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
WEEK = 7 * DAY

# The first spelling of each is the one that is printed.
UNIT_SPELLINGS: dict[int, tuple[str, ...]] = {
    MICROSECOND: ("MICROSECOND", "MICROSECONDS", "MICROS", "USEC", "USECS", "US"),
    MILLISECOND: ("MILLISECOND", "MILLISECONDS", "MILLIS", "MSEC", "MSECS", "MS"),
    SECOND: ("SECOND", "SECONDS", "SEC", "SECS", "S"),
    MINUTE: ("MINUTE", "MINUTES", "MIN", "MINS", "M"),
    HOUR: ("HOUR", "HOURS", "HR", "HRS", "H"),
    DAY: ("DAY", "DAYS", "D"),
    WEEK: ("WEEK", "WEEKS", "W"),
}
UNITS: dict[str, int] = {word: unit for unit, words in UNIT_SPELLINGS.items() for word in words}
CALENDAR_UNITS = frozenset({"MONTH", "MONTHS", "MON", "QUARTER", "QUARTERS", "YEAR", "YEARS", "Y"})

_MOST_DIGITS = 40
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?")
_PART = re.compile(r"\s*([+-]?[0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]+)\s*,?")
_FRACTION = re.compile(r"\.(\d{1,6})(?!\d)")
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


_SIZES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_SIZE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,3})?)\s*([A-Za-z]+)")


def parse_size(text: str) -> int:
    """`64 MB` as bytes; ValueError says what is wrong."""
    part = _SIZE.fullmatch(text.strip())
    if part is None or part[2].upper() not in _SIZES:
        raise ValueError(f"{text.strip()!r} is not a size; write it such as '64 MB'")
    return int(float(part[1]) * _SIZES[part[2].upper()])


def format_size(number: float) -> str:
    """`64 MB`, in three digits."""
    units = ["bytes", "kB", "MB", "GB", "TB"]
    while number >= 999.5 and len(units) > 1:
        number, units = number / 1000, units[1:]
    return f"{number:.3g} {units[0]}" if number < 999.5 else f"{number:.0f} {units[0]}"


class DurationError(ValueError):
    """A text that is no interval: what is wrong, and where one is known what to write instead."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message if hint is None else f"{message}; {hint}")
        self.message = message
        self.hint = hint


def parse_duration(text: str) -> Duration:
    """`1 hour 30 minutes` as microseconds; DurationError says what is wrong."""
    position, total = 0, 0
    while position < len(text.rstrip()):
        part = _PART.match(text, position)
        if part is None:
            raise DurationError(f"{text.strip()!r} is not an interval")
        total += duration_of(part[1], part[2])
        position = part.end()
    if position == 0:
        raise DurationError("an interval is missing")
    return checked_duration(total)


def duration_of(number: str, unit: str) -> Duration:
    """One part of an interval, `90` and `minutes`; DurationError says what is wrong."""
    if unit.upper() in CALENDAR_UNITS:
        raise DurationError(f"{unit.upper()} has no fixed length", "write it in DAYS")
    if unit.upper() not in UNITS:
        raise DurationError(f"{unit!r} is not a unit of time")
    if not _NUMBER.fullmatch(number):
        raise DurationError(f"{number} is not a number of {unit.upper()}", "write it with digits, such as 10 or 1.5")
    if len(number) > _MOST_DIGITS:
        raise DurationError(
            f"{number[:12]}... {unit.upper()} is too long", f"the longest is {MAX_DURATION // DAY} DAYS"
        )
    whole, _, fraction = number.partition(".")
    negative = whole.startswith("-")
    microseconds = abs(int(whole or "0")) * UNITS[unit.upper()]
    if fraction:
        numerator = int(fraction) * UNITS[unit.upper()]
        if numerator % 10 ** len(fraction):
            raise DurationError(f"{number} {unit} is finer than a microsecond", "write whole MICROSECONDS")
        microseconds += numerator // 10 ** len(fraction)
    return checked_duration(-microseconds if negative else microseconds)


def checked_duration(microseconds: int) -> Duration:
    if abs(microseconds) > MAX_DURATION:
        raise DurationError(
            f"an interval of {microseconds} microseconds is too long", f"the longest is {MAX_DURATION // DAY} DAYS"
        )
    return Duration(microseconds)


def format_duration(duration: int) -> str:
    """The longest whole units that say it exactly: `1 HOUR 30 MINUTES`."""
    if duration == 0:
        return "0 SECONDS"
    if duration < 0:
        return " ".join(f"-{part}" if part[0].isdigit() else part for part in format_duration(-duration).split(" "))
    parts, rest = [], duration
    for unit in sorted(UNIT_SPELLINGS, reverse=True):
        count, rest = divmod(rest, unit)
        if count and unit != WEEK:
            parts.append(f"{count} {UNIT_SPELLINGS[unit][0 if count == 1 else 1]}")
        elif count:
            rest += count * WEEK  # people count days, not weeks
    return " ".join(parts)


def parse_timestamp(text: str) -> Timestamp:
    """ISO 8601 with or without a zone (UTC when none is written), to the microsecond; ValueError or OverflowError."""
    # Python 3.10 reads fractions of three or six digits only, later versions any number of them.
    padded = _FRACTION.sub(lambda found: f".{found[1]:0<6}", text.strip().replace("Z", "+00:00"))
    moment = datetime.fromisoformat(padded)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    moment = moment.astimezone(timezone.utc)  # OverflowError when that is outside the calendar
    return Timestamp((moment - _EPOCH) // timedelta(microseconds=1))


Instant = int | str | datetime  # microseconds, a text as `parse_timestamp` takes it, or a moment; UTC without a zone


def timestamp_of(instant: Instant) -> Timestamp:
    """Any way in which people write an instant, as microseconds; ValueError or OverflowError."""
    if isinstance(instant, datetime):
        return parse_timestamp(instant.isoformat())
    return parse_timestamp(instant) if isinstance(instant, str) else Timestamp(instant)


def format_timestamp(timestamp: int) -> str:
    """`2026-01-31 12:00:00`, with a fraction only when there is one; outside the calendar, the number."""
    try:
        moment = _EPOCH + timedelta(microseconds=timestamp)
    except OverflowError:
        return str(timestamp)
    return moment.replace(tzinfo=None).isoformat(sep=" ")
