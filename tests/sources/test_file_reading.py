"""Files that change between the moment they were seen and the moment they are read: no row comes twice."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from windrow.catalog import ColumnDefinition
from windrow.sources.file_format import FileFormat
from windrow.sources.file_reading import UnreadableFile, read_part
from windrow.sources.file_reads import FileRead
from windrow.sources.source_folder import SourceFolder
from windrow.types import BIGINT

COLUMNS = (ColumnDefinition("a", BIGINT, True),)


def seen(folder: Path, name: str) -> FileRead:
    """All of a file as it is now."""
    place = SourceFolder(str(folder))
    file = place.find(name)
    assert file is not None
    return FileRead(place.address, *file, 0, file.size, place.digest(name, file.size))


def test_a_parquet_file_that_was_seen_half_written_is_read_when_it_is_seen_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pa.parquet.write_table(pa.table({"a": [1, 2, 3]}), path)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    half = seen(tmp_path, "a.parquet")
    path.write_bytes(content)

    with pytest.raises(UnreadableFile, match="it was changed while it was read"):
        read_part(half, FileFormat("parquet"), COLUMNS)
    (table,) = read_part(seen(tmp_path, "a.parquet"), FileFormat("parquet"), COLUMNS)
    assert table["a"].to_pylist() == [1, 2, 3]


def test_of_a_text_that_has_grown_the_lines_that_were_seen_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a\n1\n2\n")
    first = seen(tmp_path, "a.csv")
    path.write_text("a\n1\n2\n3\n")

    (table,) = read_part(first, FileFormat("csv"), COLUMNS)
    assert table["a"].to_pylist() == ["1", "2"]
