"""Binding INTO: the form in which a sink gets what a query emits has to be one that the query has."""

from __future__ import annotations

from sqlglot import exp

from windrow.catalog import Connector
from windrow.catalog.connectors import MODES, ON_ERROR
from windrow.cql.syntax import span_of
from windrow.errors import CqlMeaningError, Span
from windrow.plan.analysis.keys import chosen_key, keys
from windrow.plan.analysis.refreshes import slides_below
from windrow.plan.nodes import Node, OutputKind, OutputStream


def check_sink(plan: Node, connector: Connector, sink: exp.Expr) -> None:
    if isinstance(plan, OutputStream) and plan.kind is OutputKind.RSTREAM and not slides_below(plan):
        hint = "give the windows a SLIDE, or leave RSTREAM out to write the changes"
        raise CqlMeaningError(
            "RSTREAM without SLIDE names an answer, there is no refresh to write", span_of(sink), hint
        )
    spans = _spans(sink)
    _check_on_error(connector, spans)
    mode, key = connector.option("mode"), connector.option("key")
    if mode is not None and mode not in MODES:
        raise CqlMeaningError(f"{mode!r} is not a mode of a sink", spans["mode"], f"modes: {', '.join(MODES)}")
    if mode not in (None, "changelog") and isinstance(plan, OutputStream) and plan.kind is not OutputKind.RSTREAM:
        hint = f"leave mode out, or leave {plan.kind.value} out to write the answer"
        raise CqlMeaningError(f"what {plan.kind.value} emits never changes again", spans["mode"], hint)
    if mode == "upsert":
        _check_key(plan, key, spans.get("key", spans["mode"]))
    elif key is not None:
        raise CqlMeaningError("a key is for upserts", spans["key"], "add mode => 'upsert', or leave the key out")


def check_side_sink(connector: Connector, sink: exp.Expr) -> None:
    """Late and rejected rows are written as they came: there is no form to choose."""
    spans = _spans(sink)
    _check_on_error(connector, spans)
    for name in ("mode", "key"):
        if name in spans:
            raise CqlMeaningError(f"{name} is for what queries emit", spans[name], "leave it out: rows go as they came")


def _spans(sink: exp.Expr) -> dict[str, Span | None]:
    return {option.this.name.lower(): span_of(option) for option in sink.args["options"]}


def _check_on_error(connector: Connector, spans: dict[str, Span | None]) -> None:
    chosen = connector.option("on_error")
    if chosen is not None and chosen not in ON_ERROR:
        hint = "write on_error => 'retry', which is what it does without, or 'stop' to have the engine stop"
        raise CqlMeaningError(f"{chosen!r} is nothing to do on an error", spans["on_error"], hint)


def _check_key(plan: Node, key: object, span: Span | None) -> None:
    """Upserts are emitted by key: no two results that are alive at once may share it."""
    if chosen_key(plan, key) is not None:
        return
    known = " or ".join(sorted(f"'{', '.join(sorted(columns))}'" for columns in keys(plan)))
    if known:
        raise CqlMeaningError(f"{key!r} is not a key of the results", span, f"write key => {known}")
    if isinstance(plan, OutputStream) and plan.restore:
        hint = "leave RESTORE out, or leave mode out: it emits what a result was beside what it is"
        raise CqlMeaningError("results with RESTORE have no key to write upserts by", span, hint)
    hint = "group by the key, take DISTINCT rows or the last row of each key with [PARTITION BY k ROWS 1]"
    raise CqlMeaningError("the results have no key to write upserts by", span, hint)
