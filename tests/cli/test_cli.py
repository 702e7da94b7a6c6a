"""`windrow explain` from outside: what it prints, where, and with which exit code."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.command import ROOT, Command, Finished
from windrow.catalog import QueryEntry
from windrow.session import Session

SHOWCASE = ROOT / "examples" / "traffic.cql"
ONE_QUERY = "CREATE STREAM s (ts TIMESTAMP, k STRING) TIMESTAMP BY ts; SELECT DISTINCT k FROM s [RANGE 1 MINUTE]"


def showcase_queries() -> list[str]:
    session = Session()
    session.execute(SHOWCASE.read_text(encoding="utf-8"))
    return [query.name for query in session.catalog.entries(QueryEntry)]


def test_a_file_is_explained_query_by_query(windrow: Command) -> None:
    finished = windrow("explain", "examples/traffic.cql")

    assert (finished.returncode, finished.stderr) == (0, "")
    titles = [line.partition(":")[0] for line in finished.stdout.splitlines() if ": SELECT" in line]
    assert titles == showcase_queries()
    assert "\x1b[" not in finished.stdout


def test_plans_on_shards_have_exchanges(windrow: Command) -> None:
    (explained,) = json.loads(windrow("explain", "--shards", "3", "--json", "-e", ONE_QUERY).stdout)
    assert explained["shards"] == 3
    assert "Exchange" in json.dumps(explained)
    assert "at least one shard" in windrow("explain", "--shards", "0", "-e", ONE_QUERY).stderr


def test_statements_are_explained(windrow: Command) -> None:
    finished = windrow("explain", "-e", ONE_QUERY)

    assert finished.returncode == 0
    assert finished.stdout.startswith("query: SELECT DISTINCT s.k FROM s [RANGE 1 MINUTE]\n")
    assert "Distinct" in finished.stdout


def test_json_is_one_list_of_plans(windrow: Command) -> None:
    plans = json.loads(windrow("explain", str(SHOWCASE), "--json").stdout)

    assert [plan["query"] for plan in plans] == showcase_queries()
    waiting = [plan["plan"] for plan in plans]
    while waiting:
        node = waiting.pop()
        assert {"operator", "pattern", "state", "inputs"} <= set(node)
        assert node["pattern"] in ("MONOTONIC", "WKS", "WK", "STR")
        waiting.extend(node["inputs"])


def test_json_of_a_query_without_a_name(windrow: Command) -> None:
    (plan,) = json.loads(windrow("explain", "--json", "-e", ONE_QUERY).stdout)

    assert plan["query"] is None


def test_json_without_queries_is_an_empty_list(windrow: Command) -> None:
    assert json.loads(windrow("explain", "--json", "-e", "SHOW STREAMS").stdout) == []


def test_picture_is_graphviz(windrow: Command) -> None:
    finished = windrow("explain", str(SHOWCASE), "--picture")

    assert finished.returncode == 0
    assert finished.stdout.startswith("digraph")
    assert finished.stdout.rstrip().endswith("}")


def test_explaining_leaves_nothing_behind(windrow: Command, tmp_path: Path) -> None:
    windrow("explain", str(SHOWCASE), folder=tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_an_error_is_shown_with_its_place_and_no_trace(windrow: Command, tmp_path: Path) -> None:
    file = tmp_path / "wrong.cql"
    file.write_text(
        "CREATE STREAM s (ts TIMESTAMP, k STRING) TIMESTAMP BY ts;\n\nSELECT kk\nFROM s;\n", encoding="utf-8"
    )
    finished = windrow("explain", str(file))

    assert (finished.returncode, finished.stdout) == (1, "")
    assert finished.stderr == (
        f"{file}, line 3, column 8: there is no column kk\n  SELECT kk\n         ^^\n  hint: did you mean k?\n"
    )


def test_brackets_and_long_lines_are_shown_as_they_are(windrow: Command) -> None:
    """Rich must not take `[ROWS 0]` for markup nor break a line under the mark."""
    text = f"SELECT {', '.join(f'column_{number}' for number in range(40))} FROM s [ROWS 0]"
    finished = windrow("explain", "-e", text)

    column = text.index("0]") + 1
    assert finished.returncode == 1
    assert finished.stderr.splitlines() == [
        f"line 1, column {column}: a window of no rows has no answer",
        f"  {text}",
        f"  {' ' * (column - 1)}^",
        "  hint: write at least 1",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["explain", "missing.cql"], "missing.cql cannot be read: No such file or directory"),
        (["explain", "."], ". cannot be read: Is a directory"),
        (["explain"], "give a file, or statements after -e"),
        (["explain", "examples/traffic.cql", "-e", "SHOW STREAMS"], "give a file, or statements after -e"),
        (["explain", "-e", "SHOW STREAMS", "--json", "--picture"], "--json and --picture are two forms"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_arguments(windrow: Command, arguments: list[str], message: str) -> None:
    finished = windrow(*arguments)

    assert (finished.returncode, finished.stdout) == (1, "")
    assert finished.stderr.splitlines()[0] == message
    assert "Traceback" not in finished.stderr


def test_a_file_that_is_not_text(windrow: Command, tmp_path: Path) -> None:
    (tmp_path / "binary.cql").write_bytes(b"\xff\xfe\x00")
    finished = windrow("explain", "binary.cql", folder=tmp_path)

    assert finished.returncode == 1
    assert finished.stderr == "binary.cql cannot be read: it is not UTF-8 text\n"


def test_a_byte_order_mark_is_not_part_of_the_text(windrow: Command, tmp_path: Path) -> None:
    (tmp_path / "marked.cql").write_text(ONE_QUERY, encoding="utf-8-sig")

    assert windrow("explain", "marked.cql", folder=tmp_path).returncode == 0


def test_an_unknown_command_is_refused(windrow: Command) -> None:
    finished = windrow("explian")

    assert finished.returncode == 2
    assert "explain" in finished.stderr
    assert "Traceback" not in finished.stderr


def test_help_names_the_commands(windrow: Command) -> None:
    finished = windrow("--help")

    assert finished.returncode == 0
    assert "explain" in finished.stdout


@pytest.mark.parametrize("text", [ONE_QUERY, "SELECT 1 FROM nowhere"], ids=["right", "wrong"])
def test_the_installed_command_is_the_same(windrow: Command, text: str) -> None:
    command = [Path(sys.executable).with_name("windrow"), "explain", "-e", text]
    finished = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")

    assert Finished(finished.returncode, finished.stdout, finished.stderr) == windrow("explain", "-e", text)
