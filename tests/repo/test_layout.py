"""The rules of layout that ruff does not have, each for all modules at once."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import mobox
from mobox import errors
from mobox.errors import MoboxError
from mobox.parsers import frameworks

SRC = Path(mobox.__file__).parent
MODULES = {str(path.relative_to(SRC)): path for path in sorted(SRC.rglob("*.py"))}

LINES_OF_A_MODULE = 600
LINES_OF_A_FUNCTION = 60

# These packages handle events only, whatever framework they come from.
NEUTRAL = [name for name in MODULES if name.startswith(("server/", "storage/", "supervisor/"))]
# The frameworks' names, and the vendors' where they differ.
FRAMEWORKS = {*frameworks(), "anthropic", "langgraph"} - {"emitted"}
NO_NAMES = {"utils", "util", "helpers", "helper", "common", "core", "base", "manager", "misc"}


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


def test_there_is_something_to_check() -> None:
    assert {"__init__.py", "errors.py", "parsers/__init__.py"} <= MODULES.keys()


def test_no_module_is_too_long() -> None:
    lengths = {name: len(path.read_text("utf-8").splitlines()) for name, path in MODULES.items()}
    assert {n: length for n, length in lengths.items() if length > LINES_OF_A_MODULE} == {}


def test_no_function_is_too_long() -> None:
    assert [
        f"{name}: {function.name}"
        for name, path in MODULES.items()
        for function in functions(path)
        if length(function) > LINES_OF_A_FUNCTION
    ] == []


def test_no_framework_is_named_where_all_are_served() -> None:
    assert NEUTRAL
    assert [
        f"{name}: {framework}"
        for name in NEUTRAL
        for framework in FRAMEWORKS
        if framework in MODULES[name].read_text("utf-8").lower()
    ] == []


def test_modules_and_packages_have_meaningful_names() -> None:
    assert [
        name for name, path in MODULES.items() if NO_NAMES & {path.stem, *Path(name).parts}
    ] == []


def exceptions(of: type[Exception] = MoboxError) -> Iterator[type[Exception]]:
    yield of
    for below in of.__subclasses__():
        yield from exceptions(below)


def test_every_exception_is_in_the_tree_of_errors() -> None:
    """But for those of the agent path, which runs where mobox is not installed."""
    on_agents_path = "mobox.agent_path."
    for module in pkgutil.walk_packages(mobox.__path__, "mobox."):
        if not module.name.startswith((on_agents_path, "mobox.frameworks.")):
            importlib.import_module(module.name)
    ours = [e for e in exceptions() if e.__module__.startswith("mobox.")]
    ours = [e for e in ours if not e.__module__.startswith(on_agents_path)]
    assert {e.__name__ for e in ours if e.__module__ != "mobox.errors"} == set()
    listed = re.findall(r"^( *)\* (\w+)", errors.__doc__ or "", re.MULTILINE)
    assert sorted(name for _, name in listed) == sorted(e.__name__ for e in ours)
    above = {"": "Exception"}
    for depth, name in listed:
        assert getattr(errors, name).__base__.__name__ == above[depth]
        above[f"{depth}  "] = name
