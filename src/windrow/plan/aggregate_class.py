"""The class of an aggregate: what it must keep, and so how it can be shared and maintained.

Distributive aggregates merge from parts, algebraic ones from a fixed number of distributive ones; holistic ones have no
bound on what they keep of a group (thesis 2.2.1; Arasu and Widom, section 2).
"""

from __future__ import annotations

import enum


class AggregateClass(enum.Enum):
    DISTRIBUTIVE = "distributive"
    ALGEBRAIC = "algebraic"
    HOLISTIC = "holistic"
