"""Killed anywhere, an engine that reads its sources itself has every row once: of files, pushes and generators."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from support.interrupted import Killed, Killer, deadly
from support.shard_runs import SourcesInProcess
from windrow.runtime.shards.storage.shard_state import STATES
from windrow.units import SECOND

STAGES = 6
MADE = 900  # rows of a generator
STATEMENTS = (
    "CREATE STREAM f (ts TIMESTAMP, k INT) FROM csv('FOLDER', max_files => 2) TIMESTAMP BY ts SLACK 1 HOUR",
    "CREATE STREAM p (ts TIMESTAMP, k INT) TIMESTAMP BY ts SLACK 1 HOUR",
    "CREATE STREAM g (ts TIMESTAMP, src STRING, dst STRING, protocol STRING, bytes BIGINT, duration INTERVAL)"
    f" FROM generator('traffic', rate => 100, rows => {MADE}) TIMESTAMP BY ts",
    "CREATE QUERY files AS SELECT k FROM f",
    "CREATE QUERY pushes AS SELECT k FROM p",
    "CREATE QUERY made AS SELECT COUNT(*) AS n FROM g",
)


def lived(place: Path) -> Counter[str]:
    """From wherever the checkpoint is to the end; what came out."""
    folder = place / "rows"
    engine = SourcesInProcess(2, checkpoint=str(place / "checkpoint"))
    driver = engine.driver
    for statement in STATEMENTS[driver.statements.last :]:
        engine.sql(statement.replace("FOLDER", str(folder)))
    pushed = driver.readers.pushed("p")
    assert pushed is not None
    for stage in range(STAGES):
        for number in range(3):  # they appear at once, as writers that care have it
            hidden, name = folder / f".{stage}-{number}", folder / f"{stage}-{number}.csv"
            if not name.exists():
                hidden.write_text(f"ts,k\n2026-01-01 00:00:{stage:02},{3 * stage + number}\n")
                hidden.replace(name)
        while pushed.count <= 2 * stage + 1 and not driver.batches.knows_end("p"):
            engine.push("p", [{"ts": stage * SECOND, "k": pushed.count}])
        engine.step()
    engine.end("f")
    engine.end("p")
    engine.run()
    assert engine.has_ended
    streams = engine.status()["streams"]
    found = Counter({f"rows of {name}": status["rows"] for name, status in streams.items()})
    for query in ("files", "pushes"):
        found += Counter(f"{query} {row['k']}" for row in engine[query].changes().to_pylist() if row["_sign"] > 0)
    engine.close()  # its lease beats no more: the folder may go
    return found


def killed_until_done(kills: list[int]) -> tuple[Counter[str], list[str]]:
    with TemporaryDirectory(prefix="windrow-") as place:
        (Path(place) / "rows").mkdir()
        killer = Killer(kills)
        while True:
            try:
                with deadly(killer):
                    return lived(Path(place)), killer.kills
            except Killed:
                STATES.clear()  # the workers die with the driver


@given(st.lists(st.integers(0, 60), min_size=2, max_size=8))
def test_every_row_is_read_once(kills: list[int]) -> None:
    found, happened = killed_until_done(kills)
    expected = Counter({"rows of f": 3 * STAGES, "rows of p": 2 * STAGES, "rows of g": MADE})
    expected += Counter(f"files {number}" for number in range(3 * STAGES))
    expected += Counter(f"pushes {number}" for number in range(2 * STAGES))
    assert happened
    assert found == expected, happened
