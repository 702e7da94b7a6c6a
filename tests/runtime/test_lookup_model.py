"""Queries that are looked up give, at every instant that can be asked for, what SQL gives over the rows in view."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.generated_lookups import Asked, Changing, cuts_of_streams, steps, together
from support.generated_streams import START
from support.local_runs import bag_of_table, table_of
from support.rows_in_view import Row, stream_order
from support.shard_runs import ShardsInProcess
from support.sub_windows import DECLARATION, HALF, SCHEMA, streams
from support.text_oracle import answer_at
from windrow.errors import WindrowError
from windrow.plan.analysis import lookups
from windrow.plan.synopsis_kinds import SynopsisKind
from windrow.runtime.local import LocalEngine
from windrow.runtime.lookups import rechoosing
from windrow.sharing import lookups as shared_lookups
from windrow.units import BEGINNING, FOREVER


def check(engine: Any, asked: Sequence[Asked], rows: list[Row], cuts: Sequence[int]) -> None:
    engine.sql(DECLARATION)
    running = Changing(engine, asked)
    for final in steps(engine, rows, cuts, before=running.change):
        for asked_for, query, start in running.now.values():
            there = stream_order([row for row in rows if start <= row["ts"] < final], [])
            for back in (0, 1, HALF, 3 * HALF) if asked_for.has_past and final > START else (0,):
                now = final - 1 - back
                wanted = answer_at(asked_for.text, {"s": there}, {"s": SCHEMA}, now) if final > BEGINNING else None
                try:
                    found = bag_of_table(query.answer(now if back else None))
                except WindrowError as error:
                    assert back and "not kept any more" in str(error), asked_for
                    continue
                if wanted is not None:
                    assert found == wanted, (asked_for, now, start)


def outcomes(engine: Any, asked: Sequence[Asked], rows: list[Row], cuts: Sequence[int]) -> list[Counter[Any] | None]:
    """The answers after each step at instants of the whole stream; None for those that are refused."""
    engine.sql(DECLARATION.replace(";", " SLACK 700 MILLISECONDS;"))
    found: list[Counter[Any] | None] = []
    instants = [START + half * HALF - early for half in range(0, 22, 3) for early in (0, 1)]
    running = Changing(engine, asked)
    for final in (*steps(engine, rows, cuts, running.change), FOREVER):
        if final == FOREVER:
            engine.end("s")
            engine.step()
        for one in running.now.values():
            for instant in (None, *(instant for instant in instants if instant < final)):
                try:
                    found.append(bag_of_table(one.query.answer(instant)))
                except WindrowError as error:
                    assert "not kept any more" in str(error), one
                    found.append(None)
    return found


@settings(max_examples=250)
@given(
    rows=streams(most=40) | streams(least=12, most=40),
    asked=together(most=4),
    cuts=cuts_of_streams,
    indexed=st.booleans(),
    kind=st.sampled_from([None, *SynopsisKind]),
    watched=st.booleans(),
)
def test_what_sql_gives(
    rows: list[Row], asked: list[Asked], cuts: list[int], indexed: bool, kind: SynopsisKind | None, watched: bool
) -> None:
    """Whatever the planner chooses, and however often it changes its mind."""
    with pytest.MonkeyPatch.context() as patch:
        _plan(patch, indexed, kind, watched)
        check(LocalEngine(), asked, rows, cuts)


@settings(max_examples=60)
@given(
    rows=streams(most=30) | streams(least=12, most=30),
    asked=together(most=3),
    cuts=cuts_of_streams,
    shards=st.sampled_from([1, 3]),
    indexed=st.booleans(),
    kind=st.sampled_from([None, *SynopsisKind]),
    watched=st.booleans(),
)
def test_what_sql_gives_on_shards(
    rows: list[Row],
    asked: list[Asked],
    cuts: list[int],
    shards: int,
    indexed: bool,
    kind: SynopsisKind | None,
    watched: bool,
) -> None:
    """Workers have nothing in memory from batch to batch: all comes from what was written."""
    with pytest.MonkeyPatch.context() as patch:
        _plan(patch, indexed, kind, watched)
        engine = ShardsInProcess(shards, forgetful=True)
        check(engine, asked, rows, cuts)
        engine.close()


@settings(max_examples=40)
@given(
    rows=streams(least=12, most=40),
    asked=together(most=3),
    cuts=cuts_of_streams,
    shards=st.sampled_from([0, 0, 0, 2]),
    indexed=st.booleans(),
)
def test_as_with_a_synopsis_of_its_own(
    rows: list[Row], asked: list[Asked], cuts: list[int], shards: int, indexed: bool
) -> None:
    """What a later query answers, and which instants it refuses; of windows that slide it may know more of the past."""
    with pytest.MonkeyPatch.context() as patch:
        _plan(patch, indexed, None, watched=False)
        shared = outcomes(ShardsInProcess(shards) if shards else LocalEngine(), asked, rows, cuts)
        patch.setattr(shared_lookups, "over_running", lambda *given: None)
        alone = outcomes(ShardsInProcess(shards) if shards else LocalEngine(), asked, rows, cuts)
    slides = any("SLIDE" in one.text for one in asked)
    pairs = list(zip(shared, alone, strict=True))
    assert all(found == wanted for found, wanted in pairs if wanted is not None)
    assert slides or all(found is None for found, wanted in pairs if wanted is None)


def _plan(patch: pytest.MonkeyPatch, indexed: bool, kind: SynopsisKind | None, watched: bool) -> None:
    """Let the planner always take an index, have no choice of forms, or look at its choice all the time."""
    if indexed:
        patch.setattr(shared_lookups, "is_indexed", lambda *rates: (True, "always"))
    if watched:
        patch.setattr(rechoosing, "BETWEEN_POLLS", 1)
        patch.setattr("windrow.sharing.synopsis_choice._PATIENCE", 1)
    if kind is not None:
        _only(patch, kind)


def _only(patch: pytest.MonkeyPatch, kind: SynopsisKind) -> None:
    """Let the planner have no choice where this one is possible."""
    possible = lookups.synopses_of

    def one_of(call: Any) -> tuple[SynopsisKind, ...]:
        found = possible(call)
        return (kind,) if kind in found else found

    patch.setattr(shared_lookups, "synopses_of", one_of)
    patch.setitem(shared_lookups._ONLY, kind, f"{kind.value}: no choice")


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (LocalEngine, ["two stacks", "landmarks", "interval"]),
        (lambda: ShardsInProcess(2), ["two stacks", "interval", "interval"]),
    ],
    ids=["one process", "shards"],
)
def test_the_form_follows_what_is_asked(make: Any, expected: list[str]) -> None:
    """One window, then others, then hardly any question; on shards all that is kept is read back every time."""
    engine = make()
    engine.sql(DECLARATION)
    text = "SELECT k, MAX(x) AS most FROM s [RANGE 1 HOUR] GROUP BY k"
    query = engine.query(f"{text} REFRESH ON LOOKUP", name="q")
    forms, rows, keys = [], [], [f"k{n}" for n in range(200)]
    for others, number, questions in ((False, 1_000, 60), (True, 1_000, 60), (False, 10_000, 1)):
        for _ in range(10):
            first = len(rows)
            rows += [{"ts": START + n, "k": keys[n % 200], "x": n * 7 % 1009} for n in range(first, first + number)]
            engine.push("s", table_of([row | {"y": None} for row in rows[first:]], SCHEMA))
            engine.step()
            for ask in range(questions):
                engine.lookup(text.replace("1 HOUR", f"{ask + 1} MILLISECONDS")) if others else query.answer()
        forms.append(str(query.explain()).split("MAX(s.x) in ")[1].split(":")[0])
        most: dict[str, int] = {}
        for row in rows[:-1]:
            most[row["k"]] = max(row["x"], most.get(row["k"], 0))
        assert dict(bag_of_table(query.answer())) == dict.fromkeys(most.items(), 1)
    assert forms == expected
    engine.close()


@pytest.mark.parametrize(
    ("memory", "expected"),
    [
        ("unlimited", "in two stacks: "),
        ("'80 MB'", "in basic interval: one pass"),
        ("'80 MB'", "; two stacks would cost less and does not fit into 80 MB"),
        ("'1 kB'", "; nothing fits into 1 kB, this is the smallest"),
    ],
)
def test_a_synopsis_keeps_within_its_memory(memory: str, expected: str) -> None:
    engine = LocalEngine()
    engine.sql(DECLARATION)
    engine.sql(f"SET synopsis_memory = {memory}")
    query = engine.query("SELECT k, MAX(x) FROM s [RANGE 1 HOUR] GROUP BY k REFRESH ON LOOKUP")
    assert expected in str(query.explain())
