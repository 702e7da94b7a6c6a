"""Texts cut and searched where every row has arguments of its own: compiled loops over UTF-8, no Python strings.

Places are counted in characters; a character begins at every byte that does not continue one. A search on bytes finds
what a search on characters would, since no character's bytes lie within another's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from windrow.batch.arrays import Array, Bools, Int64s
from windrow.batch.compiled import compiled

STARTS, ENDS, CONTAINS = range(3)


@dataclass(frozen=True, eq=False)
class Texts:
    """The bytes of texts, one after the other, and where each begins; the last edge is the end."""

    edges: Int64s
    content: Array

    @staticmethod
    def of(texts: pa.Array) -> Texts:
        plain = texts.cast(pa.large_string())
        _, edges, content = plain.buffers()
        data = np.frombuffer(content, np.uint8) if content is not None and content.size else np.zeros(0, np.uint8)
        return Texts(np.frombuffer(edges, np.int64, len(plain) + 1, plain.offset * 8), data)

    def to_arrow(self, valid: Bools) -> pa.Array:
        buffers = [None, pa.py_buffer(self.edges.tobytes()), pa.py_buffer(self.content.tobytes())]
        texts = pa.Array.from_buffers(pa.large_string(), len(valid), buffers).cast(pa.string())
        return texts if valid.all() else texts.take(pa.array(np.arange(len(valid)), mask=~valid))


def sliced(texts: Texts, begins: Int64s, ends: Int64s) -> Texts:
    """From one character up to another, both counted from 0 and cut to the text."""
    return Texts(*_copied(texts.content, *_slices(texts.edges, texts.content, begins, ends)))


def parts(texts: Texts, delimiters: Texts, numbers: Int64s) -> Texts:
    """The part between two delimiters, counted from 1, or from the end when negative; nothing when there is none."""
    found = _parts(texts.edges, texts.content, delimiters.edges, delimiters.content, numbers)
    return Texts(*_copied(texts.content, *found))


def positions(texts: Texts, searches: Texts) -> Int64s:
    """Where a text is found first, counted in characters from 1; 0 when it is not."""
    return _positions(texts.edges, texts.content, searches.edges, searches.content)


def replaced(texts: Texts, searches: Texts, replacements: Texts) -> Texts:
    """With every appearance of one text replaced by another; an empty one is not looked for."""
    return Texts(
        *_replaced(
            texts.edges, texts.content, searches.edges, searches.content, replacements.edges, replacements.content
        )
    )


def has(where: int, texts: Texts, searches: Texts) -> Bools:
    """Whether a text begins with another, ends with it, or has it anywhere."""
    return _has(where, texts.edges, texts.content, searches.edges, searches.content)


@compiled
def _after(content: Array, at: int, end: int, characters: int) -> int:
    """The byte that so many characters lie before, from `at` on; the end when there are fewer."""
    while characters > 0 and at < end:
        at += 1
        while at < end and (content[at] & 0xC0) == 0x80:
            at += 1
        characters -= 1
    return at


@compiled
def _same(a: Array, start: int, b: Array, other: int, length: int) -> bool:
    for i in range(length):  # noqa: SIM110
        if a[start + i] != b[other + i]:
            return False
    return True


@compiled
def _find(content: Array, at: int, end: int, search: Array, start: int, stop: int) -> int:
    """The first byte from `at` on at which the search begins, -1 when there is none."""
    for place in range(at, end - (stop - start) + 1):
        if _same(content, place, search, start, stop - start):
            return place
    return -1


@compiled
def _slices(edges: Int64s, content: Array, begins: Int64s, ends: Int64s) -> tuple[Int64s, Int64s]:
    first, last = np.empty(len(begins), np.int64), np.empty(len(begins), np.int64)
    for i in range(len(begins)):
        begin = max(begins[i], 0)
        first[i] = _after(content, edges[i], edges[i + 1], begin)
        last[i] = _after(content, first[i], edges[i + 1], max(ends[i], begin) - begin)
    return first, last


@compiled
def _copied(content: Array, first: Int64s, last: Int64s) -> tuple[Int64s, Array]:
    edges = np.zeros(len(first) + 1, np.int64)
    for i in range(len(first)):
        edges[i + 1] = edges[i] + last[i] - first[i]
    copy = np.empty(edges[-1], np.uint8)
    for i in range(len(first)):
        copy[edges[i] : edges[i + 1]] = content[first[i] : last[i]]
    return edges, copy


@compiled
def _parts(
    edges: Int64s, content: Array, other_edges: Int64s, delimiters: Array, numbers: Int64s
) -> tuple[Int64s, Int64s]:
    first, last = np.empty(len(numbers), np.int64), np.empty(len(numbers), np.int64)
    for i in range(len(numbers)):
        begin, end, start, stop = edges[i], edges[i + 1], other_edges[i], other_edges[i + 1]
        wanted = numbers[i]
        if wanted < 0:
            count = 1
            at = begin
            while stop > start:
                at = _find(content, at, end, delimiters, start, stop)
                if at < 0:
                    break
                at += stop - start
                count += 1
            wanted += count + 1
        first[i] = last[i] = begin
        at = begin
        while wanted > 0:
            found = _find(content, at, end, delimiters, start, stop) if stop > start else -1
            wanted -= 1
            if wanted == 0:
                first[i], last[i] = at, end if found < 0 else found
            if found < 0:
                break
            at = found + stop - start
    return first, last


@compiled
def _positions(edges: Int64s, content: Array, other_edges: Int64s, searches: Array) -> Int64s:
    positions = np.zeros(len(edges) - 1, np.int64)
    for i in range(len(positions)):
        found = _find(content, edges[i], edges[i + 1], searches, other_edges[i], other_edges[i + 1])
        if found >= 0:
            positions[i] = 1
            for at in range(edges[i], found):
                positions[i] += (content[at] & 0xC0) != 0x80
    return positions


@compiled
def _replaced(
    edges: Int64s,
    content: Array,
    search_edges: Int64s,
    searches: Array,
    replacement_edges: Int64s,
    replacements: Array,
) -> tuple[Int64s, Array]:
    new_edges = np.zeros(len(edges), np.int64)
    made = np.empty(max(64, len(content)), np.uint8)
    total = 0
    for i in range(len(edges) - 1):
        start, stop = search_edges[i], search_edges[i + 1]
        new, new_end = replacement_edges[i], replacement_edges[i + 1]
        at, end = edges[i], edges[i + 1]
        while True:
            found = _find(content, at, end, searches, start, stop) if stop > start else -1
            kept = (end if found < 0 else found) - at
            needed = total + kept + new_end - new
            if needed > len(made):
                longer = np.empty(2 * needed, np.uint8)
                longer[:total] = made[:total]
                made = longer
            made[total : total + kept] = content[at : at + kept]
            total += kept
            if found < 0:
                break
            made[total : total + new_end - new] = replacements[new:new_end]
            total += new_end - new
            at = found + stop - start
        new_edges[i + 1] = total
    return new_edges, made[:total]


@compiled
def _has(where: int, edges: Int64s, content: Array, other_edges: Int64s, searches: Array) -> Bools:
    answers = np.zeros(len(edges) - 1, np.bool_)
    for i in range(len(answers)):
        start, length = other_edges[i], other_edges[i + 1] - other_edges[i]
        if length > edges[i + 1] - edges[i]:
            continue
        if where == CONTAINS:
            answers[i] = _find(content, edges[i], edges[i + 1], searches, start, start + length) >= 0
        else:
            at = edges[i] if where == STARTS else edges[i + 1] - length
            answers[i] = _same(content, at, searches, start, length)
    return answers
