"""The files of a sink: shards have written them hidden, and they get their names once their batch is committed.

Invariant: a file that can be seen has what a committed batch gave out, all of it and nothing else. A hidden file has
been given its name or has not, so that a crash in between loses nothing and repeats nothing; those that no commit names
are removed at the next start. What a shard could not write comes from the log.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.fs

from windrow.catalog import Connector
from windrow.runtime.outputs.feed import HandOver
from windrow.runtime.outputs.sink_folders import opened, remove_parts
from windrow.runtime.outputs.sinks import SinkForm, write_file
from windrow.runtime.shards.feeding.emitted_log import EmittedLog, addresses_of
from windrow.runtime.shards.query import ShardedQuery
from windrow.runtime.shards.storage.bundles import writing_attempt, writing_shard
from windrow.runtime.shards.storage.checkpoint import Commit
from windrow.runtime.shards.tasks.shard_sinks import batch_prefix, file_name, hidden_name

_HIDDEN = re.compile(r"\.part-([0-9]{9,})-.*")


@dataclass(frozen=True)
class SinkFiles:
    log: EmittedLog
    query: ShardedQuery
    form: SinkForm
    connector: Connector

    def publish(self, record: Commit) -> None:
        """Give the files of a committed batch their names; those that cannot be given them now wait."""
        with suppress(OSError):
            if not self._is_unwritten(record):
                self._name_all(record)

    def pieces(self, record: Commit) -> HandOver | None:
        """What is left to do for a batch."""
        if self._is_unwritten(record):
            return partial(self._write_all, record)
        return partial(self._name_all, record) if any(self._hidden(record)) else None

    def discard(self, batch: int) -> None:
        """For the query this batch has not happened."""
        with suppress(OSError):  # a folder that is gone has no files
            remove_parts(self._place, f".{batch_prefix(batch)}")

    def sweep(self, had: int, last: int) -> None:
        """Remove what attempts have left that died: of batches that are through, and of those that did not happen."""
        with suppress(OSError):
            files, root = opened(self._place)
            for info in files.get_file_info(pa.fs.FileSelector(root, allow_not_found=True)):
                found = _HIDDEN.fullmatch(info.base_name)
                if found is not None and not had < int(found[1]) <= last:
                    files.delete_file(info.path)

    @property
    def _place(self) -> str:
        return str(self.connector.arguments[0])

    def _is_unwritten(self, record: Commit) -> bool:
        return bool({*self.query.keys} & {*record.unwritten})

    def _hidden(self, record: Commit) -> dict[str, str]:
        """The files of a batch that have not got their names, by these."""
        files, root = opened(self._place)
        found: dict[str, str] = {}
        for address in addresses_of(record, self.query, self.form.mode):
            name = file_name(self.connector, record.number, writing_shard(address.bundle))
            path = f"{root}/{hidden_name(name, writing_attempt(address.bundle))}"
            if files.get_file_info(path).type != pa.fs.FileType.NotFound:
                found[f"{root}/{name}"] = path
        return found

    def _name_all(self, record: Commit) -> None:
        files, _ = opened(self._place)
        for path, hidden in self._hidden(record).items():
            files.move(hidden, path)

    def _write_all(self, record: Commit) -> None:
        """From the log, since a shard could not."""
        for address in addresses_of(record, self.query, self.form.mode):
            name = file_name(self.connector, record.number, writing_shard(address.bundle))
            for table in self.log.tables([address]):
                write_file(table, self._place, name, self.connector.name)
        self.discard(record.number)
