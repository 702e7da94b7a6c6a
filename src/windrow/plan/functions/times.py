"""Functions of dates, times and intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from windrow.plan.functions.signature import Function, function, gives, moment, require
from windrow.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    INTERVAL,
    NULL,
    STRING,
    TIMESTAMP,
    Type,
    is_integer,
    is_numeric,
)

_FIELDS = ("QUARTER", "DAYOFYEAR", "WEEKDAY", "WEEKOFYEAR")


def _of_moment(result: Type, *rest: Type) -> Callable[[Sequence[Type]], Type]:
    """A time or a date, then arguments of fixed types."""

    def rule(arguments: Sequence[Type]) -> Type:
        moment(arguments)
        gives(result, *rest)(arguments[1:])
        return result

    return rule


def _two_moments(result: Type) -> Callable[[Sequence[Type]], Type]:
    def rule(arguments: Sequence[Type]) -> Type:
        moment(arguments)
        moment(arguments, 1)
        require(len(arguments) < 3 or arguments[2] in (BOOLEAN, NULL), "the third argument should be TRUE or FALSE")
        return result

    return rule


def _epoch(arguments: Sequence[Type]) -> Type:
    """Of a text with a format, or of a time."""
    if arguments[0] == STRING:
        return gives(BIGINT, STRING)(arguments)
    moment(arguments)
    return BIGINT


def _numbers(result: Type) -> Callable[[Sequence[Type]], Type]:
    def rule(arguments: Sequence[Type]) -> Type:
        for position, given in enumerate(arguments, 1):
            fits = is_numeric(given) or (position == 7 and given in (STRING, NULL))
            require(fits, f"argument {position} is {given}, it should be a number")
        return result

    return rule


def _bucket(arguments: Sequence[Type]) -> Type:
    require(arguments[0] in (INTERVAL, NULL), f"argument 1 is {arguments[0]}, it should be INTERVAL")
    moment(arguments, 1)
    return TIMESTAMP


def _unit_and_moments(result: Type) -> Callable[[Sequence[Type]], Type]:
    def rule(arguments: Sequence[Type]) -> Type:
        require(arguments[0] == STRING, "the unit should be a word such as 'HOUR'")
        if is_integer(arguments[1]):
            return _of_moment(result)(arguments[2:])
        moment(arguments, 1)
        moment(arguments, 2)
        return result

    return rule


TIMES: tuple[Function, ...] = (
    *(function(f"{name}(time)", 1, 1, _of_moment(INT)) for name in _FIELDS),
    function("DATE_FORMAT(time, format)", 2, 2, _of_moment(STRING, STRING)),
    function("PARSE_TIMESTAMP(text, format)", 2, 2, gives(TIMESTAMP, STRING)),
    function("DATE_ADD(date, days)", 2, 2, _of_moment(DATE, INT)),
    function("ADD_MONTHS(date, months)", 2, 2, _of_moment(DATE, INT)),
    function("MONTHS_BETWEEN(one, other [, rounded])", 2, 3, _two_moments(DOUBLE)),
    function("DATEDIFF(end, start)", 2, 2, _two_moments(INT)),
    function("TIMESTAMPADD(unit, count, time)", 3, 3, _unit_and_moments(TIMESTAMP)),
    function("TIMESTAMPDIFF(unit, start, end)", 3, 3, _unit_and_moments(BIGINT)),
    function("LAST_DAY(date)", 1, 1, _of_moment(DATE)),
    function("NEXT_DAY(date, weekday)", 2, 2, _of_moment(DATE, STRING)),
    function("TRUNC(date, unit)", 2, 2, _of_moment(DATE, STRING)),
    function("DAYNAME(date)", 1, 1, _of_moment(STRING)),
    function("MONTHNAME(date)", 1, 1, _of_moment(STRING)),
    function("MAKE_DATE(year, month, day)", 3, 3, _numbers(DATE)),
    function("MAKE_TIMESTAMP(year, month, day, hour, minute, second)", 6, 6, _numbers(TIMESTAMP)),
    function("MAKE_DT_INTERVAL(days [, hours [, minutes [, seconds]]])", 1, 4, _numbers(INTERVAL)),
    function("UNIX_DATE(date)", 1, 1, _of_moment(INT)),
    function("DATE_FROM_UNIX_DATE(days)", 1, 1, gives(DATE, INT)),
    function("UNIX_SECONDS(time)", 1, 1, _of_moment(BIGINT)),
    function("UNIX_MILLIS(time)", 1, 1, _of_moment(BIGINT)),
    function("TIMESTAMP_SECONDS(seconds)", 1, 1, _numbers(TIMESTAMP)),
    function("TIMESTAMP_MILLIS(milliseconds)", 1, 1, gives(TIMESTAMP, BIGINT)),
    function("EPOCH(time)", 1, 1, _of_moment(DOUBLE)),
    function("UNIX_TIMESTAMP(time [, format])", 1, 2, _epoch),
    function("FROM_UTC_TIMESTAMP(time, zone)", 2, 2, _of_moment(TIMESTAMP, STRING)),
    function("TO_UTC_TIMESTAMP(time, zone)", 2, 2, _of_moment(TIMESTAMP, STRING)),
    function("TIME_BUCKET(width, time)", 2, 2, _bucket),
)
