"""Time and sizes as people write them, and back: intervals, timestamps, one integer of microseconds or bytes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.units import (
    CALENDAR_UNITS,
    DAY,
    HOUR,
    MAX_DURATION,
    MICROSECOND,
    MILLISECOND,
    MINUTE,
    SECOND,
    UNITS,
    WEEK,
    format_duration,
    format_size,
    format_timestamp,
    parse_duration,
    parse_size,
    parse_timestamp,
)

generated = settings(derandomize=True, deadline=None)
durations = st.integers(-MAX_DURATION, MAX_DURATION)
FIRST, LAST = parse_timestamp("0001-01-01"), parse_timestamp("9999-12-31 23:59:59.999999")


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [
        ("10 MINUTES", 10 * MINUTE),
        ("10 min", 10 * MINUTE),
        ("10min", 10 * MINUTE),
        ("10m", 10 * MINUTE),
        ("1 hour 30 minutes", 90 * MINUTE),
        ("1 hour, 30 minutes", 90 * MINUTE),
        ("1h30m", 90 * MINUTE),
        ("  2  days  ", 2 * DAY),
        ("1 week", WEEK),
        ("90 s", 90 * SECOND),
        ("250 ms", 250 * MILLISECOND),
        ("7 us", 7 * MICROSECOND),
        ("1.5 hours", 90 * MINUTE),
        ("0.000001 s", 1),
        ("0 seconds", 0),
        ("-5 minutes", -5 * MINUTE),
        ("+5 minutes", 5 * MINUTE),
        ("-0.5 s", -500 * MILLISECOND),
        ("1 hour -1 minute", 59 * MINUTE),
    ],
)
def test_intervals_as_people_write_them(text: str, microseconds: int) -> None:
    assert parse_duration(text) == microseconds


@pytest.mark.parametrize("spelling", [*UNITS, *(word.lower() for word in UNITS), "Minutes", "hOuRs"])
def test_every_spelling_of_a_unit(spelling: str) -> None:
    assert parse_duration(f"3 {spelling}") == 3 * UNITS[spelling.upper()]


def test_units_have_their_lengths() -> None:
    assert [UNITS[word] for word in ("US", "MS", "S", "MIN", "H", "D", "W")] == [
        1,
        1_000,
        1_000_000,
        60_000_000,
        3_600_000_000,
        86_400_000_000,
        604_800_000_000,
    ]


@pytest.mark.parametrize("unit", sorted(CALENDAR_UNITS))
def test_calendar_units_have_no_length(unit: str) -> None:
    with pytest.raises(ValueError, match=f"{unit} has no fixed length; write it in DAYS"):
        parse_duration(f"1 {unit.lower()}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "an interval is missing"),
        ("   ", "an interval is missing"),
        ("ten minutes", "'ten minutes' is not an interval"),
        ("10", "'10' is not an interval"),
        ("minutes 10", "'minutes 10' is not an interval"),
        ("10 fortnights", "'fortnights' is not a unit of time"),
        ("10 minutes and a bit", "'10 minutes and a bit' is not an interval"),
        ("1e3 s", "'1e3 s' is not an interval|'e' is not a unit of time"),
        ("0.5 us", "0.5 us is finer than a microsecond"),
        ("0.0000001 s", "finer than a microsecond"),
        ("99999999999 days", "too long"),
        ("-99999999999 days", "too long"),
        ("53375995 days 53375995 days", "too long"),
        (f"{'9' * 5000} days", "too long"),
        ("١٠ minutes", "is not an interval"),  # noqa: RUF001
    ],
)
def test_wrong_intervals_say_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_duration(text)


@pytest.mark.parametrize(
    ("microseconds", "text"),
    [
        (0, "0 SECONDS"),
        (1, "1 MICROSECOND"),
        (1_001, "1 MILLISECOND 1 MICROSECOND"),
        (SECOND, "1 SECOND"),
        (90 * SECOND, "1 MINUTE 30 SECONDS"),
        (90 * MINUTE, "1 HOUR 30 MINUTES"),
        (WEEK, "7 DAYS"),
        (10 * WEEK + HOUR, "70 DAYS 1 HOUR"),
        (-90 * MINUTE, "-1 HOUR -30 MINUTES"),
    ],
)
def test_intervals_are_printed_in_the_longest_units(microseconds: int, text: str) -> None:
    assert format_duration(microseconds) == text


@settings(generated, max_examples=300)
@given(durations)
def test_printed_intervals_are_read_as_the_same(microseconds: int) -> None:
    assert parse_duration(format_duration(microseconds)) == microseconds


@settings(generated, max_examples=300)
@given(st.lists(st.tuples(st.integers(0, 10_000), st.sampled_from(sorted(UNITS))), min_size=1, max_size=4))
def test_parts_add_up(parts: list[tuple[int, str]]) -> None:
    text = " ".join(f"{count} {unit}" for count, unit in parts)

    assert parse_duration(text) == sum(count * UNITS[unit] for count, unit in parts)


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [
        ("1970-01-01", 0),
        ("1970-01-01 00:00:00", 0),
        ("1970-01-01T00:00:01", SECOND),
        ("1970-01-01 00:00:00.000001", 1),
        ("1970-01-01T01:00:00Z", HOUR),
        ("1970-01-01 01:00:00+01:00", 0),
        ("1969-12-31 23:59:59", -SECOND),
        ("2026-01-31 12:00:00", 1_769_860_800 * SECOND),
        (" 2026-01-31 ", 1_769_817_600 * SECOND),
    ],
)
def test_timestamps(text: str, microseconds: int) -> None:
    assert parse_timestamp(text) == microseconds


@pytest.mark.parametrize("text", ["", "noon", "2026-02-30", "2026-01-31 25:00:00", "10000-01-01"])
def test_wrong_timestamps(text: str) -> None:
    with pytest.raises(ValueError):
        parse_timestamp(text)


@pytest.mark.parametrize("text", ["0001-01-01 00:00:00+01:00", "9999-12-31 23:59:59-01:00"])
def test_timestamps_outside_the_calendar(text: str) -> None:
    with pytest.raises(OverflowError):
        parse_timestamp(text)


@settings(generated, max_examples=300)
@given(st.integers(FIRST, LAST))
def test_printed_timestamps_are_read_as_the_same(microseconds: int) -> None:
    assert parse_timestamp(format_timestamp(microseconds)) == microseconds


def test_times_outside_the_calendar_are_printed_as_numbers() -> None:
    assert format_timestamp(FIRST - 1) == str(FIRST - 1)
    assert format_timestamp(LAST + 1) == str(LAST + 1)


@pytest.mark.parametrize(
    ("number", "text"),
    [(1, "1 bytes"), (999.6, "1 kB"), (64_000_000, "64 MB"), (999_999_999, "1 GB"), (2e12, "2 TB"), (5e15, "5000 TB")],
)
def test_sizes_are_shown_in_three_digits(number: float, text: str) -> None:
    assert format_size(number) == text


@pytest.mark.parametrize(("text", "number"), [("64 MB", 64_000_000), ("1.5kb", 1_500), ("7 B", 7)])
def test_sizes(text: str, number: int) -> None:
    assert parse_size(text) == number


@pytest.mark.parametrize("text", ["64", "MB", "64 apples", "-1 MB", ""])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match="write it such as '64 MB'"):
        parse_size(text)
