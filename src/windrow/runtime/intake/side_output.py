"""Side outputs: rows that were not taken, late or rejected, are counted and the newest can be looked at."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

KEPT_ROWS = 10_000  # of a side output; all are counted


@dataclass
class SideOutput:
    """Rows that were not taken, with the reason; the newest are kept."""

    reasons: dict[str, int] = field(default_factory=dict)
    rows: list[pa.Table] = field(default_factory=list)
    most: float = KEPT_ROWS  # that are kept, or a little more

    def put(self, rows: pa.Table, reason: str) -> None:
        if not rows.num_rows:
            return
        self.reasons[reason] = self.reasons.get(reason, 0) + rows.num_rows
        self.keep(rows.append_column("_reason", pa.array([reason] * rows.num_rows, pa.string())))

    def keep(self, rows: pa.Table) -> None:
        """Rows that have their reason."""
        self.rows.append(rows)
        while sum(table.num_rows for table in self.rows[1:]) >= self.most:
            self.rows.pop(0)

    def table(self) -> pa.Table | None:
        """The kept rows as they came."""
        return together(self.rows)


def together(tables: Sequence[pa.Table]) -> pa.Table | None:
    """Rows that came apart, as one table; columns that came with several types are texts. None when there are none."""
    if not tables:
        return None
    names = dict.fromkeys(name for rows in tables for name in rows.column_names)
    mixed = {name for name in names if not _is_one_type({rows.schema.field(name).type for rows in _with(name, tables)})}
    return pa.concat_tables([_as_text(rows, mixed) for rows in tables], promote_options="permissive")


def _with(name: str, tables: Sequence[pa.Table]) -> Iterator[pa.Table]:
    return (rows for rows in tables if name in rows.column_names)


def _is_one_type(types: set[pa.DataType]) -> bool:
    """Whether Arrow has one that all of them fit into."""
    try:
        pa.unify_schemas([pa.schema([("", of)]) for of in types], promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return False
    return True


def _as_text(rows: pa.Table, names: Collection[str]) -> pa.Table:
    for place, name in enumerate(rows.column_names):
        if name in names:
            rows = rows.set_column(place, name, texts(rows.column(place)))
    return rows


def texts(values: pa.ChunkedArray) -> pa.Array:
    """Values as they are written: times as they are shown, arrays and structs as JSON."""
    if pa.types.is_string(values.type):
        return values
    try:
        listed = values.to_pylist()
    except OverflowError:  # times that Python's calendar does not have
        listed = values.cast(pa.int64()).to_pylist()
    return pa.array([None if value is None else _text(value) for value in listed], pa.string())


def _text(value: Any) -> str:
    return json.dumps(value, default=str, ensure_ascii=False) if isinstance(value, list | dict) else str(value)
