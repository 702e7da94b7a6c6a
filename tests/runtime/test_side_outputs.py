"""Rejected rows that are taken again in this process: none is lost, whatever becomes of the others."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import windrow
from windrow.runtime.intake import Intake
from windrow.runtime.intake.side_output import SideOutput
from windrow.sources.rows import UNPARSABLE

YEAR_2100 = 4_102_444_800_000_000


def test_rows_that_cannot_be_tried_stay_beside_those_that_can() -> None:
    output = SideOutput()
    output.put(pa.table({"k": [1, None, 3], UNPARSABLE: pa.array([None, "{", None], pa.string())}), "ts is null")
    taken: list[int] = []
    assert output.try_again(lambda table: taken.extend(table["k"].to_pylist())) == 2
    assert taken == [1, 3]
    left = output.table()
    assert left is not None and left[UNPARSABLE].to_pylist() == ["{"]
    assert output.try_again(lambda table: taken.extend(table["k"].to_pylist())) == 0


def test_an_error_in_one_table_loses_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    with windrow.connect(local=True) as engine:
        engine.sql(
            "CREATE STREAM s (ts TIMESTAMP, k INT) TIMESTAMP BY ts AHEAD 1 HOUR; CREATE QUERY q AS SELECT k FROM s"
        )
        for k in range(3):
            engine.push("s", [{"ts": YEAR_2100, "k": k}])
        engine.sql("ALTER STREAM s SET AHEAD UNLIMITED")
        take = Intake.take

        def takes(self: Intake, rows: pa.Table, *rest: Any) -> object:
            if rows["k"].to_pylist() == [1]:
                self.rejected.put(rows, "half of it")
                raise MemoryError
            return take(self, rows, *rest)

        with monkeypatch.context() as patched:
            patched.setattr(Intake, "take", takes)
            with pytest.raises(MemoryError):
                engine.retry("s")
        left = engine.rejected("s")
        assert left is not None and left["k"].to_pylist() == [1, 2]
        assert engine.retry("s") == ["2 rejected rows"]
        assert engine.rejected("s") is None
        assert engine.status()["streams"]["s"]["rows"] == 3
