"""The feeds of the local engine: how one is made, and those of late and rejected rows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from windrow.catalog import Catalog, Connector, StreamEntry
from windrow.clock import Clock
from windrow.runtime.health import Failing
from windrow.runtime.intake.side_output import SideOutput
from windrow.runtime.local.queued_feed import QueuedFeed, Wait
from windrow.runtime.outputs.feed import Feed, Receiver
from windrow.runtime.outputs.feeder import Feeder
from windrow.runtime.outputs.side_sinks import SIDE_ROWS, ForwardedRows, side_sinks
from windrow.runtime.outputs.sinks import Sink, SinkForm, receiver_of, sink_of


class SideFeeds:
    """By the names of streams in lower case, and whether they are late or rejected."""

    def __init__(self, catalog: Catalog, clock: Clock) -> None:
        self._catalog, self._clock = catalog, clock
        self._feeds: dict[str, dict[str, QueuedFeed]] = {}
        self._pieces = count()

    def queued(self, receiver: Receiver, sink: Sink, form: SinkForm | None) -> QueuedFeed:
        """For somebody who gets what a query emits, or rows that are not taken."""
        return QueuedFeed(Feed(receiver, self._clock), sink, form, lambda: self._catalog.sink_backlog)

    def outputs(self, stream: StreamEntry) -> dict[str, SideOutput]:
        """Side outputs of a new stream whose rows go to sinks too."""
        return {kind: self._forwarded(stream, kind, connector) for kind, connector in side_sinks(stream)}

    def remove(self, stream: str) -> None:
        for feed in self._feeds.pop(stream, {}).values():
            feed.feeder.close()

    def deliver(self, now: bool, wait: Wait) -> None:
        """Have each sink take what waits for it."""
        for feed in self._all():
            feed.deliver(now, wait)
            if feed.is_to_reopen:
                feed.reopen(None)
            if feed.is_to_close():
                feed.close(None)

    def feeders(self) -> list[Feeder]:
        return [feed.feeder for feed in self._all()]

    def health(self) -> Iterator[Failing]:
        yield from (found for feed in self._all() if (found := feed.health()) is not None)

    def warnings(self, stream: StreamEntry) -> Iterator[tuple[str, int, int]]:
        """Rows that sinks of a stream did not get."""
        for kind, feed in self._feeds.get(stream.name.lower(), {}).items():
            if feed.missed.rows:
                yield feed.missed.warning(kind, stream.name)

    def _all(self) -> list[QueuedFeed]:
        return [feed for feeds in self._feeds.values() for feed in feeds.values()]

    def _forwarded(self, stream: StreamEntry, kind: str, connector: Connector) -> SideOutput:
        receiver = receiver_of(connector, f"{kind} sink", stream.name)
        feed = self.queued(receiver, sink_of(connector, f"{stream.name} {kind}"), None)
        self._feeds.setdefault(stream.name.lower(), {})[kind] = feed
        return ForwardedRows(lambda rows: feed.put(SIDE_ROWS[kind](rows, stream), next(self._pieces)))
