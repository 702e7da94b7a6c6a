"""The picture is text that Graphviz can read, whatever stands in names and constants."""

import re
from xml.etree import ElementTree

from windrow.session import Session


def labels(picture: str) -> list[str]:
    return [
        "\n".join(ElementTree.fromstring(f"<label>{label}</label>").itertext())
        for label in re.findall(r"label=<(.*)>[,;\]]", picture)
    ]


def test_signs_of_markup_are_shown_as_they_are() -> None:
    session = Session()
    session.execute("""CREATE STREAM s (ts TIMESTAMP, "a <b> & 'c'" STRING) TIMESTAMP BY ts""")

    (result,) = session.execute("""EXPLAIN PICTURE SELECT ts FROM s WHERE "a <b> & 'c'" < '<i>&\x01\n"' """)

    assert any("""s."a <b> & 'c'" < '<i>&""" in label for label in labels(result.message))


def test_left_inputs_stand_before_right_ones() -> None:
    session = Session()
    session.execute("CREATE STREAM s (ts TIMESTAMP) TIMESTAMP BY ts; CREATE STREAM t (ts TIMESTAMP) TIMESTAMP BY ts")

    (result,) = session.execute("EXPLAIN PICTURE SELECT s.ts FROM s, t")

    sources = [label.split("\n")[1] for label in labels(result.message) if label.startswith("Stream")]
    assert sources == ["s", "t"]
    assert "ordering=out" in result.message


def test_state_that_grows_for_ever_stands_out() -> None:
    session = Session()
    session.execute("CREATE STREAM s (ts TIMESTAMP, a BIGINT) TIMESTAMP BY ts")

    (bounded,) = session.execute("EXPLAIN PICTURE SELECT MEDIAN(a) AS m FROM s [RANGE 1 MINUTE]")
    (unbounded,) = session.execute("EXPLAIN PICTURE SELECT MEDIAN(a) AS m FROM s")

    alarm = re.compile(r'color="#b23a48">keeps .*growing for ever')
    assert alarm.search(unbounded.message)
    assert not alarm.search(bounded.message)
