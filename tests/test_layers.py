"""What import-linter cannot see: what is loaded when a part is imported, and that `__all__` tells the truth."""

import importlib
import json
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

LANGUAGE = (
    "windrow.cql",
    "windrow.catalog",
    "windrow.plan",
    "windrow.optimizer",
    "windrow.sharing",
    "windrow.session",
)
HEAVY = ("numpy", "pyarrow", "pandas", "numba", "pyspark")


def modules_of(package: str) -> list[str]:
    found = importlib.import_module(package)
    below = pkgutil.walk_packages(found.__path__, f"{package}.") if hasattr(found, "__path__") else ()
    return [package, *(module.name for module in below)]


def loaded_by(*modules: str) -> set[str]:
    """The outermost packages that a fresh interpreter has after these imports."""
    script = "import importlib, json, sys; [importlib.import_module(name) for name in sys.argv[1:]]; "
    script += "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    finished = subprocess.run([sys.executable, "-c", script, *modules], capture_output=True, text=True, check=True)
    return set(json.loads(finished.stdout))


@pytest.mark.parametrize("package", LANGUAGE)
def test_the_language_half_loads_no_arrays_frames_or_spark(package: str) -> None:
    loaded = loaded_by(*modules_of(package))

    assert "windrow" in loaded
    assert loaded.isdisjoint(HEAVY)


def test_plans_and_the_catalog_do_not_load_sqlglot() -> None:
    assert "sqlglot" not in loaded_by(*modules_of("windrow.plan"), *modules_of("windrow.catalog"))


def test_what_is_loaded_is_seen() -> None:
    assert {"windrow", "sqlglot"} <= loaded_by("windrow.cql")


def exporting_modules() -> list[str]:
    """The modules that have an `__all__`, found without importing them."""
    source = Path(__file__).parent.parent / "src"
    files = [file for file in sorted(source.rglob("*.py")) if "\n__all__ = " in file.read_text(encoding="utf-8")]
    return [".".join(file.relative_to(source).with_suffix("").parts).removesuffix(".__init__") for file in files]


@pytest.mark.parametrize("name", exporting_modules())
def test_all_is_true(name: str) -> None:
    module = importlib.import_module(name)
    names = list(module.__all__)

    assert [name for name in names if not hasattr(module, name)] == []
    assert len(set(names)) == len(names)
    # Constants, then classes, then functions, each in the order of the alphabet: what ruff's RUF022 keeps.
    assert names == sorted(names, key=lambda name: (not name.isupper(), not name[0].isupper(), name))


def test_packages_say_what_is_public() -> None:
    assert {"windrow", "windrow.catalog", "windrow.cql", "windrow.cql.binder"} <= set(exporting_modules())
