"""What operators keep, told as rows of their inputs: so a state can be taken apart and put together on other shards.

`kept` gives for each input rows of which the operator would have come to the same state, and nothing that it has
emitted is emitted otherwise. Columns that it does not keep are null. `remade` is the way back, for some of the rows or
for those of several states. None stands for a state that cannot be told so: accumulators of rows that have no end,
outer joins, whose rows without a key nobody keeps, synopses, and all that counts on the order of everything there was.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np

from windrow.batch.arrays import Int64s
from windrow.batch.batch import Batch, Segment, concat, inserts
from windrow.batch.column import Column, nulls
from windrow.operators.groups.group_by import GroupBy, GroupByState
from windrow.operators.joins.join import Join, JoinState
from windrow.operators.joins.semi_join import AntiJoin, PresenceState, SemiJoin, WeakSemiJoinState
from windrow.operators.operator import Operator
from windrow.operators.outputs.append_only import AppendOnly, AppendOnlyState
from windrow.operators.outputs.negative_tuples import NegativeTuples, NegativeTuplesState
from windrow.operators.outputs.output_streams import AnswerState, NetChanges, RelationStream
from windrow.operators.sets.distinct import DistinctStar, DistinctStarState
from windrow.operators.sets.multiplicity import MultiplicityOperator, MultiplicityState
from windrow.operators.windows.partition_window import PartitionWindow, PartitionWindowState, PredicateWindow
from windrow.operators.windows.time_window import TimeWindow, WaitingRows
from windrow.state.structure import Structure
from windrow.units import FOREVER

Kept = tuple[Batch, ...]


@singledispatch
def kept(operator: Any, state: Any, like: Sequence[Batch]) -> Kept | None:
    """Rows of each input, in the order of time; `like` are the inputs without rows."""
    return None


def is_told(operator: Any) -> bool:
    """Whether states of an operator can be told as rows, unless it says otherwise of one."""
    return kept.dispatch(type(operator)) is not kept.dispatch(object)


def remade(operator: Operator[Any], rows: Sequence[Batch], at: int) -> Any:
    """A state of which this is kept, for an operator that has been stepped up to a time."""
    state = operator.fresh_state()
    if isinstance(operator, TimeWindow):
        state.waiting.push(rows[0])
    else:
        operator.step(state, rows, Segment(at - 1, at))
    return state


@kept.register
def _(operator: Join, state: JoinState, like: Sequence[Batch]) -> Kept | None:
    return _scanned(state.left, like[0]), _scanned(state.right, like[1])


@kept.register
def _(operator: SemiJoin, state: PresenceState | WeakSemiJoinState, like: Sequence[Batch]) -> Kept | None:
    left, right = like
    if isinstance(state, WeakSemiJoinState):
        rows = _scanned(state.matched.left, left)
        present = kept(operator.presence, state.present, (_columns(right, operator.right_keys),))
        assert present is not None
        found = present[0] if state.found is None else _scanned(state.found.right, right)
    else:
        rows = _scanned(state.left, left)
        found = _scanned(state.right, _columns(right, operator.right_keys))
        found = found if state.found is None else _scanned(state.found.right, right)
    return rows, found if state.found is not None else _widened(found, operator.right_keys, right)


@kept.register
def _(operator: AntiJoin, state: PresenceState, like: Sequence[Batch]) -> Kept | None:
    return kept(operator.semi, state, like)


@kept.register
def _(operator: GroupBy, state: GroupByState, like: Sequence[Batch]) -> Kept | None:
    ids, rows = state.ends.scan()
    left = state.rows["count"].copy()
    np.subtract.at(left, ids, rows.sign.astype(np.int64))
    if left.any():
        return None  # rows whose ends are not known are not kept
    if not len(rows):
        return (like[0],)
    columns = (*state.groups.columns(ids), *rows.columns)
    return (_widened(rows.with_columns(columns), (*operator.keys, *operator.arguments), like[0]).sorted_by_time(),)


@kept.register
def _(operator: MultiplicityOperator, state: MultiplicityState, like: Sequence[Batch]) -> Kept | None:
    sides = zip(state.ends, ("left", "right"), like, strict=False)
    return tuple(_counted(state, ends, state.counts[side], rows) for ends, side, rows in sides)


@kept.register
def _(operator: NetChanges, state: MultiplicityState, like: Sequence[Batch]) -> Kept | None:
    return kept(operator.counting, state, like)


@kept.register
def _(operator: AppendOnly, state: AppendOnlyState, like: Sequence[Batch]) -> Kept | None:
    return None if operator.numbers else kept(operator.born, state.counts, like)


@kept.register
def _(operator: DistinctStar, state: DistinctStarState, like: Sequence[Batch]) -> Kept | None:
    """The duplicate that is shown comes first."""
    ids = state.values.known()
    if not len(ids):
        return (like[0],)
    shown, next_end = state.ends["shown"][ids], state.ends["auxiliary"][ids]
    first, second = (inserts(state.values.columns(of), np.zeros(len(of), np.int64)) for of in (ids, ids))
    outlives = next_end > shown
    parts = first.with_lifetimes(first.ts, shown), second.with_lifetimes(second.ts, next_end).take(outlives)
    return (concat(parts),)


@kept.register
def _(operator: PartitionWindow, state: PartitionWindowState, like: Sequence[Batch]) -> Kept | None:
    if operator.slide != 1:
        return None
    return (state.lines.entered().sorted_by_time() if len(state.lines) else like[0],)


@kept.register
def _(operator: PredicateWindow, state: PartitionWindowState, like: Sequence[Batch]) -> Kept | None:
    return kept(operator.newest, state, like)


@kept.register
def _(operator: NegativeTuples, state: NegativeTuplesState, like: Sequence[Batch]) -> Kept | None:
    return (_scanned(state.window, like[0]),)


@kept.register
def _(operator: RelationStream, state: AnswerState, like: Sequence[Batch]) -> Kept | None:
    return (_scanned(state.answer, like[0]),)


@kept.register
def _(operator: TimeWindow, state: WaitingRows, like: Sequence[Batch]) -> Kept | None:
    return (state.waiting.rows(like[0]),)


def _scanned(structure: Structure, like: Batch) -> Batch:
    rows = structure.scan().rows
    return rows.sorted_by_time() if len(rows) else like.slice(0, 0)


def _columns(rows: Batch, ordinals: Sequence[int]) -> Batch:
    return rows.with_columns(rows.select(tuple(ordinals)))


def _widened(rows: Batch, ordinals: Sequence[int], like: Batch) -> Batch:
    """Rows of some columns as rows of the input."""
    known: dict[int, Column] = dict(zip(ordinals, rows.columns, strict=True))
    all_columns = enumerate(like.columns)
    made = (known.get(place) or nulls(one.type, len(rows), one.dictionary) for place, one in all_columns)
    return rows.with_columns(tuple(made))


def _counted(state: MultiplicityState, ends: Structure, counts: Int64s, like: Batch) -> Batch:
    """Rows whose ends are known, and of the others as many as are left."""
    ids, filed = ends.scan()
    left = counts.copy()
    np.subtract.at(left, ids, filed.sign.astype(np.int64))
    open_ids = np.repeat(np.flatnonzero(left > 0), left[left > 0])
    parts = [like.slice(0, 0)]
    if len(ids):
        parts.append(filed.with_columns(state.rows.columns(ids)))
    if len(open_ids):
        begun = inserts(state.rows.columns(open_ids), np.zeros(len(open_ids), np.int64))
        parts.append(begun.with_lifetimes(begun.ts, np.full(len(begun), FOREVER, np.int64)))
    return concat(parts).sorted_by_time()
