"""What brings somebody who has an old answer to the present one, without all that happened in between.

changelog  what is alive now and was not there begins when it began; what was there and is not any more ends now
upsert     for each key whose row differs the row it has now, or that it has none
snapshot   the answer now; of a periodic query its last refresh
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from windrow.batch import Batch, changelog_to_arrow, concat, consolidate, past_consolidated
from windrow.batch.consolidation import closed_by_negatives
from windrow.operators.outputs.output_streams import at_refreshes
from windrow.plan.schema import Schema
from windrow.runtime.modes import Mode, rows_at, timed_rows, upserts
from windrow.runtime.outputs.sinks import SinkForm
from windrow.runtime.refreshes import refreshes_to_arrow


class AnswerAt(NamedTuple):
    """The tuples that make up an answer from an instant on."""

    rows: Batch
    instant: int


def difference(had: AnswerAt, has: AnswerAt, form: SinkForm, columns: Schema, slide: int | None) -> pa.Table:
    """In the form that a sink gets."""
    if form.mode is Mode.CHANGELOG:
        return changelog_to_arrow(_changes(had, has), columns.names)
    if form.mode is Mode.UPSERT:
        net = consolidate(concat([_at(has, has.instant), _at(had, has.instant).negated()])).sorted_by_time()
        rows = upserts(net, [columns.names.index(name) for name in form.key])
        return timed_rows(rows, columns.names).append_column("_sign", pa.array(rows.sign))
    assert form.mode is Mode.SNAPSHOT, form
    if slide is None:
        return timed_rows(_at(has, has.instant), columns.names)
    last = has.instant // slide * slide
    return refreshes_to_arrow(at_refreshes(closed_by_negatives(has.rows), slide, last, last + 1), columns.names)


def _at(answer: AnswerAt, time: int) -> Batch:
    """The rows of an answer at its instant, at the same time as those of another."""
    rows = rows_at(answer.rows, answer.instant)
    level = np.full(len(rows), time, np.int64)
    return rows.with_lifetimes(level, level)


def _changes(had: AnswerAt, has: AnswerAt) -> Batch:
    both = concat([_lasting(has.rows, has.instant), _lasting(had.rows, has.instant).negated()])
    net = concat(past_consolidated([both]))
    ends_now = np.where(net.sign < 0, np.maximum(net.ts, has.instant), net.ts)
    return net.with_lifetimes(ends_now, net.exp).sorted_by_time()


def _lasting(rows: Batch, instant: int) -> Batch:
    rows = closed_by_negatives(rows)
    return rows.take(rows.exp > instant)
