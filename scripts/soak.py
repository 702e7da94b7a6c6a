"""Long runs: drivers killed on Spark, ten thousand micro-batches on one disk, a window of ten million rows in memory.

    python scripts/soak.py kills [20]        SIGKILL so many times, compare with an undisturbed run each time
    python scripts/soak.py disk [10000]      micro-batches; what the checkpoint takes on the way
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
    """The memory of every Python worker below this process, ten times a second."""
    while not stop.wait(0.1):
        for pid in _descendants(os.getpid()):
            try:
                command = Path(f"/proc/{pid}/cmdline").read_bytes()
                if b"pyspark.daemon" in command:
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


RUNS = {"kills": (kills, 20), "disk": (disk, 10_000), "memory": (memory, 10_000_000)}

if __name__ == "__main__":
    wanted = sys.argv[1:2] or list(RUNS)
    for name in wanted:
        run, size = RUNS[name]
        run(int(sys.argv[2]) if len(sys.argv) > 2 else size)
