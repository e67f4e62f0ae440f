"""Documented modules that have moved are still found under their old names."""

from __future__ import annotations

import subprocess
import sys
import warnings
from importlib import import_module

import pytest

from mobox import _moved
from mobox._moved import MOVED, MovedModules

NAMES = [
    (old, name, where, new_name)
    for old, new in MOVED.items()
    if isinstance(new, dict)
    for name, (where, new_name) in new.items()
]
WHOLE = {
    "mobox.server.authentication": ("Principal",),
    "mobox.server.settings": ("Settings",),
    "mobox.turn": ("Answer", "HistoryMessage", "PromptText", "Request", "Turn", "UserMessage"),
    "mobox.waiting": ("waits_after",),
}
"""Modules that moved as a whole, and the names that the documentation imported from each."""


def test_every_row_is_tested() -> None:
    assert {name for name, *_ in NAMES} | WHOLE.keys() == MOVED.keys()


@pytest.mark.parametrize("old", MOVED)
def test_old_module_warns_once(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, old, raising=False)
    with pytest.warns(DeprecationWarning, match=rf"^{old} (is now|has moved)") as warned:
        module = import_module(old)
    assert len(warned) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert import_module(old) is module


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(("old", "name", "where", "new_name"), NAMES)
def test_old_name_is_the_same_object_in_a_public_module(
    old: str, name: str, where: str, new_name: str
) -> None:
    public = import_module(where)
    assert getattr(import_module(old), name) is getattr(public, new_name)
    assert new_name in public.__all__


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("old", MOVED)
def test_old_module_hides_nothing_of_its_package(old: str) -> None:
    package, _, name = old.rpartition(".")
    code = f"import {package}; assert not hasattr({package}, {name!r})"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize("old", WHOLE)
def test_module_that_moved_as_a_whole_has_the_same_objects(old: str) -> None:
    new = MOVED[old]
    assert isinstance(new, str)
    for name in WHOLE[old]:
        assert getattr(import_module(old), name) is getattr(import_module(new), name)


def test_warning_names_the_line_that_imports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "mobox.turn", raising=False)
    with pytest.warns(DeprecationWarning) as warned:
        exec(compile("import mobox.turn", "plugin.py", "exec"), {})
    assert warned[0].filename == "plugin.py"


def test_unknown_modules_stay_unknown() -> None:
    with pytest.raises(ModuleNotFoundError):
        import_module("mobox.nothing")


def test_finder_is_installed_once() -> None:
    _moved.install()
    assert [isinstance(finder, MovedModules) for finder in sys.meta_path].count(True) == 1
