"""The unit-time cost model: how much work a plan is for one second of its streams.

After Kang, Naughton and Viglas 2003, equation 1: each tuple that arrives at an operator is looked at, probes what it
may meet, is inserted into what the operator keeps, and is removed again when it ends. To that comes what the thesis
adds in 3.5.3: the structure decides how dear insertion and removal are, and over a strict input negative tuples are
work too.

The unit is one tuple that is looked up by a hash. Weights are relative; they order plans and predict no seconds.
"""

from __future__ import annotations

from dataclasses import dataclass

from windrow.plan.analysis.rates import Rates, finite_rows
from windrow.plan.analysis.relations import is_relation
from windrow.plan.analysis.state import StateEntry, StateForm, state_of, view_of
from windrow.plan.expressions import ColumnReference
from windrow.plan.functions import conjuncts, equal_columns
from windrow.plan.nodes import Alias, AntiJoin, Join, Node, Project, SemiJoin, Sort, Stream, Table

# What it takes to insert a tuple and to remove it when it ends. The order is the thesis's (3.5.2), the figures are set
# by hand: the choices they lead to were compared with running times (docs/design/2026-11-15-optimizer.md).
MAINTENANCE: dict[StateForm, tuple[float, float]] = {
    StateForm.APPEND_LIST: (1.0, 0.0),
    StateForm.FIFO: (1.0, 0.2),  # a basic window is dropped as a whole
    StateForm.CALENDAR_QUEUE: (1.5, 1.0),
    StateForm.ROW_HASH: (2.0, 2.0),  # found by its row
    StateForm.PARTITION_HASH: (2.0, 1.0),
    StateForm.GROUP_TABLE: (1.0, 1.0),
    StateForm.VALUE_COUNTS: (1.5, 1.5),
    StateForm.SORTED: (3.0, 3.0),
    StateForm.TABLE: (0.0, 0.0),  # kept once, whoever reads it
}
PASSING = 0.2  # a tuple goes through an operator that remembers nothing, a column at a time
NEGATIVE = 2.0  # a negative tuple is looked at, and what it takes back is looked up


@dataclass(frozen=True)
class Cost:
    """Work a second: tuples that are looked at and made, state that is kept up, negative tuples."""

    tuples: float = 0.0
    state: float = 0.0
    negatives: float = 0.0

    @property
    def total(self) -> float:
        return self.tuples + self.state + self.negatives

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.tuples + other.tuples, self.state + other.state, self.negatives + other.negatives)


def cost_of(plan: Node, rates: Rates) -> Cost:
    """Of a whole plan, with the upkeep of its answer."""
    answer = rates.of(plan)
    insert, remove = MAINTENANCE[view_of(plan, rates).structure]
    return Cost(state=answer.rate * (insert + remove), negatives=answer.negatives * NEGATIVE) + work_of(plan, rates)


def work_of(plan: Node, rates: Rates) -> Cost:
    """Of a part of a plan, whoever reads it."""
    cost = Cost()
    for node in plan.walk():
        cost += _operator_cost(node, rates)
    return cost


def _operator_cost(node: Node, rates: Rates) -> Cost:
    if _is_free(node):
        return Cost()
    below = [rates.of(part) for part in node.inputs]
    arriving, taken_back = sum(part.rate for part in below), sum(part.negatives for part in below)
    kept = state_of(node, rates)
    if not kept:
        return Cost(tuples=PASSING * arriving, negatives=PASSING * taken_back)
    own = rates.of(node)
    made, unmade = (own.rate, own.negatives) if len(below) > 1 else (0.0, 0.0)
    state = sum(_upkeep(entry, node, rates) for entry in kept)
    return Cost(arriving + made + _pairs_tried(node, rates), state, NEGATIVE * taken_back + unmade)


def _is_free(node: Node) -> bool:
    """Sources are read in any plan; names, order and the choice of columns cost nothing a tuple."""
    if isinstance(node, Project):
        return all(isinstance(column.expression, ColumnReference) for column in node.columns)
    return isinstance(node, Stream | Table | Alias | Sort)


def _upkeep(entry: StateEntry, node: Node, rates: Rates) -> float:
    """Insertion and removal of all that comes to be kept in a second."""
    insert, remove = MAINTENANCE[entry.structure]
    rate = rates.of(node if entry.input is None else node.inputs[entry.input]).rate
    return rate * (insert + (remove if entry.is_bounded else 0.0))


def _pairs_tried(node: Node, rates: Rates) -> float:
    """Pairs that meet in the hash tables, or without an equality all pairs, and are then tested or counted."""
    if not isinstance(node, Join | SemiJoin | AntiJoin) or is_relation(node.left) or is_relation(node.right):
        return 0.0
    equalities = [part for part in conjuncts(node.condition) if equal_columns(part)]
    hashed = len(equalities) == len(conjuncts(node.condition)) > 0 or (isinstance(node, AntiJoin) and bool(node.not_in))
    if hashed and not isinstance(node, Join):
        return 0.0  # the presence of a key is all that is asked
    left, right = rates.of(node.left), rates.of(node.right)
    share = rates.equality_share(node)
    tried = (left.rate * finite_rows(right) + right.rate * finite_rows(left)) * share
    return max(0.0, tried - rates.of(node).rate) if isinstance(node, Join) else tried
