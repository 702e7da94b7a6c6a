"""Golden: every wrong input in tests/errors gets its message, complete with place, marked text and hint.

A file is a list of cases: a line `====` with a title, the statements, a line `----`, the message. The statements run
after those of stage.cql, in a session of their own. `expected` says how the messages are written anew.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from support.expected import HOW, REWRITE
from windrow.errors import CqlError
from windrow.session import Session

FOLDER = Path(__file__).parents[1] / "errors"
STAGE = (FOLDER / "stage.cql").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Case:
    title: str
    statements: str
    message: str

    def __str__(self) -> str:
        return f"==== {self.title}\n{self.statements}\n----\n{self.message}\n"


def cases_of(file: Path) -> list[Case]:
    _, *blocks = ("\n" + file.read_text(encoding="utf-8")).split("\n==== ")
    return [case_of(block) for block in blocks]


def case_of(block: str) -> Case:
    title, _, rest = block.partition("\n")
    statements, _, message = rest.partition("\n----\n")
    return Case(title, statements.rstrip("\n"), message.rstrip("\n"))


def error_of(statements: str) -> CqlError:
    session = Session()
    session.execute(STAGE)
    with pytest.raises(CqlError) as caught:
        session.execute(statements)
    return caught.value


def rewrite(file: Path) -> None:
    written = [replace(case, message=str(error_of(case.statements))) for case in cases_of(file)]
    file.write_text("\n".join(map(str, written)), encoding="utf-8")


FILES = sorted(FOLDER.glob("*.txt"))
if REWRITE:
    for file in FILES:
        rewrite(file)
CASES = [pytest.param(case, id=f"{file.stem}: {case.title}") for file in FILES for case in cases_of(file)]


@pytest.mark.parametrize("case", CASES)
def test_message(case: Case) -> None:
    assert str(error_of(case.statements)) == case.message, HOW


@pytest.mark.parametrize("case", CASES)
def test_hint_says_what_to_write(case: Case) -> None:
    assert "\n  hint: " in case.message


def test_titles_are_unique() -> None:
    titles = [case.id for case in CASES]

    assert len(set(titles)) == len(titles)
