"""Documented modules that have moved are still found under their old names."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module

import pytest

from mobox import _moved
from mobox._moved import MOVED, MovedModules

DOCUMENTED = {
    "mobox.blocks": ("Blocks",),
    "mobox.capture.sdk": ("SdkObjects",),
    "mobox.formatters.fields": ("known",),
    "mobox.formatters.links": ("address_of", "document_of", "link_of"),
    "mobox.formatters.outcomes": ("FAILED", "error_text", "failure_of"),
    "mobox.held_errors": ("HeldErrors",),
    "mobox.inputs": ("input_of",),
    "mobox.json_text": ("decode",),
    "mobox.names": ("Names",),
    "mobox.parsers.displays": ("CLAUDE", "LANGCHAIN"),
    "mobox.parsers.emitted.forms": ("Form",),
    "mobox.parsers.json_values": ("object_of", "objects_in", "text_in", "words_of"),
    "mobox.parsers.kept": ("or_raw",),
    "mobox.parsers.kinds": ("kind_of", "runs_python"),
    "mobox.parsers.plans": ("change", "item_of"),
    "mobox.parsers.raised": ("class_of", "is_raised", "raised"),
    "mobox.parsers.server_tools": ("is_error", "pages_in", "without_secrets"),
    "mobox.server.authentication": ("Principal",),
    "mobox.server.session_index": ("SessionIndex",),
    "mobox.transcript": ("Transcript", "fold"),
    "mobox.turn": ("Answer", "HistoryMessage", "PromptText", "Request", "Turn", "UserMessage"),
    "mobox.usage": ("UsageTotal", "sum_of"),
    "mobox.waiting": ("waits_after",),
}
"""The names that the documentation imported from each of them."""


def test_every_row_is_tested() -> None:
    assert DOCUMENTED.keys() == MOVED.keys()


@pytest.mark.parametrize("old", MOVED)
def test_old_module_has_the_same_objects_and_warns_once(
    old: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, old, raising=False)
    new = import_module(MOVED[old])
    with pytest.warns(DeprecationWarning, match=f"{old} is now {MOVED[old]}") as warned:
        module = import_module(old)
    assert [w.category for w in warned] == [DeprecationWarning]
    for name in DOCUMENTED[old]:
        assert getattr(module, name) is getattr(new, name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert import_module(old) is module


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
