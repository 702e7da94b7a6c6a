"""Which synopsis answers an aggregate over windows: chosen by what it costs to keep and to ask.

Costs are merges of two partial results a second, memory is rows of partial results; both follow from the structures
(Arasu and Widom, section 3; thesis 2.3.4 and 8.3.1):

    synopsis            an element          a lookup                      rows, of N positions
    running             1                   1                             N        aggregates that can be subtracted
    interval            2                   log2 of the width             2 N
    basic interval      1                   its share of a common pass    N
    landmark            4 a partition       2                             3 N a partition; 2 widths if all end now
    two stacks          3                   2                             2 N      one window, ending now
    materialize all     2 a window          0                             N        subtracted, all windows end now

A choice is left for another only when that is cheaper by a factor, and has been for a while (`Watch`): changing costs a
pass over all that is kept.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass

from windrow.plan.aggregate_class import Traits

_SPREAD = 2  # between the widths of a partition of landmarks
_CHEAPER = 1.5  # by what factor another synopsis has to be cheaper to take over
_PATIENCE = 5  # and how many times in a row


class Synopsis(enum.Enum):
    RUNNING = "running"
    INTERVAL = "interval"
    BASIC_INTERVAL = "basic interval"
    LANDMARK = "landmark"
    TWO_STACKS = "two stacks"
    MATERIALIZE_ALL = "materialize all"
    QUANTILE = "quantile"
    HISTOGRAM = "exponential histogram"
    FADED = "faded"


@dataclass(frozen=True)
class Workload:
    """What is asked of a synopsis: `widths` in positions (slices or elements), rates a second, over all groups."""

    updates: float
    lookups: float
    widths: tuple[int, ...]
    together: int = 1  # queries that are answered at the same moment
    longest: int = 0  # positions back that windows begin, when some end earlier than now
    groups: int = 1
    memory: float = math.inf  # bytes
    row_bytes: int = 16

    def __post_init__(self) -> None:
        assert self.widths and min(self.widths) >= 1, self.widths

    @property
    def is_suffix(self) -> bool:
        return self.longest <= max(self.widths)

    @property
    def positions(self) -> int:
        return max(self.longest, *self.widths) if len(self.widths) > 1 else max(self.longest, self.widths[0])


@dataclass(frozen=True)
class Choice:
    synopsis: Synopsis
    cost: float  # merges a second
    bytes: float
    reason: str


def partitions(widths: Sequence[int]) -> list[int]:
    """The largest width of each partition of landmarks; a partition's widths are within a factor of two."""
    largest: list[int] = []
    smallest = 0
    for width in sorted(set(widths)):
        if largest and width <= _SPREAD * smallest:
            largest[-1] = width
        else:
            largest.append(width)
            smallest = width
    return largest


def chosen(traits: Traits, workload: Workload, among: Sequence[Synopsis] = tuple(Synopsis)) -> Choice:
    """The cheapest synopsis that fits the memory, or when none does the smallest."""
    candidates = [one for one in alternatives(traits, workload) if one.synopsis in among]
    fitting = [one for one in candidates if one.bytes <= workload.memory]
    if fitting:
        return min(fitting, key=lambda one: (one.cost, one.bytes))
    smallest = min(candidates, key=lambda one: (one.bytes, one.cost))
    reason = f"{smallest.reason}; nothing fits into {_size(workload.memory)}, this is the smallest"
    return Choice(smallest.synopsis, smallest.cost, smallest.bytes, reason)


def alternatives(traits: Traits, workload: Workload) -> list[Choice]:
    """All synopses that could answer the workload. Holistic aggregates are kept from counters of slices instead."""
    assert traits.merges, "what is kept of a part has no bounded size"
    w, n = workload, workload.positions
    windows = len(set(w.widths))
    some = f"{windows} windows" if windows > 1 else "one window"
    each = f"any of {some}" if windows > 1 else some
    mean = sum(max(1.0, math.log2(width)) for width in w.widths) / len(w.widths)
    passes = w.lookups / max(1, w.together)
    widest = max(w.widths)
    gamma = partitions(w.widths)
    found = [
        _choice(Synopsis.INTERVAL, w, 2, mean, 2 * n, f"merges about {mean:.0f} dyadic intervals for {each}"),
        _choice(
            Synopsis.BASIC_INTERVAL, w, 1, passes * widest / max(w.lookups, 1e-9), n,
            f"one pass over {widest} positions answers the {w.together} queries of a moment",
        ),
        _choice(
            Synopsis.LANDMARK, w, 4 * len(gamma), 2,
            2 * sum(gamma) if w.is_suffix else 3 * len(gamma) * n,
            f"two merges for {each}, whose widths make {len(gamma)} partition{'s' * (len(gamma) > 1)}",
        ),
    ]  # fmt: skip
    if traits.subtractable:
        found.append(_choice(Synopsis.RUNNING, w, 1, 1, n, f"{each} is the difference of two running values"))
    if w.is_suffix and windows == 1:
        found.append(_choice(Synopsis.TWO_STACKS, w, 3, 2, 2 * n, "there is one window, and it ends now"))
    if w.is_suffix and traits.subtractable:
        everything = n + windows
        found.append(
            _choice(
                Synopsis.MATERIALIZE_ALL, w, 2 * windows, 0, everything, f"all answers of {some} are kept as they are"
            )
        )
    return found


INDEX_LEVELS = 4  # of a collective index: p in Arasu and Widom, section 4.1
_SELECTED = 0.05  # of the groups, those that a threshold lets through
_INDEXED, _ASKED = 40, 400  # what an element in the index and a question cost, in groups that are looked at


def is_indexed(updates: float, questions: float, groups: float, looks: float) -> tuple[bool, str]:
    """Whether thresholds are worth a collective index; otherwise all groups are looked at. Rates are a second."""
    index = updates * _INDEXED + questions * (_ASKED + groups * _SELECTED)
    every = looks * (_ASKED + groups)
    compared = f"{index:.3g} steps a second with a collective index, {every:.3g} for looking at every group"
    return index < every, compared


def _choice(synopsis: Synopsis, w: Workload, update: float, lookup: float, rows: float, why: str) -> Choice:
    cost = w.updates * update + w.lookups * lookup
    kept = rows * w.row_bytes * w.groups
    ratio = f"{w.updates:.3g} elements and {w.lookups:.3g} lookups a second"
    return Choice(synopsis, cost, kept, f"{synopsis.value}: {why}; {ratio}: {cost:.3g} merges, {_size(kept)}")


def _size(number: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if number < 1000 or unit == "GB":
            return f"{number:.3g} {unit}"
        number /= 1000
    raise AssertionError


class Patience:
    """Waits until the same other thing has been better a few times in a row."""

    def __init__(self) -> None:
        self._better: object = None
        self._times = 0

    def is_over(self, better: object | None) -> bool:
        """What is better this time, if anything."""
        self._times = 0 if better is None else self._times + 1 if better == self._better else 1
        self._better = better
        if self._times < _PATIENCE:
            return False
        self._times = 0
        return True


def is_much_cheaper(cost: float, than: float) -> bool:
    return than > _CHEAPER * cost


class Watch:
    """Looks at the measured workload from time to time, and says when another synopsis should take over."""

    def __init__(self, traits: Traits, choice: Choice, among: Sequence[Synopsis] = tuple(Synopsis)) -> None:
        self._traits, self._among = traits, among
        self.choice = choice
        self._patience = Patience()

    def look(self, workload: Workload) -> Choice | None:
        """The synopsis to change to, when it has been much cheaper, or the only one that fits, for long enough."""
        best = chosen(self._traits, workload, self._among)
        now = next(one for one in alternatives(self._traits, workload) if one.synopsis is self.choice.synopsis)
        is_better = is_much_cheaper(best.cost, now.cost) or now.bytes > workload.memory >= best.bytes
        if not self._patience.is_over(best.synopsis if is_better and best.synopsis is not now.synopsis else None):
            return None
        self.choice = best
        return best
