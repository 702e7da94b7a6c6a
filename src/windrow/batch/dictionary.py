"""A growing dictionary of byte strings: equal strings have equal codes, and a code never changes.

Kernels compare, hash and move 32-bit codes; only the borders and orderings see bytes. One dictionary serves a whole
engine, so codes of different columns can be compared, and a snapshot is the bytes added since the last one.

Invariant: the string in slot `s` is `bytes[offsets[s]:offsets[s + 1]]`, and `table` is an open-addressing hash table of
slots + 1, each below half of its string's hash, and at most half full: strings are compared only where hashes are
equal. Encoding costs one hash of each string, eight bytes at a time, and makes no Python object.

A string's code is its slot, as long as no string is ever left out. A dictionary that is read back without the strings
that nobody used any more has fewer slots than codes: then every slot has a code (`codes`), every code in use a slot
(`slots`), and the codes that are free are given to new strings.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.batch.arrays import Array, Bools, Int32s, Int64s, UInt64s, grown
from windrow.batch.compiled import compiled, compiled_in_place, inlined, prefetch

LARGE_BINARY = pa.large_binary()
_SMALLEST_TABLE = 1024
_SLOT = 0xFFFFFFFF  # the half of an entry of the table that holds the slot
_AHEAD = 16  # strings whose entries memory is asked for before they are needed


class Dictionary:
    """Strings and byte strings by code, in the order in which they were first seen."""

    def __init__(self) -> None:
        self._count = 0
        self._bytes: Array = np.zeros(4096, np.uint8)
        self._offsets: Int64s = np.zeros(256, np.int64)
        self._table: UInt64s = np.zeros(_SMALLEST_TABLE, np.uint64)
        self._sorted: Int64s = np.zeros(0, np.int64)  # codes in the order of their strings, as of the last ranks
        self._codes: Int32s | None = None  # by slot; None: the slot is the code
        self._slots: Int32s = np.zeros(0, np.int32)  # by code, when it is not
        self._free: Int32s = np.zeros(0, np.int32)  # codes that no string has
        self._ranks: Int64s = np.zeros(0, np.int64)
        self._hashes: Array = np.zeros(0, np.uint64)

    def __len__(self) -> int:
        """All codes are below this."""
        return self._count if self._codes is None else len(self._slots)

    @property
    def strings(self) -> int:
        """How many strings there are; it grows with every new one."""
        return self._count

    def encode(self, strings: pa.Array) -> Int32s:
        """The codes of strings or byte strings, new ones added; nulls get 0."""
        plain = strings.cast(pa.large_binary())
        offsets = np.frombuffer(plain.buffers()[1], np.int64, len(plain) + 1, plain.offset * 8)
        data = plain.buffers()[2]
        content = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(0, np.uint8)
        given, codes = _Strings(content, _eights(content), offsets), np.zeros(len(plain), np.int32)
        nulls = np.asarray(plain.is_null()) if plain.null_count else np.zeros(len(plain), np.bool_)
        hashes = _hash_all(given.eights, offsets)
        done = 0
        while done < len(plain):
            share = max(1, min(len(plain) - done, self._count))
            self._reserve(share, int(offsets[done + share] - offsets[done]))
            strings = _Strings(self._bytes, _eights(self._bytes), self._offsets)
            done, self._count = _encode(given, _Request(hashes, nulls, codes), done, strings, self._table, self._count)
        if self._codes is not None:
            self._give_codes()
            codes = self._codes[codes]
            codes[nulls] = 0
        return codes

    def _give_codes(self) -> None:
        """To the strings that have come since the last time: free ones first."""
        assert self._codes is not None
        new = self._count - len(self._codes)
        if new:
            reused = self._free[:new]
            self._free = self._free[new:]
            fresh = np.arange(len(self._slots), len(self._slots) + new - len(reused), dtype=np.int32)
            given = np.concatenate([reused, fresh])
            self._slots = np.concatenate([self._slots, np.zeros(len(fresh), np.int32)])
            self._slots[given] = np.arange(len(self._codes), self._count, dtype=np.int32)
            self._codes = np.concatenate([self._codes, given])

    def encode_one(self, string: str | bytes) -> int:
        """The code of one constant."""
        content = string.encode() if isinstance(string, str) else string
        return int(self.encode(pa.array([content], pa.large_binary()))[0])

    def decode(self, codes: pa.Array, type: pa.DataType) -> pa.Array:
        """The strings of codes (null for null), as an Arrow array of `type` (a string or binary type)."""
        if self._codes is not None:
            codes = pa.array(self._slots).take(codes)
        return self._strings(0, self._count).take(codes).cast(type)

    def ranks(self) -> Int64s:
        """The place of each code in byte order; the order of two codes never changes, their places may.

        Only strings that are new since the last call are sorted; the others are known to be in order.
        """
        known = len(self._sorted)
        if known != self._count:
            new = pc.array_sort_indices(self._strings(known, self._count)).to_numpy(zero_copy_only=False)
            codes = new.astype(np.int64) + known
            places = _places(codes, self._sorted, self._bytes, self._offsets)
            self._sorted = np.insert(self._sorted, places, codes)
            self._ranks = np.empty(self._count, np.int64)
            self._ranks[self._sorted] = np.arange(self._count)
            self._ranks = self._by_code(self._ranks)
        return self._ranks

    def hashes(self) -> Array:
        """A hash of each string's bytes: the same in every process."""
        if len(self._hashes) != self._count:
            known = len(self._hashes)
            added = _hash_all(_eights(self._bytes), self._offsets[known : self._count + 1])
            self._hashes = np.concatenate([self._hashes, added])
        return self._by_code(self._hashes)

    def added_since(self, count: int) -> pa.Table:
        """The strings that have come since there were `count`, with their codes: one piece of a snapshot."""
        return pa.table({"codes": self._code_of_slots()[count:], "strings": self._strings(count, self._count)})

    def used(self, codes: Bools) -> pa.Table:
        """The strings whose codes are used, with these codes: a snapshot without the others."""
        slots = np.flatnonzero(codes[self._code_of_slots()])
        return pa.table(
            {"codes": self._code_of_slots()[slots], "strings": self._strings(0, self._count).take(pa.array(slots))}
        )

    def add(self, piece: pa.Table) -> None:
        """Take in pieces of a snapshot, oldest first, before anything else; each string gets the code it had."""
        codes = np.concatenate([self._code_of_slots(), piece["codes"].to_numpy().astype(np.int32)])
        self._codes = None
        self.encode(piece["strings"].combine_chunks())
        assert self._count == len(codes), "a string is twice in a snapshot"
        if (codes != np.arange(len(codes))).any():
            self._slots = np.zeros(int(codes.max()) + 1, np.int32)
            self._slots[codes] = np.arange(len(codes))
            self._free = np.setdiff1d(np.arange(len(self._slots), dtype=np.int32), codes)
            self._codes = codes

    def follow(self, later: Dictionary) -> bool:
        """Take in what a later state of this very dictionary has more; False if that is no later state of it."""
        count = self._count
        size = int(self._offsets[count])
        is_later = (
            count <= later._count
            and np.array_equal(self._code_of_slots(), later._code_of_slots()[:count])
            and np.array_equal(self._offsets[: count + 1], later._offsets[: count + 1])
            and np.array_equal(self._bytes[:size], later._bytes[:size])
        )
        if is_later and count < later._count:
            self.add(later.added_since(count))
        return is_later

    def _code_of_slots(self) -> Int32s:
        return np.arange(self._count, dtype=np.int32) if self._codes is None else self._codes

    def _by_code(self, values: Array) -> Array:
        """Values of slots by code; what free codes have is of no interest."""
        return values if self._codes is None else values[self._slots]

    def _strings(self, start: int, end: int) -> pa.Array:
        offsets = self._offsets[start : end + 1]
        base = offsets[0]
        content = pa.py_buffer(self._bytes[base : offsets[-1]].tobytes())
        buffers = [None, pa.py_buffer((offsets - base).tobytes()), content]
        return pa.Array.from_buffers(pa.large_binary(), end - start, buffers)

    def _reserve(self, strings: int, size: int) -> None:
        self._offsets = grown(self._offsets, self._count + strings + 1)
        self._bytes = grown(self._bytes, int(self._offsets[self._count]) + size)
        if 2 * (self._count + strings) > len(self._table):
            old, self._table = self._table, np.zeros(1 << int(2 * (self._count + strings)).bit_length(), np.uint64)
            _move(old, self._table)


def _eights(content: Array) -> UInt64s:
    """The eight bytes from each byte on as a word, for all bytes that have seven after them; at least one word."""
    if len(content) < 8:
        content = np.append(content, np.zeros(8 - len(content), np.uint8))
    words: UInt64s = np.ndarray(len(content) - 7, np.uint64, content, 0, (1,))
    return words


class _Strings(NamedTuple):
    """Strings one after the other: their bytes, the same as words from each byte on, and where each begins."""

    content: Array
    eights: UInt64s
    offsets: Int64s


class _Request(NamedTuple):
    """Of strings to be encoded: their hashes, which are null, and the codes that they get."""

    hashes: UInt64s
    nulls: Bools
    codes: Int32s


@inlined
def _short(eights: UInt64s, start: int, length: int) -> int:
    """Fewer than eight bytes as a word, zeros above them."""
    late = max(start - (len(eights) - 1), 0)  # there are no eight bytes from here on: take them from before
    word = eights[start - late] >> np.uint64(8 * late) if length > 0 else np.uint64(0)
    return word & ((np.uint64(1) << np.uint64(8 * length)) - np.uint64(1))  # type: ignore[no-any-return]


@inlined
def _mixed(code: int, word: int) -> int:
    code = (code ^ word) * np.uint64(0x9E3779B97F4A7C15)
    return code ^ (code >> np.uint64(32))  # type: ignore[no-any-return]


@inlined
def _hash(eights: UInt64s, start: int, end: int) -> int:
    """Eight bytes at a time; the last eight may overlap those before."""
    code = np.uint64(end - start)
    if end - start < 8:
        code = _mixed(code, _short(eights, start, end - start))
    else:
        for i in range(start, end - 7, 8):
            code = _mixed(code, eights[i])
        code = _mixed(code, eights[end - 8])
    return _mixed(code, np.uint64(0))  # what differs in the last bytes only is to change the lowest bits too


@compiled
def _hash_all(eights: UInt64s, offsets: Int64s) -> UInt64s:
    hashes = np.zeros(len(offsets) - 1, np.uint64)
    for i in range(len(hashes)):
        hashes[i] = _hash(eights, offsets[i], offsets[i + 1])
    return hashes


@inlined
def _same(a: UInt64s, start: int, length: int, b: UInt64s, other: int) -> bool:
    if length < 8:
        return _short(a, start, length) == _short(b, other, length)
    i = 0
    while i < length - 7:
        if a[start + i] != b[other + i]:
            return False
        i += 8
    return a[start + length - 8] == b[other + length - 8]  # type: ignore[no-any-return]


@inlined
def _home(hash: int, table: UInt64s) -> int:
    """Where a search for a hash begins."""
    return (hash >> np.uint64(32)) & np.uint64(len(table) - 1)  # type: ignore[no-any-return]


@compiled_in_place
def _encode(
    given: _Strings, asked: _Request, first: int, kept: _Strings, table: UInt64s, count: int
) -> tuple[int, int]:
    """Encode from row `first` on until there is no room for another string: the row reached, and the count."""
    content, eights, starts = given.content, given.eights, given.offsets
    stored, stored_eights, offsets = kept.content, kept.eights, kept.offsets
    hashes, nulls, codes = asked.hashes, asked.nulls, asked.codes
    mask = np.uint64(len(table) - 1)
    for i in range(first, len(codes)):
        if i + _AHEAD < len(codes):
            prefetch(table, np.int64(_home(hashes[i + _AHEAD], table)))
        if nulls[i]:
            continue
        start, length = starts[i], starts[i + 1] - starts[i]
        place = _home(hashes[i], table)
        while True:
            entry = table[place]
            if entry == np.uint64(0):
                full = 2 * count >= len(table) or count + 1 >= len(offsets)
                if full or offsets[count] + length > len(stored):
                    return i, count
                for byte in range(length):
                    stored[offsets[count] + byte] = content[start + byte]
                offsets[count + 1] = offsets[count] + length
                codes[i] = count
                count += 1
                table[place] = (hashes[i] & ~np.uint64(_SLOT)) | np.uint64(count)
                break
            if (entry ^ hashes[i]) >> np.uint64(32) == np.uint64(0):
                known = np.int64(entry & np.uint64(_SLOT)) - 1
                same = offsets[known + 1] - offsets[known] == length
                if same and _same(eights, start, length, stored_eights, offsets[known]):
                    codes[i] = known
                    break
            place = (place + np.uint64(1)) & mask
    return len(codes), count


@compiled
def _move(old: UInt64s, table: UInt64s) -> None:
    mask = np.uint64(len(table) - 1)
    for entry in old:
        if entry != np.uint64(0):
            place = _home(entry, table)
            while table[place] != np.uint64(0):
                place = (place + np.uint64(1)) & mask
            table[place] = entry


@compiled
def _places(codes: Int64s, among: Int64s, kept: Array, offsets: Int64s) -> Int64s:
    """Where strings go among others in order; both are sorted, and no string is in both."""
    places = np.empty(len(codes), np.int64)
    low = 0
    for i in range(len(codes)):
        high = len(among)
        while low < high:
            middle = (low + high) // 2
            if _is_before(kept, offsets, among[middle], codes[i]):
                low = middle + 1
            else:
                high = middle
        places[i] = low
    return places


@compiled
def _is_before(kept: Array, offsets: Int64s, one: int, other: int) -> bool:
    start, start_other = offsets[one], offsets[other]
    length, length_other = offsets[one + 1] - start, offsets[other + 1] - start_other
    for i in range(min(length, length_other)):
        if kept[start + i] != kept[start_other + i]:
            return kept[start + i] < kept[start_other + i]  # type: ignore[no-any-return]
    return length < length_other  # type: ignore[no-any-return]
