"""The documentation is true: its examples run and give what is shown, its links lead somewhere, its tables are whole.

On a page of the guide the ```cql blocks are carried out one after the other in one throwaway catalog, and ```python
blocks in one name space. A ```text block after one of them is its outcome, to the letter.
"""

import contextlib
import html
import io
import logging
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.expected import HOW, REWRITE, ROOT
from support.function_page import page
from windrow.catalog import SETTINGS
from windrow.catalog.connectors import SINKS, STREAM_SOURCES, TABLE_SOURCES
from windrow.errors import WindrowError
from windrow.plan.aggregates import AGGREGATES
from windrow.session import Session

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
EXECUTED = [ROOT / "README.md", *sorted(ROOT.glob("docs/guide/*.md"))]
LANGUAGE = ROOT / "docs" / "guide" / "language.md"

FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s#]*)(?:#([^)\s]*))?\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
CODE = re.compile(r"`([^`\n]+)`")


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    start: int  # of the text, in the page
    end: int


@pytest.fixture(autouse=True)
def own_level() -> Iterator[None]:
    """A page may say how much is logged; the next test hears everything again."""
    level = logging.getLogger("windrow").level
    yield
    logging.getLogger("windrow").setLevel(level)


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: str) -> list[Block]:
    return [Block(found[1], found[2], found.start(2), found.end(2)) for found in FENCED.finditer(page)]


def carried_out(session: Session, text: str) -> str:
    """What a reader would see: the results of the statements, or the error that ended them."""
    try:
        return "\n".join(map(str, session.execute(text)))
    except WindrowError as error:
        return str(error)


def printed(space: dict[str, object], text: str) -> str:
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(text, space)
    return output.getvalue().rstrip("\n")


def examples(page: str) -> Iterator[tuple[Block, Block | None, str]]:
    """The blocks that are carried out, the block that shows the outcome (if one does), and the outcome."""
    session, space = Session(), {"__name__": "example"}
    run: dict[str, Callable[[str], str]] = {
        "cql": lambda text: carried_out(session, text),
        "python": lambda text: printed(space, text),
    }
    found = blocks(page)
    for block, following in zip(found, [*found, None][1:], strict=True):
        if block.language in run:
            shown = following if following is not None and following.language == "text" else None
            yield block, shown, run[block.language](block.text)


def rewritten(page: str) -> str:
    pieces, position = [], 0
    for _, shown, outcome in examples(page):
        if shown is not None:
            pieces += [page[position : shown.start], outcome + "\n"]
            position = shown.end
    return "".join([*pieces, page[position:]])


@pytest.fixture(scope="module")
def spark() -> Iterator[None]:
    """Engines on Spark of all pages find this session and leave it running."""
    from pyspark import SparkContext

    from windrow.runtime.spark.own_spark import started_session

    if SparkContext._active_spark_context is not None:
        yield
        return
    session = started_session("local[2]")
    yield
    session.stop()


@pytest.mark.parametrize("page", EXECUTED, ids=named)
def test_examples_give_what_is_shown(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    text = page.read_text(encoding="utf-8")
    if re.search(
        r"windrow\.connect\((?!local=True)", "".join(one.text for one in blocks(text) if one.language == "python")
    ):
        request.getfixturevalue("spark")
    for folder in ("rewritten", "compared"):  # examples may leave files
        (tmp_path / folder).mkdir()
    if REWRITE:
        monkeypatch.chdir(tmp_path / "rewritten")
        text = rewritten(text)
        page.write_text(text, encoding="utf-8")

    monkeypatch.chdir(tmp_path / "compared")
    for block, shown, outcome in examples(text):
        line = text.count("\n", 0, block.start) + 1
        if shown is None:
            assert not outcome.startswith("line "), f"{page.name}, line {line}: an error that the page does not show"
        else:
            assert outcome == shown.text.rstrip("\n"), f"{page.name}, line {line}; {HOW}"


def test_language_guide_has_examples_of_both_kinds() -> None:
    outcomes = [outcome for _, shown, outcome in examples(LANGUAGE.read_text(encoding="utf-8")) if shown is not None]

    assert sum(outcome.startswith("line ") for outcome in outcomes) >= 5
    assert sum("[WKS" in outcome for outcome in outcomes) >= 5


def prose(page: Path) -> str:
    """The page without its blocks of code, so that [ROWS 10](...) in CQL is not taken for a link."""
    return CODE.sub("", FENCED.sub("", page.read_text(encoding="utf-8")))


def anchors(page: Path) -> set[str]:
    """Headings as GitHub links to them."""
    titles = HEADING.findall(FENCED.sub("", page.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target, anchor in LINK.findall(prose(page)):
        if "://" in target:
            continue
        file = page.parent / target if target else page
        assert file.exists(), f"{page.name} links to {target}"
        assert not anchor or anchor in anchors(file), f"{page.name} links to {target}#{anchor}"


def test_files_named_in_the_architecture_exist() -> None:
    architecture = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    paths = [code for code in CODE.findall(architecture) if re.fullmatch(r"[\w./]+(\.py|\.cql|\.toml|/)", code)]

    assert len(paths) > 20
    missing = [path for path in paths if not (ROOT / path).exists() and not (ROOT / "src" / "windrow" / path).exists()]
    assert missing == []


def test_architecture_has_a_paragraph_for_every_folder() -> None:
    architecture = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    folders = sorted(path.name for path in (ROOT / "src" / "windrow").iterdir() if any(path.glob("**/*.py")))

    assert [folder for folder in folders if f"**`{folder}/`**" not in architecture] == []


def test_architecture_is_a_page_and_a_half_with_one_picture() -> None:
    architecture = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    paragraphs = [part for part in architecture.split("\n\n") if part.startswith("**`")]

    assert len(architecture) < 6_000
    assert re.findall(r"!\[.+?\]\((.+?)\)", architecture) == ["docs/architecture.svg"]
    assert [part for part in paragraphs if len(part.splitlines()) > 3 or max(map(len, part.splitlines())) > 125] == []


def test_language_guide_names_everything_there_is() -> None:
    guide = LANGUAGE.read_text(encoding="utf-8")
    wanted = [
        *(aggregate.usage.split(" or ")[0] for aggregate in AGGREGATES.values()),
        *(kind.usage for kind in (*STREAM_SOURCES.values(), *TABLE_SOURCES.values(), *SINKS.values())),
        *(f"SET {name}" for name in SETTINGS),
    ]

    assert [usage for usage in wanted if f"`{usage}" not in guide] == []


def test_functions_page_is_what_the_tables_say() -> None:
    file = ROOT / "docs" / "guide" / "functions.md"
    if REWRITE:
        file.write_text(page(), encoding="utf-8")
    assert file.read_text(encoding="utf-8") == page(), HOW


def test_picture_in_the_guide_is_of_the_query_beside_it() -> None:
    session, page = Session(), (ROOT / "docs" / "guide" / "explain.md").read_text(encoding="utf-8")
    session.execute(blocks(page)[0].text)
    drawn = session.execute("EXPLAIN PICTURE unanswered")[0].message
    svg = (ROOT / "docs" / "guide" / "unanswered.svg").read_text(encoding="utf-8")

    labels = [line for label in re.findall(r"label=<(.*)>", drawn) for line in re.split(r"<[^>]*>", label) if line]
    edges = [label.strip() for label in re.findall(r'label="( [^"]+)"', drawn)]
    shown = [html.unescape(text).replace("\xa0", " ").strip() for text in re.findall(r">([^<>]+)</text>", svg)]
    assert sorted(shown) == sorted(map(html.unescape, [*labels, *edges])), "draw it anew: see CONTRIBUTING.md"
