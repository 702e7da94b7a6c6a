"""The commands, one function each; errors are shown as a person would want to read them."""

from __future__ import annotations

import sys
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from windrow.cli.show import show_explanations
from windrow.cli.statement_file import StatementFile, read_statements
from windrow.errors import WindrowError
from windrow.plan.explain import Distribution
from windrow.session import FORMS, Session

app = typer.Typer(
    help="Windrow keeps the answers of SQL queries over sliding windows up to date.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


class Form(str, Enum):
    TREE = "tree"
    JSON = "json"
    PICTURE = "picture"


def _show_version(is_asked: bool) -> None:
    if is_asked:
        from windrow import __version__

        sys.stdout.write(f"windrow {__version__}\n")
        raise typer.Exit


@app.callback()
def windrow(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Windrow keeps the answers of SQL queries over sliding windows up to date."""


@app.command()
def explain(
    file: Annotated[Path | None, typer.Argument(help="A file of CQL statements.", show_default=False)] = None,
    statements: Annotated[
        str | None, typer.Option("-e", help="Statements instead of a file.", show_default=False)
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print a list of plans as JSON.")] = False,
    picture: Annotated[
        bool, typer.Option("--picture", help="Print Graphviz text: windrow explain F --picture | dot -Tsvg.")
    ] = False,
    shards: Annotated[
        int | None, typer.Option("--shards", help="Show the plan as it runs on shards.", show_default=False)
    ] = None,
) -> None:
    """Show the plan of every query: update patterns, state, sizes. Sources need not exist."""
    if shards is not None and shards < 1:
        raise WindrowError("there is at least one shard", "write --shards 4")
    if json and picture:
        raise WindrowError("--json and --picture are two forms", "choose one of them")
    given = _given(file, statements)
    with given.named():
        explanations = _session(shards).explain(given.text)
    form = Form.JSON if json else Form.PICTURE if picture else Form.TREE
    if form is Form.TREE and sys.stdout.isatty():
        show_explanations(Console(), explanations)
    else:
        sys.stdout.write(FORMS[form.value](explanations) + "\n")


@app.command()
def run(
    file: Annotated[
        Path | None, typer.Argument(help="A file of CQL statements; - reads them from the input.", show_default=False)
    ] = None,
    statements: Annotated[
        str | None, typer.Option("-e", help="Statements instead of a file.", show_default=False)
    ] = None,
    local: Annotated[bool, typer.Option("--local", help="Run in this process, without Spark.")] = False,
    master: Annotated[
        str | None, typer.Option(help="The Spark master, such as spark://host:7077; in this process if not given.")
    ] = None,
    checkpoint: Annotated[
        str | None, typer.Option(help="The folder of a run that can be taken up again.", show_default=False)
    ] = None,
    batch_rows: Annotated[int, typer.Option(min=1, help="Rows of a generator that are read at a time.")] = 100_000,
    follow: Annotated[bool, typer.Option("--follow", help="Go on waiting for more files, until Ctrl-C.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the status as lines of JSON instead of answers.")] = False,
) -> None:
    """Run the queries of a file until all that is there has been read, with live answers in the terminal.

    What SHOW, DESCRIBE and EXPLAIN give is printed first, a SELECT without a name is answered at the end.
    With a checkpoint the same command reads what is new when it is run again.
    """
    from windrow.cli.run import RunOptions, run_local, run_on_spark  # loads the engine, as other commands need not

    given = _given(file, statements)
    options = RunOptions(None if json else Console(), follow, master, checkpoint, batch_rows)
    if not local:
        raise typer.Exit(run_on_spark(given, options))
    if master is not None or checkpoint is not None:
        raise WindrowError("--master and --checkpoint are for runs on Spark", "leave out --local, or both of them")
    raise typer.Exit(run_local(given, options))


@app.command()
def retry(
    checkpoint: Annotated[str, typer.Argument(help="The folder of a run.", show_default=False)],
    stream: Annotated[str | None, typer.Argument(help="One of its streams; all if not given.")] = None,
    master: Annotated[
        str | None, typer.Option(help="The Spark master, such as spark://host:7077; in this process if not given.")
    ] = None,
) -> None:
    """Go on with a run, with the files that could not be read tried again."""
    from windrow.cli.run import RunOptions, retry_on_spark

    raise typer.Exit(retry_on_spark(checkpoint, stream, RunOptions(Console(), master=master, checkpoint=checkpoint)))


@app.command()
def resume(
    checkpoint: Annotated[str, typer.Argument(help="The folder of a run.", show_default=False)],
    query: Annotated[str, typer.Argument(help="One of its queries that was set aside.", show_default=False)],
    master: Annotated[
        str | None, typer.Option(help="The Spark master, such as spark://host:7077; in this process if not given.")
    ] = None,
) -> None:
    """Go on with a run, with a query taken up again that was set aside because it could not be computed."""
    from windrow.cli.run import RunOptions, resume_on_spark

    raise typer.Exit(resume_on_spark(checkpoint, query, RunOptions(Console(), master=master, checkpoint=checkpoint)))


@app.command()
def demo(
    master: Annotated[
        str | None, typer.Option(help="The Spark master, such as spark://host:7077; in this process if not given.")
    ] = None,
) -> None:
    """Show eight queries over network traffic on Spark: what they ask, how their answers change, what it took."""
    from windrow.cli.demo import run_demo  # loads Spark

    raise typer.Exit(run_demo(Console(), master))


checkpoints = typer.Typer(help="What can be done with checkpoints.", no_args_is_help=True)
app.add_typer(checkpoints, name="checkpoint")


@checkpoints.callback()
def checkpoint() -> None:
    """What can be done with the checkpoint of a run."""


@checkpoints.command()
def copy(
    source: Annotated[str, typer.Argument(metavar="FROM", help="A checkpoint, also one that is in use.")],
    target: Annotated[str, typer.Argument(metavar="TO", help="A folder that is not there yet.")],
) -> None:
    """Make a copy of a checkpoint from which a run can go on: of one moment, whatever is written meanwhile."""
    from windrow.runtime.shards.storage.checkpoint import Checkpoint  # loads the engine

    batches = Checkpoint(source).copy(target)
    sys.stdout.write(f"{target} has the checkpoint as of micro-batch {batches}\n")


def _session(shards: int | None) -> Session:
    return Session(distribution=None if shards is None else Distribution(shards))


def _given(file: Path | None, statements: str | None) -> StatementFile:
    if file is not None and statements is None:
        return read_statements(file)
    if file is not None or statements is None:
        raise WindrowError("give a file, or statements after -e", "such as examples/traffic.cql")
    return StatementFile("", statements)


def main() -> None:
    """Run a command; 1 is an error of the user's, shown without a trace."""
    try:
        app()
    except WindrowError as error:
        Console(stderr=True, highlight=False).print(str(error), style="red", markup=False, soft_wrap=True)
        sys.exit(1)
