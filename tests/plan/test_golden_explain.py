"""EXPLAIN of the showcase, in all three forms, has not changed."""

import json

import pytest

from support.expected import ROOT, assert_file_holds
from windrow.plan.explain import Distribution
from windrow.session import FORMS, Session

SHOWCASE = ROOT / "examples" / "traffic.cql"
GOLDEN = ROOT / "tests" / "golden"
SUFFIXES = {"tree": "txt", "json": "json", "picture": "dot"}


@pytest.mark.parametrize("form", SUFFIXES)
def test_explain_of_the_showcase(form: str) -> None:
    explanations = Session().explain(SHOWCASE.read_text(encoding="utf-8"))

    assert_file_holds(GOLDEN / f"traffic.{SUFFIXES[form]}", FORMS[form](explanations) + "\n")


@pytest.mark.parametrize("form", SUFFIXES)
def test_explain_of_the_showcase_on_shards(form: str) -> None:
    explanations = Session(distribution=Distribution(4)).explain(SHOWCASE.read_text(encoding="utf-8"))

    assert_file_holds(GOLDEN / f"traffic-on-shards.{SUFFIXES[form]}", FORMS[form](explanations) + "\n")


@pytest.mark.parametrize("file", ["traffic.json", "traffic-on-shards.json"])
def test_json_keeps_its_contract(file: str) -> None:
    explained = json.loads((GOLDEN / file).read_text(encoding="utf-8"))

    assert [query["query"] for query in explained][:2] == ["protocol_rates", "top_talkers"]
    for query in explained:
        assert_node_keeps_contract(query["plan"])


def assert_node_keeps_contract(node: dict[str, object]) -> None:
    assert {"operator", "pattern", "state", "inputs"} <= node.keys()
    assert node["pattern"] in ("MONOTONIC", "WKS", "WK", "STR")
    inputs = node["inputs"]
    assert isinstance(inputs, list)
    for below in inputs:
        assert_node_keeps_contract(below)


@pytest.mark.parametrize("strategy", ["upa", "direct", "nt"])
def test_what_a_strategy_does_otherwise_is_said(strategy: str) -> None:
    session = Session()
    session.execute(f"CREATE STREAM s (ts TIMESTAMP, k INT) TIMESTAMP BY ts; SET strategy = {strategy}")
    found = session.explain("EXPLAIN SELECT DISTINCT k FROM s [RANGE 1 MINUTE]")

    assert (f"strategy {strategy}: " in FORMS["tree"](found)) is (strategy != "upa")
    assert json.loads(FORMS["json"](found))[0].get("strategy", "upa") == strategy
