"""Binding statements."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from windrow.catalog import (
    Catalog,
    Connector,
    QueryEntry,
    StreamEntry,
    TableEntry,
    ViewEntry,
    WindowEntry,
    free_name,
)
from windrow.catalog.connectors import SINKS, STREAM_SOURCES, TABLE_SOURCES, ConnectorKind
from windrow.catalog.entries import BEST_EFFORT, EXACT, ON_LOOKUP
from windrow.catalog.settings import SETTINGS
from windrow.cql import syntax
from windrow.cql.binder.column_definitions import bind_columns, check_not_computed
from windrow.cql.binder.declared_columns import column_of
from windrow.cql.binder.entries import check_free, find
from windrow.cql.binder.expressions import ExpressionBinder
from windrow.cql.binder.punctuations import bind_punctuation, check_punctuations
from windrow.cql.binder.queries import QueryBinder
from windrow.cql.binder.scope import Scope
from windrow.cql.binder.sinks import check_side_sink, check_sink
from windrow.cql.binder.table_changes import bind_insert_answer, bind_table_change
from windrow.cql.statements import (
    Alter,
    Ask,
    Create,
    Describe,
    Drop,
    Existing,
    Explain,
    ResumeQuery,
    Set,
    Show,
    ShowStatement,
    Statement,
)
from windrow.cql.syntax import span_of
from windrow.errors import CqlMeaningError, CqlNameError, nearest
from windrow.plan.analysis.join_lookups import form_of
from windrow.plan.analysis.lookups import Refusal
from windrow.plan.analysis.refreshes import slides_below
from windrow.plan.expressions import Literal, Value
from windrow.plan.kept_windows import kept_window
from windrow.plan.nodes import Node, Stream
from windrow.plan.printer import query_text
from windrow.types import INTERVAL, TIMESTAMP
from windrow.units import MAX_DURATION, Duration


def bind_statement(tree: exp.Expr, catalog: Catalog) -> Statement:
    bind = _BINDERS.get(type(tree))
    there = catalog.taken(tree.this.name) if tree.args.get("if_not_exists") else None
    if there is not None and isinstance(tree, _CREATING[there.kind]):
        return Existing(there)
    if bind is not None:
        return bind(tree, catalog)
    return _ask(tree, catalog)


def _ask(tree: exp.Expr, catalog: Catalog) -> Statement:
    """Over what is kept; where something else is read, as the query would be if it had a name."""
    plan = QueryBinder(catalog, over_kept=True).bind(tree)
    reads_streams = any(isinstance(node, Stream) for node in plan.walk())
    return Ask(QueryBinder(catalog).bind(tree) if reads_streams else plan)


def bind_query(tree: exp.Expr, catalog: Catalog) -> Node | None:
    """The plan of a query that is kept up to date; None for a statement of another kind."""
    return None if type(tree) in _BINDERS else QueryBinder(catalog).bind(tree)


def _create_stream(tree: exp.Expr, catalog: Catalog) -> Statement:
    check_free(tree.this, catalog)
    connector = _connector(tree.args.get("connector"), STREAM_SOURCES, "stream source")
    columns = bind_columns(tree, connector, catalog)
    if tree.args.get("primary_key"):
        hint = "leave it out; to break ties between rows of one time write TIMESTAMP BY ts, column"
        raise CqlMeaningError("a stream has no primary key", span_of(tree.args["primary_key"][0]), hint)
    times = tree.args.get("timestamp") or []
    if not times and not tree.args.get("arrival"):
        hint = "add TIMESTAMP BY column, or ARRIVAL to take the time at which rows come"
        raise CqlMeaningError("the stream has no time", span_of(tree.this), hint)
    if times and tree.args.get("arrival"):
        raise CqlMeaningError("a stream has TIMESTAMP BY or ARRIVAL, not both", span_of(times[0]), "leave one out")
    names = [column_of(name, columns, None) for name in times]
    if times:
        column_of(times[0], columns, TIMESTAMP)
    if connector is not None:
        _check_source_columns(tree, STREAM_SOURCES[connector.name])
    lifetime = tree.args.get("lifetime")
    punctuations = tuple(bind_punctuation(node, tree, columns) for node in tree.args.get("punctuations") or ())
    check_punctuations(tree, punctuations)
    return Create(
        StreamEntry(
            name=tree.this.name,
            columns=columns,
            connector=connector,
            timestamp=names[0] if names else None,
            ties=tuple(names[1:]),
            slack=Duration(tree.args.get("slack") or 0),
            lifetime=None if lifetime is None else column_of(lifetime, columns, INTERVAL),
            heartbeat=tree.args.get("heartbeat"),
            idle_after=tree.args.get("idle_after"),
            ahead=tree.args.get("ahead"),
            ahead_of_newest=tree.args.get("ahead_of_newest"),
            punctuations=punctuations,
            late_sink=_side_sink(tree.args.get("late_sink")),
            rejected_sink=_side_sink(tree.args.get("rejected_sink")),
        )
    )


def _alter(tree: exp.Expr, catalog: Catalog) -> Statement:
    entry = find(tree.this, catalog)
    if not isinstance(entry, StreamEntry):
        hint = "drop it and create it anew" if not isinstance(entry, TableEntry) else "change its rows with UPDATE"
        raise CqlMeaningError(f"{entry.name} is a {entry.kind}, not a stream", span_of(tree.this), hint)
    changes: dict[str, Duration | None] = {name: value for name, value in tree.args.items() if name != "this"}
    if changes.get("ahead") == MAX_DURATION:
        changes.setdefault("ahead_of_newest", None)  # everything is believed
    if changes.get("idle_after") == MAX_DURATION:
        changes["idle_after"] = None  # it is waited for
    return Alter(entry.name, tuple(changes.items()))


def _side_sink(node: exp.Expr | None) -> Connector | None:
    """Where late or rejected rows go."""
    connector = _connector(node, SINKS, "sink")
    if node is not None and connector is not None:
        check_side_sink(connector, node)
    return connector


def _check_source_columns(tree: exp.Expr, source: ConnectorKind) -> None:
    """Sources whose rows have columns of their own give these and no others."""
    if source.columns is None:
        return
    for node in tree.args["columns"]:
        if (node.this.name, node.args["type"]) not in source.columns:
            given = ", ".join(f"{name} {of}" for name, of in source.columns)
            message = f"{source.name} gives no column {node.this.name} {node.args['type']}"
            raise CqlMeaningError(message, span_of(node), f"its columns are {given}")


def _create_table(tree: exp.Expr, catalog: Catalog) -> Statement:
    check_free(tree.this, catalog)
    connector = _connector(tree.args.get("connector"), TABLE_SOURCES, "table source")
    columns = bind_columns(tree, connector, catalog)
    key: list[str] = []
    for name in tree.args.get("primary_key") or ():
        if (column := column_of(name, columns, None)) in key:
            raise CqlNameError(f"the key names {column} twice", span_of(name), "once is enough")
        key.append(column)
    retroactive = not tree.args.get("non_retroactive")
    if not retroactive and not key:
        hint = "add PRIMARY KEY (column): a key that was deleted is not used again"
        raise CqlMeaningError("a non-retroactive table has a primary key", span_of(tree.this), hint)
    effective = tree.args.get("effective")
    if effective is not None and tree.args.get("connector") is None:
        hint = "add FROM, or write the effect time with AT after INSERT, UPDATE or DELETE"
        raise CqlMeaningError("EFFECTIVE BY goes with a source", span_of(effective), hint)
    check_not_computed(tree)
    return Create(
        TableEntry(
            name=tree.this.name,
            columns=columns,
            primary_key=tuple(key),
            retroactive=retroactive,
            connector=connector,
            effective=None if effective is None else column_of(effective, columns, TIMESTAMP),
        )
    )


def _create_window(tree: exp.Expr, catalog: Catalog) -> Statement:
    check_free(tree.this, catalog)
    binder = QueryBinder(catalog)
    plan = binder.bind(tree.args["query"])
    if kept_window(plan) is None:
        hint = "write CREATE VIEW for a name of this text, under which nothing is kept"
        message = "a window keeps rows of one stream [RANGE ...] or [ROWS ...], selected and projected; this is more"
        raise CqlMeaningError(message, span_of(tree.this), hint)
    return Create(WindowEntry(tree.this.name, query_text(plan), _uses(binder), plan))


def _create_view(tree: exp.Expr, catalog: Catalog) -> Statement:
    check_free(tree.this, catalog)
    binder = QueryBinder(catalog)
    plan = binder.bind(tree.args["query"])
    return Create(ViewEntry(tree.this.name, query_text(plan), _uses(binder), plan))


def _create_query(tree: exp.Expr, catalog: Catalog) -> Statement:
    if tree.this is None:
        tree.set("this", exp.to_identifier(free_name(catalog, "query")))
    check_free(tree.this, catalog)
    binder = QueryBinder(catalog)
    plan = binder.bind(tree.args["query"])
    sink = tree.args.get("sink")
    connector = _connector(sink, SINKS, "sink")
    if sink is not None and connector is not None:
        check_sink(plan, connector, sink)
    refresh = str(tree.args.get("refresh") or EXACT)
    if refresh == BEST_EFFORT and not slides_below(plan):
        hint = "give the windows a SLIDE, or leave BEST EFFORT out"
        raise CqlMeaningError("REFRESH BEST EFFORT needs refreshes", span_of(tree.this), hint)
    if refresh == ON_LOOKUP:
        _check_lookup(tree, plan)
    life = {name: tree.args.get(name) for name in ("until", "lasting")}
    if None not in life.values():
        raise CqlMeaningError(
            "a query ends UNTIL a time or FOR an interval, not both", span_of(tree.this), "leave one out"
        )
    starting_now = bool(tree.args.get("starting_now"))
    if refresh == ON_LOOKUP and any(value is not None for value in life.values()):
        hint = "leave UNTIL and FOR out, and DROP QUERY it"
        raise CqlMeaningError("a query that is looked up does not end by itself", span_of(tree.this), hint)
    return Create(
        QueryEntry(tree.this.name, query_text(plan), _uses(binder), refresh, connector, starting_now, **life, plan=plan)
    )


def _check_lookup(tree: exp.Expr, plan: Node) -> None:
    form = form_of(plan)
    if isinstance(form, Refusal):
        raise CqlMeaningError(form.why, span_of(tree.args["query"]), form.hint)
    if tree.args.get("sink") is not None:
        hint = "leave INTO out and ask for the answer, or leave REFRESH ON LOOKUP out"
        raise CqlMeaningError("a query that is looked up emits nothing by itself", span_of(tree.args["sink"]), hint)


def _uses(binder: QueryBinder) -> tuple[str, ...]:
    return tuple(dict.fromkeys(binder.uses))


def _connector(node: exp.Expr | None, known: dict[str, ConnectorKind], what: str) -> Connector | None:
    if node is None:
        return None
    name = node.this.name.lower()
    kind = known.get(name)
    if kind is None:
        raise CqlNameError(f"{node.this.name} is not a {what}", span_of(node.this), nearest(name, known, f"{what}s"))
    arguments = tuple(_constant(value) for value in node.args["arguments"])
    if not kind.fewest <= len(arguments) <= kind.most:
        few = "few" if len(arguments) < kind.fewest else "many"
        hint = f"write {kind.usage}; options have names: name => value"
        raise CqlMeaningError(f"{name} has too {few} arguments", span_of(node), hint)
    options: dict[str, Value] = {}
    for option in node.args["options"]:
        if option.this.name.lower() in options:
            raise CqlNameError(f"option {option.this.name} is written twice", span_of(option.this), "once is enough")
        if kind.options is not None and option.this.name.lower() not in kind.options:
            hint = nearest(option.this.name, kind.options, "options") if kind.options else f"write {kind.usage}"
            raise CqlNameError(f"{name} has no option {option.this.name}", span_of(option.this), hint)
        options[option.this.name.lower()] = _constant(option.expression)
    return Connector(name, arguments, tuple(options.items()))


def _constant(node: exp.Expr) -> Value:
    try:
        bound = ExpressionBinder(Catalog(), Scope(), "an option").bind(node)
    except CqlNameError:
        bound = None
    if not isinstance(bound, Literal):
        raise CqlMeaningError("an option is a constant", span_of(node), "write a number, a 'text' or TRUE")
    return bound.value


def _drop(tree: exp.Expr, catalog: Catalog) -> Statement:
    kind, name = str(tree.args["kind"]), tree.this.name
    entry = catalog.get(name)
    if entry is None and tree.args.get("if_exists"):
        return Drop(kind.lower(), None)
    if entry is None:
        same = [known for known in catalog.names() if (found := catalog.get(known)) and found.kind == kind.lower()]
        raise CqlNameError(
            f"there is no {kind.lower()} {name}", span_of(tree.this), nearest(name, same, "things of that kind")
        )
    if entry.kind != kind.lower():
        hint = f"write DROP {entry.kind.upper()} {entry.name}"
        raise CqlNameError(f"{entry.name} is a {entry.kind}, not a {kind.lower()}", span_of(tree.this), hint)
    users = catalog.users(entry.name)
    if users:
        hint = f"drop {', '.join(users)} first"
        raise CqlMeaningError(f"{entry.name} is used by {', '.join(users)}", span_of(tree.this), hint)
    return Drop(entry.kind, entry.name)


def _resume(tree: exp.Expr, catalog: Catalog) -> Statement:
    entry = find(tree.this, catalog)
    if not isinstance(entry, QueryEntry):
        hint = "queries that were set aside are resumed; SHOW QUERIES says which these are"
        raise CqlMeaningError(f"{entry.name} is a {entry.kind}, not a query", span_of(tree.this), hint)
    return ResumeQuery(entry.name.lower())


def _show(tree: exp.Expr, catalog: Catalog) -> Statement:
    return Show(str(tree.this).lower())


def _describe(tree: exp.Expr, catalog: Catalog) -> Statement:
    return Describe(find(tree.this, catalog))


def _explain(tree: exp.Expr, catalog: Catalog) -> Statement:
    form = tree.args.get("format")
    form = None if form is None else str(form).lower()
    if not isinstance(tree.this, exp.Identifier):
        return Explain(None, QueryBinder(catalog).bind(tree.this), form)
    entry = find(tree.this, catalog)
    if not isinstance(entry, QueryEntry | WindowEntry | ViewEntry):
        hint = f"write EXPLAIN SELECT * FROM {entry.name}"
        raise CqlMeaningError(f"{entry.name} is a {entry.kind}, not a query", span_of(tree.this), hint)
    assert entry.plan is not None, f"{entry.name} has not been bound"
    return Explain(entry.name, entry.plan, form)


def _set(tree: exp.Expr, catalog: Catalog) -> Statement:
    name, value = tree.this.name.lower(), str(tree.args["value"]).lower()
    setting = SETTINGS.get(name)
    if setting is None:
        raise CqlNameError(f"there is no setting {name}", span_of(tree.this), nearest(name, SETTINGS, "settings"))
    if not setting.accepts(value):
        hint = f"{name} is {' or '.join(setting.values)}: {setting.meaning}"
        raise CqlMeaningError(f"{name} cannot be {value}", span_of(tree), hint)
    return Set(name, value)


def _show_create(tree: exp.Expr, catalog: Catalog) -> Statement:
    entry, kind = find(tree.this, catalog), tree.args.get("kind")
    if kind is not None and entry.kind != kind.lower():
        hint = f"write SHOW CREATE {entry.kind.upper()} {entry.name}"
        raise CqlNameError(f"{entry.name} is a {entry.kind}, not a {kind.lower()}", span_of(tree.this), hint)
    return ShowStatement(entry)


_CREATING = {
    "stream": syntax.CreateStream,
    "table": syntax.CreateTable,
    "window": syntax.CreateWindow,
    "view": syntax.CreateView,
    "query": syntax.CreateQuery,
}
_BINDERS: dict[type[exp.Expr], Callable[[exp.Expr, Catalog], Statement]] = {
    syntax.CreateStream: _create_stream,
    syntax.CreateTable: _create_table,
    syntax.CreateWindow: _create_window,
    syntax.CreateView: _create_view,
    syntax.CreateQuery: _create_query,
    syntax.Change: bind_table_change,
    syntax.InsertQuery: bind_insert_answer,
    syntax.ShowCreate: _show_create,
    syntax.AlterSyntax: _alter,
    syntax.DropSyntax: _drop,
    syntax.ShowSyntax: _show,
    syntax.DescribeSyntax: _describe,
    syntax.ExplainSyntax: _explain,
    syntax.SetSyntax: _set,
    syntax.ResumeSyntax: _resume,
}
