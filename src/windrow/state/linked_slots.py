"""Doubly linked lists of slots, many in the same arrays: a slot is put in at the front and taken out anywhere.

A link is the number of a slot + 1, and 0 where there is none. `heads` are the links to the first slots of the lists.
"""

from __future__ import annotations

from typing import NamedTuple

from windrow.batch.arrays import Int64s
from windrow.batch.compiled import compiled


class Links(NamedTuple):
    """By slot, the next one of its list and the one before."""

    following: Int64s
    previous: Int64s


@compiled
def put_first(slot: int, heads: Int64s, which: int, links: Links) -> None:
    """Put a slot at the front of one of the lists."""
    head = heads[which]
    links.following[slot] = head
    links.previous[slot] = 0
    if head > 0:
        links.previous[head - 1] = slot + 1
    heads[which] = slot + 1


@compiled
def take_out(slot: int, heads: Int64s, which: int, links: Links) -> None:
    """Take a slot out of the list that it is in."""
    after, before = links.following[slot], links.previous[slot]
    if after > 0:
        links.previous[after - 1] = before
    if before > 0:
        links.following[before - 1] = after
    else:
        heads[which] = after
