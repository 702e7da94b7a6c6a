"""Kernels: changes in, changes out, one segment of time after the other; state is passed in.

An operator is a frozen specification with two verbs, `fresh_state()` and `step(state, inputs, segment)`; operators
know columns by position, and conditions and expressions as functions on batches. Nothing here knows SQL text, plans
or Spark.
"""

from windrow.operators.groups.group_by import GroupBy
from windrow.operators.groups.limit import Limit, SortColumn
from windrow.operators.joins.join import Join
from windrow.operators.joins.not_in import NotIn
from windrow.operators.joins.outer_join import OuterJoin
from windrow.operators.joins.semi_join import AntiJoin, SemiJoin
from windrow.operators.joins.table_join import Lookup, NonRetroactiveJoin
from windrow.operators.operator import CompiledExpression, Operator, Predicate, State
from windrow.operators.outputs.append_only import AppendOnly
from windrow.operators.outputs.negative_tuples import NegativeTuples
from windrow.operators.outputs.output_streams import DeleteStream, InsertStream, RelationStream
from windrow.operators.projection import Projection
from windrow.operators.selection import Selection
from windrow.operators.sets.distinct import DistinctNaive, DistinctStar, distinct_strict
from windrow.operators.sets.multiplicity import Multiplicity, MultiplicityOperator
from windrow.operators.sets.union import MergeUnion
from windrow.operators.windows.count_window import RangeWindowSlidingByRows, RowsWindow, RowsWindowSlidingInTime
from windrow.operators.windows.own_end import CutAtEnd, OwnEnd
from windrow.operators.windows.partition_window import PartitionWindow, PredicateWindow
from windrow.operators.windows.time_window import ColumnLifetime, OpenLifetime, RangeLifetime, TimeWindow

__all__ = [
    "AntiJoin",
    "AppendOnly",
    "ColumnLifetime",
    "CompiledExpression",
    "CutAtEnd",
    "DeleteStream",
    "DistinctNaive",
    "DistinctStar",
    "GroupBy",
    "InsertStream",
    "Join",
    "Limit",
    "Lookup",
    "MergeUnion",
    "Multiplicity",
    "MultiplicityOperator",
    "NegativeTuples",
    "NonRetroactiveJoin",
    "NotIn",
    "OpenLifetime",
    "Operator",
    "OuterJoin",
    "OwnEnd",
    "PartitionWindow",
    "Predicate",
    "PredicateWindow",
    "Projection",
    "RangeLifetime",
    "RangeWindowSlidingByRows",
    "RelationStream",
    "RowsWindow",
    "RowsWindowSlidingInTime",
    "Selection",
    "SemiJoin",
    "SortColumn",
    "State",
    "TimeWindow",
    "distinct_strict",
]
