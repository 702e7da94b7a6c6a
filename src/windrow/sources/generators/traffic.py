"""Connections between hosts on several links.

A few hosts are much more popular than the others (Zipf). Connections come in sessions: at any moment 256 pairs of hosts
talk, each for a while, over one protocol. Sizes are heavy-tailed, durations lognormal, and one second in 32 is ten
times as busy as the others.

Links with the same options see the same busy seconds. An even link answers the odd one before it: two thirds of the
connections on link 1 come back on link 2, source and destination exchanged, and some sessions are never answered.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from windrow.batch.arrays import Array, Int64s
from windrow.sources.generators.counter_random import CounterRandom, lognormal, pareto, shares, zipf
from windrow.sources.generators.options import rate, whole_number
from windrow.sources.generators.timeline import Bursty
from windrow.units import MILLISECOND, SECOND, Timestamp

SCHEMA = pa.schema(
    [
        ("ts", pa.timestamp("us", "UTC")),
        ("src", pa.string()),
        ("dst", pa.string()),
        ("protocol", pa.string()),
        ("bytes", pa.int64()),
        ("duration", pa.duration("us")),
    ]
)
OPTIONS = (rate(500), whole_number("link", 1, 1, 1000), whole_number("hosts", 1000, 2, 1_000_000))


class Protocol(NamedTuple):
    name: str
    share: float  # of the sessions
    fewest_bytes: int
    median_duration: int


PROTOCOLS = (
    Protocol("https", 0.36, 1_200, 400 * MILLISECOND),
    Protocol("dns", 0.22, 70, 8 * MILLISECOND),
    Protocol("http", 0.20, 600, 150 * MILLISECOND),
    Protocol("ssh", 0.05, 2_000, 20 * SECOND),
    Protocol("smtp", 0.05, 1_500, 1 * SECOND),
    Protocol("ftp", 0.04, 4_000, 3 * SECOND),
    Protocol("ntp", 0.03, 76, 15 * MILLISECOND),
    Protocol("imap", 0.03, 900, 800 * MILLISECOND),
    Protocol("telnet", 0.02, 300, 15 * SECOND),
)
PROTOCOL_SHARES = shares(np.array([protocol.share for protocol in PROTOCOLS]))
FEWEST_BYTES = np.array([protocol.fewest_bytes for protocol in PROTOCOLS])
MEDIAN_DURATIONS = np.array([protocol.median_duration for protocol in PROTOCOLS])

PAIRS = 256  # that talk at the same time
SESSION_ROWS = np.array([11, 12, 13, 14])  # a session lasts 2**11 ... 2**14 rows of the link: 8 to 64 of its own
SESSIONS_ANSWERED = 7 / 8
CONNECTIONS_ANSWERED = 3 / 4  # of those sessions


class Connections(NamedTuple):
    src: Int64s
    dst: Int64s
    protocol: Int64s


@dataclass(frozen=True)
class Traffic:
    random: CounterRandom
    rate: float
    start: Timestamp
    link: int
    hosts: int

    @cached_property
    def timeline(self) -> Bursty:
        return Bursty(self.start, self.rate, self.random.named("busy"))

    def times(self, first: int, last: int) -> Int64s:
        rows = np.arange(first, last)
        return self.timeline.timestamps(rows + self._link(self.link).named("time").uniform(rows))

    def columns(self, first: int, last: int) -> list[Array]:
        rows, own = np.arange(first, last), self._link(self.link)
        src, dst, protocol = self._connections(rows)
        sizes = own.named("bytes").drawn(rows, pareto(1.1)) * FEWEST_BYTES[protocol]
        durations = own.named("duration").drawn(rows, lognormal(1.5)) * MEDIAN_DURATIONS[protocol]
        return [self.times(first, last), src, dst, protocol, sizes.astype(np.int64), durations.astype(np.int64)]

    def _connections(self, rows: Int64s) -> Connections:
        if self.link % 2:
            return self._asked(self.link, self._sessions(self.link, rows))
        asked = self._asking_rows(rows)
        sessions = self._sessions(self.link - 1, asked)
        answering = (asked >= 0) & self._answered(self.link - 1, asked, sessions)
        there = self._asked(self.link - 1, sessions[answering])
        here = self._asked(self.link, self._sessions(self.link, rows[~answering]))
        return Connections(
            _merged(answering, there.dst, here.src),
            _merged(answering, there.src, here.dst),
            _merged(answering, there.protocol, here.protocol),
        )

    def _asking_rows(self, rows: Int64s) -> Int64s:
        """The row of the other link that each row may answer: another one for each, before it by two seconds at most.

        Blocks of about a second are shuffled, and answer the block before.
        """
        block = 1 << max(int(self.rate).bit_length() - 1, 0)
        turned = self._link(self.link).named("turn").below(rows // block, block)
        return (rows ^ turned) - block

    def _sessions(self, link: int, rows: Int64s) -> Int64s:
        """The session of each row: the pair's place among those that talk, and how many had the place before."""
        place = self._link(link).named("place").below(rows, PAIRS)
        places = np.arange(PAIRS)
        lasts = SESSION_ROWS[places % len(SESSION_ROWS)]
        ahead = self._link(link).named("ahead").below(places, 1 << int(SESSION_ROWS.max()))
        return ((rows + ahead[place]) >> lasts[place]) * PAIRS + place  # type: ignore[no-any-return]

    def _answered(self, link: int, rows: Int64s, sessions: Int64s) -> Array:
        random = self._link(link)
        connections = random.named("answered").happens(rows, CONNECTIONS_ANSWERED)
        return connections & random.named("answers").happens(sessions, SESSIONS_ANSWERED)

    def _asked(self, link: int, sessions: Int64s) -> Connections:
        """What the rows of these sessions have in common."""
        random = self._link(link)
        src = random.named("src").picked(sessions, self._popularity)
        dst = self._servers[random.named("dst").picked(sessions, self._popularity)]
        dst = np.where(dst == src, (dst + 1) % self.hosts, dst)
        return Connections(src, dst, random.named("protocol").picked(sessions, PROTOCOL_SHARES))

    def _link(self, link: int) -> CounterRandom:
        return self.random.named(f"link {link}")

    @cached_property
    def _popularity(self) -> Array:
        return zipf(self.hosts)

    @cached_property
    def _servers(self) -> Int64s:
        """Hosts by how often they are asked, which is not how often they ask."""
        return np.argsort(self.random.named("servers").bits(np.arange(self.hosts)), kind="stable")

    @cached_property
    def texts(self) -> dict[str, pa.Array]:
        hosts = pa.array([f"10.{host >> 16}.{host >> 8 & 255}.{host & 255}" for host in range(1, self.hosts + 1)])
        return {"src": hosts, "dst": hosts, "protocol": pa.array([protocol.name for protocol in PROTOCOLS])}


def _merged(mask: Array, where_true: Int64s, where_false: Int64s) -> Int64s:
    merged = np.empty(len(mask), np.int64)
    merged[mask] = where_true
    merged[~mask] = where_false
    return merged
