"""Chains of rows with the same key, and the probe that walks them.

What a probe has to know of a row lies side by side, so that a match costs one look into memory: its begin and end, its
key, and a link to the next row of the same key. A link is the number of a row + 1, and 0 at the end of a chain; rows
with numbers below the `oldest` have left, and a chain ends with them too. `heads` are the links to the first rows, by
key. A row's place in the array is its number less `base`.

As in a table of keys, memory is asked before it is needed: for what a whole block of probes needs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from windrow.batch.arrays import Int64s
from windrow.batch.compiled import compiled, compiled_in_place, inlined, prefetch

TS, EXP, KEY, NEXT, PREVIOUS = range(5)  # the fields of a row; the last only where rows leave out of turn
_BLOCK = 64  # probes whose rows are asked for together
_AHEAD = 32  # rows whose links memory is asked for before they are needed
_SMALLEST = 64


class ProbedPairs(NamedTuple):
    """Pairs: positions among the probes, places of the rows that answer, and the lifetimes they have in common."""

    positions: Int64s
    places: Int64s
    begins: Int64s
    ends: Int64s


class Probe(NamedTuple):
    """What is looked for: keys, and the lifetimes that rows have to overlap."""

    keys: Int64s
    ts: Int64s
    exp: Int64s


class Chains(NamedTuple):
    """The rows, and the links to the first of each key."""

    heads: Int64s
    rows: Int64s
    base: int = 0
    oldest: int = 0


def overlapping(probe: Probe, chains: Chains) -> ProbedPairs:
    """The rows with an equal key whose lifetime overlaps [ts, exp), for each probe."""
    parts: list[ProbedPairs] = []
    position, link, room = 0, 0, max(_SMALLEST, len(probe.keys))
    links = np.empty(_BLOCK, np.int64)
    while not parts or position < len(probe.keys):
        found = ProbedPairs(*(np.empty(room, np.int64) for _ in ProbedPairs._fields))
        position, link, count = _walk(probe, chains, position, link, found, links)
        parts.append(ProbedPairs(*(array[:count] for array in found)))
        room *= 2
    return ProbedPairs(*(part[0] if len(part) == 1 else np.concatenate(part) for part in zip(*parts, strict=True)))


@inlined
def _first_links(probe: Probe, first: int, last: int, chains: Chains, links: Int64s) -> None:
    """The links to the first rows of a block of probes, 0 where there is none; memory is asked for all these rows."""
    keys, heads, width = probe.keys, chains.heads, chains.rows.shape[1]
    for i in range(first, last):
        prefetch(heads, keys[i])
    for i in range(first, last):
        link = heads[keys[i]] if 0 <= keys[i] < len(heads) else 0
        links[i - first] = link
        prefetch(chains.rows, (link - 1 - chains.base) * width)


@compiled_in_place
def _walk(
    probe: Probe, chains: Chains, position: int, pending: int, found: ProbedPairs, links: Int64s
) -> tuple[int, int, int]:
    """From a position, and the link in its chain, until there is no room: where it stopped, and the pairs found."""
    keys, ts, exp = probe.keys, probe.ts, probe.exp
    rows, base, oldest = chains.rows, chains.base, chains.oldest
    positions, places, begins, ends = found.positions, found.places, found.begins, found.ends
    count = 0
    for first in range(position, len(keys), _BLOCK):
        last = min(first + _BLOCK, len(keys))
        _first_links(probe, first, last, chains, links)
        for i in range(first, last):
            link = pending if pending > 0 else links[i - first]
            pending = 0
            while link > oldest:
                place = link - 1 - base
                begin, end = max(ts[i], rows[place, TS]), min(exp[i], rows[place, EXP])
                if begin < end:
                    if count == len(positions):
                        return i, link, count
                    positions[count], places[count], begins[count], ends[count] = i, place, begin, end
                    count += 1
                link = rows[place, NEXT]
    return len(keys), 0, count


@compiled
def link_in_order(rows: Int64s, first: int, last: int, heads: Int64s, base: int) -> None:
    """Put the rows at places [first, last) before those of their keys; they leave in the order in which they came."""
    for place in range(first, last):
        if place + _AHEAD < last:
            prefetch(heads, rows[place + _AHEAD, KEY])
        rows[place, NEXT] = heads[rows[place, KEY]]
        heads[rows[place, KEY]] = place + base + 1


@compiled
def link(slots: Int64s, rows: Int64s, heads: Int64s) -> None:
    for slot in slots:
        head = heads[rows[slot, KEY]]
        rows[slot, NEXT] = head
        rows[slot, PREVIOUS] = 0
        if head > 0:
            rows[head - 1, PREVIOUS] = slot + 1
        heads[rows[slot, KEY]] = slot + 1


@compiled
def unlink(slots: Int64s, rows: Int64s, heads: Int64s) -> None:
    # As in `calendar_queue`, `hash_on_row_key`: one function for all, called for each slot, costs 3 to 5 times as much.
    for slot in slots:
        after, before = rows[slot, NEXT], rows[slot, PREVIOUS]
        if after > 0:
            rows[after - 1, PREVIOUS] = before
        if before > 0:
            rows[before - 1, NEXT] = after
        else:
            heads[rows[slot, KEY]] = after
