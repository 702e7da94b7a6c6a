"""One window a group, answered for every row: the chosen synopses, every window read again, pandas and Polars."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from benchmarks.figure import drawn, plotting
from benchmarks.runner import Report, measuring
from windrow.batch.arrays import Array, Int64s
from windrow.batch.column import Column
from windrow.batch.key_table import KeyTable
from windrow.plan.aggregates import aggregate_call, traits_of
from windrow.plan.expressions import ColumnReference
from windrow.plan.synopsis_kinds import SynopsisKind
from windrow.sharing.synopsis_choice import Choice, Workload, chosen
from windrow.synopses import (
    BasicInterval,
    Interval,
    Running,
    SharedSynopsis,
    TwoStacks,
    WordAggregate,
    average_of_integers,
    maximum,
    sum_of_integers,
)
from windrow.synopses.positions.word_synopsis import WordSynopsis
from windrow.types import BIGINT

THREADS = 1
TURNS, SLOW = 3, 5  # a side that takes more seconds than this has one turn
TICK = 1_000_000  # microseconds a second
AGGREGATES: Mapping[str, Callable[[], WordAggregate]] = {
    "SUM": lambda: sum_of_integers(BIGINT),
    "MAX": lambda: maximum(BIGINT),
    "AVG": average_of_integers,
}
KINDS: Mapping[SynopsisKind, Callable[[WordAggregate], WordSynopsis]] = {
    SynopsisKind.RUNNING: Running,
    SynopsisKind.INTERVAL: Interval,
    SynopsisKind.BASIC_INTERVAL: BasicInterval,
    SynopsisKind.TWO_STACKS: TwoStacks,
}


@dataclass(frozen=True)
class Work:
    """`rows` over an hour, dealt to groups; SUM, MAX and AVG over the last `length` seconds of the row's group."""

    name: str
    groups: int
    rows: int
    length: int
    batch: int  # rows that come together

    @property
    def width(self) -> int:
        """Rows in a window, on average."""
        return max(1, self.rows * self.length // (3_600 * self.groups))


class Rows(NamedTuple):
    """In the order of time, no two at the same."""

    ts: Int64s
    k: Int64s
    v: Int64s


Answers = tuple[Array, Array, Array]  # SUM, MAX and AVG for every row, in the order of time
Side = Callable[[Rows, Work], Callable[[], Answers]]  # what is given back puts the answers into that order


def run(quick: bool) -> Report:
    if quick:
        small = Work("1k", 1_000, 500_000, 720, 100_000), Work("1m", 100_000, 500_000, 1_800, 100_000)
        return compared(small, quick)
    large = Work("1k", 1_000, 2_000_000, 180, 200_000), Work("1m", 1_000_000, 5_000_000, 1_800, 1_000_000)
    return compared(large, quick)


def compared(works: Sequence[Work], quick: bool) -> Report:
    os.environ["POLARS_MAX_THREADS"] = str(THREADS)  # read when Polars is loaded
    import polars as pl

    sides: dict[str, Side] = {
        "windrow": _windrow, "recomputation": _recomputation,
        "polars rolling": _polars_rolling, "polars over": _polars_over, "pandas": _pandas,
    }  # fmt: skip
    results: list[dict[str, object]] = []
    ratios = {}
    for work in works:
        rows = _rows(work)
        few = _rows(replace(work, groups=50, rows=5_000))
        for compiles in (_windrow, _recomputation):
            compiles(few, replace(work, batch=500))
        seconds, all_answers = {}, []
        for name, side in sides.items():
            seconds[name], answers = _measured(name, side, rows, work)
            all_answers.append(answers)
            per_second = work.rows / seconds[name]
            results.append({"work": work.name, "side": name, "seconds": seconds[name], "rows_per_second": per_second})
        assert all(all(map(np.array_equal, all_answers[0], other)) for other in all_answers), (
            f"{work.name}: the answers differ"
        )
        rolling = min(seconds[name] for name in sides if name not in ("windrow", "recomputation"))
        ratios[f"rolling_over_windrow_{work.name}"] = rolling / seconds["windrow"]
        ratios[f"recomputation_over_windrow_{work.name}"] = seconds["recomputation"] / seconds["windrow"]
    _draw(results)
    return Report(
        bench="swag",
        params={
            "works": [_described(work) for work in works],
            "polars_threads": pl.thread_pool_size(), "time": "processor", "quick": quick,
        },
        results=results,
        ratios=ratios,
    )  # fmt: skip


def _rows(work: Work) -> Rows:
    random = np.random.default_rng(7)
    step = 3_600 * TICK // work.rows
    times = np.cumsum(random.integers(1, 2 * step, work.rows))
    keys = random.permutation(np.unique(random.integers(0, 1 << 40, 2 * work.groups)))[: work.groups]
    return Rows(times, keys[random.integers(0, work.groups, work.rows)], random.integers(0, 10_000, work.rows))


def _described(work: Work) -> dict[str, object]:
    return {**asdict(work), "rows_a_window": work.width, "synopses": [one.reason for one in _choices(work)]}


def _measured(name: str, side: Side, rows: Rows, work: Work) -> tuple[float, Answers]:
    """The best of some turns, in seconds, and the answers of the last."""
    best = float("inf")
    for _ in range(TURNS):
        measuring(f"{work.name}: {name}")
        start = process_time()
        in_order = side(rows, work)
        best = min(best, process_time() - start)
        if best > SLOW:
            break
    return best, in_order()


def _choices(work: Work) -> list[Choice[SynopsisKind]]:
    """By the planner's costs: every row comes once and asks once."""
    rate = work.rows / 3_600
    asked = Workload(updates=rate, lookups=rate, widths=(work.width,), groups=work.groups)
    value = ColumnReference("v", BIGINT)
    return [chosen(traits_of(aggregate_call(name, [value])), asked) for name in AGGREGATES]


def _windrow(rows: Rows, work: Work) -> Callable[[], Answers]:
    kinds = [KINDS[choice.kind] for choice in _choices(work)]
    return _rolled([kind(make()) for kind, make in zip(kinds, AGGREGATES.values(), strict=True)], rows, work)


def _recomputation(rows: Rows, work: Work) -> Callable[[], Answers]:
    """The rows alone are kept, and those of its window read for every answer."""
    return _rolled([BasicInterval(make()) for make in AGGREGATES.values()], rows, work)


def _rolled(synopses: Sequence[WordSynopsis], rows: Rows, work: Work) -> Callable[[], Answers]:
    synopsis, keys, length = SharedSynopsis(synopses), KeyTable(), work.length * TICK
    found, expired = [], int(rows.ts[0])
    for start in range(0, len(rows.ts), work.batch):
        ts, k, v = (column[start : start + work.batch] for column in rows)
        group, value = keys.intern(k.view(np.uint64)[:, None]), (Column(BIGINT, v),)
        found.append([one.values for one in synopsis.roll(group, ts, [value] * len(synopses), length)])
        if ts[-1] - expired > length // 4:  # groups that are silent
            expired = int(ts[-1])
            synopsis.expire_until(expired - length + 1)
    answers = tuple(np.concatenate(parts) for parts in zip(*found, strict=True))
    return lambda: answers  # type: ignore[return-value]


def _frame(rows: Rows) -> Any:
    import polars as pl

    return pl.DataFrame(rows._asdict()).with_columns(pl.col("ts").cast(pl.Datetime("us")))


def _polars_rolling(rows: Rows, work: Work) -> Callable[[], Answers]:
    import polars as pl

    v = pl.col("v")
    rolling = _frame(rows).rolling("ts", period=f"{work.length}s", group_by="k")
    answers = rolling.agg(v.sum().alias("s"), v.max().alias("m"), v.mean().alias("a"))
    return lambda: _columns(answers.sort("ts"))


def _polars_over(rows: Rows, work: Work) -> Callable[[], Answers]:
    import polars as pl

    v, of = pl.col("v"), ("ts", f"{work.length}s")
    rolling = {"s": v.rolling_sum_by(*of), "m": v.rolling_max_by(*of), "a": v.rolling_mean_by(*of)}
    answers = _frame(rows).select(**{name: column.over("k") for name, column in rolling.items()})
    return lambda: _columns(answers)


def _pandas(rows: Rows, work: Work) -> Callable[[], Answers]:
    import pandas as pd  # type: ignore[import-untyped]

    frame = pd.DataFrame({"k": rows.k, "v": rows.v}, index=rows.ts.view("datetime64[us]"))
    rolling = frame.groupby("k")["v"].rolling(f"{work.length}s")
    answers = pd.DataFrame({"s": rolling.sum(), "m": rolling.max(), "a": rolling.mean()})
    return lambda: _columns(answers.sort_index(level=1))


def _columns(frame: Any) -> Answers:
    return frame["s"].to_numpy(), frame["m"].to_numpy(), frame["a"].to_numpy()


def _draw(results: Sequence[Mapping[str, Any]]) -> None:
    figure, axes = plotting().subplots(figsize=(7, 4))
    works = list(dict.fromkeys(one["work"] for one in results))
    sides = list(dict.fromkeys(one["side"] for one in results))
    for place, side in enumerate(sides):
        mine = {one["work"]: one["rows_per_second"] for one in results if one["side"] == side}
        axes.bar(np.arange(len(works)) + place * 0.16, [mine.get(work, 0) for work in works], 0.16, label=side)
    labels = [f"{work} groups" for work in works]
    axes.set(xticks=np.arange(len(works)) + 0.32, xticklabels=labels, ylabel="rows a second", yscale="log")
    axes.legend(fontsize=7)
    drawn(figure, "swag")
