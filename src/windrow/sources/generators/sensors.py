"""Readings of sensors in rooms, each with the time for which it holds.

The sensors report in turn, at a steady rate. Temperatures follow the day and wander; humidity goes the other way, and
is missing in some readings. A reading's own lifetime (`ttl`) is lognormal, so that readings end in another order than
they came: `LIFETIME BY ttl`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from windrow.batch.arrays import Array, Int64s
from windrow.sources.generators.counter_random import CounterRandom, lognormal
from windrow.sources.generators.options import rate, whole_number
from windrow.sources.generators.timeline import Steady
from windrow.units import DAY, MINUTE, Timestamp

SCHEMA = pa.schema(
    [
        ("ts", pa.timestamp("us", "UTC")),
        ("sensor", pa.int64()),
        ("room", pa.string()),
        ("temperature", pa.float64()),
        ("humidity", pa.float64()),
        ("ttl", pa.duration("us")),
    ]
)
OPTIONS = (rate(100), whole_number("sensors", 200, 1, 1_000_000))

SENSORS_A_ROOM = 4
NO_HUMIDITY = 0.05
MEDIAN_TTL = MINUTE
MINUTES_A_DAY = DAY // MINUTE
OCTAVES = 6  # temperatures wander for about an hour before they come back

# In hundredths of a degree: coldest at four in the morning.
DAILY = np.array(
    [round(-250 * math.cos(2 * math.pi * (minute / MINUTES_A_DAY - 4 / 24))) for minute in range(MINUTES_A_DAY)]
)


@dataclass(frozen=True)
class Sensors:
    random: CounterRandom
    rate: float
    start: Timestamp
    sensors: int

    @cached_property
    def timeline(self) -> Steady:
        return Steady(self.start, self.rate)

    def times(self, first: int, last: int) -> Int64s:
        rows = np.arange(first, last)
        return self.timeline.timestamps(rows + self.random.named("time").uniform(rows))

    def columns(self, first: int, last: int) -> list[Array]:
        rows, times = np.arange(first, last), self.times(first, last)
        sensors = self._sensors(rows)
        rooms = (sensors - 1) // SENSORS_A_ROOM
        hundredths = self._temperatures(rows, times, sensors, rooms)
        humidity = (6500 - hundredths + self.random.named("humidity").below(rows, 200)) / 100
        humidity[self.random.named("missing").happens(rows, NO_HUMIDITY)] = np.nan
        ttl = self.random.named("ttl").drawn(rows, lognormal(1.0)) * MEDIAN_TTL
        return [times, sensors, rooms, hundredths / 100, humidity, ttl.astype(np.int64)]

    def _sensors(self, rows: Int64s) -> Int64s:
        """Every sensor once a round, beginning with another one each time."""
        beginning = self.random.named("round").below(rows // self.sensors, self.sensors)
        return (rows + beginning) % self.sensors + 1

    def _temperatures(self, rows: Int64s, times: Int64s, sensors: Int64s, rooms: Int64s) -> Int64s:
        """In hundredths of a degree."""
        usual = 1900 + self.random.named("room").below(rooms, 400)
        day = DAILY[times // MINUTE % MINUTES_A_DAY]
        wandered = self.random.named("walk").walked(sensors, (times - self.start) / MINUTE, OCTAVES)
        shaken = self.random.named("noise").below(rows, 20)
        return usual + day + shaken + np.floor(20 * wandered).astype(np.int64)  # type: ignore[no-any-return]

    @cached_property
    def texts(self) -> dict[str, pa.Array]:
        return {"room": pa.array([f"room-{room + 1}" for room in range((self.sensors - 1) // SENSORS_A_ROOM + 1)])}
