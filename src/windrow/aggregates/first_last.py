"""FIRST(x) and LAST(x): values in the order of a time column, then of tie columns, and then of the values themselves.

So they depend on the bag of rows only. Without tie columns a value lies in its group's tree as it is; with them under
the id of its ties and itself, and ids are compared by their rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from windrow.aggregates.aggregate import Accumulator, changes_of
from windrow.aggregates.distinct_values import values_of_groups
from windrow.aggregates.ordered import InOrder
from windrow.batch.arrays import Array, Int64s
from windrow.batch.column import Column, column, dtype_of, order_of
from windrow.numbers.group_events import GroupEvents
from windrow.numbers.in_order import column_like, in_order, ranks_of
from windrow.numbers.ordered_values import NO_RANKS, EntryWords, OrderedValues, Ranks
from windrow.numbers.row_ranks import RowRanks, rank_words
from windrow.state.key_directory import KeyDirectory
from windrow.state.keyed_arrays import KeyedArrays
from windrow.state.snapshot import Part, Parts
from windrow.types import BIGINT

_FEWEST = 64  # rows that are worth tidying


@dataclass(frozen=True)
class AtEdgeOfTime:
    """FIRST(x) (`fraction` 0) and LAST(x) (`fraction` 1), in the order of a time column and of tie columns."""

    column: int
    time: int
    fraction: int
    ties: tuple[int, ...] = ()

    @property
    def arguments(self) -> tuple[int, ...]:
        return (self.column, self.time, *self.ties)

    def fresh(self) -> Accumulator:
        return TiedEdgeOfTime(self.fraction) if self.ties else EdgeOfTime((self.fraction, 1))


class EdgeOfTime(InOrder):
    def sweep(self, events: GroupEvents, values: tuple[Column, ...]) -> Column:
        argument, time = values
        words = [order_of(time), *in_order(argument)]
        words += [np.zeros(len(time), np.int64)] * (3 - len(words))
        changes = events._replace(change=changes_of(events, (argument,)))
        found, sizes = self._trees.sweep(
            changes, EntryWords(*words), Ranks(NO_RANKS, ranks_of(argument)), self._fractions
        )
        return column_like(argument, [found[0, :, 0, 1], found[0, :, 0, 2]], sizes > 0)


class TiedEdgeOfTime(Parts):
    """The rows of a group are its ties and its values; each is in the tree as often as it is in view."""

    def __init__(self, fraction: int) -> None:
        self._trees = OrderedValues()
        self._fractions = np.array([(fraction, 1)], np.int64)
        self._rows = KeyDirectory()
        self._counts = KeyedArrays(all=np.int64)
        self._ranks = RowRanks(self._rows, _words_of)
        self._tidied = 0  # rows that were left the last time

    def sweep(self, events: GroupEvents, values: tuple[Column, ...]) -> Column:
        argument, time, *ties = values
        changes = events._replace(change=changes_of(events, (argument,)))
        return self._swept(changes, (*ties, argument), order_of(time))

    def _swept(self, changes: GroupEvents, values: tuple[Column, ...], times: Int64s) -> Column:
        """The last of the values, of the row that is first or last by time and then by all of them."""
        words = EntryWords(times, self._counted(changes, values), np.zeros(len(times), np.int64))
        found, sizes = self._trees.sweep(changes, words, Ranks(NO_RANKS, self._ranks.words), self._fractions)
        result = self._values_at(found[0, :, 0, 1], sizes > 0, values[-1])
        self._tidy()
        return result

    def _counted(self, changes: GroupEvents, values: tuple[Column, ...]) -> Int64s:
        """The ids of rows, which come and go."""
        rows = (Column(BIGINT, changes.group), *values)
        ids = self._rows.intern(rows, len(changes.group))
        self._ranks.update(ids, rows)
        self._counts.reserve(self._rows.capacity)
        np.add.at(self._counts["all"], ids, changes.change)
        return ids

    def _tidy(self) -> None:
        """Forget rows that are in view no more; goes through all, so only when there are twice as many as last time."""
        has_empty_nodes = self._trees.tally[1] > 0  # these are still compared by their rows
        if has_empty_nodes or len(self._rows) < max(_FEWEST, 2 * self._tidied):
            return
        known = self._rows.known()
        self._rows.forget(known[self._counts["all"][known] == 0])
        self._tidied = len(self._rows)

    def _values_at(self, ids: Int64s, present: Array, like: Column) -> Column:
        values, valid = np.zeros(len(ids), dtype_of(like.type)), np.zeros(len(ids), np.bool_)
        if present.any():
            found = self._rows.columns(ids[present])[-1]
            values[present], valid[present] = found.values, found.valid_mask()
        return column(like.type, values, valid, like.dictionary)

    def clear(self, ids: Int64s) -> None:
        gone = values_of_groups(self._rows, ids)
        self._counts.clear(gone)
        self._rows.forget(gone)
        self._trees.clear(ids)

    def parts(self) -> Mapping[str, Part]:
        return {"rows": self._rows, "counts": self._counts, "trees": self._trees}


def _words_of(rows: Sequence[Column]) -> list[Array]:
    """A row is compared with others of its group only, which is its first column."""
    return [word for column in rows[1:] for word in rank_words(column)]
