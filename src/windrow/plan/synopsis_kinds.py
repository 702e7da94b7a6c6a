"""The kinds of synopses in which aggregates are kept, and how large they are."""

from __future__ import annotations

import enum

INDEX_LEVELS = 4  # of a collective index: p in Arasu and Widom, section 4.1


class SynopsisKind(enum.Enum):
    RUNNING = "running"
    INTERVAL = "interval"
    BASIC_INTERVAL = "basic interval"
    LANDMARKS = "landmarks"
    TWO_STACKS = "two stacks"
    QUANTILE = "quantile"
    HISTOGRAM = "exponential histogram"
    FADED = "faded"


class JoinSynopsisKind(enum.Enum):
    BASIC = "BIJ"
    INTERVAL = "IJ"
    RUNNING = "RJ"


def rows_of(longest: int, difference: int) -> int:
    """How many partial results of a group BIJ keeps; the others keep twice as many as there are slices on top."""
    return longest * (1 + 2 * difference)
