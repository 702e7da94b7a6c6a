"""Side outputs: rows that were not taken, late or rejected, are counted and the newest can be looked at."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

KEPT_ROWS = 10_000  # of a side output; all are counted


@dataclass
class SideOutput:
    """Rows that were not taken, with the reason; the newest are kept."""

    reasons: dict[str, int] = field(default_factory=dict)
    rows: list[pa.Table] = field(default_factory=list)

    def put(self, rows: pa.Table, reason: str) -> None:
        if not rows.num_rows:
            return
        self.reasons[reason] = self.reasons.get(reason, 0) + rows.num_rows
        self.rows.append(rows.append_column("_reason", pa.array([reason] * rows.num_rows, pa.string())))
        while sum(table.num_rows for table in self.rows[1:]) >= KEPT_ROWS:
            self.rows.pop(0)

    def table(self) -> pa.Table | None:
        """The kept rows as they came; columns that came with several types are shown as text."""
        if not self.rows:
            return None
        try:
            return pa.concat_tables(self.rows, promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            return pa.concat_tables([_as_text(rows) for rows in self.rows], promote_options="permissive")


def _as_text(rows: pa.Table) -> pa.Table:
    columns = [[None if value is None else str(value) for value in column.to_pylist()] for column in rows.columns]
    return pa.table([pa.array(column, pa.string()) for column in columns], names=rows.column_names)
