"""Parts that are written as what has changed: whatever was stored in between, what is read back is what was there."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from windrow.batch.column import Column
from windrow.state.changed_places import ChangedPlaces
from windrow.state.key_directory import KeyDirectory
from windrow.state.keyed_arrays import KeyedArrays
from windrow.state.shown_rows import ShownRows
from windrow.state.snapshot import Piece
from windrow.types import BIGINT

IDS = 300


class Stored:
    """What a checkpoint has of a part; some of it may be lost, and is then no longer known."""

    def __init__(self) -> None:
        self.pieces: dict[str, Piece] = {}
        self.written = 0  # places, by the last snapshot

    def save(self, part: ChangedPlaces, lost: bool = False) -> None:
        known = list(self.pieces)[1:] if lost else self.pieces
        snapshot = part.snapshot(known)
        self.pieces = {name: {**self.pieces, **snapshot.pieces}[name] for name in snapshot.manifest}
        self.written = sum(len(piece.arrays["places."]) for piece in snapshot.pieces.values())


def numbers(*values: int) -> Column:
    return Column(BIGINT, np.array(values, np.int64))


changes = st.lists(st.tuples(st.lists(st.integers(0, IDS - 1), max_size=6), st.booleans(), st.booleans()), max_size=12)


@given(changes)
def test_arrays_are_read_back_as_they_were(steps: list[tuple[list[int], bool, bool]]) -> None:
    part, stored = KeyedArrays(count=np.int64, yes=np.bool_), Stored()
    part["wide"] = np.zeros((0, 3), np.int64)
    for number, (ids, is_saved, lost) in enumerate(steps, 1):
        part.reserve(max(ids, default=0) + 1)
        part["count"][ids] += number
        part["wide"][ids, number % 3] = number
        part["yes"][ids[1:]] = True
        part.clear(np.array(ids[:1], np.int64))
        if is_saved:
            stored.save(part, lost)
    stored.save(part)
    again = KeyedArrays(count=np.int64, yes=np.bool_)
    again["wide"] = np.zeros((0, 3), np.int64)
    again.restore(stored.pieces)
    for name in ("count", "yes", "wide"):
        assert np.array_equal(again[name], part[name])
    assert not len(again.snapshot(stored.pieces).pieces), "nothing has changed"


@given(changes)
def test_keys_are_read_back_as_they_were(steps: list[tuple[list[int], bool, bool]]) -> None:
    part, stored = KeyDirectory(), Stored()
    for number, (keys, is_saved, lost) in enumerate(steps):
        ids = part.intern([numbers(*keys), numbers(*keys)], len(keys))
        part.forget(ids[: number % 3])
        if is_saved:
            stored.save(part, lost)
    stored.save(part)
    again = KeyDirectory()
    again.restore(stored.pieces)
    assert np.array_equal(again.known(), part.known())
    for one, other in zip(again.columns(again.known()), part.columns(part.known()), strict=False):
        assert np.array_equal(one.values, other.values)
    keys = np.arange(IDS)
    assert np.array_equal(*(np.sort(d.find([Column(BIGINT, keys)] * 2, IDS)) for d in (part, again)))
    assert not len(again.snapshot(stored.pieces).pieces), "nothing has changed"


@given(changes)
def test_shown_rows_are_read_back_as_they_were(steps: list[tuple[list[int], bool, bool]]) -> None:
    part, stored = ShownRows(), Stored()
    for number, (found, is_saved, lost) in enumerate(steps):
        ids = np.unique(np.array(found, np.int64))
        part.replace(ids, ids % 3 != number % 3, (Column(BIGINT, ids * number),))
        part.clear(ids[:1])
        if is_saved:
            stored.save(part, lost)
    stored.save(part)
    again = ShownRows()
    again.restore(stored.pieces)
    assert np.array_equal(again.present(), part.present())
    ids = part.present()
    if len(ids):
        assert np.array_equal(again.look_up(ids, ())[1][0].values, part.look_up(ids, ())[1][0].values)


def test_what_is_written_is_what_changed_and_pieces_are_few() -> None:
    part, stored, random = KeyedArrays(count=np.int64), Stored(), np.random.default_rng(1)
    size, written = 50_000, 0
    for step in range(400):
        part.reserve(size)
        part["count"][random.integers(0, size, 5 if step else size)] += 1
        stored.save(part)
        assert len(stored.pieces) <= 12
        written += stored.written if step else 0
    assert written < 400 * 5 * 10, "each of them as often as a logarithm says"
