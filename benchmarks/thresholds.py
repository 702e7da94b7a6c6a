"""Thresholds over many groups: with the index that queries can share, looking at every group, and as planned."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import process_time
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import windrow
from benchmarks.figure import drawn, plotting
from benchmarks.runner import Report, measuring
from windrow.sharing import indexed_thresholds, lookups

SPAN = 3_600  # seconds that the rows are spread over
SLIDE = 10
SHORTEST, LONGEST = 60, 1_200  # seconds of windows
SELECTIVITY = 0.04
BATCHES = 20
BEST_OF = 2
WAYS = ("index", "every group", "planner")


@dataclass(frozen=True)
class Work:
    """Queries with so many different windows between them, refreshed every ten seconds or looked up after every batch.

    HAVING takes the groups whose SUM passes what one in twenty-five does.
    """

    name: str
    queries: int
    windows: int
    is_looked_up: bool
    groups: int
    rows: int

    def texts(self) -> Iterator[str]:
        lengths = np.linspace(SHORTEST, LONGEST, self.windows).astype(int) // SLIDE * SLIDE
        for number in range(self.queries):
            length = lengths[number % self.windows]
            # Values are 0 to 99; the popularity of groups is log-normal, of which the quantile is taken.
            usual = 50 * self.rows * length / SPAN / self.groups
            bound = int(usual * (3.0 + number / self.queries))
            slide, mode = ("", " REFRESH ON LOOKUP") if self.is_looked_up else (f" SLIDE {SLIDE} SECONDS", "")
            window = f"[RANGE {length} SECONDS{slide}]"
            yield f"SELECT k, SUM(v) AS total FROM s {window} GROUP BY k HAVING SUM(v) > {bound}{mode}"


def run(quick: bool) -> Report:
    groups, rows = (1_000, 60_000) if quick else (5_000, 200_000)
    works = (
        Work("own windows", 20 if quick else 100, 20 if quick else 100, False, groups, rows),
        Work("shared windows", 100 if quick else 400, 10 if quick else 20, False, groups, rows),
        Work("looked up", 20 if quick else 100, 20 if quick else 100, True, groups, rows),
    )
    return compared(works, quick)


def compared(works: tuple[Work, ...], quick: bool) -> Report:
    results: list[dict[str, object]] = []
    ratios = {}
    for work in works:
        table = _rows(work)
        seconds, all_answers = {}, []
        for way in WAYS:
            _measured(work, table.slice(0, len(table) // 10), way)  # loops are compiled
            measuring(f"{work.queries} queries, {work.name}: {way}")
            turns = [_measured(work, table, way) for _ in range(BEST_OF)]
            seconds[way] = min(turn for turn, _ in turns)
            all_answers += [answers for _, answers in turns]
            results.append({"work": work.name, "way": way, "queries": work.queries, "seconds": seconds[way]})
        assert all(answers == all_answers[0] for answers in all_answers), f"{work.name}: the answers differ"
        name = work.name.replace(" ", "_")
        ratios[f"every_group_over_index_{name}"] = seconds["every group"] / seconds["index"]
        ratios[f"planner_over_best_{name}"] = seconds["planner"] / min(seconds["index"], seconds["every group"])
    _draw(results)
    params: dict[str, object] = {
        "groups": works[0].groups,
        "rows": works[0].rows,
        "batches": BATCHES,
        "best_of": BEST_OF,
    }
    params |= {"time": "processor", "quick": quick}
    return Report("thresholds", params, results, ratios)


def _rows(work: Work) -> pa.Table:
    random = np.random.default_rng(4)
    popularity = random.lognormal(0, 1.5, work.groups)
    ts = np.sort(random.integers(0, SPAN * 1_000_000, work.rows)) + 1_767_225_600_000_000
    return pa.table(
        {
            "ts": pa.array(ts, pa.timestamp("us", "UTC")),
            "k": random.choice(work.groups, work.rows, p=popularity / popularity.sum()),
            "v": random.integers(0, 100, work.rows),
        }
    )


def _measured(work: Work, table: pa.Table, way: str) -> tuple[float, list[tuple[int, int]]]:
    """From the first row to the last answer; and of every query how many groups its answers had, and their total."""
    engine = windrow.connect(local=True)
    engine.sql("CREATE STREAM s (ts TIMESTAMP, k BIGINT, v BIGINT) TIMESTAMP BY ts")
    engine.query("SELECT k, SUM(v) FROM s [RANGE 1 MINUTE] GROUP BY k", name="seen")
    size = len(table) // BATCHES
    engine.push("s", table.slice(0, size))  # the planner has seen some of the stream
    engine.step()
    engine.sql("DROP QUERY seen")
    with _forced(way):
        queries = [engine.query(text) for text in work.texts()]
        engine.step()
        found = [(0, 0)] * len(queries)
        start = process_time()
        for first in range(size, len(table), size):
            engine.push("s", table.slice(first, size))
            engine.step()
            for number, query in enumerate(queries):
                answer = query.answer()
                groups, total = found[number]
                found[number] = groups + len(answer), total + int(pc.sum(answer["total"]).as_py() or 0)
        seconds = process_time() - start
    engine.close()
    return seconds, found


@contextmanager
def _forced(way: str) -> Iterator[None]:
    """Let the planner have no choice."""
    if way == "planner":
        yield
        return
    with (
        patch.object(indexed_thresholds, "is_indexed", lambda *rates: (way == "index", "no choice")),
        patch.object(lookups, "is_indexed", lambda *rates: (way == "index", "no choice")),
    ):
        yield


def _draw(results: list[dict[str, object]]) -> None:
    figure, axis = plotting().subplots(figsize=(7, 4))
    works = list(dict.fromkeys(str(one["work"]) for one in results))
    for place, way in enumerate(WAYS):
        seconds = [float(str(one["seconds"])) for one in results if one["way"] == way]
        axis.bar(np.arange(len(works)) + 0.27 * (place - 1), seconds, 0.25, label=way)
    axis.set_xticks(range(len(works)), works)
    axis.set_ylabel("seconds")
    axis.set_title("thresholds over many groups")
    axis.legend()
    drawn(figure, "thresholds")
