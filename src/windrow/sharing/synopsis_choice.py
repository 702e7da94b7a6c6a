"""Which synopsis answers an aggregate over windows: chosen by what it costs to keep and to ask.

Costs are merges of two partial results a second, memory is rows of partial results; both follow from the structures
(Arasu and Widom, section 3; thesis 2.3.4 and 8.3.1):

    synopsis            an element    a lookup                      rows, of N positions
    running             1             1                             N                 what can be subtracted
    interval            2             log2 of the width             2 N
    basic interval      1             its share of a common pass    N
    landmarks           1 + log2 N    2                             N (1 + log2 N)
    two stacks          3             2                             2 N               one window, of all that is kept

All of them answer any window, so that what can be asked does not depend on a cost: with two stacks, windows that were
not expected take a pass.

A choice is left for another only when that is cheaper by a factor, and has been for a while (`Monitor`):
changing costs a pass over all that is kept.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, Protocol, TypeVar

from windrow.plan.aggregate_class import Traits
from windrow.plan.synopsis_kinds import SynopsisKind
from windrow.units import format_size

_CHEAPER = 1.5  # by what factor another synopsis has to be cheaper to take over
_PATIENCE = 5  # and how many times in a row
ROW_BYTES = 16  # of a partial result: a count and one word


@dataclass(frozen=True)
class Workload:
    """What is asked of a synopsis: rates a second, over all groups; of every window its width in positions."""

    updates: float
    lookups: float
    widths: tuple[int, ...]
    simultaneous: int = 1  # queries that are answered at the same moment
    are_suffixes: bool = True  # all windows end now
    stored_positions: int = 0  # where these are more than the widest window has
    groups: int = 1
    memory: float = math.inf  # bytes

    def __post_init__(self) -> None:
        assert self.widths and min(self.widths) >= 1, self.widths

    @property
    def positions(self) -> int:
        return max(self.stored_positions, *self.widths)


Kind = TypeVar("Kind", bound=enum.Enum)


@dataclass(frozen=True)
class Choice(Generic[Kind]):
    """A form of a synopsis, with what it costs in merges a second and takes in bytes."""

    kind: Kind
    cost: float
    bytes: float
    reason: str


def cheapest(forms: Sequence[Choice[Kind]], memory: float) -> Choice[Kind]:
    """The cheapest that fits the memory, or when none does the smallest."""
    best = min(forms, key=lambda one: (one.cost, one.bytes))
    if best.bytes <= memory:
        return best
    bound, fitting = format_size(memory), [one for one in forms if one.bytes <= memory]
    if fitting:
        found, why = min(fitting, key=lambda one: (one.cost, one.bytes)), f"{best.kind.value} would cost less and does"
        return replace(found, reason=f"{found.reason}; {why} not fit into {bound}")
    found = min(forms, key=lambda one: (one.bytes, one.cost))
    return replace(found, reason=f"{found.reason}; nothing fits into {bound}, this is the smallest")


def chosen(
    traits: Traits, workload: Workload, among: Sequence[SynopsisKind] = tuple(SynopsisKind)
) -> Choice[SynopsisKind]:
    return cheapest(alternatives(traits, workload, among), workload.memory)


def alternatives(
    traits: Traits, workload: Workload, among: Sequence[SynopsisKind] = tuple(SynopsisKind)
) -> list[Choice[SynopsisKind]]:
    """Those synopses that could answer the workload. Holistic aggregates are kept from counters of slices instead."""
    assert traits.merges, "what is kept of a part has no bounded size"
    w, n, widest = workload, workload.positions, max(workload.widths)
    each = f"any of {len(w.widths)} windows" if len(w.widths) > 1 else "one window"
    mean = sum(max(1.0, math.log2(width)) for width in w.widths) / len(w.widths)
    levels = 1 + math.ceil(math.log2(n))
    all_of = f"{widest} positions answers" if widest > 1 else "1 position answers"
    asked = "a question" if w.simultaneous == 1 else f"the {w.simultaneous} queries of a moment"
    is_one = w.are_suffixes and len(w.widths) == 1 and 2 * widest >= n
    alone = "there is one window, and it ends now" if is_one else "a pass for every window but one of all that is kept"
    running = _choice(SynopsisKind.RUNNING, w, 1, 1, n, f"{each} is the difference of two running values")
    forms = [
        *((running,) if traits.subtractable else ()),
        _choice(SynopsisKind.INTERVAL, w, 2, mean, 2 * n, f"merges about {mean:.0f} dyadic intervals for {each}"),
        _choice(SynopsisKind.BASIC_INTERVAL, w, 1, widest / w.simultaneous, n, f"one pass over {all_of} {asked}"),
        _choice(SynopsisKind.LANDMARKS, w, levels, 2, n * levels, f"two merges for {each}, from {levels} levels"),
        _choice(SynopsisKind.TWO_STACKS, w, 3, 2 if is_one else widest, 2 * n, alone),
    ]
    return [form for form in forms if form.kind in among]


_SELECTED = 0.05  # of the groups, those that a threshold lets through
# What an element in the index and a question cost, in groups that are looked at: rounded from the benchmark
# `thresholds`, where an index over 5,000 groups wins with 100 windows and loses with 20.
_INDEXED = 40
_ASKED = 400


def is_indexed(updates: float, questions: float, groups: float, looks: float) -> tuple[bool, str]:
    """Whether thresholds are worth a collective index; otherwise all groups are looked at. Rates are a second."""
    index = updates * _INDEXED + questions * (_ASKED + groups * _SELECTED)
    every = looks * (_ASKED + groups)
    compared = f"{index:.3g} steps a second with a collective index, {every:.3g} for looking at every group"
    return index < every, compared


def _choice(
    synopsis: SynopsisKind, w: Workload, update: float, lookup: float, rows: float, why: str
) -> Choice[SynopsisKind]:
    cost = w.updates * update + w.lookups * lookup
    kept = rows * ROW_BYTES * w.groups
    ratio = f"{w.updates:.3g} elements and {w.lookups:.3g} lookups a second"
    return Choice(synopsis, cost, kept, f"{synopsis.value}: {why}; {ratio}: {cost:.3g} merges, {format_size(kept)}")


class _Hysteresis:
    """Waits until the same other thing has been better a few times in a row."""

    def __init__(self) -> None:
        self._better: object = None
        self._times = 0

    def has_settled(self, better: object | None) -> bool:
        """What is better this time, if anything."""
        self._times = 0 if better is None else self._times + 1 if better == self._better else 1
        self._better = better
        if self._times < _PATIENCE:
            return False
        self._times = 0
        return True


def _is_much_better(best: Choice[Kind], now: Choice[Kind], memory: float) -> bool:
    """Whether another form is much cheaper than the present one, or fits where that does not."""
    return now.kind is not best.kind and (now.cost > _CHEAPER * best.cost or now.bytes > memory >= best.bytes)


class MeasuredWorkload(Protocol):
    @property
    def memory(self) -> float: ...


Measured = TypeVar("Measured", bound=MeasuredWorkload, contravariant=True)


class Monitor(Generic[Kind, Measured]):
    """Polled with the measured workload from time to time, it says when another synopsis should take over."""

    def __init__(self, kind: Kind, forms: Callable[[Measured], Sequence[Choice[Kind]]]) -> None:
        """`forms` are all that could answer a workload, the present one among them."""
        self._kind, self._forms = kind, forms
        self._hysteresis = _Hysteresis()

    def poll(self, load: Measured) -> Choice[Kind] | None:
        """The synopsis to change to, when it has been much cheaper, or the only one that fits, for long enough."""
        forms = self._forms(load)
        best, now = cheapest(forms, load.memory), next(form for form in forms if form.kind is self._kind)
        if not self._hysteresis.has_settled(best.kind if _is_much_better(best, now, load.memory) else None):
            return None
        self._kind = best.kind
        return best


def window_monitor(
    traits: Traits, kind: SynopsisKind, among: Sequence[SynopsisKind] = tuple(SynopsisKind)
) -> Monitor[SynopsisKind, Workload]:
    return Monitor(kind, partial(alternatives, traits, among=among))
