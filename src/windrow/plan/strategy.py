"""Strategies: how expired tuples are found, and in which structures state is kept (thesis 2.3.3 and 3.5.2).

All three give the same answers from the same kernels:
    NT      every end is announced by a negative tuple, state is hashed on the row;
    DIRECT  ends are columns, state is a list that is scanned from end to end;
    UPA     ends are columns, the structure follows the update pattern of what is stored.
"""

from __future__ import annotations

import enum


class Strategy(enum.Enum):
    UPA = "upa"
    DIRECT = "direct"
    NT = "nt"
