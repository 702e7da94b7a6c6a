"""Query test files on shards: the same tasks and messages as on Spark, in this process.

Every case runs on 1, 2 and 5 shards, with workers that remember and with workers that read all state back, each time in
another one of the ways (cut, strategy, optimizer) in which `test_cases` runs it.
"""

from __future__ import annotations

import pytest
from test_cases import AWAITED, CASES, check, staged, ways

from support.case_files import Case
from support.case_runtime import Outcome, Setup, outcome_of, push_batch
from support.shard_runs import ShardsInProcess

PLACES = ((1, False), (2, True), (5, False))


class OnShards:
    name = "shards"

    def __init__(self, shards: int, forgetful: bool) -> None:
        self._shards, self._forgetful = shards, forgetful

    def engine(self) -> ShardsInProcess:
        return ShardsInProcess(self._shards, self._forgetful)

    def run(self, setup: Setup) -> Outcome:
        engine = self.engine()
        try:
            engine.sql(";\n".join([*setup.declarations, *(f"SET {k} = {v}" for k, v in setup.settings.items())]))
            query = engine.query(setup.query)
            for statement in setup.statements:
                engine.sql(statement)
            for batch in setup.batches:
                push_batch(engine, batch, setup)
                engine.step()
            for name in setup.ending:
                engine.end(name)
            engine.run()
            refreshes = [query.refreshes()] if query.slide is not None else []
            return outcome_of(engine, query, setup, refreshes)
        finally:
            engine.close()


@pytest.mark.parametrize("case", [case for case in CASES if case.name not in AWAITED], ids=lambda case: case.name)
def test_case_on_shards(case: Case) -> None:
    stage, number = staged(case), CASES.index(case)
    every = list(ways(case, stage.setup, stage.streams))
    for place, (shards, forgetful) in enumerate(PLACES):
        way, setup = every[(number * 5 + place * 7) % len(every)]
        check(case, setup, OnShards(shards, forgetful), f"{shards} shards, {way}")
