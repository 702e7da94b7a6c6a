"""Creating and dropping a query beside ten and beside 10,000 that run."""

from __future__ import annotations

from time import process_time

import windrow
from benchmarks.many_queries import DECLARATION, asked, stream_rows
from benchmarks.runner import Report, measuring
from windrow.runtime.local import LocalEngine

TURNS = 50
SEVERAL = 100  # rows before each measurement
WHAT = ("create", "drop")


def run(quick: bool) -> Report:
    counts = (10, 1_000) if quick else (10, 10_000)
    engine = windrow.connect(local=True)
    engine.sql(DECLARATION)
    results: list[dict[str, object]] = []
    texts = [one.text for one in asked(counts[-1] + TURNS)]
    running = 0
    for count in counts:
        for number in range(running, count):
            engine.query(texts[number], name=f"q{number}")
        running = count
        engine.push("s", stream_rows(SEVERAL))
        engine.step()
        measuring(f"creating and dropping beside {count:,}")
        _created_and_dropped(engine, texts[-TURNS:])  # what is done once is done
        create, drop = _created_and_dropped(engine, texts[-TURNS:])
        results.append({"running": count, "create_ms": create * 1e3, "drop_ms": drop * 1e3})
    engine.close()
    name = f"{counts[-1]}_over_{counts[0]}"
    milliseconds = {(one["running"], what): float(str(one[f"{what}_ms"])) for one in results for what in WHAT}
    ratios = {f"{what}_{name}": milliseconds[counts[-1], what] / milliseconds[counts[0], what] for what in WHAT}
    return Report("register", {"turns": TURNS, "quick": quick}, results, ratios)


def _created_and_dropped(engine: LocalEngine, texts: list[str]) -> tuple[float, float]:
    """Seconds of processor for one."""
    began = process_time()
    for number, text in enumerate(texts):
        engine.query(text, name=f"turn{number}")
    created = process_time()
    for number in range(len(texts)):
        engine.sql(f"DROP QUERY turn{number}")
    return (created - began) / len(texts), (process_time() - created) / len(texts)
