"""The plan of the batch that comes next, from when it has been decided until the batch has happened.

Invariant: what was decided is not decided again in the same process: statements have been taken and readers have moved.
A plan that could not be written stays here and is written when the batch is tried again; the checkpoint is asked only
once, for a plan that an earlier process has left.
"""

from __future__ import annotations

from windrow.runtime.shards.batch_spec import BatchSpec
from windrow.runtime.shards.storage.checkpoint import Checkpoint


class BatchPlans:
    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint
        self._begun: tuple[BatchSpec, int] | None = None  # with the number of the last statement that it takes
        self._is_recovered = self._is_written = False

    def begun(self, number: int) -> tuple[BatchSpec, int] | None:
        """What was decided for a batch that has not happened."""
        if not self._is_recovered:
            self._begun = self._checkpoint.logged_batch(number)
            self._is_recovered = self._is_written = True
        return self._begun

    def put(self, spec: BatchSpec, statements: int) -> None:
        """Write a plan, unless it is written as it is."""
        if self._begun is not None and self._begun[0] is spec and self._is_written:
            return
        self._begun, self._is_written = (spec, statements), False
        self._checkpoint.log_batch(spec, statements)
        self._is_written = True

    def happened(self) -> None:
        """The batch has been committed."""
        self._begun = None
