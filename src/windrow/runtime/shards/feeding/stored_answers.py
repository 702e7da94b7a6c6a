"""Answers that the checkpoint keeps for a while: of sinks for which more waits than is kept, of queries set aside."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import pyarrow as pa

from windrow.batch import Dictionary
from windrow.batch.transport import from_bytes, to_bytes
from windrow.runtime.outputs.differences import AnswerAt
from windrow.runtime.shards.storage.codec import table_to_bytes
from windrow.runtime.shards.storage.sink_records import SinkRecords
from windrow.types import Type

HAD, ASIDE, _DIFFERENCE = "answer", "aside", "difference"


class StoredAnswers:
    """By the keys of feeds and queries, which may be anything: names of files may not."""

    def __init__(self, records: SinkRecords) -> None:
        self._records = records

    def keep(self, key: str, what: str, answer: AnswerAt) -> None:
        self._records.write(_file_of(key, what), (to_bytes(answer.rows), answer.instant))

    def read(self, key: str, what: str, types: Sequence[Type]) -> AnswerAt:
        content, instant = self._records.read(_file_of(key, what))
        return AnswerAt(from_bytes(content, types, Dictionary()), instant)

    def keep_difference(self, key: str, rows: pa.Table) -> None:
        self._records.write(_file_of(key, _DIFFERENCE), table_to_bytes(rows))

    def difference(self, key: str) -> pa.Table:
        return pa.ipc.open_stream(self._records.read(_file_of(key, _DIFFERENCE))).read_all()

    def forget(self, key: str) -> None:
        """What a feed had, and what it was to get."""
        for what in (HAD, _DIFFERENCE):
            self._records.delete(_file_of(key, what))

    def keep_only(self, feeds: Iterable[str], aside: Iterable[str]) -> None:
        """Remove what was kept for those who are not there any more."""
        mine = {_file_of(key, what) for key in feeds for what in (HAD, _DIFFERENCE)}
        self._records.keep_only(mine | {_file_of(key, ASIDE) for key in aside})


def _file_of(key: str, what: str) -> str:
    return f"{hashlib.sha256(key.encode()).hexdigest()[:16]}.{what}"
