"""Which pane something belongs to: derived from the kind of a tool, never stored."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from mobox.events import ToolKind

__all__ = ["DEFAULT", "POLICIES", "Component", "Policy"]

Component = Literal["chat", "webide", "terminal"]

_CALLS: Final[dict[ToolKind, Component]] = {"code": "webide", "shell": "terminal"}
_RESULTS: Final[dict[ToolKind, Component]] = {"code": "terminal", "shell": "terminal"}


class Policy(NamedTuple):
    """The panes for content that belongs to no pane by its kind."""

    tools: Component
    """Calls that run neither code nor a shell, and their results."""
    errors: Component
    raw: bool
    """Whether unrecognized lines are shown; the inspector has them anyway."""

    def of_call(self, kind: ToolKind) -> Component:
        return _CALLS.get(kind, self.tools)

    def of_result(self, kind: ToolKind, failed: bool) -> Component:
        return self.errors if failed else _RESULTS.get(kind, self.tools)


POLICIES: Final = {
    "document": Policy(tools="terminal", errors="terminal", raw=True),
    "chat": Policy(tools="chat", errors="chat", raw=False),
}
DEFAULT: Final = "document"
