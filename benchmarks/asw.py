"""How fast synopses answer aggregates over sliding windows, and how fast they take elements in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from time import process_time

import numpy as np

from benchmarks import asw_loops
from benchmarks.asw_loops import Input, Loops
from benchmarks.baselines.landmark import Landmark
from benchmarks.baselines.materialized import Materialized
from benchmarks.baselines.search_tree import SearchTree
from benchmarks.figure import drawn, plotting
from benchmarks.runner import Report, measuring
from windrow.batch.arrays import Int64s
from windrow.batch.column import Column
from windrow.synopses import (
    BasicInterval,
    Interval,
    NestedLandmarks,
    QuantileSynopsis,
    Running,
    SharedSynopsis,
    Synopsis,
    TwoStacks,
    WordAggregate,
    maximum,
    sum_of_integers,
)
from windrow.synopses.positions.elements import Rings
from windrow.synopses.positions.quantile import Runs
from windrow.synopses.positions.word_synopsis import WordSynopsis
from windrow.synopses.positions.words import Operation
from windrow.types import BIGINT

OPERATORS = 1_000  # SUM over the last 0, 1, ..., 999 tuples
SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)  # of updates in the input
LONGEST = 100_000  # kept by the synopses that lookups are counted on
BEST_OF = 3
SLOW = ("two stacks", "materialize all", "materialize none")  # measured on a twentieth of the input


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
        "R-INT": lambda: _shared(Running, asw_loops.RUNNING),
        "B-INT": lambda: _shared(Interval, asw_loops.INTERVAL),
        "L-INT": _landmarks,
        "nested landmarks": lambda: _shared(NestedLandmarks, asw_loops.NESTED_LANDMARKS),
        "PSoup": lambda: _shared(SearchTree, asw_loops.SEARCH_TREE),
        "two stacks": _two_stacks,
        "materialize all": _materialized,
        "materialize none": lambda: _shared(BasicInterval, asw_loops.BASIC_INTERVAL),
    }
    results: list[Result] = []
    for share in SHARES:
        measuring(f"figure 9: {share:.0%} updates")
        many = _input(inputs, share)
        few = Input(many.is_update[: inputs // 20], many.value[: inputs // 20], many.width[: inputs // 20])
        answers: set[int] = set()
        for name, make in ways.items():
            answers.add(make()(few))  # all start from the same elements, and must agree
            mixed = few if name in SLOW else many
            results.append(_result(9, name, share, _rate(len(mixed.width), partial(make(), mixed))))
        assert len(answers) == 1, f"the answers differ: {answers}"
    return results


def _input(count: int, share: float) -> Input:
    random = np.random.default_rng(9)
    is_update = random.random(count) < share
    values = np.stack([np.ones(count, np.int64), random.integers(0, 1_000, count)], axis=1)
    return Input(is_update, values, random.integers(0, OPERATORS, count))


def _filled(kind: Synopsis, length: int, before: int = 12_345) -> SharedSynopsis:
    """So many elements, with others before them that have left: windows then begin at odd places too."""
    synopsis = SharedSynopsis([kind])
    values = np.random.default_rng(1).integers(0, 1 << 20, length + before)
    for start in range(0, len(values), 100_000):
        part = values[start : start + 100_000]
        times = np.arange(start, start + len(part))
        synopsis.insert(np.zeros(len(part), np.int64), times, [(Column(BIGINT, part),)])
        synopsis.keep_newest(length)
    return synopsis


def _sum() -> WordAggregate:
    return sum_of_integers(BIGINT)


def _shared(make: Callable[[WordAggregate], WordSynopsis], loops: Loops) -> Mixed:
    stored = _stored(_filled(make(_sum()), OPERATORS, 0))
    return lambda mixed: loops.mixed(mixed, OPERATORS, *stored)


def _landmarks() -> Mixed:
    synopsis = Landmark(_sum(), range(1, OPERATORS), by_rows=True)
    values = np.random.default_rng(1).integers(0, 1 << 20, OPERATORS)
    synopsis.insert(np.zeros(OPERATORS, np.int64), np.arange(OPERATORS), (Column(BIGINT, values),))
    which = np.searchsorted([p.largest for p in synopsis.partitions], np.arange(OPERATORS))
    reach = np.array([p.reach for p in synopsis.partitions])
    partitions = tuple(p.where for p in synopsis.partitions)
    operation = synopsis.partitions[0].operation
    return lambda mixed: asw_loops.mixed_landmark(mixed, which, reach, operation, partitions)


def _two_stacks() -> Mixed:
    """A queue for each operator: a group each, and every element goes to all of them."""
    synopsis = SharedSynopsis([TwoStacks(_sum())])
    values, groups = np.random.default_rng(1).integers(0, 1 << 20, OPERATORS), np.arange(OPERATORS)
    for n in range(OPERATORS):
        column = Column(BIGINT, np.full(OPERATORS, values[n]))
        synopsis.insert(groups, np.full(OPERATORS, n), [(column,)])
        synopsis.elements.first[:OPERATORS] = np.maximum(0, n + 1 - groups)
    queues = synopsis.synopses[0]
    assert isinstance(queues, TwoStacks)
    stacks = queues.stacks(queues.rings(synopsis.elements))
    return lambda mixed: asw_loops.mixed_two_stacks(mixed, OPERATORS, queues.operation, stacks)


def _materialized() -> Mixed:
    synopsis = Materialized(_sum(), range(OPERATORS))
    values = np.random.default_rng(1).integers(0, 1 << 20, OPERATORS)
    synopsis.insert(np.zeros(OPERATORS, np.int64), np.arange(OPERATORS), (Column(BIGINT, values),))
    operation, rings = synopsis.values.operation, synopsis.values.rings(synopsis.elements)
    return lambda mixed: asw_loops.mixed_materialized(mixed, synopsis.widths, operation, rings, synopsis.answers)


# Figure 10: updates alone


def _figure_10(updates: int, sizes: Sequence[int]) -> list[Result]:
    results: list[Result] = []
    values = np.random.default_rng(10).integers(0, 1 << 30, updates)
    rows = np.stack([np.ones(updates, np.int64), values], axis=1)
    for kept in sizes:
        measuring(f"figure 10: {kept:,} elements kept")
        kinds, runs = _of_words(kept), _filled(QuantileSynopsis(BIGINT), kept)
        works = {
            name: partial(loops.updates, rows, *_stored(synopsis)) for name, (synopsis, loops) in kinds.items()
        } | {"B-INT-QNT": partial(asw_loops.updates_quantile, values, runs.elements.next, _runs(runs))}
        results += [_result(10, name, kept, _rate(updates, work)) for name, work in works.items()]
    return results


def _of_words(kept: int) -> dict[str, tuple[SharedSynopsis, Loops]]:
    """Synopses with so many elements, and their loops."""
    return {
        "R-INT": (_filled(Running(_sum()), kept), asw_loops.RUNNING),
        "B-INT": (_filled(Interval(maximum(BIGINT)), kept), asw_loops.INTERVAL),
        "nested landmarks": (_filled(NestedLandmarks(maximum(BIGINT)), kept), asw_loops.NESTED_LANDMARKS),
    }


def _stored(synopsis: SharedSynopsis) -> tuple[Operation, Rings]:
    words = synopsis.synopses[0]
    assert isinstance(words, WordSynopsis)
    return words.operation, words.rings(synopsis.elements)


def _runs(synopsis: SharedSynopsis) -> Runs:
    quantile = synopsis.synopses[0]
    assert isinstance(quantile, QuantileSynopsis)
    return quantile.where(synopsis.elements)


# Figure 11: lookups alone, of windows that lie anywhere


def _figure_11(lookups: int, widths: Sequence[int], longest: int) -> list[Result]:
    """The rates of compiled loops by width, and beside them those of calls from Python and of vectorised batches."""
    kinds, runs = _of_words(longest), _filled(QuantileSynopsis(BIGINT), longest)
    random, results = np.random.default_rng(11), []
    for width in widths:
        measuring(f"figure 11: windows of {width:,} elements")
        newest = random.integers(0, longest - width + 1, lookups)
        end = int(runs.elements.next[0]) - newest
        begin, few = end - width, max(200, lookups // 20)
        ranks = random.integers(1, width + 1, few)
        works = {
            name: (synopsis, lookups, partial(loops.lookups, begin, end, *_stored(synopsis)))
            for name, (synopsis, loops) in kinds.items()
        }
        works["B-INT-QNT"] = (
            runs,
            few,
            partial(asw_loops.lookups_quantile, begin[:few], end[:few], ranks, _runs(runs)),
        )
        for name, (synopsis, count, work) in works.items():
            ways = _ways(synopsis, newest[:count] + width, newest[:count])
            results.append(_result(11, name, width, _rate(count, work), **ways))
    return results


def _ways(synopsis: SharedSynopsis, oldest: Int64s, newest: Int64s) -> dict[str, float]:
    group, calls = np.zeros(len(oldest), np.int64), 200

    def lookup(part: slice) -> None:
        synopsis.lookup(synopsis.elements.by_rows(group[part], oldest[part], newest[part]))

    def one_by_one() -> None:
        for i in range(calls):
            lookup(slice(i, i + 1))

    batch = _rate(len(oldest), lambda: lookup(slice(None)))
    return {"from_python": _rate(calls, one_by_one), "vectorised": batch}


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
