"""Status lines of an agent: sent live, and not a message of the chat."""

from __future__ import annotations

from typing import Final

from mobox.blocks import Block, Line, Move, OpenBlock
from mobox.formatters.ag_ui.documents import Documents, custom
from mobox.formatters.fields import known

__all__ = ["Processing"]

_NAME: Final = "mobox.processing"


class Processing:
    """The open block of status lines: a page shows them as one, with its duration."""

    def __init__(self) -> None:
        self._open: OpenBlock | None = None
        self._started: int | None = None

    def turn(self, move: Move, ts: int | None) -> Documents:
        """End the open block, and start another, which is sent with its first line."""
        ending = self.end(ts) if move.closed == self._open else []
        if move.opened is not None and move.opened.block is Block.PROCESSING:
            self._open, self._started = move.opened, ts
        return ending

    def tell(self, line: Line | None) -> Documents:
        """Send a line; nothing for a progress pulse."""
        if line is None:
            return []
        return [custom(_NAME, {"id": line.block_id, "line": line.text})]

    def end(self, ts: int | None) -> Documents:
        """End the open block, if there is one."""
        block, started = self._open, self._started
        self._open = self._started = None
        if block is None:
            return []
        took = ts - started if ts is not None and started is not None else None
        return [custom(_NAME, known({"id": block.id, "durationMs": took}))]
