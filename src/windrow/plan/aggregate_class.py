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
