"""What an advance of time has made final in this process, for the sources of all queries; and what they have now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from windrow.batch import Batch, Dictionary, Segment, empty
from windrow.physical.physical_node import PhysicalNode, source_types
from windrow.plan.analysis.relations import streams_of
from windrow.plan.kept_windows import Conditions
from windrow.plan.nodes import Table, Windowed
from windrow.runtime.advance import Advance
from windrow.runtime.kept_rows import FoundRows, KeptWindows
from windrow.runtime.local.local_tables import LocalTables
from windrow.runtime.progress import Progress
from windrow.units import BEGINNING


class FinalRows(NamedTuple):
    moved: Advance
    rows: Mapping[str, Batch]  # of streams, by the names of sources
    tables: LocalTables
    dictionary: Dictionary

    def received(self, start: int, source: PhysicalNode, segment: Segment | None) -> Batch:
        """What a source gives to queries that started at some time."""
        if isinstance(source.plan, Table):
            return self.tables.rows(source, segment)
        rows = None if segment is None else self.rows.get(source.source or "")
        if rows is None:
            return empty(source_types(source), self.dictionary)
        return rows if start == BEGINNING else rows.slice(int(np.searchsorted(rows.ts, start)), len(rows))


class SourcesNow(NamedTuple):
    """Between two steps."""

    progress: Progress
    tables: LocalTables
    kept: KeptWindows
    dictionary: Dictionary

    def kept_rows(self, plan: Windowed, conditions: Conditions) -> FoundRows | None:
        """What a declared window has for another one."""
        kept = self.kept.covering(plan, conditions)
        if kept is None:
            return None
        streams = streams_of(plan)
        return kept.found(plan, self.progress.watermark_of(streams), self.progress.first_of(streams))

    def of_source(self, source: PhysicalNode, at: int | None) -> Batch:
        """What a source has at an instant: tables their contents, streams no rows; none at all without an instant."""
        if isinstance(source.plan, Table):
            return self.tables.rows(source, None if at is None else Segment(at, at))
        return empty(source_types(source), self.dictionary)
