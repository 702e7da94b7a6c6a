"""The order of rows in a stream: by time, then by the tie columns, then by the row's values in column order.

An answer may depend on the bag of rows, never on the order in which they were delivered; where the order of rows
matters (count windows, FIRST and LAST, LIMIT), this is it. Nulls come first. Rows without ties in time cost one pass.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from windrow.batch.arrays import Array
from windrow.batch.batch import Batch
from windrow.batch.column import Column, order_words


def in_row_order(rows: Batch, ties: Sequence[int] = ()) -> Batch:
    if bool((rows.ts[1:] > rows.ts[:-1]).all()):
        return rows
    rows = rows.sorted_by_time()
    same = rows.ts[1:] == rows.ts[:-1]
    if not same.any():
        return rows
    tied = np.zeros(len(rows), np.bool_)
    tied[1:] |= same
    tied[:-1] |= same
    places = np.flatnonzero(tied)
    few = rows.take(places)
    rest = [ordinal for ordinal in range(len(rows.columns)) if ordinal not in ties]
    keys = [word for ordinal in [*ties, *rest] for word in sort_words(few.columns[ordinal])]
    order = np.arange(len(rows))
    order[places] = places[np.lexsort((*reversed(keys), few.ts))]
    return rows.take(order)


def sort_words(column: Column, descending: bool = False, nulls_first: bool = True) -> list[Array]:
    """What to sort a column by, the most important first; nulls apart from the values."""
    values: list[Array] = list(order_words(column))
    if descending:
        values = [~word for word in values]
    if column.valid is None:
        return values
    return [column.valid if nulls_first else ~column.valid, *values]
