"""Queries that are looked up, or share, on shards: the same answers as in one process, also after a restart."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from support.lookup_queries import answers, begun_later, create, create_later, feed, pieces
from support.shard_runs import ShardsInProcess
from windrow.runtime.local import LocalEngine
from windrow.sharing import indexed_thresholds, lookups


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("indexed", [False, True])
def test_the_same_answers_with_restarts(
    shards: int, indexed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (indexed_thresholds, lookups):
        monkeypatch.setattr(module, "is_indexed", lambda *rates: (indexed, "no choice"))
    local, on_shards = LocalEngine(), ShardsInProcess(shards, checkpoint=str(tmp_path))
    create(local)
    create(on_shards)
    for number, piece in enumerate(pieces()):
        feed(local, piece)
        feed(on_shards, piece)
        wanted = answers(local)
        assert answers(on_shards) == wanted
        assert number == 0 or all(wanted.values())
        if number in (1, 3):
            on_shards = ShardsInProcess(shards, checkpoint=str(tmp_path))
            assert answers(on_shards) == wanted


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("indexed", [False, True])
def test_queries_that_start_later(shards: int, indexed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when they are known but have not begun at a restart, and when those that came first are dropped."""
    for module in (indexed_thresholds, lookups):
        monkeypatch.setattr(module, "is_indexed", lambda *rates: (indexed, "no choice"))
    engine = ShardsInProcess(shards, checkpoint=str(tmp_path))
    create(engine)
    first = [query.name for query in engine.queries]
    before, *rest = pieces()
    feed(engine, before)
    synopses = kept(engine)
    create_later(engine)
    alone = begun_later()
    for number, piece in enumerate(rest):
        if number == 2:
            for name in first:
                engine.sql(f"DROP QUERY {name}")
        if number in (0, 2, 3):
            engine = ShardsInProcess(shards, checkpoint=str(tmp_path))
        feed(engine, piece)
        feed(alone, piece)
        found, wanted = answers(engine), answers(alone)
        assert {name: found[name] for name in wanted} == wanted
        assert number == 0 or all(wanted.values())
        if number < 2:
            assert kept(engine) == {
                **synopses,
                "MaintainSynopsis": synopses["MaintainSynopsis"] + 2,
                "MaintainJoinSynopsis": 2,
            }
    assert kept(engine) == {"MaintainSynopsis": 4, "MaintainJoinSynopsis": 1}


def kept(engine: ShardsInProcess) -> Counter[str]:
    """How many synopses of each kind there are on the first shard."""
    labels = (one["operator"] for one in engine.status()["operators"] if one["shard"] == 0)
    return Counter(label for label in labels if label.startswith("Maintain"))
