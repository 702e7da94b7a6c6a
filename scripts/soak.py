"""Long runs: disasters on Spark, many micro-batches on one disk, a window of ten million rows in memory.

    python scripts/soak.py kills [20]        SIGKILL so many times, compare with an undisturbed run each time
    python scripts/soak.py chaos [24]        disturbances of all kinds, on one machine and with executors
    python scripts/soak.py disk [10000]      micro-batches; what the checkpoint takes on the way
    python scripts/soak.py batches [100000]  micro-batches of a few rows; files, memory and time on the way
    python scripts/soak.py memory [10000000] rows in a window that slides on by as many again; memory of Python workers

Prints what happened, one line a step; an assertion that fails ends it. `docs/soak.md` has the last long run.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]
os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
os.environ["WINDROW_MAKE_CLASS_DATA"] = "0"


def kills(count: int) -> None:
    """Run after run, each killed at other moments, until there were enough."""
    from support import killed_run
    from support.killing import killed_run_until_done, moments

    with tempfile.TemporaryDirectory(prefix="windrow-") as place:
        quiet = Path(place) / "quiet"
        undisturbed = killed_run.carried_out(quiet, master="local[2]")
        done = amid = seed = 0
        while done < count:
            folder = Path(place) / str(seed)
            came, deaths = killed_run_until_done(folder, list(moments(min(8, count - done), seed)))
            for death in deaths:
                done, amid = done + 1, amid + (death.amid != "between")
                after = f"{death.moment.seconds:.2f} s after a file in {death.moment.under}"
                print(f"kill {done:3}: {after}, amid: {death.amid}, last commit {death.batch}", flush=True)
            assert came == undisturbed, deaths
            print(f"run {seed}: {len(deaths)} kills, the same answers, refreshes, late rows and files", flush=True)
            seed += 1
        print(f"{done} kills, {amid} of them in the middle of a micro-batch or of a change of statements")
        assert 2 * amid >= done


def chaos(count: int) -> None:
    """Run after run, each disturbed at random a few times, until there were enough; every other one with executors."""
    from support.chaos import Chaos

    masters = ("local[2]", "local-cluster[2,1,1024]")
    with tempfile.TemporaryDirectory(prefix="windrow-") as place:
        undisturbed, done, seed = Chaos(Path(place) / "quiet", 0).undisturbed(), 0, 1
        while done < count:
            run = Chaos(Path(place) / str(seed), seed, masters[seed % 2])
            came = run.disturbed(times := min(6, count - done))
            print(f"run {seed}: {'; '.join(run.happened)}", flush=True)
            assert came == undisturbed
            done, seed = done + times, seed + 1
        print(f"{done} disturbances, the same answers, refreshes, late rows and files each time")


def disk(batches: int) -> None:
    """Small batches on two shards, ever new strings, a query and table rows that come and go."""
    from test_checkpoint import TEXTS, an_engine, rows

    with tempfile.TemporaryDirectory(prefix="windrow-") as place:
        engine = an_engine(Path(place))
        most: dict[int, int] = {}
        for second in range(batches):
            if second % 100 == 0:
                engine.sql(f"CREATE QUERY passing AS {TEXTS['newest']}")
                engine.sql(f"INSERT INTO known VALUES ({second + 10}, 'x')")
            if second % 100 == 50:
                engine.sql("DROP QUERY passing")
                engine.sql(f"DELETE FROM known WHERE k = {second - 40}")
            engine.push("a", rows(second, [f"string {second}.{place}" for place in range(20)]))
            engine.step()
            if (second + 1) % (batches // 20) == 0:
                every = [path for path in Path(place).rglob("*") if path.is_file()]
                size = sum(path.stat().st_size for path in every)
                most[second + 1] = size
                print(f"batch {second + 1:6}: {len(every):5} files, {size / 1e6:.2f} MB", flush=True)
        early = max(size for number, size in most.items() if number <= batches // 2)
        assert max(most.values()) <= 1.2 * early, most


def batches(count: int) -> None:
    """A group-by and a join of a few rows on one shard, without Spark: nothing grows with the number of batches."""
    from support.shard_runs import SourcesInProcess

    with tempfile.TemporaryDirectory(prefix="windrow-") as place:
        engine = SourcesInProcess(1, checkpoint=place)
        for name in ("a", "b"):
            engine.sql(f"CREATE STREAM {name} (t TIMESTAMP, k BIGINT) TIMESTAMP BY t")
        engine.sql("CREATE QUERY counted AS SELECT k, COUNT(*) AS n FROM a [RANGE 20 SECONDS] GROUP BY k")
        engine.sql("CREATE QUERY pairs AS SELECT a.k FROM a [RANGE 5 SECONDS], b [RANGE 5 SECONDS] WHERE a.k = b.k")
        seen: list[tuple[int, float, float]] = []
        part = count // 20
        for step in range(20):
            began = time.process_time()  # others may be at work on this machine
            for second in range(step * part, (step + 1) * part):
                for name in ("a", "b"):
                    engine.push(name, [{"t": 1_000_000 * second, "k": second % 7}])
                engine.step()
            took = (time.process_time() - began) / part * 1e3
            files = sum(path.is_file() for path in Path(place).rglob("*"))
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            megabytes = pages * os.sysconf("SC_PAGE_SIZE") / 1e6
            seen.append((files, megabytes, took))
            print(
                f"batch {(step + 1) * part:6}: {files:5} files, {megabytes:.0f} MB, {took:.1f} ms of processor each",
                flush=True,
            )
        engine.close()
    for what, early, late in zip(
        ("files", "memory", "time"), zip(*seen[2:10], strict=True), zip(*seen[10:], strict=True), strict=True
    ):
        assert sum(late) <= 1.2 * sum(early) * len(late) / len(early), f"{what} grows"


def memory(rows: int) -> None:
    """A join of a window of so many rows with a short one, on Spark with two shards."""
    import windrow

    rate = rows // 10
    with tempfile.TemporaryDirectory(prefix="windrow-") as place:
        engine = windrow.connect(master="local[2]", checkpoint=f"{place}/checkpoint", shards=2)
        columns = "ts TIMESTAMP, src STRING, dst STRING, protocol STRING, bytes BIGINT, duration INTERVAL"
        for name, share, seed in (("wide", 1, 1), ("few", 10_000, 2)):
            made = f"generator('traffic', rate => {rate // share}, rows => {2 * rows // share}, seed => {seed})"
            engine.sql(f"CREATE STREAM {name} ({columns}) FROM {made} TIMESTAMP BY ts")
        engine.sql(
            "CREATE QUERY joined AS SELECT wide.src, wide.bytes, few.dst FROM wide [RANGE 10 SECONDS],"
            " few [RANGE 1 SECOND] WHERE wide.bytes = few.bytes AND wide.dst = few.dst"
        )
        seen: list[int] = []
        stop = threading.Event()
        watching = threading.Thread(target=_watch, args=(seen.append, stop))
        watching.start()
        began = time.monotonic()
        engine.run()
        seconds = time.monotonic() - began
        stop.set()
        watching.join()
        held = max(metric.state_rows for metric in _metrics(engine))
        size = max(record.state_bytes for record in engine._driver.checkpoint.commits())
        print(f"{2 * rows} rows in {seconds:.0f} s; a shard held up to {held} rows, all of them {size / 1e6:.0f} MB")
        print(f"the largest Python worker took {max(seen) / 1e6:.0f} MB")
        bound = 1500e6 + 4 * size
        assert max(seen) <= bound, f"more than {bound / 1e6:.0f} MB"
        engine.close()


def _metrics(engine):  # type: ignore[no-untyped-def]
    return [metric for record in engine._driver.checkpoint.commits() for metric in record.metrics]


def _watch(tell: Callable[[int], None], stop: threading.Event) -> None:
    """The memory of every worker and shard server below this process, ten times a second."""
    from support.chaos import SERVERS, WORKERS

    while not stop.wait(0.1):
        for pid in _descendants(os.getpid()):
            try:
                command = Path(f"/proc/{pid}/cmdline").read_bytes()
                if any(word in command for word in (*WORKERS, *SERVERS)):
                    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
                    tell(pages * os.sysconf("SC_PAGE_SIZE"))
            except (OSError, IndexError):
                continue


def _descendants(root: int) -> list[int]:
    parents: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    found, waiting = [], [root]
    while waiting:
        parent = waiting.pop()
        below = [pid for pid, of in parents.items() if of == parent]
        found += below
        waiting += below
    return found


RUNS = {
    "kills": (kills, 20),
    "chaos": (chaos, 24),
    "disk": (disk, 10_000),
    "batches": (batches, 100_000),
    "memory": (memory, 10_000_000),
}

if __name__ == "__main__":
    wanted = sys.argv[1:2] or list(RUNS)
    for name in wanted:
        run, size = RUNS[name]
        run(int(sys.argv[2]) if len(sys.argv) > 2 else size)
