"""What a driver asks of whoever runs its micro-batches."""

from __future__ import annotations

from collections.abc import Callable

from windrow.plan.explain import Explanation
from windrow.plan.nodes import Node
from windrow.runtime.shards.answers import Answers
from windrow.runtime.shards.query import ShardedQuery


class Host:
    """One that reads whatever there is to read."""

    rows_a_batch = 1_000_000  # of a generator
    tasks = 2  # that read side by side

    def query(
        self, answers: Answers, name: str, key: str, plan: Node, explain: Callable[[], Explanation]
    ) -> ShardedQuery:
        """A query as its users see it."""
        return ShardedQuery(answers, name, key, plan, explain)

    def is_fed(self, plan: Node) -> bool:
        """Whether all that a plan reads is read at present; otherwise its query starts with a later batch."""
        return True
