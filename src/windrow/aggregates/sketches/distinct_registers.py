"""The number of different values, estimated from registers (HyperLogLog: Flajolet, Fusy, Gandouet, Meunier 2007).

A value is hashed; the first bits of the hash choose one of m registers, and the place of the first 1 in the rest is its
*rank*. A register has the largest rank of its values, and the number of values follows from how many registers have
each rank (the estimate is Ertl's, 2017, which needs no tables and no other way for small numbers). With (2·1.04/ε)²
registers 95 of 100 estimates are within ε.

A register remembers every rank that it has now, as bits, and each rank how many rows brought it: so rows and slices can
leave in any order, and the estimate depends on the values in view and on nothing else. What comes from slices are
*codes*, a register and a rank in one number. The hash is of values, not of codes of strings, so it is the same in every
process.

Invariant: `ranks` counts the registers of a group by their largest rank. Keeps at most the different (register, rank)
pairs in view, about m + m·log2(n/m) of n values, and never more than n.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from windrow.aggregates.aggregate import Counted, changes_of
from windrow.aggregates.distinct_values import values_of_groups
from windrow.batch.arrays import Array, Int64s
from windrow.batch.column import Column, column
from windrow.batch.compiled import compiled
from windrow.batch.shards import hashes_of
from windrow.numbers.group_events import GroupEvents
from windrow.state.key_directory import KeyDirectory
from windrow.state.keyed_arrays import KeyedArrays
from windrow.state.snapshot import Part, Parts
from windrow.types import BIGINT

_RANKS = 64  # more than there can be


def codes_of(values: Column, precision: int) -> Column:
    """Register and rank of each value, in one number."""
    return column(BIGINT, _codes(hashes_of([values], len(values)), precision), values.valid)


@dataclass(frozen=True)
class DistinctRegisters(Counted):
    """Over values, or over their codes and how many rows have each; `precision` is log2 of the number of registers."""

    column: int
    precision: int
    count: int | None = None

    def fresh(self) -> Registers:
        return Registers(self.precision)


class Registers(Parts):
    def __init__(self, precision: int) -> None:
        self._precision = precision
        self._codes, self._registers = KeyDirectory(), KeyDirectory()
        self._counts = KeyedArrays(rows=np.int64)
        self._masks = KeyedArrays(ranks=np.int64)
        self._groups = KeyedArrays(found=np.int64)
        self._groups["ranks"] = np.zeros((0, _RANKS), np.int64)

    def sweep(self, events: GroupEvents, values: tuple[Column, ...]) -> Column:
        codes = values[0] if len(values) > 1 else codes_of(values[0], self._precision)
        group = Column(BIGINT, events.group)
        registers = Column(BIGINT, codes.values // _RANKS, codes.valid)
        ids = self._codes.intern((group, codes), len(codes))
        register = self._registers.intern((group, registers), len(codes))
        self._counts.reserve(self._codes.capacity)
        self._masks.reserve(self._registers.capacity)
        self._groups.reserve(events.capacity)
        changes = events._replace(change=changes_of(events, (codes, *values[1:])))
        coded = _Codes(ids, register, codes.values % _RANKS)
        registers_of_groups = _Registers(self._counts["rows"], self._masks["ranks"], self._groups["ranks"])
        estimates = _sweep(changes, coded, self._precision, registers_of_groups)
        self._codes.forget(ids[self._counts["rows"][ids] == 0])
        self._registers.forget(register[self._masks["ranks"][register] == 0])
        return Column(BIGINT, estimates)

    def clear(self, ids: Int64s) -> None:
        for known, kept in ((self._codes, self._counts), (self._registers, self._masks)):
            gone = values_of_groups(known, ids)
            kept.clear(gone)
            known.forget(gone)
        self._groups.clear(ids)

    def parts(self) -> Mapping[str, Part]:
        return {
            "codes": self._codes,
            "registers": self._registers,
            "counts": self._counts,
            "masks": self._masks,
            "groups": self._groups,
        }


@compiled
def _codes(hashes: Array, precision: int) -> Int64s:
    codes = np.empty(len(hashes), np.int64)
    for i in range(len(hashes)):
        register = np.int64(hashes[i] >> np.uint64(64 - precision))
        rest, rank = hashes[i] << np.uint64(precision), 1
        while rank <= 64 - precision and rest < np.uint64(1) << np.uint64(63):
            rest = rest << np.uint64(1)
            rank += 1
        codes[i] = register * _RANKS + rank
    return codes


class _Codes(NamedTuple):
    """The ids of the codes of events, their registers and their ranks."""

    ids: Int64s
    register: Int64s
    rank: Int64s


class _Registers(NamedTuple):
    """Rows by code, ranks by register as bits, and by group how many registers have each rank."""

    rows: Int64s
    masks: Int64s
    ranks: Int64s


@compiled
def _sweep(events: GroupEvents, codes: _Codes, precision: int, registers: _Registers) -> Int64s:
    """The estimate of the group after each last event of an instant."""
    group, change, is_last = events.group, events.change, events.is_last
    ids, register, rank = codes.ids, codes.register, codes.rank
    rows, masks, ranks = registers.rows, registers.masks, registers.ranks
    emitted = np.empty(events.instants, np.int64)
    place = 0
    for i in range(len(group)):
        if change[i] != 0:
            g, r = group[i], register[i]
            before = rows[ids[i]] > 0
            rows[ids[i]] += change[i]
            after = rows[ids[i]] > 0
            if before != after:
                ranks[g, _highest(masks[r])] -= 1
                masks[r] ^= np.int64(1) << np.int64(rank[i])
                ranks[g, _highest(masks[r])] += 1
        if is_last[i]:
            emitted[place] = _estimate(ranks[group[i]], precision)
            place += 1
    return emitted


@compiled
def _highest(mask: int) -> int:
    """The place of the highest bit, 0 when there is none: no rank is 0."""
    place = 0
    for step in (32, 16, 8, 4, 2, 1):
        if mask >> (place + step):
            place += step
    return place


@compiled
def _estimate(ranks: Int64s, precision: int) -> int:
    """From registers by rank; `ranks[0]` is what empty registers were left by others, and means nothing."""
    registers, last = 1 << precision, 64 - precision + 1
    filled = 0
    for rank in range(1, last + 1):
        filled += ranks[rank]
    if filled == 0:
        return 0
    z = registers * _tau(1.0 - ranks[last] / registers)
    for rank in range(last - 1, 0, -1):
        z = 0.5 * (z + ranks[rank])
    z += registers * _sigma((registers - filled) / registers)
    return int(np.rint(registers * registers / (2.0 * np.log(2.0) * z)))


@compiled
def _sigma(x: float) -> float:
    y, z, before = 1.0, x, -1.0
    while z != before:
        x *= x
        before = z
        z += x * y
        y += y
    return z


@compiled
def _tau(x: float) -> float:
    if x == 0.0 or x == 1.0:
        return 0.0
    y, z, before = 1.0, 1.0 - x, -1.0
    while z != before:
        x = np.sqrt(x)
        before = z
        y *= 0.5
        z -= (1.0 - x) ** 2 * y
    return z / 3.0
