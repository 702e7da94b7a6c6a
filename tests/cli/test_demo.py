"""What the demo says at its end."""

from __future__ import annotations

from windrow.cli.demo import cost


def test_the_rate_is_that_of_warm_micro_batches() -> None:
    streams = {name: {"rows": 360_000} for name in ("a", "b")}
    assert cost({"streams": streams, "batch_seconds": [9.5, 2.0, 1.0]}, 4.2, 2) == (
        "200,000 rows/s once warm, 1.50 s a micro-batch: 720,000 rows in 3 of them on 2 shards. "
        "Spark started in 4.2 s, the first micro-batch took 9.5 s."
    )


def test_a_run_that_was_interrupted_early_has_no_rate() -> None:
    said = cost({"streams": {"a": {"rows": 10}}, "batch_seconds": [9.5]}, 4.2, 2)
    assert said == "10 rows on 2 shards; Spark started in 4.2 s."
