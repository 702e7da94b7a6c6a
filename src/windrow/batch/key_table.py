"""Keys as small numbers: a hash table from rows of words to dense ids that are used again when a key has gone.

Every stateful kernel works on ids: accumulators, counters and chains are arrays indexed by id, so a key is hashed once
a row and then never looked at. Comparison is of all words: two keys with the same hash never get the same id.

Invariant: `slots` is an open-addressing table (linear probing, at most five eighths full). A slot holds the 32-bit hash
of a key above its id + 1, so that keys are looked at only when hashes are equal, and a slot knows where it belongs. An
id is in the table from when it is interned until it is forgotten. Everything costs one probe a key.

A table larger than the caches costs a wait for memory a key. So memory is asked for the slots of the keys that come
next, and for the keys that these point to, while the ones before are looked up: it answers many side by side.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from windrow.batch.arrays import Array, Bools, Int64s, UInt64s, grown
from windrow.batch.compiled import compiled, compiled_in_place, inlined, prefetch

ABSENT = -1
_SMALLEST = 64
_ID = 0xFFFFFFFF  # the half of a slot that holds the id
_IDS, _FREE = 0, 1  # places in `_tally`: ids ever given out, ids waiting to be used again
_FULL = 1.6  # slots a key, at least
_AHEAD = 16  # keys that memory is asked for what they point to before it is needed; for their slots twice as many


class _Table(NamedTuple):
    """A table as kernels take it: places of keys by hash, the words of keys by id, ids that are free, and how many."""

    slots: UInt64s
    words: UInt64s
    free: Int64s
    tally: Int64s


class _Keys(NamedTuple):
    """Keys to be looked up, and their hashes, with some of no key behind the last."""

    words: UInt64s
    codes: UInt64s


class _Interned(NamedTuple):
    """The ids of keys, and the rows of those that are new."""

    ids: Int64s
    new: Int64s


class KeyTable:
    """Ids for keys; an id stands for its key until its owner forgets it."""

    def __init__(self, expected: int = 0) -> None:
        """`expected` keys have room from the start; more may come."""
        room = max(_SMALLEST, expected)
        self._slots: UInt64s = np.zeros(1 << int(_FULL * room).bit_length(), np.uint64)
        self._words: UInt64s = np.zeros((room, 0), np.uint64)
        self._free: Int64s = np.zeros(0, np.int64)
        self._tally: Int64s = np.zeros(2, np.int64)

    def __len__(self) -> int:
        """How many keys are known."""
        return int(self._tally[_IDS] - self._tally[_FREE])

    @property
    def capacity(self) -> int:
        """All ids are below this: the length that arrays indexed by id need."""
        return int(self._tally[_IDS])

    def intern(self, words: UInt64s) -> Int64s:
        """The id of each key, new ones for keys not seen before."""
        return self.interned(words)[0]

    def interned(self, words: UInt64s) -> tuple[Int64s, Int64s]:
        """The id of each key, and the rows whose keys were not known."""
        ids, new = np.empty(len(words), np.int64), np.empty(len(words), np.int64)
        codes = _hashes(words)
        done, count = 0, 0
        while done < len(words):
            # Room for a share of the rows at a time: most keys are old, and a table in the cache is fast.
            self._reserve(len(self) + max(_SMALLEST, min(len(words) - done, len(self))), words.shape[1])
            table = _Table(self._slots, self._words, self._free, self._tally)
            done, count = _intern(_Keys(words, codes), done, table, _Interned(ids, new), count)
        return ids, new[:count]

    def find(self, words: UInt64s) -> Int64s:
        """The id of each key, ABSENT for keys that are not known."""
        ids = np.full(len(words), ABSENT, np.int64)
        if len(self):
            _find(_Keys(words, _hashes(words)), self._slots, self._words, ids)
        return ids

    def forget(self, ids: Int64s) -> int:
        """Let ids go; repeated and unknown ones are passed over. How many went."""
        before = len(self)
        self._free = grown(self._free, self.capacity)
        _forget_all(ids, self._slots, self._words, self._free, self._tally)
        return before - len(self)

    def keep(self, *used: Int64s) -> None:
        """Forget all ids but those used: one pass, for owners that let many go at once."""
        marked = np.zeros(self.capacity, np.bool_)
        for ids in used:
            marked[ids] = True
        self._free = grown(self._free, self.capacity)
        old, self._slots = self._slots, np.zeros(len(self._slots), np.uint64)
        _keep(marked, old, self._slots, self._free, self._tally)

    def known(self) -> Int64s:
        """The ids of all known keys, in increasing order."""
        filled = self._slots[self._slots != 0]
        return np.sort((filled & np.uint64(_ID)).astype(np.int64) - 1)

    def words(self, ids: Int64s) -> UInt64s:
        return self._words[ids]

    def restore(self, ids: Int64s, words: UInt64s) -> None:
        """Make exactly these keys known, each under the id it had."""
        highest = int(ids.max()) + 1 if len(ids) else 0
        self.__init__()  # type: ignore[misc]
        self._reserve(highest, words.shape[1])
        self._words[ids] = words
        missing = np.setdiff1d(np.arange(highest), ids)
        self._free = missing
        self._tally[:] = highest, len(missing)
        _rebuild(ids, self._slots, self._words)

    def _reserve(self, keys: int, width: int) -> None:
        if self._words.shape[1] != width:
            assert len(self) == 0, "all keys of a table have the same width"
            self._words = np.zeros((len(self._words), width), np.uint64)
        self._words = grown(self._words, max(keys, self.capacity + 1))
        if _FULL * keys > len(self._slots):
            old = self._slots
            self._slots = np.zeros(1 << int(_FULL * keys).bit_length(), np.uint64)
            _move(old, self._slots)


@inlined
def _hash(words: UInt64s, row: int) -> int:
    """The hash of a key, in the upper half of a word."""
    code = np.uint64(0x9E3779B97F4A7C15)
    for i in range(words.shape[1]):
        code = (code ^ words[row, i]) * np.uint64(0xBF58476D1CE4E5B9)
        code ^= code >> np.uint64(29)
    code *= np.uint64(0x94D049BB133111EB)
    return code & ~np.uint64(_ID)  # type: ignore[no-any-return]


@inlined
def _id(slot: int) -> int:
    return np.int64(slot & np.uint64(_ID)) - 1  # type: ignore[no-any-return]


@inlined
def _home(code: int, mask: int) -> int:
    """Where a search for a hash begins."""
    return np.int64((code >> np.uint64(32)) & np.uint64(mask))  # type: ignore[no-any-return]


@inlined
def _holds(slot: int, code: int, words: UInt64s, row: int, table: UInt64s) -> bool:
    """Whether a slot has the key with this hash."""
    if (slot ^ code) > np.uint64(_ID):
        return False
    key, i = (slot & np.uint64(_ID)) - np.uint64(1), 0
    while i < words.shape[1] and words[row, i] == table[key, i]:
        i += 1
    return i == words.shape[1]  # type: ignore[no-any-return]


@compiled
def _hashes(words: UInt64s) -> UInt64s:
    codes = np.zeros(len(words) + 2 * _AHEAD, np.uint64)
    for row in range(len(words)):
        codes[row] = _hash(words, row)
    return codes


@inlined
def _ask_ahead(codes: UInt64s, row: int, slots: UInt64s, table: UInt64s) -> None:
    """Ask memory for what later rows will need."""
    mask = len(slots) - 1
    prefetch(slots, _home(codes[row + 2 * _AHEAD], mask))
    prefetch(table, _id(slots[_home(codes[row + _AHEAD], mask)]) * table.shape[1])


@inlined
def _place_of(code: int, words: UInt64s, row: int, slots: UInt64s, table: UInt64s) -> int:
    """Where the key is, or the empty place where it would go."""
    mask = np.uint64(len(slots) - 1)
    place = (code >> np.uint64(32)) & mask
    while True:
        slot = slots[place]
        if slot == np.uint64(0) or _holds(slot, code, words, row, table):
            return place  # type: ignore[no-any-return]
        place = (place + np.uint64(1)) & mask


@compiled_in_place
def _intern(keys: _Keys, start: int, into: _Table, found: _Interned, count: int) -> tuple[int, int]:
    """Intern from row `start` on until there is no room for another key: the row reached, and the count of new keys."""
    slots, table, free, tally = into.slots, into.words, into.free, into.tally
    words, codes, ids, new = keys.words, keys.codes, found.ids, found.new
    for row in range(start, len(words)):
        _ask_ahead(codes, row, slots, table)
        place = _place_of(codes[row], words, row, slots, table)
        if slots[place] == np.uint64(0):
            if _FULL * (tally[0] - tally[1]) >= len(slots) or (tally[1] == 0 and tally[0] == len(table)):
                return row, count
            if tally[1] > 0:
                tally[1] -= 1
                key = free[tally[1]]
            else:
                key = tally[0]
                tally[0] += 1
            for i in range(words.shape[1]):
                table[key, i] = words[row, i]
            slots[place] = codes[row] | np.uint64(key + 1)
            new[count] = row
            count += 1
        ids[row] = _id(slots[place])
    return len(words), count


@compiled_in_place
def _find(keys: _Keys, slots: UInt64s, table: UInt64s, ids: Int64s) -> None:
    words, codes = keys.words, keys.codes
    for row in range(len(words)):
        _ask_ahead(codes, row, slots, table)
        place = _place_of(codes[row], words, row, slots, table)
        if slots[place] != np.uint64(0):
            ids[row] = _id(slots[place])


@inlined
def _put(slot: int, slots: UInt64s, mask: int) -> None:
    """Put a key that is not there where a search for it will end."""
    place = _home(slot, mask)
    while slots[place] != 0:
        place = (place + 1) & mask
    slots[place] = slot


@compiled
def _forget_all(ids: Int64s, slots: UInt64s, table: UInt64s, free: Int64s, tally: Int64s) -> None:
    for i in ids:
        if _forget(i, slots, table):
            free[tally[1]] = i
            tally[1] += 1


@compiled
def _keep(marked: Bools, old: UInt64s, slots: UInt64s, free: Int64s, tally: Int64s) -> None:
    mask = len(slots) - 1
    for slot in old:
        if slot == 0:
            continue
        if not marked[_id(slot)]:
            free[tally[1]] = _id(slot)
            tally[1] += 1
            continue
        _put(slot, slots, mask)


@compiled
def _forget(key: int, slots: UInt64s, table: UInt64s) -> bool:
    """Take a key out and close the gap, so that no search ends too early; whether it was there."""
    mask = len(slots) - 1
    code = _hash(table, key)
    hole = _home(code, mask)
    while slots[hole] != code | np.uint64(key + 1):
        if slots[hole] == 0:
            return False
        hole = (hole + 1) & mask
    place = hole
    while True:
        place = (place + 1) & mask
        if slots[place] == 0:
            break
        if ((place - _home(slots[place], mask)) & mask) >= ((place - hole) & mask):
            slots[hole] = slots[place]
            hole = place
    slots[hole] = 0
    return True


@compiled
def _move(old: UInt64s, slots: UInt64s) -> None:
    """Slots carry their hashes, so that a table grows without a look at its keys."""
    mask = len(slots) - 1
    for slot in old:
        if slot != 0:
            _put(slot, slots, mask)


@compiled
def _rebuild(ids: Array, slots: UInt64s, table: UInt64s) -> None:
    mask = len(slots) - 1
    for i in ids:
        _put(_hash(table, i) | np.uint64(i + 1), slots, mask)
