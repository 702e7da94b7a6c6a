"""The order in which an answer is shown: by ORDER BY, then by the row's values, so that it is always the same."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from windrow.batch import Batch
from windrow.batch.arrays import Array, Int64s
from windrow.batch.row_order import sort_words
from windrow.plan.expressions import ColumnReference, SortKey
from windrow.plan.schema import Schema


def in_shown_order(rows: Batch, schema: Schema, keys: Sequence[SortKey]) -> Batch:
    """Nulls stand where each key says; ties and keys that are not columns are left to the values."""
    if len(rows) < 2:
        return rows
    words = [
        word
        for key in keys
        if isinstance(key.expression, ColumnReference)
        for word in sort_words(rows.columns[schema.names.index(key.expression.name)], key.descending, key.nulls_first)
    ]
    words += [word for column in rows.columns for word in sort_words(column)]
    return rows.take(_sorted_positions(words)) if words else rows


def _sorted_positions(words: Sequence[Array]) -> Int64s:
    """By the first word, which is quick; by all of them only where it has ties."""
    order = np.argsort(words[0])
    first = words[0][order]
    same = first[1:] == first[:-1]
    tied = np.zeros(len(order), np.bool_)
    tied[1:] |= same
    tied[:-1] |= same
    places = order[tied]
    order[tied] = places[np.lexsort(tuple(word[places] for word in reversed(words)))]
    return order
