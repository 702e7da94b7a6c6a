"""Update patterns: the order in which the results of a plan end (thesis 3.2.1).

A pattern belongs to an edge of a plan, not to a query; the more complex of two wins.
"""

from __future__ import annotations

import enum
import functools


@functools.total_ordering
class Pattern(enum.Enum):
    MONOTONIC = "MONOTONIC"
    WKS = "WKS"  # weakest non-monotonic
    WK = "WK"  # weak non-monotonic
    STR = "STR"  # strict non-monotonic

    def __lt__(self, other: Pattern) -> bool:
        order = list(Pattern)
        return order.index(self) < order.index(other)


MEANINGS: dict[Pattern, str] = {
    Pattern.MONOTONIC: "results never end",
    Pattern.WKS: "they end in the order they began, after a fixed time",
    Pattern.WK: "they end at times known when they begin, in any order",
    Pattern.STR: "some end at times that depend on later rows",
}
