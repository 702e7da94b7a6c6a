"""Queries that are looked up, or share, on shards: the same answers as in one process, also after a restart."""

from __future__ import annotations

from pathlib import Path

import pytest
from lookup_queries import answers, create, feed, pieces
from shard_runs import ShardsInProcess

from windrow.optimizer import indexed_thresholds, looked_up
from windrow.runtime.local import Engine


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("indexed", [False, True])
def test_the_same_answers_with_restarts(
    shards: int, indexed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (indexed_thresholds, looked_up):
        monkeypatch.setattr(module, "is_indexed", lambda *rates: (indexed, "no choice"))
    local, on_shards = Engine(), ShardsInProcess(shards, checkpoint=str(tmp_path))
    create(local)
    create(on_shards)
    for number, piece in enumerate(pieces()):
        feed(local, piece)
        feed(on_shards, piece)
        wanted = answers(local)
        assert answers(on_shards) == wanted
        assert number == 0 or all(wanted)
        if number in (1, 3):
            on_shards = ShardsInProcess(shards, checkpoint=str(tmp_path))
            assert answers(on_shards) == wanted
