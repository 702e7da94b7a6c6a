"""Sinks of late and rejected rows: LATE INTO and REJECTED INTO of CREATE STREAM.

What goes there has the same columns from the first file to the last. Late rows fit the stream, so they have its types;
rejected ones may have anything, so that all of it is text, with lines that could not be read in `_unparsable`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import pyarrow as pa

from windrow.batch import arrow_type
from windrow.catalog import Connector, StreamEntry
from windrow.runtime.intake.side_output import SideOutput, texts
from windrow.runtime.intake.typed_rows import cast
from windrow.sources.rows import UNPARSABLE


class ForwardedRows(SideOutput):
    """One whose rows are also handed on, every one of them."""

    def __init__(self, forward: Callable[[pa.Table], None]) -> None:
        super().__init__()
        self._forward = forward

    def keep(self, rows: pa.Table) -> None:
        super().keep(rows)
        self._forward(rows)


class MissingRows(NamedTuple):
    """Rows that a sink did not get because more waited than is kept, and since when, by the clock."""

    rows: int = 0
    since: int = 0

    def more(self, rows: int, now: int) -> MissingRows:
        return MissingRows(self.rows + rows, self.since if self.rows else now)

    def told(self) -> str:
        return f"{self.rows:,} newer rows are lost to it, and counted in status()['warnings']"

    def warning(self, kind: str, stream: str) -> tuple[str, int, int]:
        """As `engine.status()` has it."""
        clause = f"{kind.upper()} INTO"
        what = f"{clause} did not get them: more waited than sink_backlog; engine.{kind}({stream!r}) has the newest"
        return what, self.rows, self.since


def side_sinks(stream: StreamEntry) -> Iterator[tuple[str, Connector]]:
    """Which of late and rejected rows go where."""
    if stream.late_sink is not None:
        yield "late", stream.late_sink
    if stream.rejected_sink is not None:
        yield "rejected", stream.rejected_sink


def _late_rows(rows: pa.Table, stream: StreamEntry) -> pa.Table:
    """The columns that rows of the stream come with, and `_reason`."""
    columns = {c.name: cast(_values(rows, c.name), arrow_type(c.type))[0] for c in stream.given}
    return pa.table({**columns, "_reason": rows.column("_reason")})


def _rejected_rows(rows: pa.Table, stream: StreamEntry) -> pa.Table:
    """The columns that rows of the stream come with, as texts, `_unparsable` and `_reason`."""
    names = [*(column.name for column in stream.given), UNPARSABLE]
    return pa.table({**{name: texts(_values(rows, name)) for name in names}, "_reason": rows.column("_reason")})


def _values(rows: pa.Table, name: str) -> pa.ChunkedArray:
    none = pa.chunked_array([pa.nulls(rows.num_rows, pa.string())])
    return rows.column(name) if name in rows.column_names else none


SIDE_ROWS: dict[str, Callable[[pa.Table, StreamEntry], pa.Table]] = {"late": _late_rows, "rejected": _rejected_rows}
