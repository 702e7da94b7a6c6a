"""A directory of keys beside a plain dictionary: strings with small codes, large ones, nulls, and keys that go."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from windrow.batch import Dictionary, column_from_arrow
from windrow.state.key_directory import KeyDirectory

keys = st.lists(st.one_of(st.none(), st.integers(0, 9)), min_size=1, max_size=12)
steps = st.lists(st.tuples(keys, st.sets(st.one_of(st.none(), st.integers(0, 9)))), max_size=8)


@given(steps=steps, others=st.sampled_from([0, 2_000]))
def test_ids_stand_for_their_strings_until_these_are_forgotten(steps, others):
    dictionary, directory, model = Dictionary(), KeyDirectory(), {}
    dictionary.encode(pa.array([f"other {i}" for i in range(others)], pa.string()))  # codes that no key has
    for rows, gone in steps:
        strings = [None if row is None else f"key {row}" for row in rows]
        column = column_from_arrow(pa.array(strings, pa.string()), dictionary)
        ids = directory.intern((column,), len(rows)).tolist()
        for row, id in zip(rows, ids, strict=True):
            assert model.setdefault(row, id) == id
        assert len(set(model.values())) == len(model) == len(directory)
        (shown,) = directory.columns(np.array(ids, np.int64))
        assert shown.values.tolist() == column.values.tolist()
        directory.forget(np.array([model.pop(row) for row in gone if row in model], np.int64))
        assert sorted(model.values()) == directory.known().tolist()
