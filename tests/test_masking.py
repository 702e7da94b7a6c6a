"""Secrets in options of connectors and in addresses are stored, and shown to nobody."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from support.shard_runs import ShardsInProcess
from windrow.catalog import Connector
from windrow.errors import CqlSyntaxError, Span, WindrowError
from windrow.masking import is_secret, masked
from windrow.session import Session

SHOWN = {
    "s3://me:hunter2@bucket/x": "s3://me:*******@bucket/x",
    "host=db password=hunter2 dbname=x": "host=db password=******* dbname=x",
    "https://h/x?access_key=hunter2&b=1": "https://h/x?access_key=*******&b=1",
    "f('x', api_token => 'it''s', rate => 3)": "f('x', api_token => '*****', rate => 3)",
    '{"secret": "hunter2"}': '{"secret": "*******"}',
    "AWS_SECRET_ACCESS_KEY=hunter2": "AWS_SECRET_ACCESS_KEY=*******",
}
AS_IT_IS = [
    "WHERE token = 'abc'",
    "mode => 'upsert', key => 'k'",
    "s3://bucket/key",
    "abfss://box@host/x",
    "12:30 a@b",
]


@pytest.mark.parametrize("text", SHOWN)
def test_what_is_secret_is_covered(text: str) -> None:
    assert masked(text) == SHOWN[text]
    assert str(WindrowError(text, text)) == f"{SHOWN[text]}\n  hint: {SHOWN[text]}"


@pytest.mark.parametrize("text", AS_IT_IS)
def test_what_is_not_secret_is_left(text: str) -> None:
    assert masked(text) == text


def test_an_option_is_secret_by_its_name() -> None:
    assert all(map(is_secret, ["password", "db_password", "API_KEY", "accessKey", "sasl.token"]))
    assert not any(map(is_secret, ["key", "mode", "max_files", "rows"]))
    shown = repr(Connector("x", ("s3://me:hunter2@box",), (("token", "hunter2"), ("rate", 3))))
    assert shown == "Connector(name='x', arguments=('s3://me:*******@box',), options=(('token', '***'), ('rate', 3)))"


def test_an_error_marks_its_place_without_showing_the_secret() -> None:
    text = "CREATE TABLE t (a INT) FROM postgres('host=h password=hunter2', 't') WRONG"
    error = CqlSyntaxError("it is wrong", Span(text.index("WRONG"), len(text))).locate(text)
    assert "hunter2" not in str(error)
    assert str(error).split("\n")[2].index("^") == str(error).split("\n")[1].index("WRONG")


def test_no_way_to_look_at_it_shows_a_secret(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Statements, listings, EXPLAIN in its forms, status; what is stored has it, so that it can be run again."""
    statements = [
        "CREATE STREAM s (t TIMESTAMP, k BIGINT) TIMESTAMP BY t",
        "CREATE TABLE known (k BIGINT) FROM postgres('host=h password=hunter2', 'x')",
        "CREATE QUERY q AS SELECT s.k FROM s [RANGE 1 HOUR] INTO python('https://me:hunter2@h:f')",
    ]
    asked = [
        "SHOW STREAMS",
        "SHOW TABLES",
        "SHOW QUERIES",
        "DESCRIBE known",
        "DESCRIBE q",
        "EXPLAIN q",
        "EXPLAIN PICTURE q",
    ]
    asked.append("EXPLAIN JSON q")
    session = Session()
    for text in [*statements, *asked]:
        try:
            results = session.execute(text)
        except WindrowError as error:
            assert "hunter2" not in str(error)
            continue
        assert "hunter2" not in "".join(f"{result!r} {result} {result.explanation!r}" for result in results), text
    entry = session.catalog.get("known")
    assert entry is not None and "password=hunter2" in entry.connector.arguments[0]  # type: ignore[union-attr]
    with caplog.at_level(logging.WARNING, logger="windrow"):
        logging.getLogger("windrow").warning("%s cannot be reached", "s3://me:hunter2@bucket")
    assert "s3://me:*******@bucket cannot be reached" in caplog.text


def test_a_changed_secret_is_another_statement(tmp_path: Path) -> None:
    """A text that is resumed with another password is not taken for the one that was run."""
    text = "CREATE STREAM s (t TIMESTAMP, k BIGINT) FROM json('{}') TIMESTAMP BY t"
    for name in ("token=a", "token=b"):
        (tmp_path / name).mkdir()
    engine = ShardsInProcess(1, checkpoint=str(tmp_path / "checkpoint"))
    engine.resume(text.format(tmp_path / "token=a"))
    with pytest.raises(WindrowError, match="the checkpoint has another stream s"):
        engine.resume(text.format(tmp_path / "token=b"))
