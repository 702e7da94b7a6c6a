"""Times as texts by a pattern of Java's letters (`yyyy-MM-dd HH:mm:ss.SSS`), and zones.

A pattern is compiled once: to pieces that are written, and to a regular expression that reads. Letters that are not
known give null, as a pattern that Spark SQL refuses.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from zoneinfo import ZoneInfo

_EPOCH = datetime(1970, 1, 1)
_MONTHS = "January February March April May June July August September October November December".split()
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_LETTERS = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|([^A-Za-z'])")

Piece = Callable[[datetime], str]


def _number(part: Callable[[datetime], int], width: int) -> Piece:
    return lambda moment: f"{part(moment):0{width}d}"


def _fraction(width: int) -> Piece:
    return lambda moment: f"{moment.microsecond:06d}".ljust(9, "0")[:width]


_PARTS: dict[str, Callable[[datetime], int]] = {
    "M": lambda moment: moment.month,
    "L": lambda moment: moment.month,
    "d": lambda moment: moment.day,
    "D": lambda moment: moment.timetuple().tm_yday,
    "H": lambda moment: moment.hour,
    "k": lambda moment: moment.hour or 24,
    "h": lambda moment: moment.hour % 12 or 12,
    "K": lambda moment: moment.hour % 12,
    "m": lambda moment: moment.minute,
    "s": lambda moment: moment.second,
    "Q": lambda moment: (moment.month + 2) // 3,
    "q": lambda moment: (moment.month + 2) // 3,
}
_LONGEST = {"M": 2, "L": 2, "d": 2, "D": 3, "H": 2, "k": 2, "h": 2, "K": 2, "m": 2, "s": 2, "Q": 2, "q": 2}


def _piece(letter: str, count: int) -> Piece | None:
    if letter in "yu":
        if count > 6:
            return None
        return (lambda moment: f"{moment.year % 100:02d}") if count == 2 else _number(lambda moment: moment.year, count)
    if letter in "ML" and count in (3, 4):
        return lambda moment: _MONTHS[moment.month - 1][: 3 if count == 3 else None]
    if letter == "E" and count <= 4:
        return lambda moment: _DAYS[moment.weekday()][: 3 if count < 4 else None]
    if letter == "a" and count == 1:
        return lambda moment: "AM" if moment.hour < 12 else "PM"
    if letter == "S" and count <= 9:
        return _fraction(count)
    if letter in "XxZzVO":
        return _offset(letter, count)
    return _number(_PARTS[letter], count) if letter in _PARTS and count <= _LONGEST[letter] else None


def _offset(letter: str, count: int) -> Piece | None:
    """Times are of UTC."""
    texts = {"X": "Z", "x": {1: "+00", 2: "+0000", 3: "+00:00"}.get(count, "+0000"), "z": "UTC", "V": "UTC", "O": "GMT"}
    text = "+0000" if letter == "Z" and count < 4 else "GMT" if letter == "Z" else texts[letter]
    return lambda moment: text


@lru_cache(1000)
def _pieces(pattern: str) -> list[Piece | str] | None:
    found: list[Piece | str] = []
    at = 0
    while at < len(pattern):
        match = _LETTERS.match(pattern, at)
        if match is None:
            return None
        at = match.end()
        if match[2] is None:
            found.append(match[3] or (match[1] or "").replace("''", "'") or "'")
            continue
        piece = _piece(match[2], len(match[0]))
        if piece is None:
            return None
        found.append(piece)
    return found


def formatted(time: int, pattern: str) -> str | None:
    pieces = _pieces(pattern)
    try:
        moment = _EPOCH + timedelta(microseconds=time)
    except OverflowError:
        return None
    if pieces is None:
        return None
    return "".join(piece if isinstance(piece, str) else piece(moment) for piece in pieces)


_READ = {
    "M": "month",
    "L": "month",
    "d": "day",
    "H": "hour",
    "h": "half",
    "K": "half",
    "k": "hour",
    "m": "minute",
    "s": "second",
    "D": "day_of_year",
}


@lru_cache(1000)
def _reader(pattern: str) -> re.Pattern[str] | None:
    """Every part once; a number as long as its letters, one letter for one digit or more."""
    if _pieces(pattern) is None:
        return None
    found, names = "", set()
    for match in _LETTERS.finditer(pattern):
        if match[2] is None:
            found += re.escape(match[3] or (match[1] or "").replace("''", "'") or "'")
            continue
        name, expression = _readable(match[2], len(match[0]))
        if not name or name in names:
            return None
        names.add(name)
        found += f"(?P<{name}>{expression})"
    return re.compile(found)


def _readable(letter: str, count: int) -> tuple[str, str]:
    digits = f"[0-9]{{{count}}}" if count > 1 else "[0-9]{1,2}"
    if letter in "yu":
        return ("short_year", "[0-9]{2}") if count == 2 else ("year", "[0-9]{4}")
    if letter in "ML" and count in (3, 4):
        return "name", "|".join(name[: 3 if count == 3 else None] for name in _MONTHS)
    if letter == "S":
        return "fraction", f"[0-9]{{{count}}}"
    if letter == "a":
        return "noon", "AM|PM"
    if letter in "Xx":
        return "offset", r"Z|[+-][0-9]{2}(?::?[0-9]{2})?" if letter == "X" else r"[+-][0-9]{2}(?::?[0-9]{2})?"
    return _READ.get(letter, ""), digits if letter != "D" else "[0-9]{1,3}"


def parsed(text: str, pattern: str) -> int | None:
    """The microseconds of a time that is written like the pattern; null when it is not, or there is no such time."""
    reader = _reader(pattern)
    match = None if reader is None else reader.fullmatch(text)
    if match is None:
        return None
    try:
        return _moment_of({name: value for name, value in match.groupdict().items() if value is not None})
    except (ValueError, OverflowError):
        return None


def _moment_of(parts: dict[str, str]) -> int:
    year = int(parts.get("year", 2000 + int(parts["short_year"]) if "short_year" in parts else 1970))
    month = int(parts.get("month", 1))
    if "name" in parts:
        month = next(place for place, name in enumerate(_MONTHS, 1) if name.startswith(parts["name"]))
    hour = int(parts.get("hour", 0)) % 24
    if "half" in parts:
        hour = int(parts["half"]) % 12 + 12 * (parts.get("noon") == "PM")
    micros = int(parts.get("fraction", "0").ljust(6, "0")[:6])
    minute, second = int(parts.get("minute", 0)), int(parts.get("second", 0))
    time = datetime(year, month, int(parts.get("day", 1)), hour, minute, second, micros)
    if "day_of_year" in parts:
        time = time.replace(month=1, day=1) + timedelta(days=int(parts["day_of_year"]) - 1)
    return (time - _EPOCH) // timedelta(microseconds=1) - _offset_of(parts.get("offset", "Z"))


def _offset_of(text: str) -> int:
    if text == "Z":
        return 0
    digits = text[1:].replace(":", "").ljust(4, "0")
    micros = (int(digits[:2]) * 60 + int(digits[2:])) * 60_000_000
    return -micros if text[0] == "-" else micros


class Zone:
    """A zone of the world, or a fixed distance from UTC."""

    def __init__(self, info: ZoneInfo | timezone) -> None:
        self._info = info

    def local(self, micros: int) -> int | None:
        """What the clock of the zone shows at a time of UTC."""
        return self._moved(micros, timezone.utc, self._info)

    def universal(self, micros: int) -> int | None:
        """The time of UTC at which the clock of the zone shows this; of two the earlier."""
        return self._moved(micros, self._info, timezone.utc)

    def _moved(self, micros: int, source: ZoneInfo | timezone, target: ZoneInfo | timezone) -> int | None:
        try:
            shown = (_EPOCH + timedelta(microseconds=micros)).replace(tzinfo=source).astimezone(target)
        except OverflowError:
            return None
        return (shown.replace(tzinfo=None) - _EPOCH) // timedelta(microseconds=1)


@lru_cache(1000)
def zone_of(name: str) -> Zone | None:
    """By its name (`Europe/Berlin`) or by its distance (`+02:00`); None when there is none."""
    fixed = re.fullmatch(r"(?:UTC|GMT)?([+-])([0-9]{1,2})(?::?([0-9]{2}))?", name)
    if fixed is not None:
        minutes = int(fixed[2]) * 60 + int(fixed[3] or 0)
        return Zone(timezone(timedelta(minutes=-minutes if fixed[1] == "-" else minutes)))
    try:
        return Zone(timezone.utc if name in ("Z", "UTC", "GMT") else ZoneInfo(name))
    except (KeyError, ValueError, OSError):
        return None
