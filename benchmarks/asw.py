"""How fast synopses answer aggregates over sliding windows, and how fast they take elements in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from benchmarks.figure import drawn, plotting
from benchmarks.runner import Report, measuring
from windrow.batch.arrays import Bools, Int64s
from windrow.batch.column import Column
from windrow.batch.compiled import compiled
from windrow.synopses import (
    BasicInterval,
    Interval,
    Kept,
    KeptAggregate,
    Landmark,
    Materialized,
    Quantile,
    Running,
    SearchTree,
    SharedSynopsis,
    TwoStacks,
    basic_interval,
    interval,
    landmark,
    materialized,
    maximum,
    quantile,
    running,
    search_tree,
    sum_of_integers,
    two_stacks,
)
from windrow.synopses.kept_words import KeptWords, Ring
from windrow.synopses.words import ADD, GREATEST
from windrow.types import BIGINT

OPERATORS = 1_000  # SUM over the last 0, 1, ..., 999 tuples
SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)  # of updates in the input
LONGEST = 100_000  # kept by the synopses that lookups are counted on
BEST_OF = 3
_RUNNING, _INTERVAL, _SEARCH_TREE, _BASIC_INTERVAL = range(4)  # which synopsis a compiled loop calls
SLOW = ("two stacks", "materialize all", "materialize none")  # measured on a twentieth of the input


class Input(NamedTuple):
    """Updates and lookups mixed: a value that comes, or the width of the window that is asked for."""

    is_update: Bools
    value: Int64s  # rows of one word, and a count of one
    width: Int64s


Mixed = Callable[[Input], int]
Result = Mapping[str, object]


def run(quick: bool) -> Report:
    inputs, updates, lookups = (40_000, 100_000, 50_000) if quick else (200_000, 2_000_000, 1_000_000)
    sizes = (1_000, 10_000, 100_000) if quick else (1_000, 10_000, 100_000, 1_000_000)
    return compared(inputs, updates, lookups, sizes, LONGEST, quick)


def compared(inputs: int, updates: int, lookups: int, sizes: Sequence[int], longest: int, quick: bool) -> Report:
    widths = [width for width in (1, 10, 100, 1_000, 10_000, 100_000) if width <= longest]
    results = [*_figure_9(inputs), *_figure_10(updates, sizes), *_figure_11(lookups, widths, longest)]
    _draw(results)
    return Report(
        bench="asw",
        params={
            "operators": OPERATORS, "inputs": inputs, "updates": updates, "lookups": lookups, "sizes": list(sizes),
            "longest": longest, "best_of": BEST_OF, "time": "processor", "quick": quick,
        },
        results=results,
        ratios={
            "rint_lookups_per_second": min(_of(results, 11, "R-INT", width) for width in widths),
            "rint_updates_per_second": _of(results, 10, "R-INT", sizes[-1]),
            "bint_updates_per_second": _of(results, 10, "B-INT", sizes[-1]),
            "bint_lookups_per_second": _of(results, 11, "B-INT", widths[-1]),
            "quantile_lookups_per_second": _of(results, 11, "B-INT-QNT", widths[-1]),
        },
    )  # fmt: skip


def _of(results: Sequence[Result], figure: int, synopsis: str, x: float) -> float:
    asked = (figure, synopsis, x)
    return next(float(str(one["per_second"])) for one in results if (one["figure"], one["synopsis"], one["x"]) == asked)


def _result(figure: int, synopsis: str, x: float, per_second: float, **more: float) -> Result:
    return {"figure": figure, "synopsis": synopsis, "x": x, "per_second": per_second, **more}


def _rate(count: int, work: Callable[[], object]) -> float:
    """How many a second, of the best of a few runs; loops are compiled, and memory touched, before the clock starts."""
    work()
    best = float("inf")
    for _ in range(BEST_OF):
        start = process_time()
        work()
        best = min(best, process_time() - start)
    return count / max(best, 1e-9)


# Figure 9: a thousand operators, from lookups alone to updates alone


def _figure_9(inputs: int) -> list[Result]:
    ways: dict[str, Callable[[], Mixed]] = {
        "R-INT": lambda: _shared(Running, _RUNNING),
        "B-INT": lambda: _shared(Interval, _INTERVAL),
        "L-INT": _landmarks,
        "PSoup": lambda: _shared(SearchTree, _SEARCH_TREE),
        "two stacks": _two_stacks,
        "materialize all": _materialized,
        "materialize none": lambda: _shared(BasicInterval, _BASIC_INTERVAL),
    }
    results: list[Result] = []
    for share in SHARES:
        measuring(f"figure 9: {share:.0%} updates")
        many = _input(inputs, share)
        few = Input(many.is_update[: inputs // 20], many.value[: inputs // 20], many.width[: inputs // 20])
        told: set[int] = set()
        for name, make in ways.items():
            told.add(make()(few))  # all start from the same elements, and must agree
            mixed = few if name in SLOW else many
            results.append(_result(9, name, share, _rate(len(mixed.width), partial(make(), mixed))))
        assert len(told) == 1, f"the answers differ: {told}"
    return results


def _input(count: int, share: float) -> Input:
    random = np.random.default_rng(9)
    is_update = random.random(count) < share
    values = np.stack([np.ones(count, np.int64), random.integers(0, 1_000, count)], axis=1)
    return Input(is_update, values, random.integers(0, OPERATORS, count))


def _filled(kept: Kept, length: int, before: int = 12_345) -> SharedSynopsis:
    """So many elements, with others before them that have left: windows then begin at odd places too."""
    synopsis = SharedSynopsis([kept])
    values = np.random.default_rng(1).integers(0, 1 << 20, length + before)
    for start in range(0, len(values), 100_000):
        part = values[start : start + 100_000]
        times = np.arange(start, start + len(part))
        synopsis.insert(np.zeros(len(part), np.int64), times, [(Column(BIGINT, part),)])
        synopsis.keep_newest(length)
    return synopsis


def _sum() -> KeptAggregate:
    return sum_of_integers(BIGINT)


def _shared(make: Callable[[KeptAggregate], KeptWords], kind: int) -> Mixed:
    ring = _ring(_filled(make(_sum()), OPERATORS, 0))
    return lambda mixed: _mixed(*mixed, kind, OPERATORS, *ring)


@compiled
def _insert_one(
    kind: int, p: int, added: Int64s, i: int, operation: int, offset: Int64s, size: Int64s, rows: Int64s
) -> None:
    none = offset[:0]
    if kind == _RUNNING:
        running.insert_one(0, p, True, added, i, 1, offset, size, rows)
    elif kind == _INTERVAL:
        interval.insert_one(0, p, True, added, i, operation, 1, none, offset, size, rows)
    elif kind == _SEARCH_TREE:
        search_tree.insert_one(0, p, True, added, i, operation, 1, none, offset, size, rows)
    else:
        basic_interval.insert_one(0, p, True, added, i, operation, 1, none, offset, size, rows)


@compiled
def _lookup_one(
    kind: int, begin: int, end: int, operation: int, offset: Int64s, size: Int64s, rows: Int64s, found: Int64s
) -> int:
    """The sum, or extreme, over the elements at [begin, end)."""
    none = offset[:0]
    found[0, 0] = found[0, 1] = 0
    if kind == _RUNNING:
        running.lookup_one(0, begin, end, 1, offset, size, rows, found, 0)
    elif kind == _INTERVAL:
        interval.lookup_one(0, begin, end, operation, 1, none, offset, size, rows, found, 0)
    elif kind == _SEARCH_TREE:
        search_tree.lookup_one(0, begin, end, operation, 1, none, offset, size, rows, found, 0)
    else:
        basic_interval.lookup_one(0, begin, end, operation, 1, none, offset, size, rows, found, 0)
    return int(found[0, 1])


@compiled
def _mixed(
    is_update: Bools, value: Int64s, width: Int64s, kind: int, longest: int,
    offset: Int64s, size: Int64s, first: Int64s, next: Int64s, rows: Int64s,
) -> int:  # fmt: skip
    found, total = np.zeros((1, 2), np.int64), 0
    for i in range(len(is_update)):
        if is_update[i]:
            _insert_one(kind, next[0], value, i, ADD, offset, size, rows)
            next[0] += 1
            first[0] = next[0] - longest
        elif width[i] > 0:
            total += _lookup_one(kind, next[0] - width[i], next[0], ADD, offset, size, rows, found)
    return total


def _landmarks() -> Mixed:
    synopsis = Landmark(_sum(), range(1, OPERATORS), by_rows=True)
    values = np.random.default_rng(1).integers(0, 1 << 20, OPERATORS)
    synopsis.insert(np.zeros(OPERATORS, np.int64), np.arange(OPERATORS), (Column(BIGINT, values),))
    which = np.searchsorted([p.largest for p in synopsis.partitions], np.arange(OPERATORS))
    smallest = np.array([p.smallest for p in synopsis.partitions])
    reach = np.array([p.reach for p in synopsis.partitions])
    arrays = tuple(zip(*(p.where for p in synopsis.partitions), strict=True))
    return lambda mixed: _mixed_landmark(*mixed, which, smallest, reach, *arrays)


@compiled
def _mixed_landmark(
    is_update: Bools, value: Int64s, width: Int64s, which: Int64s, smallest: Int64s, reach: Int64s,
    offset: Any, size: Any, first: Any, next: Any, time: Any, opened: Any, closed: Any, back: Any, forward: Any,
) -> int:  # fmt: skip
    found, total, none = np.zeros((1, 2), np.int64), 0, which[:0]
    for i in range(len(is_update)):
        if is_update[i]:
            for n in range(len(smallest)):
                landmark.insert_one(
                    0, next[n][0], value, i, 0, 1, none, smallest[n], True, True,
                    offset[n], size[n], first[n], next[n], time[n], opened[n], closed[n], back[n], forward[n],
                )  # fmt: skip
                next[n][0] += 1
                first[n][0] = max(0, next[n][0] - reach[n])
        elif width[i] > 0:
            n = which[width[i]]
            found[0, 1] = 0
            end = next[n][0]
            landmark.lookup_one(
                0, end - width[i], end, end - width[i], 0, 1, none, smallest[n], True, True,
                offset[n], size[n], first[n], next[n], time[n], opened[n], closed[n], back[n], forward[n], found, 0,
            )  # fmt: skip
            total += found[0, 1]
    return total


def _two_stacks() -> Mixed:
    """A queue for each operator: a group each, and every element goes to all of them."""
    synopsis = SharedSynopsis([TwoStacks(_sum())])
    values, groups = np.random.default_rng(1).integers(0, 1 << 20, OPERATORS), np.arange(OPERATORS)
    for n in range(OPERATORS):
        column = Column(BIGINT, np.full(OPERATORS, values[n]))
        synopsis.insert(groups, np.full(OPERATORS, n), [(column,)])
        synopsis.elements.first[:OPERATORS] = np.maximum(0, n + 1 - groups)
    kept = synopsis.kept[0]
    assert isinstance(kept, TwoStacks)
    ring: tuple[Any, ...] = (*kept.ring(synopsis.elements), kept.middle, kept.back)
    return lambda mixed: _mixed_two_stacks(*mixed, OPERATORS, *ring)


@compiled
def _mixed_two_stacks(
    is_update: Bools, value: Int64s, width: Int64s, operators: int,
    offset: Int64s, size: Int64s, first: Int64s, next: Int64s, rows: Int64s, middle: Int64s, back: Int64s,
) -> int:  # fmt: skip
    found, total, none = np.zeros((1, 2), np.int64), 0, offset[:0]
    for i in range(len(is_update)):
        if is_update[i]:
            for g in range(1, operators):
                two_stacks.insert_one(g, next[g], True, value, i, 0, 1, none, offset, size, first, rows, middle, back)
                next[g] += 1
                first[g] = max(0, next[g] - g)
        elif width[i] > 0:
            found[0, 1] = 0
            g = width[i]
            two_stacks.lookup_one(
                g, first[g], next[g], 0, 1, none, offset, size, first, next, rows, middle, back, found, 0
            )
            total += found[0, 1]
    return total


def _materialized() -> Mixed:
    synopsis = Materialized(_sum(), range(OPERATORS))
    values = np.random.default_rng(1).integers(0, 1 << 20, OPERATORS)
    synopsis.insert(np.zeros(OPERATORS, np.int64), np.arange(OPERATORS), (Column(BIGINT, values),))
    e, rows = synopsis.elements, synopsis.values.rows
    return lambda mixed: _mixed_materialized(*mixed, synopsis.widths, e.offset, e.size, e.next, rows, synopsis.answers)


@compiled
def _mixed_materialized(
    is_update: Bools, value: Int64s, width: Int64s, widths: Int64s,
    offset: Int64s, size: Int64s, next: Int64s, rows: Int64s, answers: Int64s,
) -> int:  # fmt: skip
    total, none = 0, offset[:0]
    for i in range(len(is_update)):
        if is_update[i]:
            basic_interval.insert_one(0, next[0], True, value, i, 0, 1, none, offset, size, rows)
            materialized.update_one(0, next[0], widths, 0, 1, none, offset, size, rows, answers)
            next[0] += 1
        else:
            total += answers[width[i], 1]
    return total


# Figure 10: updates alone


def _figure_10(updates: int, sizes: Sequence[int]) -> list[Result]:
    results: list[Result] = []
    values = np.random.default_rng(10).integers(0, 1 << 30, updates)
    rows = np.stack([np.ones(updates, np.int64), values], axis=1)
    for kept in sizes:
        measuring(f"figure 10: {kept:,} elements kept")
        sums, extremes, runs = _three(kept)
        works = {
            "R-INT": partial(_updates, _RUNNING, ADD, rows, *_ring(sums)),
            "B-INT": partial(_updates, _INTERVAL, GREATEST, rows, *_ring(extremes)),
            "B-INT-QNT": partial(_updates_quantile, values, *_where(runs)),
        }
        results += [_result(10, name, kept, _rate(updates, work)) for name, work in works.items()]
    return results


def _three(kept: int) -> tuple[SharedSynopsis, SharedSynopsis, SharedSynopsis]:
    return _filled(Running(_sum()), kept), _filled(Interval(maximum(BIGINT)), kept), _filled(Quantile(BIGINT), kept)


def _ring(synopsis: SharedSynopsis) -> Ring:
    kept = synopsis.kept[0]
    assert isinstance(kept, KeptWords)
    return kept.ring(synopsis.elements)


def _where(synopsis: SharedSynopsis) -> tuple[Int64s, Int64s, Int64s, Int64s, Int64s, Int64s]:
    runs = synopsis.kept[0]
    assert isinstance(runs, Quantile)
    e = synopsis.elements
    return runs.start, e.offset, e.size, e.next, runs.runs, runs.nulls


@compiled
def _updates(
    kind: int, operation: int, value: Int64s,
    offset: Int64s, size: Int64s, first: Int64s, next: Int64s, rows: Int64s,
) -> None:  # fmt: skip
    for i in range(len(value)):
        _insert_one(kind, next[0], value, i, operation, offset, size, rows)
        next[0] += 1


@compiled
def _updates_quantile(
    value: Int64s, start: Int64s, offset: Int64s, size: Int64s, next: Int64s, runs: Int64s, nulls: Int64s
) -> None:
    for i in range(len(value)):
        quantile.insert_one(0, next[0], value[i], True, start, offset, size, runs, nulls)
        next[0] += 1


# Figure 11: lookups alone, of windows that lie anywhere


def _figure_11(lookups: int, widths: Sequence[int], longest: int) -> list[Result]:
    """The rates of compiled loops by width, and beside them those of calls from Python and of vectorised batches."""
    sums, extremes, runs = _three(longest)
    random, results = np.random.default_rng(11), []
    for width in widths:
        measuring(f"figure 11: windows of {width:,} elements")
        newest = random.integers(0, longest - width + 1, lookups)
        end = int(sums.elements.next[0]) - newest
        begin, few = end - width, max(200, lookups // 20)
        ranks = random.integers(1, width + 1, few)
        works = {
            "R-INT": (sums, lookups, partial(_lookups, _RUNNING, ADD, begin, end, *_ring(sums))),
            "B-INT": (extremes, lookups, partial(_lookups, _INTERVAL, GREATEST, begin, end, *_ring(extremes))),
            "B-INT-QNT": (runs, few, partial(_lookups_quantile, begin[:few], end[:few], ranks, *_where(runs))),
        }
        for name, (synopsis, count, work) in works.items():
            ways = _ways(synopsis, newest[:count] + width, newest[:count])
            results.append(_result(11, name, width, _rate(count, work), **ways))
    return results


def _ways(synopsis: SharedSynopsis, oldest: Int64s, newest: Int64s) -> dict[str, float]:
    group, calls = np.zeros(len(oldest), np.int64), 200

    def one_by_one() -> None:
        for i in range(calls):
            synopsis.lookup_by_rows(group[:1], oldest[i : i + 1], newest[i : i + 1])

    batch = _rate(len(oldest), lambda: synopsis.lookup_by_rows(group, oldest, newest))
    return {"from_python": _rate(calls, one_by_one), "vectorised": batch}


@compiled
def _lookups(
    kind: int, operation: int, begin: Int64s, end: Int64s,
    offset: Int64s, size: Int64s, first: Int64s, next: Int64s, rows: Int64s,
) -> int:  # fmt: skip
    found, total = np.zeros((1, 2), np.int64), 0
    for i in range(len(begin)):
        total += _lookup_one(kind, begin[i], end[i], operation, offset, size, rows, found)
    return total


@compiled
def _lookups_quantile(
    begin: Int64s, end: Int64s, rank: Int64s,
    start: Int64s, offset: Int64s, size: Int64s, next: Int64s, runs: Int64s, nulls: Int64s,
) -> int:  # fmt: skip
    room, total = np.empty((5, 130), np.int64), 0
    for i in range(len(begin)):
        total += quantile.rank_one(
            0, begin[i], end[i], rank[i], start, size, runs, room[0], room[1], room[2], room[3], room[4]
        )
    return total


def _draw(results: Sequence[Result]) -> None:
    figure, axes = plotting().subplots(1, 3, figsize=(15, 4.5))
    panels = (
        (9, "updates to all inputs", "1,000 operators (figure 9)"),
        (10, "elements kept", "updates (figure 10)"),
        (11, "width of the window", "lookups (figure 11)"),
    )
    for axis, (number, label, title) in zip(axes, panels, strict=True):
        mine = [one for one in results if one["figure"] == number]
        for name in dict.fromkeys(one["synopsis"] for one in mine):
            line = [one for one in mine if one["synopsis"] == name]
            axis.plot([one["x"] for one in line], [one["per_second"] for one in line], "o-", label=name)
        axis.set_xlabel(label)
        axis.set_title(title)
        axis.set_yscale("log")
        if number > 9:
            axis.set_xscale("log")
        axis.legend(fontsize=7)
    axes[0].set_ylabel("a second")
    drawn(figure, "asw")
