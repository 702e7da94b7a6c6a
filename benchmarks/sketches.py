"""Approximate aggregates beside their exact twins, and beside Apache DataSketches merged slice by slice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa

import windrow
from benchmarks.figure import drawn, plotting
from benchmarks.runner import Report, measuring

SPAN, RANGE, SLIDE = 1_200, 600, 10  # seconds
KEYS = 10
CHUNK = 100_000
ERRORS = (0.05, 0.01)
VALUES = 200_000  # different ones

Items = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Twin:
    """An approximate aggregate, the exact one, and how far an answer is off, as a share of what the error is of."""

    name: str
    approximate: str
    exact: str
    off: Callable[[Any, Items], float]
    sketch: Callable[[float, Sequence[Items]], Any]


def run(quick: bool) -> Report:
    rows = 100_000 if quick else 1_000_000
    table, results = _rows(rows), []
    _answers(_rows(10_000), [twin.approximate.format(error=0.01) for twin in TWINS] + [twin.exact for twin in TWINS])
    for twin in TWINS:
        measuring(f"{twin.name}, exact")
        exact = _timed(table, twin.exact)
        results.append(_result(twin.name, "exact", 0.0, exact[1], 0.0))
        for error in ERRORS:
            measuring(f"{twin.name}, within {error:g}")
            found, seconds = _timed(table, twin.approximate.format(error=error))
            results.append(_result(twin.name, "windrow", error, seconds, _worst(table, twin, found)))
            measuring(f"{twin.name}, within {error:g}, DataSketches")
            found, seconds = _sketched(table, twin, error)
            results.append(_result(twin.name, "datasketches", error, seconds, _worst(table, twin, found)))
    _draw(results)
    params = {"rows": rows, "keys": KEYS, "values": VALUES, "range": RANGE, "slide": SLIDE, "quick": quick}
    return Report("sketches", params, results, _ratios(results))


def _ratios(results: Sequence[dict[str, Any]]) -> dict[str, float]:
    seconds = {(one["aggregate"], one["side"], one["error"]): one["seconds"] for one in results}
    ratios = {}
    for twin in TWINS:
        ours = seconds[twin.name, "windrow", 0.01]
        ratios[f"exact_over_approximate_{twin.name}"] = seconds[twin.name, "exact", 0.0] / ours
        ratios[f"datasketches_over_windrow_{twin.name}"] = seconds[twin.name, "datasketches", 0.01] / ours
    own = [one for one in results if one["side"] == "windrow"]
    ratios["largest_error_over_stated"] = max(one["off"] / one["error"] for one in own)
    return ratios


def _result(aggregate: str, side: str, error: float, seconds: float, off: float) -> dict[str, Any]:
    return {"aggregate": aggregate, "side": side, "error": error, "seconds": seconds, "off": off}


def _rows(count: int) -> pa.Table:
    random = np.random.default_rng(9)
    times = np.sort(random.integers(0, SPAN * 1_000_000, count))
    skewed = (VALUES ** random.random(count)).astype(np.int64)  # about as many of 1..10 as of 10..100, and so on
    columns = {"ts": pa.array(times, pa.timestamp("us", "UTC")), "k": random.integers(0, KEYS, count)}
    return pa.table({**columns, "x": np.random.default_rng(10).permutation(VALUES + 1)[skewed]})


def _timed(table: pa.Table, aggregate: str) -> tuple[dict[int, Any], float]:
    start = process_time()
    (found,) = _answers(table, [aggregate])
    return found, process_time() - start


def _answers(table: pa.Table, aggregates: Sequence[str]) -> list[dict[int, Any]]:
    """The answers of the last refresh of each key, after all refreshes have been emitted."""
    engine = windrow.connect(local=True)
    engine.sql("CREATE STREAM s (ts TIMESTAMP, k BIGINT, x BIGINT) TIMESTAMP BY ts")
    window = f"[RANGE {RANGE} SECONDS SLIDE {SLIDE} SECONDS]"
    queries = [engine.query(f"SELECT k, {one} AS v FROM s {window} GROUP BY k") for one in aggregates]
    for start in range(0, len(table), CHUNK):
        engine.push("s", table.slice(start, CHUNK))
        engine.step()
    engine.push("s", [{"ts": _seconds(SPAN + 1), "k": None, "x": None}])
    engine.step()
    found = [{row["k"]: row["v"] for row in query.answer().to_pylist() if row["k"] is not None} for query in queries]
    engine.close()
    return found


def _seconds(time: int) -> Any:
    return pa.scalar(time * 1_000_000, pa.timestamp("us", "UTC")).as_py()


def _sketched(table: pa.Table, twin: Twin, error: float) -> tuple[dict[int, Any], float]:
    """A sketch for each slice and key, merged at every refresh: what one would write by hand."""
    ts, k, x = (table[name].cast(pa.int64()).to_numpy() for name in ("ts", "k", "x"))
    start = process_time()
    slices = ts // (SLIDE * 1_000_000)
    order = np.lexsort((slices, k))
    edges = np.flatnonzero(np.diff(k[order] * SPAN + slices[order], prepend=-1))
    parts = dict(
        zip(zip(k[order][edges], slices[order][edges], strict=True), np.split(x[order], edges[1:]), strict=True)
    )
    made = twin.sketch(error, list(parts.values()))
    sketches = dict(zip(parts, made["sketches"], strict=True))
    found = {}
    for end in range(1, (SPAN + RANGE) // SLIDE):
        for key in range(KEYS):
            inside = [sketches[key, one] for one in range(end - RANGE // SLIDE, end) if (key, one) in sketches]
            if inside:
                answer = made["merged"](inside)
                if end == SPAN // SLIDE:
                    found[key] = answer
    return found, process_time() - start


def _worst(table: pa.Table, twin: Twin, found: dict[int, Any]) -> float:
    ts, k, x = (table[name].cast(pa.int64()).to_numpy() for name in ("ts", "k", "x"))
    inside = ts >= (SPAN - RANGE) * 1_000_000
    return max(twin.off(answer, x[inside & (k == key)]) for key, answer in found.items())


def _off_in_rank(answer: int, values: Items) -> float:
    position = int(np.ceil(0.9 * len(values)))
    below, upto = int((values < answer).sum()), int((values <= answer).sum())
    return max(below - position + 1, position - upto, 0) / len(values)


def _off_in_number(answer: int, values: Items) -> float:
    true = len(np.unique(values))
    return abs(answer - true) / true


def _off_in_counts(answer: Sequence[dict[str, int]], values: Items) -> float:
    """Of the counts that are given, and of the most frequent value that is not among them."""
    distinct, counts = np.unique(values, return_counts=True)
    true = dict(zip(distinct.tolist(), counts.tolist(), strict=True))
    given = {one["item"]: one["count"] for one in answer}
    wrong = max(abs(true[item] - count) for item, count in given.items())
    missed = max(count for item, count in true.items() if item not in given) - min(true[item] for item in given)
    return float(max(wrong, missed, 0) / len(values))


def _kll(error: float, slices: Sequence[Items]) -> Any:
    from datasketches import kll_ints_sketch

    size = next(k for k in range(8, 65_536) if kll_ints_sketch.get_normalized_rank_error(k, False) <= error)

    def sketch(values: Items) -> Any:
        made = kll_ints_sketch(size)
        made.update(values.astype(np.int32))
        return made

    def merged(sketches: Sequence[Any]) -> int:
        whole = kll_ints_sketch(size)
        for one in sketches:
            whole.merge(one)
        return int(whole.get_quantile(0.9))

    return {"sketches": [sketch(values) for values in slices], "merged": merged}


def _hll(error: float, slices: Sequence[Items]) -> Any:
    from datasketches import hll_sketch, hll_union, tgt_hll_type

    precision = int(np.ceil(2 * np.log2(2 * 1.04 / error)))

    def sketch(values: Items) -> Any:
        made = hll_sketch(precision, tgt_hll_type.HLL_8)
        for value in values.tolist():  # it takes one value at a time
            made.update(value)
        return made

    def merged(sketches: Sequence[Any]) -> float:
        whole = hll_union(precision)
        for one in sketches:
            whole.update(one)
        return float(whole.get_estimate())

    return {"sketches": [sketch(values) for values in slices], "merged": merged}


def _frequent(error: float, slices: Sequence[Items]) -> Any:
    from datasketches import frequent_items_error_type, frequent_items_sketch

    size = int(np.ceil(np.log2(3.5 / error)))

    def sketch(values: Items) -> Any:
        made = frequent_items_sketch(size)
        for value, count in zip(*np.unique(values, return_counts=True), strict=True):
            made.update(int(value), int(count))
        return made

    def merged(sketches: Sequence[Any]) -> list[dict[str, int]]:
        whole = frequent_items_sketch(size)
        for one in sketches:
            whole.merge(one)
        found = whole.get_frequent_items(frequent_items_error_type.NO_FALSE_NEGATIVES, 0)
        best = sorted(found, key=lambda one: (-one[2], one[0]))[:10]  # item, estimate, least, most
        return [{"item": item, "count": least} for item, _, least, _ in best]

    return {"sketches": [sketch(values) for values in slices], "merged": merged}


TWINS = (
    Twin("quantile", "APPROX_QUANTILE(x, 0.9, {error})", "QUANTILE(x, 0.9)", _off_in_rank, _kll),
    Twin("distinct", "APPROX_COUNT_DISTINCT(x, {error})", "COUNT(DISTINCT x)", _off_in_number, _hll),
    Twin("top", "APPROX_TOP(10, x, {error})", "TOP(10, x)", _off_in_counts, _frequent),
)


def _draw(results: Sequence[dict[str, Any]]) -> None:
    figure, axes = plotting().subplots(1, len(TWINS), figsize=(11, 4))
    for axis, twin in zip(axes, TWINS, strict=True):
        own = [one for one in results if one["aggregate"] == twin.name]
        labels = [f"{one['side']}\n{one['error']:g}" if one["error"] else one["side"] for one in own]
        axis.bar(labels, [one["seconds"] for one in own])
        axis.set(title=twin.name, ylabel="processor seconds")
        axis.tick_params(axis="x", labelrotation=60)
    drawn(figure, "sketches")
