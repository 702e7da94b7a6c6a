"""The order in which an answer is shown: by ORDER BY, then by the row's values, so that it is always the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from windrow.plan.expressions import Column, SortKey


def in_shown_order(table: pa.Table, keys: Sequence[SortKey]) -> pa.Table:
    """Nulls stand where each key says; ties and keys that are not columns are left to the values."""
    written = [(k.expression.name, k.descending, k.nulls_first) for k in keys if isinstance(k.expression, Column)]
    by_values = [(name, False, True) for name in table.column_names]
    positions = list(range(table.num_rows))
    for name, descending, nulls_first in reversed([*written, *by_values]):
        values = table.column(name).to_pylist()
        present = sorted(
            (place for place in positions if values[place] is not None),
            key=_Comparable(values),
            reverse=descending,
        )
        missing = [place for place in positions if values[place] is None]
        positions = [*missing, *present] if nulls_first else [*present, *missing]
    return table.take(pa.array(positions, pa.int64()))


class _Comparable:
    """The key of a place: its value, with NaN above all numbers and structures by their text."""

    def __init__(self, values: Sequence[Any]) -> None:
        self._values = values

    def __call__(self, place: int) -> Any:
        value = self._values[place]
        if isinstance(value, float):
            return value != value, value
        return str(value) if isinstance(value, dict | list) else value
