"""The archive of class data: made once, used when it is there, and never in the way."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.waiting import until
from windrow import cache_folder
from windrow.runtime.spark import class_data
from windrow.units import DAY


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A Java, a Spark and a cache that nobody else has."""
    java = tmp_path / "java" / "bin" / "java"
    jar = tmp_path / "spark" / "jars" / "a.jar"
    for file in (java, jar):
        file.parent.mkdir(parents=True)
        file.write_text("")
        file.chmod(0o700)
    (tmp_path / "cache").mkdir()
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "java"))
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "spark"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    cache_folder.temporary_folder.cache_clear()
    yield tmp_path
    cache_folder.temporary_folder.cache_clear()


def recording(content: str = "data", code: int = 0) -> Callable[[Path], int]:
    def record(archive: Path) -> int:
        if content:
            archive.write_text(content)
        return code

    return record


def kept(folder: Path) -> list[str]:
    return sorted(path.read_text() for path in folder.rglob("spark-*"))


def test_it_is_made_once_and_then_used(places: Path) -> None:
    assert class_data.is_missing() and class_data.reading_options() == []
    made = class_data.make(recording())
    assert class_data.reading_options() == ["-Xshare:auto", f'"-XX:SharedArchiveFile={made}"']
    assert class_data.make(recording("other")) == made and not class_data.is_missing()
    assert kept(places) == ["data"], "with nothing beside it"


@pytest.mark.parametrize("changed", ["java/release", "spark/jars/a.jar", "spark/jars/b.jar"])
def test_another_java_or_spark_has_another_one(places: Path, changed: str) -> None:
    class_data.make(recording())
    (places / changed).write_text("new")
    assert class_data.is_missing() and class_data.reading_options() == []


def test_one_that_cannot_be_made_is_not_tried_again_unless_java_was_killed(places: Path) -> None:
    class_data.make(recording("half", code=-9))
    assert class_data.is_missing() and kept(places) == []
    class_data.make(recording("", code=1))
    assert not class_data.is_missing() and class_data.reading_options() == []


def test_who_comes_while_it_is_made_leaves_it_to_others(places: Path) -> None:
    def record(archive: Path) -> int:
        class_data.make(recording("other"))
        return recording()(archive)

    class_data.make(record)
    assert kept(places) == ["data"]


def test_where_the_cache_cannot_be_written_a_temporary_folder_is_used(
    places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", os.devnull)
    class_data.make(recording())
    assert class_data.reading_options() and kept(places / "temporary") == ["data"]


def test_without_any_place_or_without_java_there_is_none(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", os.devnull)
    (places / "temporary" / f"windrow-compiled-{os.getuid()}").touch()
    assert class_data.make(recording()) is None and class_data.reading_options() == []
    monkeypatch.setenv("JAVA_HOME", str(places / "nothing"))
    assert class_data.archive_name() is None and not class_data.is_missing()


def test_what_has_not_been_used_for_long_goes(places: Path) -> None:
    made = class_data.make(recording("old"))
    assert made is not None
    os.utime(made, (0, 0))
    class_data.reading_options()
    assert made.stat().st_mtime > 0, "it is in use"
    os.utime(made, (0, 0))
    (places / "java" / "release").write_text("new")
    class_data.make(recording("new"))
    assert kept(places) == ["new"]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What processes would have been started with."""
    found: list[dict[str, Any]] = []
    monkeypatch.setattr("subprocess.Popen", lambda command, **options: found.append(options))
    return found


def test_a_process_makes_it_in_the_cache_unless_the_variable_is_0(
    places: Path, started: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    class_data.make_in_background()
    assert started == [], "tests leave no processes behind"
    monkeypatch.delenv("WINDROW_MAKE_CLASS_DATA")
    class_data.make_in_background()
    assert [options["cwd"] for options in started] == [places / "cache" / "windrow"]
    class_data.make(recording())
    class_data.make_in_background()
    assert len(started) == 1


def test_no_process_is_started_while_another_makes_it_or_without_place(
    places: Path, started: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WINDROW_MAKE_CLASS_DATA")

    def record(archive: Path) -> int:
        Path(str(archive).removesuffix(f".{os.getpid()}")).unlink()  # the lock alone says it
        assert not class_data.is_missing()
        class_data.make_in_background()
        return recording()(archive)

    class_data.make(record)
    (places / "java" / "release").write_text("new")
    assert class_data.is_missing()
    with monkeypatch.context() as full:
        full.setattr(class_data, "_ROOM", 1 << 62)
        class_data.make_in_background()
    monkeypatch.setattr(class_data, "cache_folders", lambda: iter(()))
    class_data.make_in_background()
    assert started == []


@pytest.mark.parametrize("error", [ValueError(), OSError(errno.EIO, "broken"), OSError(errno.ENOSPC, "full")])
def test_an_error_is_tried_again_after_a_day_and_a_full_disk_at_once(
    places: Path, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[Path] = []

    def record(archive: Path) -> int:
        tried.append(archive)
        archive.write_text("half")
        raise error

    with pytest.raises(type(error)):
        class_data.make(record)
    assert len(tried) == 1, "not in the next folder too"
    is_full = isinstance(error, OSError) and error.errno == errno.ENOSPC
    assert kept(places) == ([] if is_full else [""]) and class_data.is_missing() is is_full
    monkeypatch.setattr(class_data, "_AGAIN", -DAY)
    assert class_data.is_missing()
    class_data.make(recording())
    assert kept(places) == ["data"] and not class_data.is_missing()


def test_what_one_that_was_killed_has_left_goes(places: Path) -> None:
    made = class_data.make(recording("", code=-9))
    assert made is not None
    made.with_name(f"{made.name}.1").write_text("half")
    class_data.make(recording())
    assert kept(places) == ["data"]


LIMIT = """
import subprocess, time
from windrow.runtime.spark.class_data_record import end_after
end_after(1)
print(subprocess.Popen(["sleep", "600"]).pid, flush=True)
time.sleep(600)
"""


def test_a_recorder_ends_at_its_limit_with_all_that_it_has_started() -> None:
    finished = subprocess.run([sys.executable, "-c", LIMIT], capture_output=True, text=True, timeout=300)
    assert (finished.returncode, finished.stderr) == (-signal.SIGKILL, "")
    state = Path("/proc") / finished.stdout.strip() / "stat"
    until(lambda: not state.exists() or ") Z " in state.read_text(), "the end of what it has started")


CONNECT = """
import windrow
with windrow.connect(master="local[1]") as engine:
    java = engine.spark._jvm.java.lang.management.ManagementFactory.getRuntimeMXBean()
    print(*java.getInputArguments())
"""


def test_a_damaged_one_is_ignored_without_a_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = class_data.make(recording("x" * 100_000))
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    (tmp_path / "spark-defaults.conf").write_text("spark.driver.defaultJavaOptions -Dof.the=user\n")
    finished = subprocess.run([sys.executable, "-c", CONNECT], capture_output=True, text=True, timeout=300)
    assert (finished.returncode, finished.stderr) == (0, "")
    options = finished.stdout.split()
    assert f"-XX:SharedArchiveFile={made}" in options
    assert options.index("-XX:+UseSerialGC") < options.index("-Dof.the=user"), "theirs are kept, and come after ours"


def test_java_options_that_do_not_go_with_ours_leave_ours_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Java refuses two collectors; the user's word counts."""
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--driver-java-options -XX:+UseParallelGC pyspark-shell")
    class_data.make(recording("", code=1))
    finished = subprocess.run([sys.executable, "-c", CONNECT], capture_output=True, text=True, timeout=300)
    assert (finished.returncode, finished.stderr) == (0, "")
    options = finished.stdout.split()
    assert "-XX:+UseParallelGC" in options and "-XX:+UseSerialGC" not in options
