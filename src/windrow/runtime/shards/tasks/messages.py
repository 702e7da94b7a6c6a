"""What goes from task to task within a micro-batch: one row a message, for a stage and a shard.

The JVM sees `slot`, by which it groups, `stage`, and bytes. Slots are numbers chosen so that Spark's hash sends every
shard to a partition of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa

from windrow.errors import AggregateError
from windrow.plan.user_aggregate import Failures
from windrow.runtime.progress import IntakeReport, Progress
from windrow.runtime.shards.storage.bundles import Address
from windrow.runtime.shards.storage.codec import decoded, encoded
from windrow.runtime.shards.tasks.stage_run import Metric

SCHEMA = "slot int, stage int, body binary, metrics string"
ARROW = pa.schema(
    [("slot", pa.int32()), ("stage", pa.int32()), ("body", pa.binary()), ("metrics", pa.string())],
)
REPORT = 1_000_000  # added to the stage that reports: for the driver


class Message(NamedTuple):
    slot: int
    stage: int
    body: bytes
    metrics: str | None = None  # JSON, for Spark's listeners


@dataclass(frozen=True)
class ExchangedRows:
    """Rows of exchanges by name, as bytes; from where rows are read also what they bring for the watermark."""

    rows: Mapping[str, bytes] = field(default_factory=dict)
    intake: Mapping[str, IntakeReport] = field(default_factory=dict)
    side_outputs: Sequence[tuple[str, str, bytes]] = ()  # stream, late or rejected, an Arrow table
    failed: Mapping[str, str] = field(default_factory=dict)  # outputs that could not be computed, and what was raised


class FailedCalls(NamedTuple):
    """Of the functions of an aggregate: how many there were, and what the newest said."""

    number: int
    newest: tuple[tuple[str, str | None], ...]  # messages and hints


def failed_calls(failures: Failures) -> FailedCalls:
    return FailedCalls(failures.count, tuple((error.message, error.hint) for error in failures.newest))


def add_failed_calls(failures: Failures, failed: FailedCalls) -> None:
    failures.count += failed.number
    failures.newest.extend(AggregateError(message, hint) for message, hint in failed.newest)


@dataclass(frozen=True)
class ReadReport:
    """What a task that reads reports to the driver: which of the batch's reads could not be read, and why.

    And of files the checksums of their content, where they are known.
    """

    unreadable: Mapping[int, str]
    contents: Mapping[int, int]


@dataclass(frozen=True)
class ShardReport:
    """What a shard reports to the driver when it is through with a batch."""

    stage: int
    shard: int
    token: str
    manifest: tuple[str, int]  # the file, and its checksum
    garbage: Sequence[str]
    emitted: Mapping[str, Address]  # by query and mode: where that lies
    side_outputs: Mapping[str, Address]
    progress: Progress
    metrics: Sequence[Metric]
    last_changes: Mapping[str, int]  # of the answers of queries whose sources have ended
    state_bytes: int
    rejected: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # by stream and reason, when final
    waiting: int = 0  # rows that are not final yet
    held: Mapping[frozenset[str], int] = field(default_factory=dict)  # of them, those that wait for other streams
    live: int = 0  # rows of state and of answers that time may still change
    failures: Mapping[str, FailedCalls] = field(default_factory=dict)  # of aggregates of the user's own
    unwritten: Sequence[str] = ()  # queries whose files could not be written
    failed: Mapping[str, str] = field(default_factory=dict)  # queries that could not be computed; nothing was saved
    written_bytes: int = 0  # of state, of what came out, and of side outputs


def message(slot: int, stage: int, body: ExchangedRows) -> Message:
    return Message(slot, stage, encoded(body))


def read_report_message(slot: int, report: ReadReport) -> Message:
    return Message(slot, REPORT, encoded(report))


def report_message(slot: int, report: ShardReport) -> Message:
    metrics = json.dumps([metric._asdict() for metric in report.metrics])
    return Message(slot, REPORT + report.stage, encoded(report), metrics)


def rows_in(body: bytes) -> ExchangedRows:
    rows: ExchangedRows = decoded(body)
    return rows


def report_in(body: bytes) -> ShardReport | ReadReport:
    report: ShardReport | ReadReport = decoded(body)
    return report


def to_arrow(messages: Iterable[Message]) -> pa.Table:
    return pa.Table.from_pylist([message._asdict() for message in messages], schema=ARROW)


def slots(count: int) -> list[int]:
    """For each shard a number whose partition among `count` is its own."""
    found: dict[int, int] = {}
    number = 0
    while len(found) < count:
        found.setdefault(_murmur3(number) % count, number)
        number += 1
    return [found[place] for place in range(count)]


def _murmur3(value: int, seed: int = 42) -> int:
    """Spark's hash of an int (32-bit Murmur3 of four bytes), as a signed number; Python's % is then Spark's pmod."""
    mask = 0xFFFFFFFF
    k = _rotated(value * 0xCC9E2D51 & mask, 15) * 0x1B873593 & mask
    h = (_rotated(seed ^ k, 13) * 5 + 0xE6546B64) & mask
    h ^= 4
    h = (h ^ h >> 16) * 0x85EBCA6B & mask
    h = (h ^ h >> 13) * 0xC2B2AE35 & mask
    h ^= h >> 16
    return h - (1 << 32) if h & 0x80000000 else h


def _rotated(value: int, by: int) -> int:
    return (value << by | value >> 32 - by) & 0xFFFFFFFF
