"""Generated streams: the same rows however they are read, and rows that look like what they are called."""

import itertools
import pickle
import re
from collections.abc import Mapping
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.expected import ROOT
from windrow.errors import WindrowError
from windrow.sources.generators import GENERATORS, Value, generator
from windrow.sources.generators.generator import CHUNK
from windrow.sources.generators.trades import BLOCK
from windrow.sources.generators.traffic import PROTOCOLS
from windrow.units import SECOND, parse_timestamp

NAMES = sorted(GENERATORS)
START = parse_timestamp("2026-01-01")
COMMON = ("rows", "seed", "start", "disorder")
Options = Mapping[str, Value]


def read(name: str, options: Options, first: int, last: int) -> pa.Table:
    return generator(name, options).read(first, last)


def numbers(table: pa.Table, column: str) -> np.ndarray:
    """Times and intervals as microseconds."""
    return table[column].cast(pa.int64()).to_numpy()


def values_of_option() -> st.SearchStrategy[dict[str, Value]]:
    return st.fixed_dictionaries(
        {
            "rate": st.sampled_from([0.01, 0.9, 1, Decimal("7.5"), 500, 40_000]),
            "seed": st.integers(-(2**63), 2**64),
            "disorder": st.sampled_from([0, Decimal("0.000001"), 0.25, 2, "3 SECONDS"]),
            "rows": st.sampled_from([None, None, 0, 1, 1_000, BLOCK, BLOCK + 1_000]),
            "start": st.sampled_from(["2026-01-01", "1969-12-31 23:59:59.999999", START + 1]),
        }
    )


# The edges of a generator's own blocks are where the same rows could become others.
EDGES = st.one_of(
    st.integers(0, 3_000),
    st.integers(BLOCK - 20, BLOCK + 20),
    st.integers(CHUNK - 20, CHUNK + 20),
)


@settings(deadline=None)
@given(
    st.sampled_from(NAMES), values_of_option(), st.lists(EDGES, min_size=3, max_size=5), st.sampled_from([0, 10**9 + 3])
)
def test_pieces_of_any_size_are_the_same_rows(name: str, options: Options, edges: list[int], offset: int) -> None:
    made = generator(name, options)
    edges = [offset + edge for edge in sorted(edges)]

    whole = made.read(edges[0], edges[-1])
    pieces = [made.read(first, last) for first, last in itertools.pairwise(edges)]

    assert whole.schema == made.schema == GENERATORS[name].schema
    assert pa.concat_tables(pieces).equals(whole)
    if made.rows is not None:
        assert whole.num_rows == min(edges[-1], made.rows) - min(edges[0], made.rows)
    else:
        assert whole.num_rows == edges[-1] - edges[0]


@pytest.mark.parametrize("disorder", [0, 2])
@pytest.mark.parametrize("name", NAMES)
def test_rows_one_by_one_are_the_rows_together(name: str, disorder: int) -> None:
    made = generator(name, {"disorder": disorder})

    single = pa.concat_tables([made.read(row, row + 1) for row in range(40)])

    assert single.equals(made.read(0, 40))


@pytest.mark.parametrize("name", NAMES)
def test_same_seed_same_rows_and_other_seed_other_rows(name: str) -> None:
    one, again, other = (read(name, {"seed": seed}, 0, 1_000) for seed in (1, 1, 2))

    assert one.equals(again)
    assert all(not one[column].equals(other[column]) for column in one.column_names)


@pytest.mark.parametrize("name", NAMES)
def test_copy_sent_to_another_process_reads_the_same(name: str) -> None:
    made = generator(name, {"disorder": 1})

    assert pickle.loads(pickle.dumps(made)).read(100, 200).equals(made.read(100, 200))


@settings(deadline=None)
@given(st.sampled_from(NAMES), values_of_option())
def test_rows_without_disorder_are_ordered(name: str, options: Options) -> None:
    times = numbers(read(name, {**options, "disorder": 0}, 0, 2_000), "ts")

    assert (np.diff(times) >= 0).all()


@settings(deadline=None, max_examples=20)
@given(st.sampled_from(NAMES), st.integers(0, 2**32), st.sampled_from([0.05, 1, 4]))
def test_late_rows_are_the_same_rows_and_not_later_than_said(name: str, seed: int, disorder: float) -> None:
    options = {"seed": seed, "rate": 400, "rows": 25_000}
    ordered = read(name, options, 0, 25_000)
    arrived = read(name, {**options, "disorder": disorder}, 0, 25_000)
    times = numbers(arrived, "ts")
    lateness = np.maximum.accumulate(times) - times
    by_all_columns = [(column, "ascending") for column in ordered.column_names]

    assert arrived.sort_by(by_all_columns).equals(ordered.sort_by(by_all_columns))
    assert disorder * SECOND / 2 < lateness.max() <= disorder * SECOND
    assert 0.05 < (lateness > 0).mean() < 0.25


@pytest.mark.parametrize("rate", [0.5, 20, 500, 20_000])
@pytest.mark.parametrize("name", NAMES)
def test_rate_is_kept(name: str, rate: float) -> None:
    made = generator(name, {"rate": rate})
    times = numbers(made.read(0, 300_000), "ts")

    assert made.rate == rate
    assert times[0] >= START
    assert (times[-1] - START) / SECOND == pytest.approx(300_000 / rate, rel=0.01, abs=32)


@pytest.mark.parametrize("name", ["traffic", "trades"])
def test_some_seconds_are_ten_times_as_busy(name: str) -> None:
    seconds = (numbers(read(name, {"rate": 200}, 0, 200_000), "ts") - START) // SECOND
    rows_a_second = np.bincount(seconds)[:-1]
    usual = np.median(rows_a_second)

    assert 7 * usual < rows_a_second.max() < 14 * usual
    assert 0.02 < (rows_a_second > 5 * usual).mean() < 0.04


def most_common(column: pa.ChunkedArray) -> list[float]:
    """Shares of the values, the largest first."""
    counts = np.sort(pc.value_counts(column).field("counts").to_numpy())[::-1]
    return list(counts / counts.sum())


@pytest.mark.parametrize(("name", "column"), [("traffic", "src"), ("traffic", "dst"), ("trades", "symbol")])
def test_few_values_make_most_of_the_rows(name: str, column: str) -> None:
    shares = most_common(read(name, {}, 0, 500_000)[column])

    assert len(shares) > 400
    assert shares[0] == pytest.approx(1 / sum(1 / rank for rank in range(1, len(shares) + 1)), rel=0.25)
    assert shares[9] == pytest.approx(shares[0] / 10, rel=0.35)


def test_hosts_do_not_talk_to_themselves() -> None:
    for hosts in (2, 300):
        table = read("traffic", {"hosts": hosts}, 0, 20_000)

        assert not pc.any(pc.equal(table["src"], table["dst"])).as_py()
        assert pc.count_distinct(pa.concat_arrays([*table["src"].chunks, *table["dst"].chunks])).as_py() <= hosts


def test_protocols_have_their_shares() -> None:
    counts = {
        found["values"]: found["counts"]
        for found in pc.value_counts(read("traffic", {}, 0, 1_000_000)["protocol"]).to_pylist()
    }

    assert counts.keys() == {protocol.name for protocol in PROTOCOLS}
    for protocol in PROTOCOLS:
        assert counts[protocol.name] / 1_000_000 == pytest.approx(protocol.share, rel=0.2)


def test_sizes_are_heavy_tailed_and_durations_positive() -> None:
    table = read("traffic", {}, 0, 200_000)
    sizes = np.sort(table["bytes"].to_numpy())

    assert sizes[-2_000:].sum() > 0.3 * sizes.sum()
    assert numbers(table, "duration").min() > 0


def pairs(table: pa.Table, one: str, other: str) -> list[tuple[str, str, str]]:
    return list(zip(table[one].to_pylist(), table[other].to_pylist(), table["protocol"].to_pylist(), strict=True))


def test_hosts_talk_to_the_same_peer_for_a_while() -> None:
    talking = pairs(read("traffic", {}, 0, 20_000), "src", "dst")
    connections_a_session = len(talking) / len(set(talking))

    assert 8 < connections_a_session < 64


@pytest.mark.parametrize("rate", [50, 500, 30_000])
@pytest.mark.parametrize("link", [1, 3])
def test_most_connections_are_answered_on_the_next_link_within_seconds(rate: int, link: int) -> None:
    rows = 64 * rate if rate < 1_000 else 2 * rate
    asked = read("traffic", {"link": link, "rate": rate}, 0, rows)
    answers = read("traffic", {"link": link + 1, "rate": rate}, 0, rows + 2 * rate)
    answered_at: dict[tuple[str, str, str], list[int]] = {}
    for pair, time in zip(pairs(answers, "dst", "src"), numbers(answers, "ts"), strict=True):
        answered_at.setdefault(pair, []).append(time)

    delays = []
    for pair, time in zip(pairs(asked, "src", "dst"), numbers(asked, "ts"), strict=True):
        times = np.array(answered_at.get(pair, []))
        delays.append(min(times[times >= time] - time, default=None))
    answered = [delay for delay in delays if delay is not None and delay <= 5 * SECOND]

    assert 0.6 < len(answered) / len(delays) < 0.95
    assert delays.count(None) / len(delays) > 0.05


def test_links_of_different_pairs_have_nothing_to_do_with_each_other() -> None:
    answers = set(pairs(read("traffic", {"link": 3}, 0, 20_000), "dst", "src"))
    asked = set(pairs(read("traffic", {"link": 1}, 0, 20_000), "src", "dst"))

    assert len(asked & answers) < 0.1 * len(asked)


def test_trades_share_their_milliseconds() -> None:
    times = numbers(read("trades", {"rate": 50}, 0, 20_000), "ts")

    assert (times % 1_000 == 0).all()
    assert 0.4 < (np.diff(times) == 0).mean() < 0.7


def test_prices_walk_in_ticks() -> None:
    table = read("trades", {"symbols": 20}, BLOCK - 10_000, BLOCK + 10_000)
    assert table["price"].type == pa.decimal128(18, 4)

    for symbol in table["symbol"].unique().to_pylist():
        prices = table.filter(pc.equal(table["symbol"], symbol))["price"].to_pylist()
        ticks = np.array([int(price * 100) for price in prices])
        steps = np.abs(np.diff(ticks))

        assert [Decimal(int(tick)) / 100 for tick in ticks] == prices
        assert ticks.min() > 0
        assert steps.max() <= 3
        assert len(set(ticks)) > 5


def test_prices_stay_in_sight_of_where_they_began() -> None:
    made = generator("trades", {"symbols": 50})
    far = [made.read(row, row + 2_000) for row in range(0, 10**11, 10**10)]

    means = [part.group_by("symbol").aggregate([("price", "mean")]).sort_by("symbol") for part in far]
    assert len({str(mean["price_mean"].to_pylist()) for mean in means}) == len(far)
    assert all(Decimal(1) < price < 1_000 for mean in means for price in mean["price_mean"].to_pylist())


def test_sides_and_volumes_of_trades() -> None:
    table = read("trades", {}, 0, 10_000)

    assert set(table["side"].to_pylist()) == {"buy", "sell"}
    assert (table["volume"].to_numpy() % 100 == 0).all()
    assert table["volume"].to_numpy().min() == 100


def test_every_sensor_reports_once_a_round_from_its_room() -> None:
    table = read("sensors", {"sensors": 30}, 60, 90)

    assert sorted(table["sensor"].to_pylist()) == list(range(1, 31))
    for reading in table.to_pylist():
        assert reading["room"] == f"room-{(reading['sensor'] + 3) // 4}"


def test_readings_are_plausible_and_some_have_no_humidity() -> None:
    table = read("sensors", {}, 0, 100_000)
    humidity = table["humidity"]

    assert 0.04 < humidity.null_count / len(humidity) < 0.06
    assert not pc.any(pc.is_nan(humidity)).as_py()
    assert [table[name].null_count for name in table.column_names if name != "humidity"] == [0] * 5
    assert 5 < pc.min(table["temperature"]).as_py() < pc.max(table["temperature"]).as_py() < 40
    assert 20 < pc.min(humidity).as_py() < pc.max(humidity).as_py() < 80


def test_temperature_of_a_sensor_changes_slowly() -> None:
    table = read("sensors", {"sensors": 10, "rate": 10}, 0, 36_000)
    of_one = table.filter(pc.equal(table["sensor"], 7))["temperature"].to_numpy()

    assert np.abs(np.diff(of_one)).max() < 1
    assert np.ptp(of_one) > 1


def test_readings_end_in_another_order_than_they_came() -> None:
    table = read("sensors", {}, 0, 1_000)
    lifetimes = numbers(table, "ttl")
    ends = numbers(table, "ts") + lifetimes

    assert lifetimes.min() > 0
    assert (np.diff(ends) < 0).any()


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        (
            "trafic",
            {},
            "there is no generator trafic\n  hint: did you mean traffic? generators here: sensors, trades, traffic",
        ),
        ("x", {}, "there is no generator x\n  hint: generators here: sensors, trades, traffic"),
        (
            "traffic",
            {"rats": 1},
            "generator traffic has no option rats\n"
            "  hint: did you mean rate? options here: disorder, hosts, link, rate, rows, seed, start",
        ),
        (
            "sensors",
            {"link": 1},
            "generator sensors has no option link\n  hint: options here: disorder, rate, rows, seed, sensors, start",
        ),
        (
            "trades",
            {"symbols": 0},
            "generator trades cannot have symbols => 0\n  hint: symbols is a whole number from 1 to 100000",
        ),
        (
            "traffic",
            {"rate": "fast"},
            "generator traffic cannot have rate => 'fast'\n"
            "  hint: rate is rows a second of stream time, from 0.001 to 100000000",
        ),
        (
            "traffic",
            {"rows": 2**53, "rate": 1},
            "generator traffic: the last row would be after the year 9998\n"
            "  hint: fewer rows, a higher rate or an earlier start",
        ),
    ],
)
def test_message(name: str, options: Options, message: str) -> None:
    with pytest.raises(WindrowError, match=f"^{re.escape(message)}$"):
        generator(name, options)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("rate", value) for value in (0, -1, True, None, float("nan"), float("inf"), Decimal("NaN"), "500")),
        *(("rows", value) for value in (-1, 1.5, True, "all", float("inf"))),
        *(("seed", value) for value in (None, 0.5, "seven", 2**70)),
        *(("start", value) for value in (None, "yesterday", 10**18, 0.5, True)),
        *(("disorder", value) for value in (None, -1, 601, 2 * SECOND, "2", "2 MONTHS", "-1 SECOND", Decimal("NaN"))),
        *(("link", value) for value in (0, 1.5, "1", None)),
        *(("hosts", value) for value in (1, 10**7, b"9")),
    ],
)
def test_wrong_value_is_refused_with_what_is_allowed(option: str, value: Value) -> None:
    allowed = {known.name: known.allowed for known in GENERATORS["traffic"].options}[option]

    with pytest.raises(WindrowError, match=f"^generator traffic cannot have {option} => ") as caught:
        generator("traffic", {option: value})
    assert caught.value.hint == f"{option} is {allowed}"


@pytest.mark.parametrize("value", [2.5, Decimal("2.5"), "2.5 seconds", "2 SECONDS 500 MS"])
def test_disorder_is_seconds_or_a_text(value: Value) -> None:
    assert generator("traffic", {"disorder": value}).arrival.disorder == 2_500_000


def test_guide_names_every_generator_option_and_column() -> None:
    guide = (ROOT / "docs" / "guide" / "generators.md").read_text(encoding="utf-8")

    for name, kind in GENERATORS.items():
        assert f"## `{name}`" in guide
        section = guide.split(f"## `{name}`")[1].split("\n## ")[0]
        assert [column for column in kind.schema.names if f"| `{column}` |" not in section] == []
        for option in kind.options:
            default = "NULL" if option.default is None else repr(option.default)
            assert f"| `{option.name}` | `{default}` |" in (section if option.name not in COMMON else guide)
