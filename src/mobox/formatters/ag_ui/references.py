"""Resolves placeholders in a run's texts to the ids of tool calls on the wire.

An agent writes its own id of a call. On the wire that id is prefixed with the run's, so a client
that looks up a placeholder's call by id needs the same id in the text.
"""

from __future__ import annotations

from mobox.formatters.ag_ui.ids import WireIds
from mobox.formatters.ag_ui.tools import Tools

__all__ = ["References"]


class References:
    """The references in the texts of one run, while they are sent."""

    def __init__(self, ids: WireIds, tools: Tools) -> None:
        self._ids = ids
        self._tools = tools
        self._unknown: set[str] = set()  # strings of placeholders that name no call, or not yet

    def resolve(self, word: str) -> str | None:
        """The id on the wire of the call that a string of a placeholder names, if any."""
        if self._tools.was_told(word):
            return self._ids.of(word)
        self._unknown.add(word)
        return None

    def came_late(self, call: str | None) -> bool:
        """Whether a placeholder was sent before its call, and so without the id on the wire."""
        if call not in self._unknown or not self._tools.was_told(call):
            return False
        self._unknown.discard(call)
        return True
