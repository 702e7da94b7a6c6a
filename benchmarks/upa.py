"""What the thesis's Queries 1-4 cost under negative tuples, direct expiry and update-pattern-aware structures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from benchmarks.figure import drawn, plotting
from benchmarks.runner import Report, measuring
from windrow.batch import Batch, Dictionary, Segment, consolidate, inserts, words_of
from windrow.batch.arrays import Array, Int64s
from windrow.batch.arrow import columns_from_arrow
from windrow.physical.structures import structure_kind
from windrow.plan.nodes import Node, Stream
from windrow.plan.strategy import Strategy
from windrow.runtime.local.dataflow import Dataflow
from windrow.runtime.stepping import Passes
from windrow.session import Session
from windrow.sources.generators import generator
from windrow.state import STRUCTURES

THREADS = 1
SHARED_DATA = Path(__file__).parents[2] / "shared" / "data"
TRACE = SHARED_DATA / "zeek_connections.parquet"
LINKS = ("link1", "link2", "link3")
STRATEGIES = (Strategy.UPA, Strategy.DIRECT, Strategy.NT)
FILLED_IN = 10_000  # rows at a time while the windows fill up, which is not measured

STREAMS = "".join(
    f"CREATE STREAM {link} (ts TIMESTAMP, src STRING, dst STRING, protocol STRING) TIMESTAMP BY ts;" for link in LINKS
)
JOINED = "SELECT RSTREAM * FROM link1 {w}, link2 {w} WHERE link1.src = link2.src"
QUERIES = {
    "q1 few": JOINED + " AND link1.protocol = '{few}' AND link2.protocol = '{few}'",
    "q1": JOINED + " AND link1.protocol = '{many}' AND link2.protocol = '{many}'",
    "q2": "SELECT RSTREAM DISTINCT src FROM link1 {w}",
    "q2 pairs": "SELECT RSTREAM DISTINCT src, dst FROM link1 {w}",
    "q3": "SELECT RSTREAM * FROM link1 {w} WHERE NOT EXISTS (SELECT * FROM link2 {w} WHERE link2.src = link1.src)",
    "q4 pulled up": """SELECT RSTREAM * FROM {one} AS link1, {three} AS link3 WHERE link1.src = link3.src
        AND NOT EXISTS (SELECT * FROM {two} AS link2 WHERE link2.src = link1.src)""",
    "q4 pushed down": """SELECT RSTREAM * FROM (SELECT * FROM {one} AS link1
        WHERE NOT EXISTS (SELECT * FROM {two} AS link2 WHERE link2.src = link1.src)) AS link1,
        {three} AS link3 WHERE link1.src = link3.src""",
}
AS_WRITTEN = ("q4 pulled up", "q4 pushed down")  # two plans of one query: the optimizer would choose for us


@dataclass(frozen=True)
class Trace:
    """Rows of each link in the order of time, the windows to try, and a protocol for few results and one for many."""

    name: str
    links: Mapping[str, Batch]
    dictionary: Dictionary
    windows: tuple[int, ...]  # microseconds
    few: str
    many: str

    def text(self, query: str, window: int) -> str:
        over = f"[RANGE {window} MICROSECONDS]"
        one, two, three = (f"(SELECT * FROM {link} {over} WHERE protocol = '{self.few}')" for link in LINKS)
        return QUERIES[query].format(w=over, few=self.few, many=self.many, one=one, two=two, three=three)


@dataclass(frozen=True)
class Run:
    """One query under one strategy, for one window: what 1,000 tuples cost, by the size of batches."""

    trace: str
    query: str
    strategy: Strategy
    window: int
    window_rows: int
    ms: Mapping[int, float]  # with the answer stored
    operators_ms: Mapping[int, float]  # without it
    state: int
    answer: int
    digest: bytes  # of the answer at the end

    def results(self) -> Iterator[dict[str, object]]:
        for batch, ms in self.ms.items():
            yield {
                "trace": self.trace,
                "query": self.query,
                "strategy": self.strategy.name,
                "window_rows": self.window_rows,
                "batch": batch,
                "ms_per_1000": ms,
                "operators_ms": self.operators_ms[batch],
                "state": self.state,
                "answer": self.answer,
            }


def run(quick: bool) -> Report:
    if quick:
        return compared(100_000, {1: 200, 1_000: 20_000, 100_000: 100_000}, quick)
    return compared(200_000, {1: 1_000, 1_000: 100_000, 100_000: 300_000}, quick)


def compared(largest: int, sizes: Mapping[int, int], quick: bool) -> Report:
    """All queries and strategies, up to windows of `largest` rows; `sizes`: how many rows each size of batch gets."""
    params: dict[str, object] = {"batches": list(sizes), "threads": THREADS, "quick": quick}
    traces = [_generated(largest, sum(sizes.values()))]
    if TRACE.exists():
        traces.append(_recorded())
    else:
        params["skipped"] = f"the recorded trace: {TRACE.name} is not in ../shared/data"
        measuring(f"nothing of {params['skipped']}")
    runs: list[Run] = []
    for trace in traces:
        for query in QUERIES:
            runs += _runs(trace, query, sizes)
    _draw([run for run in runs if run.trace == traces[0].name], traces[0].name)
    params |= {"windows": list(traces[0].windows), "ratios_on": traces[0].name, "ratios_at_batch": 1_000}
    return Report("upa", params, [result for run in runs for result in run.results()], _ratios(runs, traces[0]))


def _generated(largest: int, measured: int) -> Trace:
    """Independent links, one tuple a millisecond each on average, as in the thesis one a time unit."""
    made = [
        generator("traffic", {"link": link, "rate": 1_000, "hosts": 20_000}).read(0, int(1.2 * largest) + measured)
        for link in (1, 3, 5)
    ]
    tables = [table.select(["ts", "src", "dst", "protocol"]) for table in made]
    windows = tuple(largest // share * 1_000 for share in (100, 10, 1))
    return _trace("generator", tables, windows, few="telnet", many="ftp")


def _recorded() -> Trace:
    """Connections of one host, dealt to the links in turn: a split by destination would put all on one link."""
    table = pa.parquet.read_table(TRACE).sort_by("ts")
    table = pa.table(
        {
            "ts": table["ts"],
            "src": table["remote"].cast(pa.string()),
            "dst": table["local"].cast(pa.string()),
            "protocol": table["protocol"].cast(pa.string()),
        }
    )
    tables = [table.take(pa.array(np.arange(link, table.num_rows, len(LINKS)))) for link in range(len(LINKS))]
    hour = 3_600_000_000
    return _trace("zeek", tables, (hour // 5, 2 * hour, 20 * hour), few="http", many="ssh")


def _trace(name: str, tables: Sequence[pa.Table], windows: tuple[int, ...], few: str, many: str) -> Trace:
    dictionary = Dictionary()
    links = {}
    for link, table in zip(LINKS, tables, strict=True):
        times = table["ts"].cast(pa.int64()).combine_chunks().to_numpy()
        links[link] = inserts(columns_from_arrow(table, dictionary), np.ascontiguousarray(times)).sorted_by_time()
    return Trace(name, links, dictionary, windows, few, many)


def _runs(trace: Trace, query: str, sizes: Mapping[int, int]) -> list[Run]:
    found = []
    for window in trace.windows:
        plan = _plan(trace.text(query, window), as_written=query in AS_WRITTEN)
        if window == trace.windows[0]:  # compiles the loops, which is not counted
            for strategy in STRATEGIES:
                _fed(trace, query, plan, strategy, window, {1_000: 4_000})
        measuring(f"{trace.name}, {query}, a window of {window // 1_000_000:,} s")
        runs = [_fed(trace, query, plan, strategy, window, sizes) for strategy in STRATEGIES]
        for run in runs[1:]:
            if run.digest != runs[0].digest:
                raise AssertionError(f"{query}: {run.strategy} and {runs[0].strategy} do not agree")
        found += runs
    return found


def _plan(text: str, as_written: bool) -> Node:
    session = Session()
    session.execute(STREAMS)
    if as_written:
        session.execute("SET optimizer = off")
    return session.plan(text)


class Answer:
    """The answer of a plan, stored as the strategy stores the results of its root."""

    def __init__(self, plan: Node, strategy: Strategy) -> None:
        self._answer = STRUCTURES[structure_kind(plan, strategy)]()

    def take(self, changes: Batch, segment: Segment) -> None:
        self._answer.insert(np.zeros(len(changes), np.int64), changes)
        self._answer.drop_until(segment.end - 1)

    def __len__(self) -> int:
        return len(self._answer)

    def bag(self) -> Array:
        """The rows that count, as words in order."""
        rows = self._answer.scan().rows
        level = np.zeros(len(rows), np.int64)
        rows = consolidate(rows.with_lifetimes(level, level))
        words = words_of(rows.columns, len(rows))
        return words[np.lexsort(words.T)] if len(words) else np.zeros((0, 0), np.uint64)


def _stepped(dataflow: Dataflow, query: str, inputs: Mapping[str, Batch], segment: Segment) -> Batch:
    passes = Passes(lambda streams, start: segment, lambda start, source, of: inputs[source.source or ""])
    changes = dataflow.step(passes)[query]
    assert isinstance(changes, Batch), query
    return changes


def _fed(trace: Trace, query: str, plan: Node, strategy: Strategy, window: int, sizes: Mapping[int, int]) -> Run:
    """Fill the windows, then measure batches of each size, one size after the other."""
    used = {node.name: trace.links[node.name] for node in plan.walk() if isinstance(node, Stream)}
    times = np.sort(np.concatenate([rows.ts for rows in used.values()]))
    dataflow, answer = Dataflow(trace.dictionary), Answer(plan, strategy)
    dataflow.add(query, plan, int(times[0]), strategy)
    # A tenth more than a window, so that tuples also leave before the clock runs.
    filled = int(np.searchsorted(times, times[0] + window + window // 10))
    begin = int(times[0])
    for edge in _edges(times, 0, filled, FILLED_IN):
        inputs, segment = _inputs(used, begin, edge)
        answer.take(_stepped(dataflow, query, inputs, segment), segment)
        begin = edge
    ms, operators_ms = {}, {}
    rows_in_window = int(np.searchsorted(times, times[0] + window))
    for size, wanted in sizes.items():
        if size > max(1_000, 2 * rows_in_window):
            continue  # many windows in one batch: nothing is kept from one to the next
        last = min(filled + wanted, len(times) - 1)
        rows, operators, stored = 0, 0.0, 0.0
        for edge in _edges(times, filled, last, size):
            inputs, segment = _inputs(used, begin, edge)
            begin = edge
            rows += sum(map(len, inputs.values()))
            start = process_time()
            changes = _stepped(dataflow, query, inputs, segment)
            between = process_time()
            answer.take(changes, segment)
            operators, stored = operators + between - start, stored + process_time() - between
        filled = last
        if rows:
            ms[size], operators_ms[size] = 1e6 * (operators + stored) / rows, 1e6 * operators / rows
    bag = answer.bag()
    return Run(
        trace.name,
        query,
        strategy,
        window,
        rows_in_window,
        ms,
        operators_ms,
        dataflow.state_rows(),
        len(bag),
        sha256(bag.tobytes()).digest(),
    )


def _edges(times: Int64s, first: int, last: int, size: int) -> list[int]:
    """Where batches of `size` rows end; rows of the same instant stay together."""
    return [int(edge) for edge in np.unique(times[np.append(np.arange(first + size, last, size), last)])]


def _inputs(links: Mapping[str, Batch], begin: int, end: int) -> tuple[dict[str, Batch], Segment]:
    cut = {name: np.searchsorted(rows.ts, (begin, end)) for name, rows in links.items()}
    return {name: rows.slice(*map(int, cut[name])) for name, rows in links.items()}, Segment(begin, end)


def _ratios(runs: Sequence[Run], trace: Trace) -> dict[str, float]:
    def found(query: str, strategy: Strategy) -> Run:
        return next(
            run
            for run in runs
            if (run.trace, run.query, run.strategy, run.window) == (trace.name, query, strategy, trace.windows[-1])
        )

    def over(query: str, strategy: Strategy, other: str = "") -> float:
        return found(query, strategy).ms[1_000] / found(other or query, Strategy.UPA).ms[1_000]

    distinct = found("q2", Strategy.UPA)
    return {
        "q1_direct_over_upa": over("q1", Strategy.DIRECT),
        "q1_nt_over_upa": over("q1", Strategy.NT),
        "q2_direct_over_upa": over("q2", Strategy.DIRECT),
        "q2_nt_over_upa": over("q2", Strategy.NT),
        "q2_state_over_output": distinct.state / distinct.answer,
        "q4_pushed_over_pulled": over("q4 pushed down", Strategy.UPA, "q4 pulled up"),
    }


def _draw(runs: Sequence[Run], trace: str) -> None:
    figure, axes = plotting().subplots(2, 4, figsize=(15, 7))
    panels = list(axes.flat)
    for axis, query in zip(panels, QUERIES, strict=False):
        for strategy in STRATEGIES:
            of = [run for run in runs if run.query == query and run.strategy is strategy]
            _line(axis, [run.window_rows for run in of], [run.ms[1_000] for run in of], strategy.name)
        answer = max(run.answer for run in runs if run.query == query)
        axis.set_title(f"{query}\nanswer up to {answer:,} rows", fontsize=10)
        axis.set_ylabel("ms per 1,000 tuples")
    for strategy in STRATEGIES:
        of = [run for run in runs if run.query == "q2" and run.strategy is strategy]
        _line(panels[-1], [run.window_rows for run in of], [run.state for run in of], strategy.name)
    panels[-1].set_title("q2: state of the operators\n(DIRECT and NT keep the window)", fontsize=10)
    panels[-1].set_ylabel("tuples")
    panels[0].legend()
    for axis in panels[4:]:
        axis.set_xlabel("tuples in the windows")
    figure.suptitle(f"Thesis Queries 1-4 in batches of 1,000 rows ({trace}, {THREADS} thread)")
    drawn(figure, "upa")


def _line(axis: Any, x: Sequence[int], y: Sequence[float], label: str) -> None:
    style = {"UPA": "o-", "DIRECT": "s--", "NT": "^:"}[label]
    axis.plot(x, y, style, label=label)
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.grid(alpha=0.3, which="both")
    axis.yaxis.set_major_formatter("{x:,g}")
    if max(y) < 100 * min(y):  # few enough for each to have its own label
        axis.yaxis.set_minor_formatter("{x:,g}")
    else:
        axis.yaxis.set_minor_formatter("")
    axis.tick_params(axis="y", which="both", labelsize=7)
