"""Update patterns: the order in which the results of a plan end (thesis 3.2.1).

A pattern belongs to an edge of a plan, not to a query; the more complex of two wins.
"""

from __future__ import annotations

import enum
import functools


@functools.total_ordering
class Pattern(enum.Enum):
    MONOTONIC = "MONOTONIC"  # results never end
    WKS = "WKS"  # weakest: they end in the order they began, after a fixed time
    WK = "WK"  # weak: each ends at a time known when it begins, in any order
    STR = "STR"  # strict: some end at times that depend on future input

    def __lt__(self, other: Pattern) -> bool:
        order = list(Pattern)
        return order.index(self) < order.index(other)
