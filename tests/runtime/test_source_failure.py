"""Pauses between the tries of a source that cannot be reached."""

from __future__ import annotations

import pytest

from windrow.runtime.source_failure import SourceFailures
from windrow.units import SECOND


def test_pauses_grow_up_to_a_minute_and_end_when_it_works() -> None:
    failures, now, pauses = SourceFailures(), 0, []
    for _ in range(9):
        failure = failures.failed("Trades", "there is no folder", now)
        pauses.append((failure.next_try - now) // SECOND)
        assert not failures.is_due("trades", failure.next_try - 1) and failures.is_due("trades", failure.next_try)
        now = failure.next_try
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert failures.all()["trades"].since == 0 and failures.all()["trades"].tries == 9
    assert failures.is_due("trades", -5), "a clock that was set back makes nobody wait"
    failures.works("TRADES")
    assert failures.of("trades") is None and failures.is_due("trades", now)
    assert failures.failed("trades", "again", now).since == now


def test_a_source_that_fails_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    failures = SourceFailures()
    for now in range(3):
        failures.failed("s", "it is gone", now)
    failures.works("S")
    failures.works("S")
    failures.failed("s", "it is gone", 9)
    failures.forget("S")
    assert [record.getMessage() for record in caplog.records] == [
        "stream s cannot be read, and is tried again: it is gone",
        "stream S can be read again",
        "stream s cannot be read, and is tried again: it is gone",
    ]
