"""A plain list of rows in order of arrival: every expiry looks at every row (thesis 2.3.3, the direct approach).

The baseline that the other structures are measured against; it is right for any update pattern.
"""

from __future__ import annotations

import numpy as np

from windrow.batch.arrays import Int64s
from windrow.state.rows_in_pieces import RowsInPieces


class InsertionOrderedList(RowsInPieces):
    """Expiry costs one look at each row that is kept."""

    def _ended(self, time: int) -> Int64s:
        arena = self._arena
        return np.flatnonzero(arena.alive[: arena.used] & (arena.exp[: arena.used] <= time))
