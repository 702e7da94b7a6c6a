"""The options of generators: what each may be, and what is said when it is something else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

from windrow.errors import WindrowError, all_names, close_names, did_you_mean
from windrow.units import MINUTE, SECOND, Duration, Timestamp, parse_duration, parse_timestamp

Value: TypeAlias = bool | int | float | Decimal | str | bytes | None  # a constant of CQL

FASTEST = 100_000_000
SLOWEST = 0.001
MOST_DISORDER = 10 * MINUTE  # an INTERVAL of CQL comes as microseconds: as seconds it is too long, and refused
YEAR_1 = parse_timestamp("0001-01-01")
YEAR_9999 = parse_timestamp("9999-01-01")


@dataclass(frozen=True)
class Option:
    """`read` turns a constant into what the generator takes; its ValueError says only that it cannot."""

    name: str
    default: Value
    allowed: str
    read: Callable[[Value], Any]


def read_options(generator: str, options: Sequence[Option], given: Mapping[str, Value]) -> dict[str, Any]:
    """The value of every option, given or not."""
    known = {option.name: option for option in options}
    for name in given:
        if name not in known:
            raise WindrowError(f"generator {generator} has no option {name}", known_names(name, known, "options"))
    values = {name: _value(generator, option, given.get(name, option.default)) for name, option in known.items()}
    if values["rows"] is not None and values["start"] + values["rows"] / values["rate"] * SECOND > YEAR_9999:
        hint = "fewer rows, a higher rate or an earlier start"
        raise WindrowError(f"generator {generator}: the last row would be after the year 9998", hint)
    return values


def known_names(name: str, known: Iterable[str], what: str) -> str:
    """A hint for an unknown name: the nearest ones, and all."""
    known = list(known)
    close = close_names(name, known)
    every = all_names(known, what)
    return f"{did_you_mean(close)} {every}" if close else every


def _value(generator: str, option: Option, value: Value) -> Any:
    try:
        return option.read(value)
    except (ValueError, ArithmeticError):
        shown = "NULL" if value is None else repr(value) if isinstance(value, str) else str(value)
        raise WindrowError(
            f"generator {generator} cannot have {option.name} => {shown}", f"{option.name} is {option.allowed}"
        ) from None


def _number(value: Value) -> int | float | Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise ValueError
    return value


def _whole(value: Value, least: int, most: int) -> int:
    number = _number(value)
    if number != int(number) or not least <= number <= most:
        raise ValueError
    return int(number)


def _rate(value: Value) -> float:
    number = float(_number(value))
    if not SLOWEST <= number <= FASTEST:
        raise ValueError
    return number


def _rows(value: Value) -> int | None:
    return None if value is None else _whole(value, 0, 2**53)


def _start(value: Value) -> Timestamp:
    timestamp = parse_timestamp(value) if isinstance(value, str) else Timestamp(_whole(value, YEAR_1, YEAR_9999))
    if timestamp > YEAR_9999:
        raise ValueError
    return timestamp


def _disorder(value: Value) -> Duration:
    duration = parse_duration(value) if isinstance(value, str) else round(_number(value) * SECOND)
    if not 0 <= duration <= MOST_DISORDER:
        raise ValueError
    return Duration(duration)


def whole_number(name: str, default: int, least: int, most: int) -> Option:
    return Option(name, default, f"a whole number from {least} to {most}", lambda value: _whole(value, least, most))


def rate(default: float) -> Option:
    return Option("rate", default, f"rows a second of stream time, from {SLOWEST} to {FASTEST}", _rate)


ROWS = Option("rows", None, "how many rows there are in all, or NULL for a stream without end", _rows)
SEED = Option("seed", 0, "a whole number; another seed gives other rows", lambda value: _whole(value, -(2**63), 2**64))
START = Option("start", "2026-01-01 00:00:00", "a time such as '2026-01-31 12:00:00'", _start)
DISORDER = Option("disorder", 0, "seconds, or a text such as '2 SECONDS'; 10 minutes at most", _disorder)
COMMON = (ROWS, SEED, START, DISORDER)
