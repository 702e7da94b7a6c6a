"""The sources that the driver reads itself: files whatever happens to them, pushed rows, ends, threads, restarts."""

from __future__ import annotations

import gzip
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from support.shard_runs import SourcesInProcess
from windrow.clock import ManualClock, monotonic
from windrow.errors import WindrowError
from windrow.runtime.shards.sources import file_manifests
from windrow.runtime.shards.storage import collection
from windrow.runtime.shards.storage.file_lists import FileList, read_list
from windrow.runtime.shards.storage.files.folder import Folder
from windrow.sources.file_reads import SeenFile
from windrow.units import HOUR, SECOND

PATIENCE = 900.0  # seconds; nothing takes as long, but a machine may be busy


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "rows"
    made.mkdir()
    return made


@pytest.fixture
def engines(tmp_path: Path) -> Iterator[Callable[..., SourcesInProcess]]:
    """Engines on one checkpoint, one after the other."""
    opened: list[SourcesInProcess] = []

    def connect(checkpoint: Path | None = tmp_path / "checkpoint", **options: object) -> SourcesInProcess:
        opened.append(SourcesInProcess(2, checkpoint=None if checkpoint is None else str(checkpoint), **options))
        return opened[-1]

    yield connect
    for engine in opened:
        engine.close()


def declared(engine: SourcesInProcess, folder: Path, form: str = "csv", options: str = "") -> SourcesInProcess:
    written = str(folder).replace("'", "''")
    engine.sql(f"CREATE STREAM f (ts TIMESTAMP, k INT) FROM {form}('{written}'{options}) TIMESTAMP BY ts SLACK 1 HOUR")
    engine.query("SELECT k FROM f", "q")
    return engine


def lines(*numbers: int) -> str:
    return "".join(f"2026-01-01 00:00:{number:02},{number}\n" for number in numbers)


def csv(path: Path, *numbers: int) -> Path:
    path.write_text(f"ts,k\n{lines(*numbers)}")
    return path


def parquet(path: Path, *numbers: int) -> Path:
    times = pa.array([number * SECOND for number in numbers], pa.timestamp("us"))
    pa.parquet.write_table(pa.table({"ts": times, "k": pa.array(numbers, pa.int32())}), path)
    return path


def rows(engine: SourcesInProcess, stream: str = "f") -> int:
    return int(engine.status()["streams"].get(stream, {"rows": 0})["rows"])


def taken(engine: SourcesInProcess) -> list[int]:
    """All that was read, whatever its time."""
    engine.end("f")
    engine.step()
    return sorted(row["k"] for row in engine["q"].changes().to_pylist())


def until(holds: Callable[[], bool]) -> None:
    end = monotonic() + PATIENCE
    while not holds():
        assert monotonic() < end, "it does not come to it"
        threading.Event().wait(0.02)


class TestFiles:
    def test_old_times_and_many_names(self, engines: Callable[..., SourcesInProcess], folder: Path) -> None:
        engine = declared(engines(), folder)
        engine.step()
        for number, name in enumerate(("z.csv", "a b.csv", "[1]{2}*?#%20'ü.csv", "sub/x.csv")):
            (folder / name).parent.mkdir(exist_ok=True)
            os.utime(csv(folder / name, number), (1_000_000_000, 1_000_000_000))
        (folder / "_hidden.csv").write_text("nothing")
        (folder / ".part.csv").write_text("nothing")
        engine.step()
        assert rows(engine) == 4
        os.utime(csv(folder / "b.csv", 9), (5, 5))
        engine.step()
        assert taken(engine) == [0, 1, 2, 3, 9]

    @pytest.mark.parametrize("name", ["a b", "[1]", "{a,b}", "run*", "%20", "a#b", "what?", "it's", "ü€", "a+b&c=d"])
    def test_folders_of_any_name(self, engines: Callable[..., SourcesInProcess], tmp_path: Path, name: str) -> None:
        (tmp_path / name).mkdir()
        (tmp_path / "runs").mkdir()
        csv(tmp_path / "runs" / "other.csv", 7)
        csv(tmp_path / name / "a.csv", 1, 2)
        assert taken(declared(engines(), tmp_path / name)) == [1, 2]

    def test_empty_ones_are_read(self, engines: Callable[..., SourcesInProcess], folder: Path) -> None:
        for form in ("csv", "parquet", "json"):
            (folder / f"empty.{form}").touch()
        engine = engines(None)
        for form in ("csv", "parquet", "json"):
            engine.sql(f"CREATE STREAM {form} (ts TIMESTAMP, k INT) FROM {form}('{folder}') TIMESTAMP BY ts")
            engine.query(f"SELECT k FROM {form}")
        engine.run()
        assert engine.has_ended
        assert all(rows(engine, form) == 0 for form in ("csv", "parquet", "json"))

    def test_gzip_and_other_columns(self, engines: Callable[..., SourcesInProcess], folder: Path) -> None:
        (folder / "a.csv.gz").write_bytes(gzip.compress(f"ts,k\n{lines(1, 2)}".encode()))
        (folder / "b.csv").write_text("k,more,ts\n3,x,2026-01-01 00:00:03\n")
        (folder / "c.csv").write_text("ts\n2026-01-01 00:00:04\n")
        engine = declared(engines(), folder)
        engine.step()
        assert rows(engine) == 4
        (folder / "d.csv.gz").write_bytes(gzip.compress(f"ts,k\n{lines(5)}".encode())[:-4])
        engine.step()
        status = engine.status()["streams"]["f"]
        assert (status["rows"], list(status["files"]["rejected"])) == (4, ["d.csv.gz"])
        (folder / "d.csv.gz").write_bytes(gzip.compress(f"ts,k\n{lines(5, 6)}".encode()))
        engine.step()
        assert (rows(engine), engine.status()["streams"]["f"]["files"]["rejected"]) == (6, {})

    def test_one_that_grows_is_read_on(self, engines: Callable[..., SourcesInProcess], folder: Path) -> None:
        engine = declared(engines(), folder)
        readers = engine.driver.readers
        with (folder / "a.csv").open("w") as file:
            for piece in ("ts,", "k\n", lines(1), "2026-01-01 00:0", "0:02,2\n" + lines(3), lines(4)[:-1]):
                file.write(piece)
                file.flush()
                readers.be_patient(PATIENCE)
                readers.look()
                while engine._loop.take():
                    pass
        assert rows(engine) == 3, "the last line has no end yet"
        engine.step()
        assert taken(engine) == [1, 2, 3, 4]
        assert engine.status()["streams"]["f"]["rejected"] == {}
        assert engine.status()["streams"]["f"]["files"]["replaced"] == 0

    def test_a_line_that_goes_on_after_it_was_taken_is_rejected(
        self, engines: Callable[..., SourcesInProcess], folder: Path
    ) -> None:
        engine = declared(engines(), folder)
        path = csv(folder / "a.csv", 1)
        path.write_text(path.read_text()[:-1])
        engine.step()  # it waits until nobody has written to the file for a second
        assert rows(engine) == 1
        with path.open("a") as file:
            file.write(f"23\n{lines(2)}")
        engine.step()
        assert taken(engine) == [1, 2]
        (rejected,) = engine.rejected("f").to_pylist()
        assert rejected["_unparsable"] == "a.csv: the rest of a line: 23"

    def test_one_that_is_replaced(
        self, engines: Callable[..., SourcesInProcess], folder: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        engine = declared(engines(), folder)
        csv(folder / "a.csv", 1, 2)
        engine.step()
        csv(folder / "a.csv", 1, 2)
        os.utime(folder / "a.csv", (7, 7))
        engine.step()
        assert rows(engine) == 2 and "a.csv was written again, and is as it was" in caplog.text
        csv(folder / "a.csv", 3, 4)
        engine.step()
        assert "a.csv was replaced: it is read again" in caplog.text
        assert engine.status()["streams"]["f"]["files"]["replaced"] == 1
        assert taken(engine) == [1, 2, 3, 4]

    @pytest.mark.parametrize("form", ["csv", "csv.gz"])
    def test_one_that_is_replaced_in_its_middle_alone(
        self, engines: Callable[..., SourcesInProcess], folder: Path, form: str
    ) -> None:
        """As long as it was, and the same at both ends: all of it is compared."""
        engine = declared(engines(), folder)
        path, numbers = folder / f"a.{form}", [0] * 2_000
        packed = (lambda text: gzip.compress(text, 0, mtime=0)) if form == "csv.gz" else bytes
        path.write_bytes(packed(f"ts,k\n{lines(*numbers)}".encode()))
        engine.step()
        path.write_bytes(packed(f"ts,k\n{lines(*numbers[:1_000], 1, *numbers[1_001:])}".encode()))
        os.utime(path, (7, 7))
        engine.step()
        assert engine.status()["streams"]["f"]["files"]["replaced"] == 1
        with path.open("ab") as file:
            file.write(packed(lines(2).encode()))
        again = engines()
        again.step()
        once, twice = (sum(k == number for k in taken(again)) for number in (1, 2)), form == "csv.gz"
        assert list(once) == [2, 1] if twice else [1, 1], "a text is read on, any other file as a whole"

    def test_parquet_that_is_written_slowly(self, engines: Callable[..., SourcesInProcess], folder: Path) -> None:
        whole = parquet(folder.parent / "whole.parquet", *range(20)).read_bytes()
        (folder / "a.parquet").write_bytes(whole[:50])
        engine = declared(engines(), folder, "parquet")
        engine.start()
        until(lambda: engine.status()["batch"] is not None)
        (folder / "a.parquet").write_bytes(whole[:100])
        engine.step()
        until(lambda: "a.parquet" in engine.status()["streams"]["f"]["files"]["rejected"])
        (folder / "a.parquet").write_bytes(whole)
        until(lambda: rows(engine) == 20)
        assert engine.status()["streams"]["f"]["files"]["rejected"] == {}
        assert taken(engine) == list(range(20))

    def test_half_a_parquet_file_never_counts(self, engines: Callable[..., SourcesInProcess], folder: Path) -> None:
        """Its footer is there, some of its pages are not."""
        times = pa.array([number * SECOND for number in range(200_000)], pa.timestamp("us"))
        table = pa.table({"ts": times, "k": pa.array(range(200_000), pa.int32())})
        pa.parquet.write_table(table, folder / "a.parquet", row_group_size=1_000, compression="zstd")
        content = bytearray((folder / "a.parquet").read_bytes())
        content[len(content) // 2 : len(content) // 2 + 2_000] = bytes(2_000)
        (folder / "a.parquet").write_bytes(content)
        os.utime(folder / "a.parquet", (1_000_000_000, 1_000_000_000))
        engine = declared(engines(), folder, "parquet")
        engine.step()
        status = engine.status()["streams"]["f"]
        assert (status["rows"], list(status["files"]["rejected"]), status["rejected"]) == (
            0,
            ["a.parquet"],
            {"it cannot be read": 1},
        )

    def test_rejected_files_can_be_taken_again(self, engines: Callable[..., SourcesInProcess], folder: Path) -> None:
        path = csv(folder / "a.csv", 1)
        path.chmod(0)
        os.utime(path, (5, 5))
        if os.access(path, os.R_OK):  # nothing is forbidden to root
            path.write_bytes(b"other\n1\n")
            os.utime(path, (5, 5))
        engine = declared(engines(), folder)
        csv(folder / "b.csv", 2)
        engine.step()
        assert list(engine.status()["streams"]["f"]["files"]["rejected"]) == ["a.csv"]
        again = engines()
        assert list(again.status()["streams"]["f"]["files"]["rejected"]) == ["a.csv"], "that is kept"
        again.step()
        assert rows(again) == 1
        path.chmod(0o600)
        path.write_text(f"ts,k\n{lines(1)}")
        os.utime(path, (5, 5))
        assert again.retry("f") == ["a.csv"]
        again.step()
        assert taken(again) == [1, 2]

    def test_limits_of_a_batch(self, engines: Callable[..., SourcesInProcess], folder: Path) -> None:
        for number in range(5):
            csv(folder / f"{number}.csv", number)
        engine = declared(engines(), folder, options=", max_files => 2")
        engine.step()
        assert (rows(engine), engine.status()["batch"]) == (5, 2)

    def test_thousands_of_files_are_in_few_records(
        self, engines: Callable[..., SourcesInProcess], folder: Path, tmp_path: Path
    ) -> None:
        """A commit has the files that it read, a manifest all of them, now and then."""
        engine = declared(engines(), folder, options=", max_files => 100")
        for number in range(1_000):
            csv(folder / f"{number:04}.csv", number % 60)
        engine.step()
        for number in range(20):
            csv(folder / f"more{number}.csv", number)
            engine.step()
        assert rows(engine) == 1_020
        manifests = list((tmp_path / "checkpoint" / "windrow" / "files").iterdir())
        assert len(manifests) < 10
        commits = sorted((tmp_path / "checkpoint" / "windrow" / "commits").iterdir())
        assert commits[-1].stat().st_size < 10_000
        again = engines()
        again.step()
        assert rows(again) == 1_020, "nothing is read twice"

    def test_what_is_written_of_files_does_not_grow_with_their_number(
        self,
        engines: Callable[..., SourcesInProcess],
        folder: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """A list takes along those before it that are not much larger; each file is in few lists."""
        monkeypatch.setattr(file_manifests, "_FEW", 4)
        written: list[int] = []
        write = file_manifests.write_list

        def noted(folder: Folder, name: str, earlier: Sequence[FileList], files: Sequence[SeenFile]) -> None:
            write(folder, name, earlier, files)
            written.append(len(files))

        monkeypatch.setattr(file_manifests, "write_list", noted)
        engine = declared(engines(), folder, options=", max_files => 2")
        for number in range(400):
            csv(folder / f"{number:04}.csv", number % 60)
        engine.step()
        assert sum(written) < 400 * 8, "as many times as the logarithm of their number"
        assert sorted(written)[len(written) // 2] < 20, "most lists are short"
        own = Folder(str(tmp_path / "checkpoint" / "windrow"))
        last = engine.driver.batches.positions.manifests["f"]
        assert len(read_list(own, last)[0]) < 10
        for _ in range(2):
            again = engines()
            again.step()
            assert rows(again) == 400, "nothing is read twice"
            assert again.status()["streams"]["f"]["files"]["read"] == 400

    def test_files_that_are_gone_for_long_are_forgotten(
        self, engines: Callable[..., SourcesInProcess], folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(file_manifests, "_FEW", 4)
        clock = ManualClock(1_000_000_000 * SECOND)
        engine = declared(engines(clock=clock), folder)
        for number in range(200):
            csv(folder / f"{number:04}.csv", number % 60)
            engine.step()
            (folder / f"{number:04}.csv").unlink()
            clock.advance(HOUR)
        assert rows(engine) == 200
        remembered = engine.status()["streams"]["f"]["files"]["read"]
        assert remembered == 200, "a folder that is not there for a week comes back"
        clock.advance(7 * 24 * HOUR)
        for number in range(200, 500):
            csv(folder / f"{number:04}.csv", number % 60)
        engine.step()
        assert 300 <= engine.status()["streams"]["f"]["files"]["read"] < 400, "those that were missed a week ago"
        again = engines(clock=clock)
        again.step()
        assert rows(again) == 500


class TestSourcesThatFail:
    def test_a_folder_that_goes_away_stops_nobody_else(
        self, engines: Callable[..., SourcesInProcess], folder: Path
    ) -> None:
        clock = ManualClock(100 * SECOND)
        engine = declared(engines(clock=clock), folder)
        engine.sql("CREATE STREAM s (ts TIMESTAMP, k INT) TIMESTAMP BY ts")
        engine.query("SELECT k FROM s", "other")
        csv(folder / "a.csv", 1)
        engine.start()
        until(lambda: rows(engine) == 1)
        shutil.rmtree(folder)
        until(lambda: bool(engine.health()))
        (failing,) = engine.health()
        assert (failing.what, failing.name) == ("source", "f")
        assert failing.message == f"there is no file or folder {folder}"
        assert failing.next_try is not None and failing.since == 100 * SECOND < failing.next_try
        engine.push("s", [{"ts": 5 * SECOND, "k": 5}, {"ts": 9 * SECOND, "k": 9}])
        until(lambda: rows(engine, "s") == 2)
        folder.mkdir()
        csv(folder / "b.csv", 2)
        clock.advance(2 * SECOND)
        until(lambda: rows(engine) == 2)
        assert engine.health() == []
        engine.stop()

    def test_those_who_want_it_have_it_stop(self, engines: Callable[..., SourcesInProcess], folder: Path) -> None:
        engine = declared(engines(), folder, options=", on_error => 'stop'")
        engine.step()
        shutil.rmtree(folder)
        engine.start()
        with pytest.raises(WindrowError, match="stream f cannot be read: there is no file or folder"):
            engine.wait(PATIENCE)

    def test_a_run_that_waits_for_nothing_else_ends_with_the_reason(
        self, engines: Callable[..., SourcesInProcess], folder: Path
    ) -> None:
        clock = ManualClock(100 * SECOND)
        engine = declared(engines(clock=clock), folder)
        engine.step()
        shutil.rmtree(folder)
        with pytest.raises(WindrowError, match="sources cannot be reached: f: there is no file or folder"):
            engine.run(poll=lambda: clock.advance(60 * SECOND))

    @pytest.mark.parametrize(
        ("connector", "message"),
        [
            ("csv('{0}/none')", "there is no file or folder {0}/none"),
            ("csv('{0}', max_files => 0)", "0 files cannot be read at a time"),
            ("csv('{0}', on_error => 'ignore')", "'ignore' cannot be done on an error"),
        ],
    )
    def test_what_cannot_be_read_is_refused_at_once(
        self, engines: Callable[..., SourcesInProcess], folder: Path, connector: str, message: str
    ) -> None:
        with pytest.raises(WindrowError) as refused:
            engines().sql(f"CREATE STREAM f (ts TIMESTAMP) FROM {connector.format(folder)} TIMESTAMP BY ts")
        assert refused.value.message == message.format(folder)


class TestRunsAgain:
    def test_with_new_files(self, engines: Callable[..., SourcesInProcess], folder: Path) -> None:
        """As from cron: windows go on from run to run."""
        for run in range(3):
            csv(folder / f"{run}.csv", *range(run * 4, run * 4 + 4))
            engine = engines()
            if run == 0:
                declared(engine, folder)
            engine.run()
            assert rows(engine) == 4 * run + 4
            assert not engine.has_ended
            engine.close()
        assert taken(engines()) == list(range(12))

    def test_without_a_checkpoint_files_end_with_the_run(
        self, engines: Callable[..., SourcesInProcess], folder: Path
    ) -> None:
        csv(folder / "a.csv", 1, 2)
        engine = declared(engines(None), folder)
        every = engine.query("SELECT COUNT(*) AS n FROM f [RANGE 2 SECONDS SLIDE 2 SECONDS]")
        engine.run()
        assert engine.has_ended
        assert every.refreshes()["n"].to_pylist() == [1, 1, 0]

    def test_one_that_follows_waits_for_more(self, engines: Callable[..., SourcesInProcess], folder: Path) -> None:
        csv(folder / "a.csv", 1)
        engine = declared(engines(), folder)
        polls = iter(range(1_000))

        def poll() -> None:
            if next(polls) == 2:
                csv(folder / "b.csv", 2)
            if rows(engine) == 2:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            engine.run(poll, follow=True)
        engine.run()
        assert rows(engine) == 2

    def test_a_generator_goes_on_where_it_was(self, engines: Callable[..., SourcesInProcess]) -> None:
        columns = "ts TIMESTAMP, symbol STRING, price DECIMAL(18, 4), size BIGINT, venue STRING"
        made = "generator('trades', rate => 100, rows => 1000, seed => 3)"
        for part in range(3):
            engine = engines()
            if part == 0:
                engine.sql(f"CREATE STREAM g ({columns}) FROM {made} TIMESTAMP BY ts")
                engine.query("SELECT COUNT(*) AS n FROM g")
            for reader in engine.driver.readers._readers.values():
                reader._rows_a_batch = 300  # type: ignore[attr-defined]
            if part < 2:
                engine.driver.readers.look()
                assert engine._loop.take()
                assert rows(engine, "g") == 300 * (part + 1)
                assert engine.status()["streams"]["g"]["unread"] == 1_000 - 300 * (part + 1)
        engine.run()
        assert (rows(engine, "g"), engine.has_ended) == (1_000, True)


class TestPushes:
    def pushed(self, engine: SourcesInProcess) -> SourcesInProcess:
        engine.sql("CREATE STREAM f (ts TIMESTAMP, k INT) TIMESTAMP BY ts")
        engine.query("SELECT k FROM f", "q")
        return engine

    def test_from_ten_threads(self, engines: Callable[..., SourcesInProcess]) -> None:
        engine = self.pushed(engines())
        engine.start()

        def push(thread: int) -> None:
            for number in range(20):
                engine.push("f", [{"ts": SECOND, "k": 20 * thread + number}])

        together(push)
        engine.end("f")
        assert engine.wait(PATIENCE)
        assert sorted(row["k"] for row in engine["q"].changes().to_pylist()) == list(range(200))
        assert engine.status()["streams"]["f"]["late"] == 0

    def test_steps_and_statements_from_ten_threads(self, engines: Callable[..., SourcesInProcess]) -> None:
        engine = self.pushed(engines())

        def work(thread: int) -> None:
            engine.sql(f"CREATE QUERY q{thread} AS SELECT k + {thread} AS n FROM f")
            engine.push("f", [{"ts": SECOND, "k": thread}])
            engine.step()
            engine[f"q{thread}"].latest_answer()
            engine.sql(f"DROP QUERY q{thread}")

        together(work)
        assert taken(engine) == list(range(10))

    def test_an_end_says_which_belong_to_it(
        self, engines: Callable[..., SourcesInProcess], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(collection, "KEPT_SECONDS", 0.0)
        engine = self.pushed(engines())
        for number in range(300):
            engine.push("f", [{"ts": number * SECOND, "k": number}])
        engine.end("f")
        engine.step()
        status = engine.status()["streams"]["f"]
        assert (status["rows"], status["late"], engine.has_ended) == (300, 0, True)
        for _ in range(2):  # what a commit leaves behind goes with a later one
            engine.query("SELECT k FROM f")
            engine._loop.take()
        assert not [*(tmp_path / "checkpoint").glob("windrow/pushed/*/*")]

    def test_a_checkpoint_that_was_moved_goes_on(
        self, engines: Callable[..., SourcesInProcess], tmp_path: Path
    ) -> None:
        engine = self.pushed(engines())
        engine.push("f", [{"ts": SECOND, "k": 1}])
        engine.step()
        engine.push("f", [{"ts": 2 * SECOND, "k": 2}])  # not read yet
        engine.close()
        (tmp_path / "checkpoint").rename(tmp_path / "an other [place]")
        again = engines(tmp_path / "an other [place]")
        again.push("f", [{"ts": 3 * SECOND, "k": 3}])
        assert taken(again) == [1, 2, 3]

    def test_a_stream_with_a_source_is_not_pushed_to(
        self, engines: Callable[..., SourcesInProcess], folder: Path
    ) -> None:
        with pytest.raises(WindrowError, match="stream f has a source of its own"):
            declared(engines(), folder).push("f", [{"ts": 1, "k": 1}])


def together(work: Callable[[int], None]) -> None:
    """Ten threads at once; what one of them raises is raised."""
    errors: list[BaseException] = []

    def guarded(thread: int) -> None:
        try:
            work(thread)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
