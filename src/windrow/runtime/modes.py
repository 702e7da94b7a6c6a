"""In which form what a query emits is handed over: the modes of sinks, and the streams that readers ask for.

    CHANGELOG  every change, with `_ts`, `_exp`, `_sign`
    ISTREAM    what is new at an instant `_ts`: answer(τ) − answer(τ − 1 tick), as bags
    DSTREAM    what has gone: the reverse
    UPSERT     for each key and instant the row it has from then on (`_sign` 1), or that it has none (`_sign` −1)
    SNAPSHOT   the whole answer: of a periodic query at each refresh (`_window_end`), else as of each batch (`_ts`)

All but the snapshots of a continuous query do not depend on how rows were cut into batches. All are pure functions of
the tuples that make up the answer over a segment of final time; nothing is remembered but the answer itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import numpy as np
import pyarrow as pa

from windrow.batch import Batch, Segment, arrow_type, changelog_to_arrow, consolidate, rows_to_arrow
from windrow.batch.arrays import Int64s
from windrow.batch.batch import alive_at, concat
from windrow.batch.key_table import KeyTable
from windrow.batch.words import words_of
from windrow.plan.schema import Schema
from windrow.types import TIMESTAMP
from windrow.units import FOREVER


class Mode(str, Enum):
    CHANGELOG = "changelog"
    ISTREAM = "istream"
    DSTREAM = "dstream"
    UPSERT = "upsert"
    SNAPSHOT = "snapshot"


_TIME = arrow_type(TIMESTAMP)
_ADDED = {
    Mode.CHANGELOG: (("_ts", _TIME), ("_exp", _TIME), ("_sign", pa.int8())),
    Mode.ISTREAM: (("_ts", _TIME),),
    Mode.DSTREAM: (("_ts", _TIME),),
    Mode.UPSERT: (("_ts", _TIME), ("_sign", pa.int8())),
    Mode.SNAPSHOT: (("_ts", _TIME),),
}


def emitted_schema(columns: Schema, mode: Mode, slide: int | None) -> pa.Schema:
    """The columns of a query and those that a mode adds."""
    added = (("_window_end", _TIME),) if mode is Mode.SNAPSHOT and slide is not None else _ADDED[mode]
    return pa.schema([*((field.name, arrow_type(field.type)) for field in columns), *added])


def default_mode(slide: int | None) -> Mode:
    """Periodic queries emit their answers, the others their changes."""
    return Mode.CHANGELOG if slide is None else Mode.SNAPSHOT


def rows_in_mode(
    mode: Mode, names: Sequence[str], key: Sequence[str], changes: Batch, answer: Batch, segment: Segment
) -> pa.Table:
    """What a segment brings. `answer` has the tuples that make up the answer over the segment, `changes` among them."""
    if mode is Mode.CHANGELOG:
        return changelog_to_arrow(changes, names)
    if mode is Mode.SNAPSHOT:
        instant = segment.last_row if segment.end == FOREVER else segment.end - 1
        return timed_rows(rows_at(answer, instant), names)
    net = net_changes(answer, segment)
    if mode is Mode.UPSERT:
        rows = upserts(net, [names.index(name) for name in key])
        return timed_rows(rows, names).append_column("_sign", pa.array(rows.sign))
    return timed_rows(net.take(net.sign > 0 if mode is Mode.ISTREAM else net.sign < 0), names)


def timed_rows(rows: Batch, names: Sequence[str]) -> pa.Table:
    """The columns under `names`, and `_ts`."""
    return rows_to_arrow(rows, names).append_column("_ts", pa.array(rows.ts).view(_TIME))


def rows_at(answer: Batch, instant: int) -> Batch:
    """The rows alive at an instant, each as often as it counts; `ts` is the instant."""
    alive = alive_at(answer, instant)
    level = np.full(len(alive), instant, np.int64)
    return consolidate(alive.with_lifetimes(level, level))


def net_changes(answer: Batch, segment: Segment) -> Batch:
    """What comes (sign 1) and goes (sign −1) at each instant, as often as it does; equal rows cancel out."""
    begun = answer.take((answer.ts >= segment.begin) & (answer.ts < segment.end))
    ended = answer.take((answer.exp >= segment.begin) & (answer.exp < segment.end))
    events = concat([_at(begun, begun.ts), _at(ended, ended.exp).negated()])
    return consolidate(events).sorted_by_time()


def _at(rows: Batch, times: Int64s) -> Batch:
    return rows.with_lifetimes(times, np.full(len(rows), FOREVER, np.int64))


def upserts(net: Batch, key: Sequence[int]) -> Batch:
    """Net changes of rows that have a key: what comes replaces what goes with the same key at the same instant."""
    comes = net.sign > 0
    new, gone = net.take(comes), net.take(~comes)
    table = KeyTable()
    table.intern(words_of(new.select(key), len(new), new.ts))
    replaced = table.find(words_of(gone.select(key), len(gone), gone.ts)) >= 0
    return concat([new, gone.take(~replaced)]).sorted_by_time()
