"""The source that wakes Spark: what it says only goes up, whatever the clock and whoever writes the file."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql.streaming.datasource import ReadAllAvailable

from windrow.runtime.spark.data_sources import WakeReader


def test_numbers_go_up_by_one_with_every_other_text(tmp_path: Path) -> None:
    file, limit = tmp_path / "wake", ReadAllAvailable()
    reader = WakeReader({"path": str(file)})
    place = reader.initialOffset()
    assert reader.latestOffset(place, limit) == place, "nobody has said anything"
    for number, said in enumerate(["9", "1", "1", "2"], start=1):
        file.write_text(said)
        place = reader.latestOffset(place, limit)
        assert place == {"wake": number - (number > 2)}
        assert reader.latestOffset(place, limit) == place

    again = WakeReader({"path": str(file)})
    assert again.latestOffset(place, limit) == {"wake": 4}, "one that starts anew goes on from where Spark was"
