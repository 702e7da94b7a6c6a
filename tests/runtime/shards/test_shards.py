"""Query test files on shards: the same tasks and messages as on Spark, in this process.

Every case runs on 1, 2 and 5 shards, with workers that remember and with workers that read all state back, each time in
another one of the ways (cut, strategy, optimizer) in which `test_cases` runs it.
"""

from __future__ import annotations

import pytest

from support.case_checks import AWAITED, CASES, check, staged, ways
from support.case_files import Case
from support.case_runtime import OnShards

PLACES = ((1, False), (2, True), (5, False))


@pytest.mark.parametrize("case", [case for case in CASES if case.name not in AWAITED], ids=lambda case: case.name)
def test_case_on_shards(case: Case) -> None:
    stage, number = staged(case), CASES.index(case)
    every = list(ways(case, stage.setup, stage.streams))
    for place, (shards, forgetful) in enumerate(PLACES):
        way, setup = every[(number * 5 + place * 7) % len(every)]
        check(case, setup, OnShards(shards, forgetful), f"{shards} shards, {way}")
