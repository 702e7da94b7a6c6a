"""Exponential histograms: COUNT and SUM over any suffix window within ε, in logarithmic space (thesis 2.3.4).

The elements of a group are dealt to buckets in the order of time: of one element, then of two, of four, and so on, with
about 1/ε buckets of one and half as many of each other size. A bucket knows its newest time. When there are two buckets
too many of a size, the two oldest become one of the next. Over a window all buckets count in full but the oldest that
reaches into it, of which at least one element does: its half is taken, and it is so small beside the others that the
error is at most ε. (Datar, Gionis, Indyk and Motwani, 2002.)

SUM of whole numbers that are not negative counts each element as often as its value says; all of these pass through the
sizes together. Times decayed by a power of the age are summed bucket by bucket, between two bounds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from windrow.batch.arrays import Floats, Int64s, grown
from windrow.batch.compiled import compiled
from windrow.errors import WindrowError
from windrow.state.snapshot import OnePiece, Piece, copied
from windrow.synopses.positions.elements import EMPTY

_MOST = 2**62


class Estimates(NamedTuple):
    """Values within ε, and the bounds that are certain."""

    value: Int64s
    least: Int64s
    most: Int64s


class Buckets(NamedTuple):
    """Buckets by group and size, in rings, for a compiled loop; `ones` and `others` are the fewest there are."""

    ones: int
    others: int
    times: Int64s
    start: Int64s
    held: Int64s


class ExponentialHistogram(OnePiece):
    """COUNT and SUM of each group within `error`, relative."""

    def __init__(self, error: float) -> None:
        if not 0 < error < 1:
            raise WindrowError(f"an error of {error:g} is not between 0 and 1", "write 0.01 for one percent")
        self.error = error
        self._ones = int(np.ceil(1 / error))  # buckets of one element, at least
        self._others = -(-self._ones // 2)  # and of each larger size
        self._room = self._ones + 2
        self.times: Int64s = np.zeros((0, 1, self._room), np.int64)  # of buckets: by group and size, in rings
        self.start: Int64s = np.zeros((0, 1), np.int64)
        self.count: Int64s = np.zeros((0, 1), np.int64)
        self._total: Int64s = EMPTY

    @property
    def nbytes(self) -> int:
        return self.times.nbytes + self.start.nbytes + self.count.nbytes + self._total.nbytes

    def insert(self, group: Int64s, time: Int64s, weight: Int64s | None = None) -> None:
        """Elements in the order of time: to be counted, or with the values to be summed."""
        if not len(group):
            return
        weights = np.ones(len(group), np.int64) if weight is None else weight
        if int(weights.min()) < 0:
            raise WindrowError("negative values are not summed within an error", "write SUM for the exact sum")
        self._changes += 1
        self._reserve(group, weights)
        _insert(group, time, weights, self._buckets)

    def expire_until(self, time: int) -> None:
        """Windows that begin before `time` are not asked for any more."""
        self._changes += 1
        _expire(time, self._buckets, self._total)

    def forget(self, group: Int64s) -> None:
        self._changes += 1
        self.count[group] = 0
        self._total[group] = 0

    def lookup(self, group: Int64s, begin: Int64s) -> Estimates:
        """What groups have had since."""
        return Estimates(*_lookup(group, begin, self._buckets))

    def totals(self, groups: int) -> Int64s:
        """What the buckets of each of the first groups hold."""
        return grown(self._total, groups)[:groups]

    def decayed(self, group: Int64s, now: int, power: float, scale: float) -> tuple[Floats, Floats]:
        """Bounds of the sum with each element divided by (1 + age / scale) to a power; of what is kept."""
        return _decayed(group, now, power, scale, self._buckets)

    @property
    def _buckets(self) -> Buckets:
        return Buckets(self._ones, self._others, self.times, self.start, self.count)

    def _reserve(self, group: Int64s, weight: Int64s) -> None:
        groups = int(group.max()) + 1
        self._total = grown(self._total, groups)
        np.add.at(self._total, group, weight)
        largest = int(self._total.max())
        if largest >= _MOST or int(self._total.min()) < 0:
            raise WindrowError("a sum is too large to be kept within an error", "expire elements, or write SUM")
        levels = max(self.times.shape[1], largest.bit_length() + 1)
        if len(self._total) > len(self.times) or levels > self.times.shape[1]:
            shape = (len(self._total), levels)
            times = np.zeros((*shape, self._room), np.int64)
            start, count = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
            held, width = self.times.shape[:2]
            times[:held, :width], start[:held, :width], count[:held, :width] = self.times, self.start, self.count
            self.times, self.start, self.count = times, start, count

    def _piece(self) -> Piece:
        arrays = {"times": self.times, "start": self.start, "count": self.count, "total": self._total}
        return Piece(copied(arrays))

    def _read(self, piece: Piece) -> None:
        arrays = copied(piece.arrays)
        self.times, self.start, self.count, self._total = (arrays[k] for k in ("times", "start", "count", "total"))


@compiled
def insert_one(g: int, now: int, weight: int, buckets: Buckets, carried: Int64s, following: Int64s) -> None:
    """An element as often as its weight says. `carried` has room for times of buckets that go to the next size."""
    ones, others, times, start, count = buckets
    room, level, older, newer = times.shape[2], 0, 0, weight
    while older + newer > 0:
        least, held = ones if level == 0 else others, count[g, level]
        total = held + older + newer
        merges = max(0, (total - least) // 2)
        if merges and total - 2 * merges + 2 <= least + 1:
            merges -= 1
        # The oldest pairs go to the next size, each with the time of its newer half; from some point on all are new.
        passed = 0
        while passed < merges and 2 * passed + 1 < held + older:
            at = 2 * passed + 1
            known = times[g, level, (start[g, level] + at) % room] if at < held else carried[at - held]
            following[passed] = known
            passed += 1
        gone = 2 * merges
        kept_from_ring = max(0, held - gone)
        start[g, level] = (start[g, level] + held - kept_from_ring) % room
        end = kept_from_ring
        for at in range(max(0, gone - held), older):
            times[g, level, (start[g, level] + end) % room] = carried[at]
            end += 1
        for _ in range(total - gone - end):
            times[g, level, (start[g, level] + end) % room] = now
            end += 1
        count[g, level] = end
        for at in range(passed):
            carried[at] = following[at]
        older, newer, level = passed, merges - passed, level + 1


@compiled
def _insert(group: Int64s, time: Int64s, weight: Int64s, buckets: Buckets) -> None:
    carried, following = np.empty(2 * buckets.ones + 8, np.int64), np.empty(2 * buckets.ones + 8, np.int64)
    for i in range(len(group)):
        insert_one(group[i], time[i], weight[i], buckets, carried, following)


@compiled
def _expire(until: int, buckets: Buckets, total: Int64s) -> None:
    _, _, times, start, count = buckets
    room = times.shape[2]
    for g in range(len(times)):
        for level in range(times.shape[1] - 1, -1, -1):
            while count[g, level] > 0 and times[g, level, start[g, level]] < until:
                start[g, level] = (start[g, level] + 1) % room
                count[g, level] -= 1
                total[g] -= 1 << level


@compiled
def lookup_one(g: int, begin: int, buckets: Buckets) -> tuple[int, int]:
    """The buckets that reach into a window: what they hold together, and the oldest of them."""
    _, _, times, start, count = buckets
    room, total, oldest = times.shape[2], 0, 0
    for level in range(times.shape[1]):
        for at in range(count[g, level] - 1, -1, -1):
            if times[g, level, (start[g, level] + at) % room] < begin:
                return total, oldest
            oldest = 1 << level
            total += oldest
    return total, oldest


@compiled
def _lookup(group: Int64s, begin: Int64s, buckets: Buckets) -> tuple[Int64s, Int64s, Int64s]:
    value, least, most = np.zeros(len(group), np.int64), np.zeros(len(group), np.int64), np.zeros(len(group), np.int64)
    for i in range(len(group)):
        if group[i] < len(buckets.times):
            total, oldest = lookup_one(group[i], begin[i], buckets)
            value[i], most[i] = total - oldest // 2, total
            least[i] = total - oldest + 1 if oldest > 0 else 0
    return value, least, most


@compiled
def _decayed(group: Int64s, now: int, power: float, scale: float, buckets: Buckets) -> tuple[Floats, Floats]:
    """A bucket's elements are not newer than its time, and not older than that of the bucket before it."""
    _, _, times, start, count = buckets
    least, most = np.zeros(len(group), np.float64), np.zeros(len(group), np.float64)
    room = times.shape[2]
    for i in range(len(group)):
        g = group[i]
        if g >= len(times):
            continue
        held = 0.0  # the bucket that waits to hear how old its oldest element may be
        for level in range(times.shape[1]):
            for at in range(count[g, level] - 1, -1, -1):
                share = (1.0 + (now - times[g, level, (start[g, level] + at) % room]) / scale) ** -power
                least[i] += held * share
                held = float(1 << level)
                most[i] += held * share
        if held == 1.0:
            least[i] = most[i]
    return least, most
