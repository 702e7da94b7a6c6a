"""Frequent items from lists of sub-windows (thesis, Figure 6.3), beside counting everything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import windrow
from benchmarks.figure import drawn, plotting
from benchmarks.runner import Report, measuring

WINDOW = 100_000
SUB_WINDOWS = (20, 100, 500)  # rows
LISTS = tuple(range(1, 11))
VALUES = 1_647  # as many as the thesis's trace has addresses
EXPONENTS = (2.0, 1.5)
TRIALS = 100
STREAMS = 10  # of each Zipf source
RECORDED = Path(__file__).resolve().parents[2] / "shared" / "data" / "zeek_connections.parquet"
MAIN = f"zipf {EXPONENTS[0]}"


Items = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Source:
    name: str
    streams: tuple[Items, ...]
    window: int


@dataclass
class Seen:
    """Sums over the trials of one source, sub-window and length of lists."""

    over: int = 0
    reported: int = 0
    false: int = 0
    threshold: float = 0.0
    errors: float = 0.0
    judged: int = 0


def run(quick: bool) -> Report:
    results: list[dict[str, object]] = []
    for source in _sources(quick):
        for rows in SUB_WINDOWS:
            measuring(f"{source.name}, sub-windows of {rows} rows")
            results += _measured(source, rows, 20 if quick else TRIALS)
    main = [one for one in results if one["source"] == MAIN]
    ratios = {**_ratios(main, ""), "false_positives": float(sum(int(str(one["false"])) for one in results))}
    for name in dict.fromkeys(str(one["source"]) for one in results if one["source"] != MAIN):
        own = [one for one in results if one["source"] == name]
        ratios |= _ratios(own, "_" + name.replace(" ", "_").replace(".", "_"))
    _draw(results)
    params = {"window": WINDOW, "values": VALUES, "trials": TRIALS, "quick": quick}
    return Report("frequent", params, results, ratios)


def _ratios(results: Sequence[dict[str, object]], suffix: str) -> dict[str, float]:
    def of(name: str, one: dict[str, object]) -> float:
        return float(str(one[name]))

    recall = min(of("recall", one) for one in results if of("k", one) >= 3)
    error = max(of("error", one) for one in results if of("k", one) >= 7 and one["rows"] == 20)
    return {f"recall_k3{suffix}": recall, f"error_b20_k7{suffix}": error}


def _sources(quick: bool) -> Iterator[Source]:
    window = WINDOW // 5 if quick else WINDOW
    for exponent in EXPONENTS:
        yield Source(f"zipf {exponent}", tuple(_zipf(exponent, window, seed) for seed in range(STREAMS)), window)
    if not RECORDED.exists():
        measuring("the recorded trace is not there: skipped")
        return
    table = pq.read_table(RECORDED).sort_by("ts")
    for name, column in (("trace", "local"), ("trace remote", "remote")):  # the thesis counts source addresses
        items = table[column].combine_chunks().dictionary_encode().indices.to_numpy().astype(np.int64)
        yield Source(name, (items,), window)


def _zipf(exponent: float, window: int, seed: int) -> Items:
    """Which values are the frequent ones is drawn anew for each stream, so that ties by value favour nobody."""
    random, chances = np.random.default_rng(seed), 1 / np.arange(1, VALUES + 1) ** exponent
    draws = random.choice(VALUES, window + window // 5, p=chances / chances.sum())
    return np.asarray(random.permutation(VALUES)[draws])


def _measured(source: Source, rows: int, trials: int) -> list[dict[str, object]]:
    seen, began, fed = {k: Seen() for k in LISTS}, perf_counter(), 0
    for seed, items in enumerate(source.streams):
        length = len(items) // rows * rows
        fed += length
        answers = _answers(items[:length], source.window, rows)
        first = source.window // rows
        for end in (
            np.random.default_rng(seed).integers(first, length // rows + 1, trials // len(source.streams)) * rows
        ):
            true = np.bincount(items[end - source.window : end], minlength=int(items.max()) + 1)
            for k in LISTS:
                _judge(seen[k], answers[k][end // rows - 1], true)
    seconds, items = perf_counter() - began, source.streams[0]
    pairs = _pairs(items, source.window, rows)
    histogram = len(np.unique(items[-source.window :]))
    return [
        {
            "source": source.name,
            "rows": rows,
            "k": k,
            "threshold": one.threshold / trials / source.window,
            "over": one.over / trials,
            "reported": one.reported / trials,
            "false": one.false,
            "recall": (one.reported - one.false) / one.over if one.over else 1.0,
            "error": one.errors / one.judged if one.judged else 0.0,
            "pairs": pairs[k],
            "pairs_over_window": pairs[k] / source.window,
            "values_of_histogram": histogram,
            "rows_per_second": fed * len(LISTS) / seconds,
        }
        for k, one in seen.items()
    ]


def _judge(seen: Seen, answer: dict[str, Any], true: Items) -> None:
    """Against counting everything; the error is that of the values that were found to be over the threshold."""
    threshold = answer["threshold"]
    seen.threshold += threshold
    seen.over += int((true > threshold).sum())
    seen.reported += len(answer["items"])
    for item in answer["items"]:
        count = int(true[item["item"]])
        seen.false += count <= threshold
        seen.errors += abs(count - item["count"]) / max(count, 1)
        seen.judged += 1


def _answers(items: Items, window: int, rows: int) -> dict[int, list[dict[str, Any]]]:
    """The answer after each sub-window, by length of the lists: one stream, ten queries."""
    engine = windrow.connect(local=True)
    engine.sql("CREATE STREAM s (ts TIMESTAMP, x BIGINT) TIMESTAMP BY ts")
    text = f"SELECT FREQUENT(x, {{k}}) AS f FROM s [ROWS {window} SLIDE {rows}]"
    queries = {k: engine.query(text.format(k=k), name=f"q{k}") for k in LISTS}
    length = len(items)
    times = pa.array(np.arange(1, length + 1) * 1_000, pa.timestamp("us", "UTC"))
    table = pa.table({"ts": times, "x": items})
    for start in range(0, length, 20_000):
        engine.push("s", table.slice(start, 20_000))
        engine.step()
    engine.end("s")
    engine.step()
    return {k: _by_sub_window(query.changes(), rows, length) for k, query in queries.items()}


def _by_sub_window(changes: pa.Table, rows: int, length: int) -> list[dict[str, Any]]:
    emitted = changes.filter(pa.compute.greater(changes["_sign"], 0)).sort_by("_ts")
    begins = emitted["_ts"].cast(pa.int64()).to_numpy() // 1_000
    latest = np.searchsorted(begins, np.arange(rows, length + 1, rows), side="right") - 1
    answers = emitted["f"].to_pylist()
    return [answers[place] for place in latest]


def _pairs(items: Items, window: int, rows: int) -> dict[int, int]:
    """Values with counts on the lists of a window, and those with a counter over the lists."""
    parts = items[-(window // rows) * rows :].reshape(-1, rows)
    pairs = dict.fromkeys(LISTS, 0)
    listed: dict[int, set[int]] = {k: set() for k in LISTS}
    for part in parts:
        values, counts = np.unique(part, return_counts=True)
        best = values[np.lexsort((values, -counts))]
        for k in LISTS:
            pairs[k] += min(k, len(best))
            listed[k].update(best[:k].tolist())
    return {k: pairs[k] + len(listed[k]) for k in LISTS}


def _draw(results: Sequence[dict[str, object]]) -> None:
    """The six parts of Figure 6.3, for the main source."""
    figure, axes = plotting().subplots(2, 3, figsize=(12, 6))
    parts = {
        "threshold": "(a) threshold, share of the window",
        "over": "(b) values over the threshold",
        "reported": "(c) values reported",
        "recall": "(d) share of them that is reported",
        "pairs": "(e) pairs kept",
        "error": "(f) relative error",
    }
    for axis, (name, title) in zip(axes.flat, parts.items(), strict=True):
        for rows in SUB_WINDOWS:
            points = [one for one in results if one["source"] == MAIN and one["rows"] == rows]
            axis.plot([one["k"] for one in points], [one[name] for one in points], marker="o", label=f"b = {rows}")
        axis.set(title=title, xlabel="k")
    axes.flat[0].legend()
    drawn(figure, "frequent")
