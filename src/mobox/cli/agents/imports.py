"""Compiles a script, and imports what it imports: run by an agent's Python, with `shared`.

The files of the script's own folder are read, and not imported: they may start the agent.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path


def modules_of(script: Path) -> list[str]:
    """The modules that a script and the files beside it import; raises `SyntaxError`."""
    folder, waiting, seen = script.parent, [script], set()
    found = []
    while waiting:
        file = waiting.pop(0)
        if file in seen:
            continue
        seen.add(file)
        for name in _imported(ast.parse(file.read_bytes(), str(file))):
            own = list(_own_files(folder, name))
            waiting += own
            if not own:
                found.append(name)
    standard: frozenset[str] = getattr(sys, "stdlib_module_names", frozenset())
    return [name for name in dict.fromkeys(found) if name.partition(".")[0] not in standard]


def _imported(tree: ast.Module) -> Iterator[str]:
    """The modules that are imported with a file, so not those in its functions."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


def _own_files(folder: Path, name: str) -> Iterator[Path]:
    """The files of a module, and of the packages around it, that are in the folder."""
    path = folder
    for part in name.split("."):
        path = path / part
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.is_file():
                yield file


def problem_with(name: str) -> str | None:
    """Why a module cannot be imported."""
    try:
        module = import_module(name)
        if name.startswith("shared.frameworks.") and hasattr(module, "_load"):
            module._load()  # checks the version of the SDK
    except (Exception, SystemExit) as error:  # a package may raise anything
        return f"{name} cannot be imported: {type(error).__name__}: {error}"
    return None


def main() -> None:
    """Write what was found as JSON, on the last line."""
    out, sys.stdout = sys.stdout, sys.stderr  # a package may print
    script = Path(sys.argv[1]).absolute()
    sys.path[0] = str(script.parent)
    try:
        modules = modules_of(script)
        problems = [problem for problem in map(problem_with, modules) if problem]
    except SyntaxError as error:
        where = Path(error.filename or script).name
        modules, problems = [], [f"{where}, line {error.lineno}: {error.msg}"]
    shown = list(dict.fromkeys(name.partition(".")[0] for name in modules))
    out.write(json.dumps({"problems": problems, "modules": shown}) + "\n")


if __name__ == "__main__":
    main()
