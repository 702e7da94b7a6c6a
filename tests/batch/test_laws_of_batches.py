"""Laws of batches: what goes in comes out, codes never change, ids stand for keys, consolidation changes no answer."""

from __future__ import annotations

import datetime
from collections import Counter
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.operator_runs import answers
from windrow.batch import (
    Batch,
    Dictionary,
    KeyTable,
    column_from_arrow,
    column_to_arrow,
    concat_columns,
    consolidate,
    inserts,
    words_of,
)
from windrow.batch.column import order_words
from windrow.batch.radix_order import radix_order
from windrow.batch.row_order import in_row_order

UTC = datetime.timezone.utc
VALUES = {
    pa.bool_(): st.booleans(),
    pa.int8(): st.integers(-128, 127),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.float32(): st.floats(width=32, allow_nan=False),
    pa.float64(): st.floats(allow_nan=False),
    pa.string(): st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    pa.binary(): st.binary(max_size=5),
    pa.date32(): st.dates(),
    pa.timestamp("us", "UTC"): st.datetimes(
        min_value=datetime.datetime(1700, 1, 1), max_value=datetime.datetime(2200, 1, 1), timezones=st.just(UTC)
    ),
    pa.duration("us"): st.timedeltas(min_value=datetime.timedelta(days=-9999), max_value=datetime.timedelta(days=9999)),
    pa.decimal128(12, 3): st.decimals(-(10**8), 10**8, places=3).map(lambda d: d.quantize(Decimal("0.001"))),
    pa.decimal128(38, 4): st.decimals(-(10**30), 10**30, places=4, allow_nan=False),
}


def _positive_zero(value: float | None) -> float | None:
    """Within arrays and structs there is one zero."""
    return None if value is None else value + 0.0


VALUES |= {
    pa.list_(type): st.lists(st.none() | values, max_size=4)
    for type, values in [*VALUES.items()]
    if type not in (pa.float32(), pa.float64())
}
VALUES |= {
    pa.list_(pa.float64()): st.lists((st.none() | VALUES[pa.float64()]).map(_positive_zero), max_size=4),
    pa.struct([("s", pa.string()), ("l", pa.list_(pa.int8())), ("d", pa.decimal128(38, 4))]): st.fixed_dictionaries(
        {
            "s": st.none() | VALUES[pa.string()],
            "l": st.none() | VALUES[pa.list_(pa.int8())],
            "d": st.none() | VALUES[pa.decimal128(38, 4)],
        }
    ),
    pa.list_(pa.struct([("s", pa.binary()), ("n", pa.struct([("i", pa.int64())]))])): st.lists(
        st.none()
        | st.fixed_dictionaries(
            {"s": VALUES[pa.binary()], "n": st.none() | st.fixed_dictionaries({"i": VALUES[pa.int64()]})}
        ),
        max_size=3,
    ),
}


def as_column(values, type: pa.DataType, dictionary: Dictionary):
    return column_from_arrow(pa.array(values, type), dictionary)


@pytest.mark.parametrize("type", VALUES, ids=str)
@given(data=st.data())
def test_arrow_comes_back_as_it_went_in(type, data):
    values = data.draw(st.lists(st.none() | VALUES[type], max_size=12))
    array = pa.array(values, type)
    dictionary = Dictionary()
    assert column_to_arrow(column_from_arrow(array, dictionary)).equals(array)
    half = len(values) // 2
    pieces = [column_from_arrow(part, Dictionary()) for part in (array[:half], array[half:])]
    assert column_to_arrow(concat_columns(pieces)).equals(array), "slices and other dictionaries"
    mask = np.array([i % 2 == 0 for i in range(len(values))], np.bool_)
    assert column_to_arrow(column_from_arrow(array, dictionary).take(mask)).to_pylist() == values[::2]


def _comparable(value):
    """As Spark SQL compares: nulls first, element by element, texts by their bytes."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        value = tuple(map(_comparable, value))
    return (value is not None, value.encode() if isinstance(value, str) else value)


@pytest.mark.parametrize("type", VALUES, ids=str)
@given(data=st.data())
def test_order_of_values_is_kept(type, data):
    values = data.draw(st.lists(VALUES[type], min_size=1, max_size=12))
    words = order_words(as_column(values, type, Dictionary()))
    place = list(zip(*(word.tolist() for word in words), strict=True))
    plain = [_comparable(value) for value in pa.array(values, type).to_pylist()]  # fields in the order of the type
    for i in range(len(values)):
        for j in range(len(values)):
            assert (place[i] < place[j]) == (plain[i] < plain[j])


@given(bursts=st.lists(st.lists(st.text(max_size=3), max_size=30), max_size=5))
def test_codes_never_change(bursts):
    dictionary, given_out, saved, count = Dictionary(), {}, [], 0
    for burst in bursts:
        codes = dictionary.encode(pa.array(burst, pa.string())).tolist()
        for text, code in zip(burst, codes, strict=True):
            assert given_out.setdefault(text, code) == code
        in_order = [text for text, code in sorted(given_out.items(), key=lambda known: dictionary.ranks()[known[1]])]
        assert in_order == sorted(given_out, key=str.encode), "places follow new strings"
        saved.append(dictionary.added_since(count))
        count = dictionary.strings
    assert len(dictionary) == len(given_out) == len(set(given_out.values()))
    again = Dictionary()
    for piece in saved:
        again.add(piece)
    assert all(again.encode_one(text) == code for text, code in given_out.items())


@given(rounds=st.lists(st.tuples(st.lists(st.text(max_size=3), max_size=20), st.integers(0, 255)), max_size=6))
def test_codes_that_nobody_uses_are_given_to_new_strings(rounds):
    """After every round some strings are left out: the others keep their codes, and all is as in a plain mapping."""
    dictionary, alive = Dictionary(), {}
    for burst, dropped in rounds:
        codes = dictionary.encode(pa.array([*burst, None], pa.string())).tolist()
        for text, code in zip(burst, codes, strict=False):
            assert alive.setdefault(text, code) == code
        assert len(set(alive.values())) == len(alive) == dictionary.strings
        assert all(code < len(dictionary) for code in alive.values())
        texts, numbers = list(alive), pa.array(list(alive.values()), pa.int32())
        assert dictionary.decode(numbers, pa.string()).to_pylist() == texts
        assert sorted(texts, key=str.encode) == sorted(texts, key=lambda text: dictionary.ranks()[alive[text]])
        plain = Dictionary()
        plain.encode(pa.array(texts, pa.string()))
        assert [dictionary.hashes()[code] for code in alive.values()] == plain.hashes().tolist()
        alive = {text: code for text, code in alive.items() if (dropped >> code % 8) & 1}
        used = np.zeros(len(dictionary), np.bool_)
        used[list(alive.values())] = True
        kept, dictionary = dictionary, Dictionary()
        dictionary.add(kept.used(used))
    assert len(dictionary) <= max([len(set(burst)) for burst, _ in rounds], default=0) * 6


@given(
    steps=st.lists(
        st.tuples(st.lists(st.integers(0, 40), max_size=12), st.integers(0, 12), st.booleans()), max_size=12
    ),
)
def test_ids_stand_for_keys_and_are_used_again(steps):
    table, dictionary = KeyTable(), Dictionary()
    ids: dict[int, int] = {}
    for keys, count, by_keeping in steps:
        got = table.intern(words_of((as_column(keys, pa.int64(), dictionary),), len(keys)))
        for key, number in zip(keys, got.tolist(), strict=True):
            assert ids.setdefault(key, number) == number, "equal keys, equal ids"
        leaving = [ids.pop(key) for key in list(ids)[:count]]
        if by_keeping:
            table.keep(np.array(list(ids.values()) * 2, np.int64))
        else:
            assert table.forget(np.array(leaving * 2, np.int64)) == len(leaving), "nothing is forgotten twice"
        assert len(set(ids.values())) == len(ids) == len(table), "different keys, different ids"
        assert table.capacity <= 53, "ids are used again"
        every = list(range(41))
        found = table.find(words_of((as_column(every, pa.int64(), dictionary),), 41))
        assert found.tolist() == [ids.get(key, -1) for key in every]


tuples = st.tuples(st.sampled_from([None, "a", "b"]), st.integers(0, 9), st.integers(1, 9), st.booleans())


@given(rows=st.lists(tuples, max_size=20))
def test_consolidation_changes_no_answer(rows):
    dictionary = Dictionary()
    every = rows + [(text, ts, life, True) for text, ts, life, positive in rows if not positive]
    ts = np.array([row[1] for row in every], np.int64)
    exp = ts + np.array([row[2] for row in every], np.int64)
    sign = np.array([1 if row[3] else -1 for row in every], np.int8)
    batch = Batch((as_column([row[0] for row in every], pa.string(), dictionary),), ts, exp, sign)
    fewer = consolidate(batch)
    assert answers(fewer, range(20)) == answers(batch, range(20))
    assert len(fewer) <= len(batch)
    assert bool((fewer.sign > 0).all()), "what was only ever taken back has cancelled"


@given(rows=st.lists(st.tuples(st.integers(0, 3), st.sampled_from([None, "b", "a"]), st.integers(0, 2)), max_size=15))
def test_row_order_depends_on_the_bag_only(rows):
    def ordered(given_rows):
        dictionary = Dictionary()
        columns = (
            as_column([row[1] for row in given_rows], pa.string(), dictionary),
            as_column([row[2] for row in given_rows], pa.int64(), dictionary),
        )
        batch = in_row_order(inserts(columns, np.array([row[0] for row in given_rows], np.int64)))
        texts = column_to_arrow(batch.columns[0]).to_pylist()
        return list(zip(batch.ts.tolist(), texts, batch.columns[1].values.tolist(), strict=True))

    assert ordered(rows) == ordered(rows[::-1])
    assert Counter(ordered(rows)) == Counter(rows)


@given(bits=st.integers(1, 40), data=st.data())
def test_counting_gives_the_stable_order(bits, data):
    bound = data.draw(st.integers(1, 2**bits))
    numbers = np.array(data.draw(st.lists(st.integers(0, bound - 1), max_size=50)), np.int64)

    assert radix_order(numbers, bound).tolist() == np.argsort(numbers, kind="stable").tolist()
