"""Kernels: changes in, changes out, one segment of time after the other; state is passed in.

An operator is a frozen specification with two verbs, `fresh_state()` and `step(state, inputs, segment)`; operators
know columns by position, and conditions and expressions as functions on batches. Nothing here knows SQL text, plans
or Spark.
"""

from windrow.operators.count_window import RangeWindowSlidingByRows, RowsWindow, RowsWindowSlidingInTime
from windrow.operators.distinct import DistinctStar, distinct_strict
from windrow.operators.group_by import GroupBy
from windrow.operators.join import Join
from windrow.operators.limit import Limit, SortKey
from windrow.operators.lookup_join import LookupJoin
from windrow.operators.multiplicity import Multiplicity, MultiplicityOperator
from windrow.operators.negative_tuples import NegativeTuples
from windrow.operators.not_in import NotIn
from windrow.operators.operator import Expression, Operator, Predicate, State
from windrow.operators.outer_join import OuterJoin
from windrow.operators.output_stream import Difference, OutputStream
from windrow.operators.partition_window import PartitionWindow, PredicateWindow
from windrow.operators.projection import Projection
from windrow.operators.relation_stream import RelationStream
from windrow.operators.restored_stream import RestoredInsertStream
from windrow.operators.selection import Selection
from windrow.operators.semi_join import AntiJoin, SemiJoin
from windrow.operators.time_window import ColumnLifetime, OpenLifetime, RangeLifetime, TimeWindow
from windrow.operators.union import MergeUnion

__all__ = [
    "AntiJoin",
    "ColumnLifetime",
    "Difference",
    "DistinctStar",
    "Expression",
    "GroupBy",
    "Join",
    "Limit",
    "LookupJoin",
    "MergeUnion",
    "Multiplicity",
    "MultiplicityOperator",
    "NegativeTuples",
    "NotIn",
    "OpenLifetime",
    "Operator",
    "OuterJoin",
    "OutputStream",
    "PartitionWindow",
    "Predicate",
    "PredicateWindow",
    "Projection",
    "RangeLifetime",
    "RangeWindowSlidingByRows",
    "RelationStream",
    "RestoredInsertStream",
    "RowsWindow",
    "RowsWindowSlidingInTime",
    "Selection",
    "SemiJoin",
    "SortKey",
    "State",
    "TimeWindow",
    "distinct_strict",
]
