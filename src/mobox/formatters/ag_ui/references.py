"""Which tool calls the placeholders of a run's texts name: by their ids on the wire.

An agent writes its own id of a call. On the wire that id has the run's in front, so a client that
looks a placeholder's call up by id needs the same in the text.
"""

from __future__ import annotations

from mobox.formatters.ag_ui.ids import WireIds
from mobox.formatters.ag_ui.tools import Tools

__all__ = ["References"]


class References:
    """What the texts of one run refer to, while they are told."""

    def __init__(self, ids: WireIds, tools: Tools) -> None:
        self._ids = ids
        self._tools = tools
        self._unknown: set[str] = set()  # words of placeholders that are no call, or not yet

    def resolve(self, word: str) -> str | None:
        """The id on the wire of the call that a word of a placeholder names, if it names one."""
        if self._tools.was_told(word):
            return self._ids.of(word)
        self._unknown.add(word)
        return None

    def came_late(self, call: str | None) -> bool:
        """Whether a placeholder was told before the call that it names: then it says too little."""
        if call not in self._unknown or not self._tools.was_told(call):
            return False
        self._unknown.discard(call)
        return True
