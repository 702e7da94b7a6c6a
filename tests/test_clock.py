"""Time is asked in one place."""

from __future__ import annotations

import re
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "windrow"
ASKS = re.compile(r"time\.(time|monotonic|perf_counter)|datetime\.(now|utcnow|today)|perf_counter|from time import")


def test_only_the_clock_asks_what_time_it_is() -> None:
    asking = {file.relative_to(SOURCE).as_posix() for file in SOURCE.rglob("*.py") if ASKS.search(file.read_text())}
    assert asking == {"clock.py"}
