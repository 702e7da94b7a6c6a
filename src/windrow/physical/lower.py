"""Lowering: from a plan as it runs to operators over batches, columns by position."""

from __future__ import annotations

from collections.abc import Callable

from windrow.batch.dictionary import Dictionary
from windrow.batch.shards import ONLY_SHARD, Shard
from windrow.physical.lowering import groups, joins, outputs, selections, sets, slices, sources, synopses, windows
from windrow.physical.lowering.context import LoweringContext
from windrow.physical.physical_node import PhysicalNode
from windrow.plan import nodes, running_nodes
from windrow.plan.by_kind import ByKind
from windrow.plan.nodes import Node
from windrow.plan.strategy import Strategy

LOWER: ByKind[Callable[..., PhysicalNode]] = ByKind(
    {
        nodes.Stream: sources.stream,
        nodes.Table: sources.table,
        nodes.Windowed: windows.windowed,
        nodes.Filter: windows.selection,
        nodes.Project: windows.projection,
        (nodes.Alias, nodes.Sort): windows.below,
        nodes.Join: joins.join,
        nodes.SemiJoin: joins.semi_join,
        nodes.AntiJoin: joins.anti_join,
        nodes.Union: sets.union,
        nodes.Distinct: sets.distinct,
        nodes.Except: sets.difference,
        nodes.Intersect: sets.intersection,
        nodes.GroupBy: groups.group_by,
        nodes.Limit: outputs.limit,
        nodes.AppendOnly: outputs.append_only,
        nodes.OutputStream: outputs.output_stream,
        running_nodes.WithEnd: outputs.with_end,
        running_nodes.Numbered: outputs.numbered,
        running_nodes.RestoredInserts: outputs.restored_inserts,
        running_nodes.RestoredAnswer: outputs.restored_answer,
        running_nodes.Stamped: sources.stamped,
        running_nodes.Exchange: sources.exchange,
        running_nodes.IndexedSelection: selections.indexed_selection,
        running_nodes.SlicePartials: slices.slice_partials,
        running_nodes.SharedSlices: slices.shared_slices,
        running_nodes.SliceSummaries: slices.slice_summaries,
        running_nodes.SubWindows: windows.sub_windows,
        running_nodes.LastSubWindows: windows.last_sub_windows,
        running_nodes.MergeGroups: groups.merge_groups,
        running_nodes.WindowSynopsis: synopses.window_synopsis,
        running_nodes.JoinSynopsis: synopses.join_synopsis,
        running_nodes.PeriodicSynopsis: synopses.periodic_synopsis,
        running_nodes.PeriodicLookup: synopses.periodic_lookup,
        (running_nodes.WindowLookup, running_nodes.JoinLookup): synopses.on_demand_lookup,
    },
    never={
        running_nodes.EndWithParts: "it is lowered with the AppendOnly above, which knows when results are refreshed"
    },
)


class Lowering(LoweringContext):
    """Lowers plans by the table above, under one strategy."""

    def __init__(
        self,
        dictionary: Dictionary,
        strategy: Strategy = Strategy.UPA,
        direct: Lowering | None = None,
        shard: Shard = ONLY_SHARD,
    ) -> None:
        """`direct` lowers what must not come as negative tuples; one is made where it is needed and none is given."""
        needs_direct = strategy is Strategy.NT
        made = (direct or Lowering(dictionary, shard=shard)) if needs_direct else None
        super().__init__(LOWER, dictionary, strategy, made, shard)

    def sent(self, plan: Node, streams: frozenset[str]) -> PhysicalNode:
        """What an exchange sends that moves with some streams."""
        with self.paces.read_by(streams):
            return sources.sent(plan, self)
