"""How long a query runs, by the time of its streams: UNTIL a time, or FOR an interval from its begin on."""

from __future__ import annotations

from typing import NamedTuple

from windrow.runtime.progress import Progress
from windrow.runtime.readers import Reader
from windrow.units import FOREVER


class QueryLife(NamedTuple):
    until: int | None = None
    lasting: int | None = None

    def end(self, progress: Progress, reader: Reader) -> int:
        """Nothing is emitted from then on; FOREVER as long as no end is known."""
        if self.until is not None:
            return self.until
        begin = None if self.lasting is None else progress.begin_of(reader)
        return FOREVER if begin is None or self.lasting is None else begin + self.lasting
