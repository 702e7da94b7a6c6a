"""What Python shows of engines and queries, and how people name them and their instants."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

import windrow
from windrow.errors import WindrowError

STATEMENTS = """
    CREATE STREAM s (ts TIMESTAMP, k INT) TIMESTAMP BY ts;
    CREATE QUERY Counted AS SELECT k, COUNT(*) AS n FROM s [RANGE 1 MINUTE] GROUP BY k
"""


@pytest.fixture
def engine() -> windrow.Engine:
    made = windrow.connect(local=True)
    made.sql(STATEMENTS)
    return made


def test_an_engine_is_a_collection_of_queries(engine: windrow.Engine) -> None:
    assert "counted" in engine
    assert "Counted" in engine
    assert "other" not in engine
    assert 1 not in engine
    assert list(engine) == ["Counted"]


def test_what_is_shown_is_short(engine: windrow.Engine) -> None:
    assert repr(engine) == "engine in this process: streams s; queries Counted"
    assert repr(engine["counted"]) == "query Counted (k INT, n BIGINT), no rows yet"
    engine.push("s", [{"ts": "2026-01-01 12:00:07", "k": 1}])
    engine.step()
    assert repr(engine["counted"]).endswith("final before 2026-01-01 12:00:07")
    engine.end("s")
    engine.step()
    assert repr(engine["counted"]).endswith("ended")


def test_statements_show_what_they_gave(engine: windrow.Engine) -> None:
    assert repr(engine.sql("CREATE STREAM t (ts TIMESTAMP) TIMESTAMP BY ts")) == "[created stream t]"


@pytest.mark.parametrize(
    "at",
    [
        "2026-01-01 12:00:30",
        "2026-01-01T13:00:30+01:00",
        datetime(2026, 1, 1, 12, 0, 30),
        datetime(2026, 1, 1, 7, 0, 30, tzinfo=timezone(timedelta(hours=-5))),
        1_767_268_830_000_000,
    ],
)
def test_instants_are_written_as_people_have_them(engine: windrow.Engine, at: str | datetime | int) -> None:
    engine.push("s", [{"ts": "2026-01-01 12:00:00", "k": 1}])
    engine.end("s")
    engine.step()
    assert engine["counted"].answer(at).to_pylist() == [{"k": 1, "n": 1}]
    assert engine["counted"].answer("2026-01-01 12:01:00").num_rows == 0


def test_what_is_no_time_is_said(engine: windrow.Engine) -> None:
    with pytest.raises(WindrowError, match="'noon' is not a time") as raised:
        engine["counted"].answer("noon")
    assert "datetime" in str(raised.value)


def test_the_version_is_known() -> None:
    assert windrow.__version__
