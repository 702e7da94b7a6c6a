"""Which states can be taken to another number of shards, told from the plan before anything is done.

A state is taken as it is when it is on one shard or the same everywhere, told as rows of its inputs, or made of what is
alive below it. What is none of this, such as sums of rows without an end or a synopsis, stays where it is.
"""

from __future__ import annotations

from windrow.batch import Dictionary
from windrow.errors import CheckpointError
from windrow.operators import AppendOnly, NonRetroactiveJoin, PartitionWindow
from windrow.operators.groups.group_by import GroupBy
from windrow.operators.joins.table_input import TableInput
from windrow.operators.operator import Remembers
from windrow.operators.state_rows import is_told
from windrow.physical.physical_node import PhysicalNode
from windrow.plan.analysis.update_pattern import update_pattern
from windrow.plan.nodes import Stream, Table
from windrow.plan.pattern import Pattern
from windrow.plan.strategy import Strategy
from windrow.runtime.shards.graph import Graph, is_exchanged
from windrow.runtime.shards.running_plan import RunningPlan
from windrow.sharing.exchanges import is_on_one_shard, place_of
from windrow.state.snapshot import NoState


def check_movable(plan: RunningPlan, shards: int) -> None:
    """Refuse a number of shards that some state cannot be taken to; nothing has been changed then."""
    stay = [] if plan.shards == shards else _staying(Graph(plan, Dictionary()))
    if stay:
        raise CheckpointError(
            f"the checkpoint has {plan.shards} shards, and the state of {', '.join(stay)} cannot be taken to {shards}: "
            "it is made of rows that are not kept, or closed by punctuations",
            f"open it with shards={plan.shards}, or without a number; or DROP there what stays, first",
        )


def _staying(graph: Graph) -> list[str]:
    """The names of queries above states that stay where they are."""
    found: set[str] = set()
    for stage in range(1, graph.plan.stages + 1):
        for name, node in graph.states(stage).items():
            if not _is_movable(node, graph):
                found.update(graph.queries_above(graph.outputs_above(name, stage)))
        for name, source in graph.sources(stage).items():
            if isinstance(source.exchange.input, Stream) and source.exchange.input.punctuated:
                found.update(graph.queries_above([name]))
    return [query.name for query in graph.plan.queries if query.key in found]


def is_copied(node: PhysicalNode) -> bool:
    """Whether the first shard has all of the state, or every shard does, or there is none."""
    if node.state is None or isinstance(node.state, NoState):
        return True
    if is_on_one_shard(node.plan) or isinstance(node.operator, TableInput | NonRetroactiveJoin):
        return True
    return place_of(node.plan, Strategy(node.lowered_for)).everywhere


def _is_movable(node: PhysicalNode, graph: Graph) -> bool:
    return is_copied(node) or _is_told(node) or all(_is_known(below, graph) for below in node.inputs)


def _is_told(node: PhysicalNode) -> bool:
    """Whether what a node keeps are rows; a group-by keeps those whose end is known."""
    operator = node.operator
    if isinstance(operator, GroupBy):
        below = node.plan.inputs[0]
        ends = update_pattern(below) in (Pattern.WKS, Pattern.WK) and Strategy(node.lowered_for) is not Strategy.NT
        return ends and not any(isinstance(one, Stream) and one.lifetime is not None for one in below.walk())
    if isinstance(operator, PartitionWindow):
        return operator.slide == 1
    if isinstance(operator, AppendOnly):
        return not operator.numbers
    return is_told(operator)


def _is_known(node: PhysicalNode, graph: Graph) -> bool:
    """Whether it can be said what of the results of a node is alive; through an exchange the old shards are asked."""
    if is_exchanged(node):
        output = graph.outputs[str(node.source)]
        return output.stage > 0 and _is_remembered(output.root, graph)
    if node.operator is None:
        return isinstance(node.plan, Table)
    if node.operator.remembers is Remembers.RESULTS:
        return _is_movable(node, graph)
    return node.operator.remembers is Remembers.THROUGH and all(_is_known(below, graph) for below in node.inputs)


def _is_remembered(node: PhysicalNode, graph: Graph) -> bool:
    """Whether a node that runs can say what of its results is alive."""
    if node.operator is None:
        return _is_known(node, graph)
    if node.operator.remembers is Remembers.RESULTS:
        return True
    return node.operator.remembers is Remembers.THROUGH and all(_is_remembered(one, graph) for one in node.inputs)
