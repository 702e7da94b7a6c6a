"""Running operators in tests: small plans over streams, cut into segments at will, with snapshots in between."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.batch import Batch, Dictionary, Segment, columns_from_arrow, concat, inserts, rows_to_arrow
from windrow.operators.operator import Remembers
from windrow.state.snapshot import NoState
from windrow.units import FOREVER

SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.int64()), ("s", pa.string()), ("at", pa.int64())])
Row = tuple[Any, ...]
HORIZON = 90  # later than any end that is looked at


@dataclass
class Source:
    """A stream by name."""

    name: str


@dataclass
class Node:
    """An operator over inputs, with its state."""

    operator: Any
    inputs: tuple[Source | Node, ...]
    state: Any = field(default=None)

    def __init__(self, operator: Any, *inputs: Source | Node) -> None:
        self.operator, self.inputs, self.state = operator, inputs, operator.fresh_state()


def stream(rows: Sequence[Row], dictionary: Dictionary, schema: pa.Schema = SCHEMA) -> Batch:
    """Rows whose first value is their time, sorted as a source sorts them."""

    def place(row: Row) -> tuple[Any, ...]:
        return (row[0], *((value is not None, 0 if value is None else value) for value in row[1:]))

    ordered = sorted(rows, key=place)
    arrays = [pa.array([row[1 + i] for row in ordered], schema.types[i]) for i in range(len(schema))]
    columns = columns_from_arrow(pa.table(arrays, schema=schema), dictionary)
    return inserts(columns, np.array([row[0] for row in ordered], np.int64))


def segments(cuts: Sequence[int], end: int = HORIZON) -> list[Segment]:
    edges = [0, *sorted({cut for cut in cuts if 0 < cut < end}), end]
    return [Segment(a, b) for a, b in itertools.pairwise(edges)]


def run(plan: Node, streams: dict[str, Batch], cuts: Sequence[int] = (), restarts: bool = False) -> Batch:
    """All changes that come out; with `restarts`, every state is written and read back after every step."""
    outputs = []
    stored: dict[int, dict[str, Any]] = {}
    for segment in segments(cuts):
        output = _step(plan, streams, segment)
        assert bool(((output.ts >= segment.begin) & (output.ts < segment.end)).all()), "changes outside the segment"
        assert bool((output.ts < output.exp).all()), "empty lifetimes"
        outputs.append(output)
        if restarts:
            _restart(plan, stored)
    return concat(outputs)


def _step(plan: Node | Source, streams: dict[str, Batch], segment: Segment) -> Batch:
    if isinstance(plan, Source):
        rows = streams[plan.name]
        start, end = np.searchsorted(rows.ts, [segment.begin, segment.end])
        return rows.slice(int(start), int(end))
    inputs = tuple(_step(below, streams, segment).sorted_by_time() for below in plan.inputs)
    return plan.operator.step(plan.state, inputs, segment)


def run_until(plan: Node, streams: dict[str, Batch], cuts: Sequence[int], at: int) -> Batch:
    """All changes that come out before an instant."""
    return concat([_step(plan, streams, segment) for segment in segments(cuts, at)])


def alive(plan: Node | Source, streams: dict[str, Batch], at: int) -> Batch:
    """What a plan that has been taken up to an instant remembers, where all rows of its streams have been kept."""
    if isinstance(plan, Source):
        rows = streams[plan.name]
        return rows.slice(0, int(np.searchsorted(rows.ts, at)))
    below = [alive(node, streams, at) for node in plan.inputs]
    if plan.operator.remembers is Remembers.RESULTS:
        return plan.operator.alive(plan.state, [rows.slice(0, 0) for rows in below], at)
    assert plan.operator.remembers is Remembers.THROUGH, plan.operator
    if isinstance(plan.state, NoState):
        return plan.operator.step(plan.state, below, Segment(at - 1, at))
    return plan.operator.alive(plan.state, below, at)


def _restart(plan: Node | Source, stored: dict[int, dict[str, Any]]) -> None:
    if isinstance(plan, Source):
        return
    for below in plan.inputs:
        _restart(below, stored)
    pieces = stored.setdefault(id(plan), {})
    snapshot = plan.state.snapshot(set(pieces))
    assert not set(snapshot.pieces) & set(pieces), "a stored piece is not written again"
    pieces.update(snapshot.pieces)
    kept = len(plan.state)
    plan.state = plan.operator.fresh_state()
    plan.state.restore({name: pieces[name] for name in snapshot.manifest})
    assert len(plan.state) <= kept, "pairs that cancel may be found when a state is read"


def answer(changes: Batch, instant: int) -> Counter[Row]:
    """The bag that a changelog stands for at an instant, by the definition."""
    names = [str(i) for i in range(len(changes.columns))]
    columns = rows_to_arrow(changes, names).to_pydict()
    bag: Counter[Row] = Counter()
    for i in range(len(changes)):
        if changes.ts[i] <= instant < changes.exp[i]:
            bag[hashable([columns[name][i] for name in names])] += int(changes.sign[i])
    assert all(count >= 0 for count in bag.values()), "more taken back than given"
    return +bag


def hashable(value: Any) -> Any:
    """Lists and structs as tuples, and one NaN for all."""
    if isinstance(value, float) and value != value:
        return math.nan
    if isinstance(value, dict):
        return hashable(list(value.values()))
    return tuple(map(hashable, value)) if isinstance(value, list | tuple) else value


def nearly(bag: Counter[Row]) -> Counter[Row]:
    """Doubles to nine digits, the tolerance of the answer law."""
    rounded: Counter[Row] = Counter()
    for row, count in bag.items():
        rounded[tuple(float(f"{v:.9g}") if isinstance(v, float) else v for v in row)] += count
    return rounded


def answers(changes: Batch, instants: Sequence[int]) -> list[Counter[Row]]:
    return [answer(changes, instant) for instant in instants]


def interesting_instants(*changelogs: Batch) -> list[int]:
    """All instants at which an answer may change, and the ones before."""
    times = {0, HORIZON - 1}
    for changes in changelogs:
        for time in [*changes.ts.tolist(), *changes.exp[changes.exp != FOREVER].tolist()]:
            times |= {time - 1, time}
    return sorted(time for time in times if 0 <= time < HORIZON)
