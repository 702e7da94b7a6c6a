"""Trades on an exchange with a clock of milliseconds.

An order that comes in is filled by up to eight resting ones: those trades have the same time, symbol and side, and
move the price one way. A few symbols make most of the trades (Zipf); one second in 32 is ten times as busy as the
others.

Prices are random walks in ticks of 0.01, DECIMAL(18, 4) because money is compared and added exactly. A walk is the sum
of all steps before it, which could not be had for row 10**9 alone. So rows come in blocks: each symbol has a price at
the edges of a block, from a walk that can be entered anywhere, and its trades between two edges are a walk of steps
bent to end where the next block begins.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from windrow.batch.arrays import Array, Floats, Int64s
from windrow.sources.generators.counter_random import CounterRandom, pareto, zipf
from windrow.sources.generators.options import rate, whole_number
from windrow.sources.generators.timeline import Bursty
from windrow.units import MILLISECOND, Timestamp

SCHEMA = pa.schema(
    [
        ("ts", pa.timestamp("us", "UTC")),
        ("symbol", pa.string()),
        ("price", pa.decimal128(18, 4)),
        ("volume", pa.int64()),
        ("side", pa.string()),
    ]
)
OPTIONS = (rate(1000), whole_number("symbols", 500, 1, 100_000))

BLOCK = 1 << 14
FILLS = 8  # the most trades of one order; divides BLOCK
FIRST_FILL = 0.4  # the share of trades that are the first of their order
TICK = 100  # in units of DECIMAL(18, 4)
LOT = 100
LOWEST, HIGHEST = 2_000, 50_000  # where prices begin, in ticks
OCTAVES = 10


@dataclass(frozen=True)
class Trades:
    random: CounterRandom
    rate: float
    start: Timestamp
    symbols: int

    @cached_property
    def timeline(self) -> Bursty:
        return Bursty(self.start, self.rate, self.random.named("busy"))

    def times(self, first: int, last: int) -> Int64s:
        orders = self._orders(first, last)
        times = self.timeline.timestamps(orders + self.random.named("time").uniform(orders))
        return times - times % MILLISECOND

    def columns(self, first: int, last: int) -> list[Array]:
        rows, orders = np.arange(first, last), self._orders(first, last)
        lots = self.random.named("volume").drawn(rows, pareto(1.5)).astype(np.int64)
        prices = self._prices(first, last) * TICK
        return [self.times(first, last), self._symbols(orders), prices, lots * LOT, self._sides(orders)]

    def _orders(self, first: int, last: int) -> Int64s:
        """The order of each trade, named by its first one."""
        begin = first - first % FILLS
        rows = np.arange(begin, last)
        leads = self.random.named("order").happens(rows, FIRST_FILL) | (rows % FILLS == 0)
        return np.maximum.accumulate(np.where(leads, rows, begin))[first - begin :]

    def _symbols(self, orders: Int64s) -> Int64s:
        return self.random.named("symbol").picked(orders, self._activity)

    def _sides(self, orders: Int64s) -> Int64s:
        return self.random.named("side").below(orders, 2)

    def _prices(self, first: int, last: int) -> Int64s:
        blocks = range(first // BLOCK, (last - 1) // BLOCK + 1)
        prices = np.concatenate([np.zeros(0, np.int64), *map(self._prices_of_block, blocks)])
        begin = first - first % BLOCK
        return prices[first - begin : last - begin]

    def _prices_of_block(self, block: int) -> Int64s:
        rows, orders = np.arange(block * BLOCK, (block + 1) * BLOCK), self._orders(block * BLOCK, (block + 1) * BLOCK)
        steps = (1 - 2 * self._sides(orders)) * self.random.named("step").below(rows, 2)
        by_symbol = np.argsort(symbols := self._symbols(orders), kind="stable")
        present, begin, trades = np.unique(symbols[by_symbol], return_index=True, return_counts=True)

        walk = np.cumsum(steps[by_symbol])
        before = walk[begin] - steps[by_symbol[begin]]
        walked = walk[begin + trades - 1] - before
        at, after = self._edges(present, block), self._edges(present, block + 1)
        number = np.arange(BLOCK) - np.repeat(begin, trades) + 1
        bent = np.repeat(after - at - walked, trades) * number // np.repeat(trades, trades)

        prices = np.empty(BLOCK, np.int64)
        prices[by_symbol] = np.maximum(np.repeat(at - before, trades) + walk + bent, 1)
        return prices

    def _edges(self, symbols: Int64s, block: int) -> Int64s:
        """The price of each symbol at the beginning of a block, in ticks."""
        first_prices = LOWEST + self.random.named("price").below(symbols, HIGHEST - LOWEST)
        moments = np.full(len(symbols), float(block))
        walked = self.random.named("walk").walked(symbols, moments, OCTAVES)
        spread = np.minimum(self._spread[symbols], first_prices / 100)  # far from zero wherever it goes
        return first_prices + np.floor(spread * walked).astype(np.int64)

    @cached_property
    def _activity(self) -> Floats:
        return zipf(self.symbols)

    @cached_property
    def _spread(self) -> Floats:
        """How far the steps of a block are expected to lead."""
        return np.sqrt(np.diff(self._activity, prepend=0.0) * (BLOCK / 2))

    @cached_property
    def texts(self) -> dict[str, pa.Array]:
        codes = [number * 7919 + 12345 for number in range(self.symbols)]  # differ modulo 26**4: 7919 is a prime
        letters = ["".join(chr(65 + code // 26**place % 26) for place in range(4)) for code in codes]
        return {"symbol": pa.array(letters), "side": pa.array(["buy", "sell"])}
