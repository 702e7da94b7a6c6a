"""A function that python(...) sinks call, and the tables that it was called with."""

from __future__ import annotations

import pyarrow as pa

EMITTED: list[pa.Table] = []


def record(table: pa.Table) -> None:
    EMITTED.append(table)
