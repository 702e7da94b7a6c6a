"""Which synopsis answers an aggregate over joins of windows: chosen by what it costs to keep and to ask (thesis 8.3.2).

Costs are merges of two partial results a second; b is the number of slices of the longest window, n of the window that
is asked for, g by how many slices the two windows of a join differ at most:

    synopsis    a pair              a lookup          rows
    BIJ         1 + g               n + g             b (1 + 2 g)
    IJ          1 + log2 b + g      2 log2 n + g      b (3 + 2 g)
    RJ          1 + b / 2 + g       2 + g             b (3 + 2 g)     aggregates that can be subtracted

A pair goes into the running values of all slices since its older row: half of them in the middle.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from windrow.plan.aggregate_class import Traits
from windrow.plan.synopsis_kinds import JoinSynopsisKind, rows_of
from windrow.sharing.synopsis_choice import ROW_BYTES, Choice, Monitor, cheapest
from windrow.units import format_size


@dataclass(frozen=True)
class JoinWorkload:
    """Pairs and lookups a second over all groups; widths are those of the shorter windows, in slices."""

    pairs: float
    lookups: float
    widths: tuple[int, ...]
    longest: int
    difference: int
    groups: int = 1
    memory: float = math.inf  # bytes


JoinChoice: TypeAlias = Choice[JoinSynopsisKind]


def chosen_for_join(traits: Traits, load: JoinWorkload) -> JoinChoice:
    return cheapest(join_alternatives(traits, load), load.memory)


def join_alternatives(traits: Traits, load: JoinWorkload) -> list[JoinChoice]:
    b, width = load.longest, sum(load.widths) / len(load.widths)
    high, narrow = math.log2(b) if b > 1 else 1.0, 2 * math.log2(width) if width > 1 else 1.0
    slices = f"about {width:.0f} of {b} slices" if len(load.widths) > 1 else f"{width:.0f} of {b} slices"
    found = [
        _choice(JoinSynopsisKind.BASIC, load, 0, width, f"a pair goes into one slice, a lookup merges {slices}"),
        _choice(
            JoinSynopsisKind.INTERVAL, load, high, narrow,
            f"a pair goes into {high:.0f} dyadic intervals, a lookup merges about {narrow:.0f}",
        ),
    ]  # fmt: skip
    if traits.subtractable:
        why = f"a pair goes into about {b / 2:.0f} of {b} running values, a lookup is the difference of two"
        found.append(_choice(JoinSynopsisKind.RUNNING, load, b / 2, 2, why))
    return found


def join_monitor(traits: Traits, kind: JoinSynopsisKind) -> Monitor[JoinSynopsisKind, JoinWorkload]:
    return Monitor(kind, partial(join_alternatives, traits))


def _choice(kind: JoinSynopsisKind, load: JoinWorkload, above: float, lookup: float, why: str) -> JoinChoice:
    cost = load.pairs * (1 + above + load.difference) + load.lookups * (lookup + load.difference)
    above_slices = 0 if kind is JoinSynopsisKind.BASIC else 2 * load.longest
    kept = (rows_of(load.longest, load.difference) + above_slices) * ROW_BYTES * load.groups
    ratio = f"{load.pairs:.3g} pairs and {load.lookups:.3g} lookups a second"
    return JoinChoice(kind, cost, kept, f"{kind.value}: {why}; {ratio}: {cost:.3g} merges, {format_size(kept)}")
