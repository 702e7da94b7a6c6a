"""Join synopses against the results of the join, by the ages of their two tuples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.synopsis_model import CASES, int64s, same, shown
from windrow.errors import WindrowError
from windrow.synopses import JoinSynopsisForm, PairSynopsis, count, join, maximum
from windrow.types import BIGINT

SLICE, LONGEST = 5, 8
WAYS = [
    (kind, case)
    for kind in JoinSynopsisForm
    for case in CASES
    if kind is not JoinSynopsisForm.RUNNING or case.make().is_subtractable
]


@pytest.fixture(autouse=True, scope="module")
def small_pieces():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(join, "_BLOCK", 2)
        yield


@pytest.mark.parametrize("kind, case", WAYS, ids=[f"{kind.name}, {case.name}" for kind, case in WAYS])
@settings(max_examples=10)
@given(data=st.data())
def test_joins_of_windows_of_several_lengths(kind, case, data):
    difference = data.draw(st.integers(0, 3))
    synopsis, now, results, stored = PairSynopsis(case.make(), kind, SLICE, LONGEST, difference), 0, [], {}
    result = st.tuples(st.integers(0, 2), st.integers(0, 45), st.integers(0, 45), st.none() | case.values)
    for burst, ticks in data.draw(st.lists(st.tuples(st.lists(result, max_size=10), st.integers(0, 30)), max_size=6)):
        now += ticks
        # A result is made when the later of its tuples comes; the other is younger than the longest window.
        made = [(g, now - a, now - min(a, b) if a else now, v) for g, a, b, v in burst]
        made = [(g, *((x, now) if x <= y else (now, y)), v) for g, x, y, v in made]
        made = [row if n % 2 else (row[0], row[2], row[1], row[3]) for n, row in enumerate(made)]
        results += made
        columns = (case.column([row[3] for row in made]),)
        synopsis.insert(*(int64s([row[n] for row in made]) for n in range(3)), columns)
        synopsis.advance((now // SLICE + 1) * SLICE)
        end = now // SLICE + 1
        for n1 in range(1, LONGEST + 1):
            for n2 in range(max(1, n1 - difference), min(LONGEST, n1 + difference) + 1):
                found = shown(synopsis.lookup(np.arange(4), np.full(4, n1), np.full(4, n2)))
                for g in range(4):
                    inside = [
                        v for group, x, y, v in results
                        if group == g and v is not None and x // SLICE >= end - n1 and y // SLICE >= end - n2
                    ]  # fmt: skip
                    assert same(found[g], case.expected(inside)), (n1, n2, found[g], case.expected(inside))
        if data.draw(st.booleans()):
            written = synopsis.snapshot(stored)
            assert not written.pieces.keys() & stored.keys()
            stored |= written.pieces
            if data.draw(st.booleans()):
                synopsis = PairSynopsis(case.make(), kind, SLICE, LONGEST, difference)
                synopsis.restore({name: stored[name] for name in written.manifest})


def test_only_what_has_changed_is_written():
    """Groups to which nothing was added are not written again; slices that have left since are not read."""
    synopsis = PairSynopsis(count(), JoinSynopsisForm.INTERVAL, 1, 4)
    many, time = np.arange(6), np.zeros(6, np.int64)
    synopsis.insert(many, time, time, ())
    first = synopsis.snapshot(())
    assert len(first.pieces) == 4  # three blocks, and the head
    synopsis.insert(int64s([5]), int64s([3]), int64s([3]), ())
    then = synopsis.snapshot(first.pieces)
    assert len(then.manifest) == 4
    assert len(then.pieces) == 2
    synopsis.advance(6)
    last = synopsis.snapshot({**first.pieces, **then.pieces})
    assert len(last.pieces) == 1
    again, stored = (
        PairSynopsis(count(), JoinSynopsisForm.INTERVAL, 1, 4),
        {**first.pieces, **then.pieces, **last.pieces},
    )
    again.restore({name: stored[name] for name in last.manifest})
    for one in (synopsis, again):
        assert shown(one.lookup(int64s([0, 5]), int64s([4, 4]), int64s([4, 4]))) == [0, 1]


def test_a_seven_eight_join_lies_between_its_neighbours():
    """Thesis 8.3.2: the count of a (7s, 8s)-join is above that of a (7s, 7s)-join, below that of an (8s, 8s)-join."""
    synopsis = PairSynopsis(count(), JoinSynopsisForm.BASIC, 1, 8, 1)
    pairs = [(a, b) for a in range(8) for b in range(8)]
    synopsis.insert(np.zeros(64, np.int64), int64s([a for a, _ in pairs]), int64s([b for _, b in pairs]), ())
    asked = [(7, 7), (7, 8), (8, 7), (8, 8)]
    group = np.zeros(4, np.int64)
    found = shown(synopsis.lookup(group, int64s([a for a, _ in asked]), int64s([b for _, b in asked])))
    assert found == [49, 56, 56, 64]


def test_what_is_not_covered_is_refused():
    one = np.ones(1, np.int64)
    with pytest.raises(WindrowError, match="MAX cannot be subtracted"):
        PairSynopsis(maximum(BIGINT), JoinSynopsisForm.RUNNING, 1, 8)
    synopsis = PairSynopsis(maximum(BIGINT), JoinSynopsisForm.BASIC, 1, 8, 1)
    with pytest.raises(WindrowError, match="longer than the synopsis"):
        synopsis.lookup(one, 9 * one, 9 * one)
    with pytest.raises(WindrowError, match="differ by more than 1"):
        synopsis.lookup(one, 5 * one, 7 * one)
