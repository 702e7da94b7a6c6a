"""Kernels: changes in, changes out, one segment of time after the other; state is passed in.

An operator is a frozen specification with two verbs, `fresh_state()` and `step(state, inputs, segment)`; operators
know columns by position, and conditions and expressions as functions on batches. Nothing here knows SQL text, plans
or Spark.
"""

from windrow.operators.append_only import AppendOnly
from windrow.operators.count_window import RangeWindowSlidingByRows, RowsWindow, RowsWindowSlidingInTime
from windrow.operators.distinct import DistinctNaive, DistinctStar, distinct_strict
from windrow.operators.group_by import GroupBy
from windrow.operators.join import Join
from windrow.operators.limit import Limit, SortColumn
from windrow.operators.multiplicity import Multiplicity, MultiplicityOperator
from windrow.operators.negative_tuples import NegativeTuples
from windrow.operators.not_in import NotIn
from windrow.operators.operator import Expression, Operator, Predicate, State
from windrow.operators.outer_join import OuterJoin
from windrow.operators.output_streams import DeleteStream, InsertStream, RelationStream
from windrow.operators.own_end import CutAtEnd, OwnEnd
from windrow.operators.partition_window import PartitionWindow, PredicateWindow
from windrow.operators.projection import Projection
from windrow.operators.selection import Selection
from windrow.operators.semi_join import AntiJoin, SemiJoin
from windrow.operators.table_join import Lookup, NonRetroactiveJoin
from windrow.operators.time_window import ColumnLifetime, OpenLifetime, RangeLifetime, TimeWindow
from windrow.operators.union import MergeUnion

__all__ = [
    "AntiJoin",
    "AppendOnly",
    "ColumnLifetime",
    "CutAtEnd",
    "DeleteStream",
    "DistinctNaive",
    "DistinctStar",
    "Expression",
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
