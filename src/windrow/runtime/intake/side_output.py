"""Side outputs: rows that were not taken, late or rejected, are counted and the newest can be looked at."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from windrow.sources.rows import UNPARSABLE

REASON = "_reason"
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
        self.keep(rows.append_column(REASON, pa.array([reason] * rows.num_rows, pa.string())))

    def keep(self, rows: pa.Table) -> None:
        """Rows that have their reason."""
        self.rows.append(rows)
        while sum(table.num_rows for table in self.rows[1:]) >= self.most:
            self.rows.pop(0)

    @property
    def can_be_tried(self) -> bool:
        return any(triable(table).num_rows for table in self.rows)

    def try_again(self, take: Callable[[pa.Table], None]) -> int:
        """Have rows taken once more that can be, each once; how many. Where `take` raises, they stay as they were."""
        tried = 0
        for table in list(self.rows):
            found = triable(table)
            if not found.num_rows:
                continue
            rows, reasons = self.rows, dict(self.reasons)
            left = (one if one is not table else _unparsable(table) for one in rows)
            self.rows = [one for one in left if one.num_rows]
            try:
                take(found)
            except BaseException:
                self.rows, self.reasons = rows, reasons
                raise
            tried += found.num_rows
        return tried

    def table(self) -> pa.Table | None:
        """The kept rows as they came."""
        return together(self.rows)


def triable(rows: pa.Table) -> pa.Table:
    """Rejected rows as they came, without those that could not be read at all."""
    if UNPARSABLE in rows.column_names:
        rows = rows.filter(rows.column(UNPARSABLE).is_null()).drop_columns([UNPARSABLE])
    return rows.drop_columns([REASON])


def _unparsable(rows: pa.Table) -> pa.Table:
    """The others of them."""
    if UNPARSABLE not in rows.column_names:
        return rows.slice(0, 0)
    return rows.filter(rows.column(UNPARSABLE).is_valid())


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
