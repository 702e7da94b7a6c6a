"""Coverage-guided fuzzing of the language: `python scripts/fuzz.py [seconds]`, one minute when nothing is said.

Starts from the statements of examples/ and tests/errors/, lets libFuzzer mutate them towards code that was not reached
yet, and checks what tests/cql/test_generated_text.py checks: nothing but windrow.errors is raised, every CqlError
knows its place, and a plan printed as CQL and read again is the same plan. Each new kind of failure is printed once and
its input kept in build/fuzz/findings; so is an input that takes more than ten seconds.
"""

from __future__ import annotations

import hashlib
import random
import re
import shutil
import sys
import traceback
from pathlib import Path

try:
    import atheris
except ImportError:
    sys.exit("atheris is missing: pip install atheris (CPython 3.11 to 3.13, Linux or macOS)")

with atheris.instrument_imports(include=["windrow"]):
    from windrow.catalog import StreamEntry, TableEntry, WindowEntry
    from windrow.cql import Ask, Create, Explain, compile_query
    from windrow.errors import CqlError, WindrowError
    from windrow.plan.aggregates import AGGREGATES
    from windrow.plan.functions import FUNCTIONS
    from windrow.plan.printer import RESERVED, query_text
    from windrow.session import Session
    from windrow.units import UNITS

ROOT = Path(__file__).parent.parent
WORK = ROOT / "build" / "fuzz"
EXAMPLES = re.sub(r"--.*", "", (ROOT / "examples" / "traffic.cql").read_text(encoding="utf-8"))
ERRORS = ROOT / "tests" / "errors"
KNOWN = Session()
KNOWN.execute(EXAMPLES + (ERRORS / "stage.cql").read_text(encoding="utf-8"))
TOKEN = re.compile(r"\w+|'[^']*'|\"[^\"]*\"|\S")
WORDS = (
    sorted({*TOKEN.findall(EXAMPLES), *RESERVED, *UNITS, *FUNCTIONS, *AGGREGATES})
    + """AGO ARRIVAL AT BEST BINARY BY
    DATE DECIMAL EFFECTIVE EFFORT EXACT FIRST FORMAT INTERNAL JSON KEY LAST LIFETIME NON NOW NULLS PARTITION PICTURE
    PRIMARY REFRESH RESTORE RETROACTIVE SINCE SLACK SLIDE STRING TIMESTAMP TO UNBOUNDED '2026-01-31' '1 hour' 0 1 2 1.5
    1e9 99999999999999999999 ( ) [ ] , . ; ' " - * + / % = < > || <> <= =>""".split()
)
seen: set[tuple[str, ...]] = set()


def one_input(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    try:
        carry_out(text)
    except Exception as error:
        report(text, error)


def carry_out(text: str) -> None:
    session = Session()
    for kind in (StreamEntry, TableEntry, WindowEntry):
        for entry in KNOWN.catalog.entries(kind):
            session.catalog.put(entry)
    try:
        results = session.execute(text)
    except CqlError as error:
        assert error.line >= 1 and error.column >= 1 and str(error) and error.text is not None
        return
    except WindrowError as error:
        assert str(error)
        return
    for result in results:
        if isinstance(result.statement, Ask | Explain):
            plan = result.statement.plan
        elif isinstance(result.statement, Create) and hasattr(result.statement.entry, "plan"):
            plan = result.statement.entry.plan
        else:
            continue
        assert compile_query(query_text(plan), session.catalog) == plan, query_text(plan)


def report(text: str, error: Exception) -> None:
    """Print a failure and keep its input, once for each place in the code that it comes from."""
    frames = traceback.extract_tb(error.__traceback__)
    place = (type(error).__name__, *(f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames[-3:]))
    if place in seen:
        return
    seen.add(place)
    kept = WORK / "findings" / f"{hashlib.sha256(text.encode()).hexdigest()[:12]}.cql"
    kept.write_text(text, encoding="utf-8")
    print(f"FOUND {kept}: {' < '.join(reversed(place))}: {error}\n{text}\n", file=sys.stderr, flush=True)


def write_corpus(folder: Path) -> None:
    cases = [case for path in sorted(ERRORS.glob("*.txt")) for case in path.read_text(encoding="utf-8").split("==== ")]
    wrong = [case.partition("\n")[2].partition("\n----\n")[0] for case in cases]
    statements = {part.strip() for text in (EXAMPLES, *wrong) for part in text.split(";")}
    for number, statement in enumerate(sorted(statements)):
        (folder / f"{number:04}").write_text(statement, encoding="utf-8")


def mutate(data: bytes, most: int, seed: int) -> bytes:
    """One to three edits of whole tokens; half of the time libFuzzer's own edits of bytes."""
    chance = random.Random(seed)
    if chance.random() < 0.5:
        return bytes(atheris.Mutate(data, most))
    tokens = TOKEN.findall(data.decode("utf-8", "replace"))
    for _ in range(chance.randint(1, 3)):
        at, edit = chance.randint(0, len(tokens)), chance.random()
        if edit < 0.3:
            tokens[at:at] = [chance.choice(WORDS)]
        elif edit < 0.6:
            tokens[at : at + 1] = [chance.choice(WORDS)]
        elif edit < 0.75:
            del tokens[at : at + chance.randint(1, 3)]
        else:
            begin = chance.randint(0, len(tokens))
            tokens[at:at] = tokens[begin : begin + chance.randint(1, 8)]
    return " ".join(tokens).encode()[:most]


def main() -> None:
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    shutil.rmtree(WORK, ignore_errors=True)
    (WORK / "corpus").mkdir(parents=True)
    (WORK / "findings").mkdir()
    write_corpus(WORK / "corpus")
    limits = ["-max_len=1500", "-timeout=10", f"-max_total_time={seconds}", f"-artifact_prefix={WORK}/findings/"]
    atheris.Setup([sys.argv[0], *limits, str(WORK / "corpus")], one_input, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
