"""Documented modules that have moved: the old name still imports, with a deprecation warning.

`mobox` adds the finder at the end of `sys.meta_path`: it is called only for a module that no other
finder has found.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

FORMATTING, PARSING = "mobox.formatting", "mobox.parsing"

MOVED: dict[str, str | dict[str, tuple[str, str]]] = {
    "mobox.blocks": {"Blocks": (FORMATTING, "Blocks")},
    "mobox.capture.sdk": {"SdkObjects": ("mobox", "SdkObjects")},
    "mobox.formatters.fields": {"known": (FORMATTING, "without_none")},
    "mobox.formatters.links": {
        "address_of": (FORMATTING, "file_url"),
        "document_of": (FORMATTING, "source_document"),
        "link_of": (FORMATTING, "source_url"),
    },
    "mobox.formatters.outcomes": {
        "FAILED": (FORMATTING, "FAILED_OUTCOMES"),
        "error_text": (FORMATTING, "call_error"),
        "failure_of": (FORMATTING, "run_failure"),
    },
    "mobox.held_errors": {"HeldErrors": (FORMATTING, "HeldErrors")},
    "mobox.inputs": {"input_of": (PARSING, "tool_use_end")},
    "mobox.json_text": {"decode": (PARSING, "decode_json")},
    "mobox.names": {"Names": (PARSING, "IdAllocator")},
    "mobox.parsers.displays": {
        "CLAUDE": (PARSING, "CLAUDE_DISPLAYS"),
        "LANGCHAIN": (PARSING, "LANGCHAIN_DISPLAYS"),
    },
    "mobox.parsers.emitted.forms": {"Form": (PARSING, "LineForm")},
    "mobox.parsers.json_values": {
        "file_data": (PARSING, "split_data_url"),
        "is_link": (PARSING, "is_web_url"),
        "object_of": (PARSING, "as_object"),
        "objects_in": (PARSING, "objects_in"),
        "text_in": (PARSING, "first_text"),
        "words_of": (PARSING, "as_text"),
    },
    "mobox.parsers.kept": {"or_raw": (PARSING, "parse_or_raw")},
    "mobox.parsers.kinds": {
        "kind_of": (PARSING, "tool_kind"),
        "runs_python": (PARSING, "runs_python"),
    },
    "mobox.parsers.plans": {
        "change": (PARSING, "todo_change"),
        "item_of": (PARSING, "todo_item"),
    },
    "mobox.parsers.raised": {
        "TOLD_BEFORE": (PARSING, "ALREADY_REPORTED"),
        "class_of": (PARSING, "exception_class"),
        "is_raised": (PARSING, "is_exception"),
        "raised": (PARSING, "exception_error"),
    },
    "mobox.parsers.server_tools": {
        "is_error": (PARSING, "is_failed_output"),
        "pages_in": (PARSING, "search_sources"),
        "without_secrets": (PARSING, "split_encrypted"),
    },
    "mobox.server.authentication": "mobox.server.auth.authentication",
    "mobox.server.settings": "mobox.settings",
    "mobox.transcript": {"fold": (FORMATTING, "build_message")},
    "mobox.turn": "mobox.events.turn",
    "mobox.usage": {
        "UsageTotal": (FORMATTING, "UsageTotal"),
        "sum_of": (PARSING, "sum_counts"),
    },
    "mobox.waiting": "mobox.events.waiting",
}
"""By old name: the new name of the module, or the new place of each documented name in it."""


class MovedModules(MetaPathFinder, Loader):
    """Makes a module with the old name, which has the objects of the new one."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname in MOVED else None

    def exec_module(self, module: ModuleType) -> None:
        new = MOVED[module.__name__]
        if isinstance(new, str):
            message = f"{module.__name__} is now {new}"
            everything = vars(import_module(new)).items()
            names = {name: each for name, each in everything if not name.startswith("__")}
        else:
            places = [f"{old} is {where}.{name}" for old, (where, name) in new.items()]
            message = f"{module.__name__} has moved: {', '.join(places)}"
            names = {old: getattr(import_module(where), name) for old, (where, name) in new.items()}
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        vars(module).update(names)


def install() -> None:
    """Find moved modules from now on."""
    if not any(isinstance(finder, MovedModules) for finder in sys.meta_path):
        sys.meta_path.append(MovedModules())
