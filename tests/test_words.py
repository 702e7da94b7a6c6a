"""Names are words of the field: those of folders, modules and classes are in the glossary or are common words.

`common_words.txt` has plain English and computing words. A word that only this code uses, or in a sense of its own,
belongs into the glossary, or is the wrong name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "windrow"
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
TERM = re.compile(r"^\| ([^|]+) \|", re.M)

# They say of a thing what happened to it, not what it is.
HOUSE_WORDS = frozenset("told telling kept held apart found together aside asked".split())


def named() -> Iterator[tuple[str, str]]:
    """Every name, with the place it is at."""
    for path in sorted(SOURCE.rglob("*.py")):
        place = str(path.relative_to(SOURCE))
        yield (path.parent.name if path.stem == "__init__" else path.stem), place
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                yield node.name, f"{place}: {node.name}"


def words(name: str) -> list[str]:
    """Of snake_case and CamelCase, in lower case."""
    return [word.lower() for word in WORD.findall(name)]


def common_words() -> list[str]:
    return (ROOT / "tests" / "common_words.txt").read_text(encoding="utf-8").split()


def glossary() -> set[str]:
    terms = TERM.findall((ROOT / "docs" / "glossary.md").read_text(encoding="utf-8"))
    return {word.lower() for term in terms for word in re.findall(r"[A-Za-z]+", term)}


def is_known(word: str, known: set[str]) -> bool:
    """As it stands, or as a plural."""
    singulars = (word, word.removesuffix("s"), word.removesuffix("es"), f"{word.removesuffix('ies')}y")
    return any(singular in known for singular in singulars)


def test_names_are_words_of_the_field_or_common_ones() -> None:
    known = glossary() | set(common_words())
    strange = {word: place for name, place in named() for word in words(name) if not is_known(word, known)}

    assert strange == {}, "rename, or explain the word in docs/glossary.md"


def test_common_words_are_common_and_used() -> None:
    listed = common_words()
    used = {word for name, _ in named() for word in words(name)}

    assert listed == sorted(set(listed)), "sorted, each once"
    assert not HOUSE_WORDS & set(listed)
    assert [word for word in listed if not any(is_known(other, {word}) for other in used)] == []
    assert not glossary() & set(listed), "a word of the glossary needs no other place"


def test_one_name_for_one_class() -> None:
    """Only an operator is called like the node that it runs."""
    places: dict[str, list[str]] = {}
    for name, place in named():
        if ": " in place and not name.startswith("_"):
            places.setdefault(name, []).append(place.partition("/")[0])

    assert {name: found for name, found in places.items() if len(found) > 1 and found != ["operators", "plan"]} == {}


def test_texts_are_about_things_and_in_plain_english() -> None:
    """Nobody is "he", and what is not written is left out, not away."""
    texts = [*SOURCE.rglob("*.py"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "tests" / "errors").glob("*.txt")]
    wrong = re.compile(r"\b(he|him|his)\b|\b(leave|left) (it|\w+) away\b", re.I)

    assert [str(path) for path in texts if wrong.search(path.read_text(encoding="utf-8"))] == []
