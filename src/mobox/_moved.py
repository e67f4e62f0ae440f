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

MOVED = {
    "mobox.blocks": "mobox.events.blocks",
    "mobox.capture.sdk": "mobox.capture.callable",
    "mobox.formatters.fields": "mobox.formatters.values",
    "mobox.formatters.links": "mobox.formatters.values",
    "mobox.formatters.outcomes": "mobox.formatters.values",
    "mobox.held_errors": "mobox.events.transcript",
    "mobox.inputs": "mobox.events.names",
    "mobox.json_text": "mobox.events.json_text",
    "mobox.names": "mobox.events.names",
    "mobox.parsers.displays": "mobox.parsers.tool_kinds",
    "mobox.parsers.emitted.forms": "mobox.parsers.emitted.lines",
    "mobox.parsers.json_values": "mobox.parsers.values",
    "mobox.parsers.kept": "mobox.parsers.values",
    "mobox.parsers.kinds": "mobox.parsers.tool_kinds",
    "mobox.parsers.plans": "mobox.parsers.tool_kinds",
    "mobox.parsers.raised": "mobox.parsers.values",
    "mobox.parsers.server_tools": "mobox.parsers.tool_kinds",
    "mobox.server.authentication": "mobox.server.auth.authentication",
    "mobox.server.session_index": "mobox.server.socketio.session_index",
    "mobox.transcript": "mobox.events.transcript",
    "mobox.turn": "mobox.events.turn",
    "mobox.usage": "mobox.events.usage",
    "mobox.waiting": "mobox.events.waiting",
}


class MovedModules(MetaPathFinder, Loader):
    """Makes a module with the old name, whose names are those of the new module."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname in MOVED else None

    def exec_module(self, module: ModuleType) -> None:
        new = MOVED[module.__name__]
        warnings.warn(f"{module.__name__} is now {new}", DeprecationWarning, stacklevel=2)
        names = vars(import_module(new)).items()
        vars(module).update({name: value for name, value in names if not name.startswith("__")})


def install() -> None:
    """Find moved modules from now on."""
    if not any(isinstance(finder, MovedModules) for finder in sys.meta_path):
        sys.meta_path.append(MovedModules())
