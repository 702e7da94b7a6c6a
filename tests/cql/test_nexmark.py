"""NEXMark's queries that cannot be written yet, each with the reason; the others are cases (tests/cases/nexmark.case).

One that can be written one day turns this red, and becomes a case.
"""

from __future__ import annotations

import re

import pytest

from support.expected import ROOT
from windrow.errors import WindrowError
from windrow.session import Session

BID = "CREATE STREAM bid (ts TIMESTAMP, auction BIGINT, bidder BIGINT, price BIGINT, url STRING) TIMESTAMP BY ts"
MISSING = {
    6: "SELECT AVG(price) OVER (PARTITION BY bidder ORDER BY ts ROWS 9 PRECEDING) AS p FROM bid",
    11: "SELECT bidder, COUNT(*) AS n FROM bid [PARTITION BY bidder SESSION 10 SECONDS] GROUP BY bidder",
    19: "SELECT auction, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS place FROM bid",
}
NO_SINK = {10: "CREATE QUERY q AS SELECT auction FROM bid INTO parquet('log', partition => 'auction')"}


@pytest.mark.parametrize("number", [*MISSING, *NO_SINK])
def test_not_written_yet(number: int) -> None:
    session = Session()
    session.execute(BID)
    with pytest.raises(WindrowError):
        session.execute({**MISSING, **NO_SINK}[number])


def test_all_others_are_cases() -> None:
    text = (ROOT / "tests" / "cases" / "nexmark.case").read_text(encoding="utf-8")
    written = {int(number) for number in re.findall(r"^==== q(\d+):", text, re.M)}

    assert written | {*MISSING, *NO_SINK} == set(range(23))
