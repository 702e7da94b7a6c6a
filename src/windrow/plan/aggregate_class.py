"""The class of an aggregate: what it must keep, and so how it can be shared and maintained.

Distributive aggregates merge from parts, algebraic ones from a fixed number of distributive ones; holistic ones have no
bound on what they keep of a group (thesis 2.2.1; Arasu and Widom, section 2).
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class AggregateClass(enum.Enum):
    DISTRIBUTIVE = "distributive"
    ALGEBRAIC = "algebraic"
    HOLISTIC = "holistic"


class SliceForm(enum.Enum):
    """What the rows of a slice become for an aggregate."""

    PARTIAL = "partial results"  # one row
    COUNTERS = "a counter a value"  # from which holistic aggregates are exact
    SUMMARY = "summaries"  # counters that are cut to a bounded size once the slice is complete


class SynopsisForm(enum.Enum):
    """What of its rows an aggregate is looked up from."""

    MERGED = "what its parts merge to"
    SUBTRACTED = "what its parts merge to, or the difference of two running values"
    RANKED = "values in order"
    HISTOGRAM = "buckets that double in size, within an error"
    FADED = "one value, which halves with every half-life"


class IndexForm(enum.Enum):
    """What a collective index finds groups by."""

    ROWS = "how many rows they have"
    WEIGHTS = "what their values add up to"
    LARGEST = "their largest value"
    SMALLEST = "their smallest value"


class Approximation(enum.Enum):
    """What an approximate aggregate is an approximation of."""

    COUNT = "the number of values"
    SUM = "the sum of values"
    DISTINCT = "the number of different values"
    RANK = "the element at a rank"
    ITEMS = "the most frequent values, with bounds for their counts"
    FREQUENT = "the values with more rows than a threshold"
    FADED = "an aggregate in which rows count the less the older they are"


@dataclass(frozen=True)
class Traits:
    """What the planner knows of an aggregate, built in or the user's own.

    A subtractable one can take a part away again; one that is not duplicate-sensitive may be merged from parts that
    overlap (thesis 8.3.3).
    """

    kind: AggregateClass
    subtractable: bool
    duplicate_sensitive: bool

    @property
    def merges(self) -> bool:
        """Whether what is kept of a part has a bounded size."""
        return self.kind is not AggregateClass.HOLISTIC

    def __str__(self) -> str:
        subtractable = ", subtractable" if self.subtractable else ""
        repeats = "" if self.duplicate_sensitive else ", not duplicate-sensitive"
        return f"{self.kind.value}{subtractable}{repeats}"
