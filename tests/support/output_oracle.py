"""What comes out, recomputed: output streams, RESTORE and windows on them as differences of lawful answers.

Answers come from `sql_oracle`; here is only what the definitions say of them. A stream of results that a window stands
on is put in the place of a source, so that a query over streams of results is answered from the inside out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from support.sql_oracle import Row, answer_at, in_view, stream_order
from windrow.batch import arrow_type
from windrow.plan.analysis.refreshes import slides_below
from windrow.plan.nodes import (
    Alias,
    AppendOnly,
    GroupBy,
    Node,
    OutputKind,
    OutputStream,
    Project,
    Stream,
    Union,
    Windowed,
)
from windrow.plan.schema import Field, unqualified
from windrow.plan.windows import RowCount

Bag = Counter[Any]


class World:
    """The rows of the streams that a query reads, in order, and the instants at which anything can change."""

    def __init__(
        self, plan: Node, rows: dict[str, list[Row]], schemas: dict[str, pa.Schema], instants: Sequence[int]
    ) -> None:
        read = {node.name for node in plan.walk() if isinstance(node, Stream)}
        times = [row["ts"] for name in read for row in rows[name]]
        self.rows, self.schemas, self.instants = dict(rows), dict(schemas), instants
        self.first, self.last = min(times, default=None), max(times, default=None)
        self.told: dict[Node, Stream] = {}


def answer(plan: Node, world: World, now: int) -> Bag:
    """The answer at an instant, windows on streams of results included; time begins with the first row."""
    if world.first is None or now < world.first:
        return Counter()
    if isinstance(plan, Windowed) and isinstance(plan.input, AppendOnly):
        source = _source(plan.input, world)
        shown = in_view(world.rows[source.name], plan.window, now)
        return Counter(tuple(row[f.name] for f in source.columns) for row in shown)
    return answer_at(_over_sources(plan, world), world.rows, world.schemas, now)


def _over_sources(plan: Node, world: World) -> Node:
    """The plan with every stream of results in it replaced by a source of its rows."""
    inner = plan.input if isinstance(plan, Alias) else plan
    if isinstance(plan, Windowed) and not isinstance(plan.input, Stream):
        return Windowed(_source(plan.input, world), plan.window)
    if isinstance(inner, OutputStream) and inner.kind is OutputKind.RSTREAM and not inner.restore:
        return plan.with_inputs(inner.input) if plan is not inner else inner.input
    if isinstance(inner, OutputStream | AppendOnly):
        return _source(plan, world)
    return plan.with_inputs(*(_over_sources(below, world) for below in plan.inputs))


def _source(plan: Node, world: World) -> Stream:
    """A stream of results as a source, its rows of one instant in the order of their values."""
    if plan not in world.told:
        name, alias = f"told{len(world.told)}", plan.name if isinstance(plan, Alias) else "_"
        fields = tuple(Field(unqualified(column.name), column.type) for column in plan.schema)
        found = told(plan.input if isinstance(plan, Alias) else plan, world)
        columns = [f.name for f in fields]
        moments = [(time, row) for time, bag in found.items() for row in bag.elements()]
        rows = [{"ts": time, **dict(zip(columns, row, strict=True))} for time, row in moments]
        world.told[plan] = Stream(name, alias, fields, None)
        world.rows[name] = stream_order(rows, [])
        world.schemas[name] = pa.schema([(f.name, arrow_type(f.type)) for f in fields])
    return world.told[plan]


def told(plan: Node, world: World) -> dict[int, Bag]:
    """What an append-only stream of results tells, by instant.

    Results of INTERNAL windows stay: what they tell is ISTREAM, and for a periodic aggregate its value at each refresh.
    """
    assert isinstance(plan, OutputStream | AppendOnly), plan
    if isinstance(plan, AppendOnly) and isinstance(plan.input, Union):
        branches = [told(AppendOnly(side), world) for side in plan.input.inputs]
        return {
            time: sum((b.get(time, Counter()) for b in branches), Counter()) for time in {*branches[0], *branches[1]}
        }
    if isinstance(plan, AppendOnly) and not (_is_grouped(plan.input) and slide_of(plan)):
        return _differences(plan.input, world, gained)
    if isinstance(plan, OutputStream) and plan.kind is OutputKind.DSTREAM:
        return _differences(plan.input, world, lost)
    if isinstance(plan, OutputStream) and plan.kind is OutputKind.ISTREAM:
        return restored(plan, world) if plan.restore else _differences(plan.input, world, gained)
    return {time: bag for time, bag in reports(plan, world).items() if bag}


def gained(before: Bag, after: Bag) -> Bag:
    return after - before


def lost(before: Bag, after: Bag) -> Bag:
    return before - after


def slide_of(plan: Node) -> int | None:
    return next((slide for slide in slides_below(plan) if not isinstance(slide, RowCount)), None)


def looks(plan: Node, world: World) -> list[int]:
    """When the answer may change; a periodic query is looked at when it is refreshed, after the first row."""
    slide = slide_of(plan)
    if slide is None:
        return [instant for instant in world.instants if instant >= world.first]
    return [instant for instant in world.instants if instant > world.first and instant % slide == 0]


def _differences(plan: Node, world: World, kind: Callable[[Bag, Bag], Bag]) -> dict[int, Bag]:
    found: dict[int, Bag] = {}
    before: Bag = Counter()
    for moment in looks(plan, world):
        after = answer(plan, world, moment)
        if kind(before, after):
            found[moment] = kind(before, after)
        before = after
    return found


def restored(plan: OutputStream, world: World) -> dict[int, Bag]:
    """ISTREAM RESTORE: all that comes into the answer of the query without its slides, told at the next refresh."""
    slide = slide_of(plan)
    assert slide is not None
    found: dict[int, Bag] = {}
    for moment, born in _differences(_continuous(plan.input), world, gained).items():
        found.setdefault((moment // slide + 1) * slide, Counter()).update(born)
    return found


def reports(plan: OutputStream | AppendOnly, world: World) -> dict[int, Bag]:
    """RSTREAM: the answer at every refresh, until the last row and the last change.

    RESTORE: the least bag that holds the answer and all that was born since the refresh before.
    """
    found = {moment: answer(plan.input, world, moment) for moment in looks(plan, world)}
    if isinstance(plan, OutputStream) and plan.restore:
        born = restored(plan, world)
        found = {moment: bag | born.get(moment, Counter()) for moment, bag in found.items()}
    moments = list(found)
    changes = [now for now, before in zip(moments, [None, *moments], strict=False) if found[now] != found.get(before)]
    slide = slide_of(plan)
    assert slide is not None
    end = max([world.last, *changes])
    return {moment: bag for moment, bag in found.items() if moment <= end}


def _continuous(plan: Node) -> Node:
    """Without the slides of the windows that decide when it refreshes: those with no other window above them."""

    def of(node: Node) -> Node:
        if isinstance(node, Windowed):
            is_periodic = isinstance(node.window.slide, int)
            return Windowed(node.input, replace(node.window, slide=None)) if is_periodic else node
        return node if isinstance(node, OutputStream) else node.with_inputs(*map(of, node.inputs))

    return of(plan)


def _is_grouped(plan: Node) -> bool:
    return isinstance(plan, GroupBy) or (isinstance(plan, Project) and _is_grouped(plan.input))
