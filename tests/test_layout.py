"""The rules of style that a machine can check."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import mobox
from mobox import errors
from mobox.errors import MoboxError
from mobox.parsers import frameworks

SRC = Path(mobox.__file__).parent
MODULES = {str(path.relative_to(SRC)): path for path in sorted(SRC.rglob("*.py"))}

LINES_OF_A_MODULE = 600
LINES_OF_A_FUNCTION = 60

# Those who know neither frameworks nor their words: they see events.
NEUTRAL = [name for name in MODULES if name.startswith(("server/", "storage/", "supervisor/"))]
# Their own names, and those of the vendors that differ from them.
FRAMEWORKS = {*frameworks(), "anthropic", "langgraph"} - {"emitted"}
NO_NAMES = {"utils", "util", "helpers", "helper", "common", "core", "base", "manager", "misc"}

every_module = pytest.mark.parametrize("path", MODULES.values(), ids=MODULES)


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


def test_there_is_something_to_check() -> None:
    assert {"events/__init__.py", "lifecycle/__init__.py", "__init__.py"} <= MODULES.keys()


@pytest.mark.parametrize("name", sorted(MODULES))
def test_a_module_fits_in_the_head(name: str) -> None:
    assert len(MODULES[name].read_text(encoding="utf-8").splitlines()) <= LINES_OF_A_MODULE


@every_module
def test_a_function_fits_on_a_screen(path: Path) -> None:
    assert [f.name for f in functions(path) if length(f) > LINES_OF_A_FUNCTION] == []


@pytest.mark.parametrize("name", NEUTRAL)
def test_no_framework_is_named_where_all_are_served(name: str) -> None:
    text = MODULES[name].read_text(encoding="utf-8").lower()
    assert [framework for framework in FRAMEWORKS if framework in text] == []


@every_module
def test_a_module_is_called_after_something(path: Path) -> None:
    assert not NO_NAMES & {path.stem, *path.relative_to(SRC).parts}


@every_module
def test_a_module_says_what_it_is(path: Path) -> None:
    assert ast.get_docstring(parsed(path))


def test_the_public_names_are_sorted() -> None:
    assert mobox.__all__ == sorted(mobox.__all__)


def exceptions(of: type[Exception] = MoboxError) -> Iterator[type[Exception]]:
    yield of
    for below in of.__subclasses__():
        yield from exceptions(below)


def test_every_exception_is_in_the_tree_of_errors() -> None:
    for module in pkgutil.walk_packages(mobox.__path__, "mobox."):
        importlib.import_module(module.name)
    ours = [e for e in exceptions() if e.__module__.startswith("mobox.")]
    assert {e.__name__ for e in ours if e.__module__ != "mobox.errors"} == set()
    told = re.findall(r"^( *)\* (\w+)", errors.__doc__ or "", re.MULTILINE)
    assert sorted(name for _, name in told) == sorted(e.__name__ for e in ours)
    above = {"": "Exception"}
    for depth, name in told:
        assert getattr(errors, name).__base__.__name__ == above[depth]
        above[f"{depth}  "] = name
