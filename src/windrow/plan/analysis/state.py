"""State: which operators remember what, and in which structure (thesis 3.5.2).

The structure follows the update pattern of what is stored, so that expired tuples are found without a scan:
a FIFO when they end in the order they came, a calendar queue when the ends are known but in any order, a hash on the
row when the end comes as a negative tuple.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass

from windrow.plan.aggregate_class import AggregateClass
from windrow.plan.aggregates import AGGREGATES
from windrow.plan.analysis.closings import Closed, closes_groups, closes_partitions, closes_side
from windrow.plan.analysis.internal import block
from windrow.plan.analysis.rates import FOREVER, Rates
from windrow.plan.analysis.relations import is_non_retroactive, is_relation
from windrow.plan.analysis.update_pattern import update_pattern
from windrow.plan.by_kind import ByKind
from windrow.plan.expressions import AggregateCall
from windrow.plan.nodes import (
    Alias,
    AntiJoin,
    AppendOnly,
    Distinct,
    Except,
    Filter,
    GroupBy,
    Intersect,
    Join,
    Limit,
    Node,
    OutputKind,
    OutputStream,
    Project,
    SemiJoin,
    Sort,
    Stream,
    Table,
    Union,
    Windowed,
)
from windrow.plan.pattern import Pattern
from windrow.plan.running_nodes import (
    SYNOPSES,
    EndWithParts,
    Exchange,
    Grouping,
    GroupSynopsis,
    IndexedSelection,
    JoinLookup,
    JoinSynopsis,
    LastSubWindows,
    MergeGroups,
    Numbered,
    OnDemandLookup,
    PeriodicLookup,
    RestoredAnswer,
    RestoredInserts,
    SharedSlices,
    SlicePartials,
    SliceSummaries,
    Stamped,
    SubWindows,
    WindowLookup,
    WindowSynopsis,
    WithEnd,
    below_exchange,
)
from windrow.plan.synopsis_kinds import rows_of
from windrow.plan.windows import Latest, RowCount, Rows, RowsAgo
from windrow.units import SECOND


class StateForm(enum.Enum):
    APPEND_LIST = "append-only list"
    FIFO = "FIFO of basic windows"
    CALENDAR_QUEUE = "calendar queue by exp"
    ROW_HASH = "hash on the row"
    PARTITION_HASH = "hash on the partition, a FIFO each"
    GROUP_TABLE = "one row a group"
    VALUE_COUNTS = "counter a value"
    SORTED = "sorted by the keys of ORDER BY"
    TABLE = "table, hashed on the join columns"
    SYNOPSIS = "synopses"
    LOOKED_UP = "nothing: it is looked up when somebody asks"


@dataclass(frozen=True)
class StateEntry:
    """One thing that an operator remembers; infinite rows mean that it grows for ever.

    `what` is shown. `input` says which input's rows come to be stored; None: the operator's own results.
    """

    what: str
    structure: StateForm
    rows: float
    until: tuple[str, ...] = ()  # columns whose closings free the rows that have their values
    input: int | None = None

    @property
    def is_bounded(self) -> bool:
        return self.rows != FOREVER or bool(self.until)


BY_PATTERN = {
    Pattern.MONOTONIC: StateForm.APPEND_LIST,
    Pattern.WKS: StateForm.FIFO,
    Pattern.WK: StateForm.CALENDAR_QUEUE,
    Pattern.STR: StateForm.ROW_HASH,
}


def structure_for(node: Node) -> StateForm:
    """Where the results of a node are best stored."""
    if is_grouped(node):
        return StateForm.GROUP_TABLE
    if is_relation(node):
        return StateForm.TABLE
    return BY_PATTERN[update_pattern(node)]


def is_grouped(node: Node) -> bool:
    """One row a group: a new value replaces the old one."""
    if isinstance(node, Filter | Project | Alias | Sort | Exchange):
        return is_grouped(node.input)
    return isinstance(node, Grouping)


def state_of(node: Node, rates: Rates) -> tuple[StateEntry, ...]:
    """What the operator must remember; empty for one that looks at each tuple once."""
    return _STATES[node](node, rates)


def _nothing(node: Node, rates: Rates) -> tuple[StateEntry, ...]:
    return ()


def _synopsis_state(node: GroupSynopsis, rates: Rates) -> tuple[StateEntry, ...]:
    return (StateEntry("groups", StateForm.SYNOPSIS, _synopsis_rows(node, rates)),)


def _answer_state(node: PeriodicLookup, rates: Rates) -> tuple[StateEntry, ...]:
    return (StateEntry("answer", StateForm.GROUP_TABLE, rates.of(node).rows),)


def _counted_state(node: Except | Intersect, rates: Rates) -> tuple[StateEntry, ...]:
    counters = StateEntry("multiplicities", StateForm.VALUE_COUNTS, rates.of(node.left).rows, input=0)
    return _stored("left", node, 0, rates), _stored("right", node, 1, rates), counters


def _sorted_state(node: Limit, rates: Rates) -> tuple[StateEntry, ...]:
    return (StateEntry("input", StateForm.SORTED, rates.of(node.input).rows, input=0),)


def _output_state(node: OutputStream, rates: Rates) -> tuple[StateEntry, ...]:
    """RSTREAM names the answer, which is stored anyway."""
    is_named = node.kind is OutputKind.RSTREAM and not node.restore
    if is_named or isinstance(below_exchange(node.input), RestoredInserts | RestoredAnswer):
        return ()
    return (_stored("previous answer", node, 0, rates),)


def _inserts_state(node: RestoredInserts, rates: Rates) -> tuple[StateEntry, ...]:
    return _stored("previous answer", node, 0, rates), _since_refresh(node, 0, rates)


def _restored_state(node: RestoredAnswer, rates: Rates) -> tuple[StateEntry, ...]:
    previous, answer = _stored("previous answer", node, 1, rates), _stored("answer", node, 0, rates)
    return previous, _since_refresh(node, 1, rates), answer


def _since_refresh(node: RestoredInserts | RestoredAnswer, place: int, rates: Rates) -> StateEntry:
    rows = rates.of(node.inputs[place]).rate * node.slide / SECOND
    return StateEntry("new since the last refresh", StateForm.FIFO, rows, input=place)


def _append_only_state(node: AppendOnly, rates: Rates) -> tuple[StateEntry, ...]:
    """Results that end with parts are stored below."""
    is_stored_below = any(isinstance(part, EndWithParts) for part in block(node.input))
    return () if is_stored_below else (_stored("previous answer", node, 0, rates),)


def _ending_state(node: EndWithParts, rates: Rates) -> tuple[StateEntry, ...]:
    """Results whose external parts may end at any time are kept until one does."""
    previous = _stored("previous answer", node, 0, rates)
    if update_pattern(node) is not Pattern.STR:
        return (previous,)
    return previous, StateEntry("results", StateForm.ROW_HASH, rates.of(node).rows)


def _numbered_state(node: Numbered, rates: Rates) -> tuple[StateEntry, ...]:
    return (_stored("numbers", node, 0, rates),)


def view_of(node: Node, rates: Rates) -> StateEntry:
    """How the current answer of a whole plan is kept."""
    is_stored = not any(isinstance(below, OnDemandLookup) for below in node.walk())
    return StateEntry("answer", structure_for(node) if is_stored else StateForm.LOOKED_UP, rates.of(node).rows)


def _synopsis_rows(node: GroupSynopsis, rates: Rates) -> float:
    """Positions of all groups: what came within the longest window, or one a group for what has none."""
    groups = rates.groups(node)
    if isinstance(node, JoinSynopsis):
        return groups * rows_of(node.slices, node.difference)
    if not node.reach:
        return groups
    if isinstance(node, WindowSynopsis) and node.by_rows:
        return groups * node.reach
    rows = rates.of(node.input).rate * node.reach / SECOND
    return min(rows, groups * node.reach / node.slice) if node.slice else rows


def _stored(what: str, node: Node, place: int, rates: Rates, until: tuple[str, ...] = ()) -> StateEntry:
    """The rows of an input, in the structure that its pattern asks for."""
    below = node.inputs[place]
    return StateEntry(what, structure_for(below), rates.of(below).rows, until, input=place)


def _window_state(node: Windowed, rates: Rates) -> tuple[StateEntry, ...]:
    """Time-based windows keep nothing: the end is a column of the tuple."""
    extent, rows = node.window.extent, rates.of(node).rows
    if isinstance(extent, Latest) or node.window.partition:
        return (StateEntry("window", StateForm.PARTITION_HASH, rows, _columns(closes_partitions(node)), input=0),)
    if isinstance(extent, Rows | RowsAgo):
        held = float(extent.count if isinstance(extent, Rows) else extent.begin)
        return (StateEntry("window", StateForm.FIFO, held, input=0),)
    return (StateEntry("window", StateForm.FIFO, rows, input=0),) if isinstance(node.window.slide, RowCount) else ()


def _sub_window_state(node: SubWindows, rates: Rates) -> tuple[StateEntry, ...]:
    """Rows wait until their sub-window is complete."""
    assert isinstance(node.window.slide, RowCount), node
    return (StateEntry("sub-window", StateForm.FIFO, float(node.window.slide.count), input=0),)


def _join_state(node: Join | SemiJoin | AntiJoin, rates: Rates) -> tuple[StateEntry, ...]:
    """A stream joined with a non-retroactive table is not stored: changes of the table never ask for it again."""
    left, right = node.left, node.right
    entries = []
    if is_relation(left) or not is_non_retroactive(right):
        entries.append(_stored("left", node, 0, rates, _closing(node, 1)))
    if is_relation(right) or not is_non_retroactive(left):
        entries.append(_stored("right", node, 1, rates, _closing(node, 0)))
    return tuple(entries)


def _closing(node: Join | SemiJoin | AntiJoin, side: int) -> tuple[str, ...]:
    return (closes_side(node, side) or ()) if isinstance(node, Join) else ()


def _columns(found: Closed | None) -> tuple[str, ...]:
    return () if found is None else found.columns


def _distinct_state(node: Distinct, rates: Rates) -> tuple[StateEntry, ...]:
    """δ*: the output and, for each row of it, the youngest equal row; counters over a strict input."""
    rows, pattern = rates.of(node).rows, update_pattern(node.input)
    if pattern is Pattern.STR:
        return (StateEntry("multiplicities", StateForm.VALUE_COUNTS, rows, input=0),)
    output = StateEntry("output", BY_PATTERN[update_pattern(node)], rows)
    if pattern is Pattern.MONOTONIC:
        return (output,)
    return output, StateEntry("auxiliary output", StateForm.CALENDAR_QUEUE, rows)


def _group_state(node: GroupBy | MergeGroups, rates: Rates) -> tuple[StateEntry, ...]:
    """The input is kept when something of it can end: its values must be taken out again."""
    until = _columns(closes_groups(node)) if isinstance(node, GroupBy) else ()
    groups = StateEntry("groups", StateForm.GROUP_TABLE, rates.of(node).rows, until)
    if update_pattern(node.input) is not Pattern.MONOTONIC:
        return groups, _stored("input", node, 0, rates)
    if any(_keeps_values(named.call) for named in node.aggregates):
        return groups, StateEntry("values", StateForm.VALUE_COUNTS, rates.of(node.input).rows, until, input=0)
    return (groups,)


def _keeps_values(call: AggregateCall) -> bool:
    if call.user is not None:
        return not call.user.is_subtractable
    aggregate = AGGREGATES[call.function]
    return aggregate.kind is AggregateClass.HOLISTIC and aggregate.approximation is None


_STATES: ByKind[Callable[..., tuple[StateEntry, ...]]] = ByKind(
    {
        (Stream, Table, Filter, Project, Alias, Union, Sort): _nothing,
        Windowed: _window_state,
        SubWindows: _sub_window_state,
        (Join, SemiJoin, AntiJoin): _join_state,
        (Except, Intersect): _counted_state,
        Distinct: _distinct_state,
        (GroupBy, MergeGroups): _group_state,
        Limit: _sorted_state,
        AppendOnly: _append_only_state,
        EndWithParts: _ending_state,
        OutputStream: _output_state,
        RestoredInserts: _inserts_state,
        RestoredAnswer: _restored_state,
        SYNOPSES: _synopsis_state,
        PeriodicLookup: _answer_state,
        (WindowLookup, JoinLookup): _nothing,  # the synopsis below remembers
        (Stamped, Exchange, IndexedSelection): _nothing,
        WithEnd: _nothing,
        Numbered: _numbered_state,
        (SlicePartials, SharedSlices, SliceSummaries, LastSubWindows): _nothing,  # counted where slices are merged
    }
)
