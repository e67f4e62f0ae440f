"""What a turn of the Agents SDK starts with: the chat's log, or a session of the SDK.

Rule 1: without a session, the input is the whole conversation, from the chat's log. So edits,
        regenerations and retries need nothing, and every call in it has a result.
Rule 2: a session is given only the new message; the SDK adds what is before.
Rule 3: a session is what was said before a new message if its last run ended by itself and is the
        message's parent. Otherwise, as after an edit or a stop, the chat's log replaces it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..conversation import render
from .state_files import folder_of, write

__all__ = ["FOLDER", "Memory"]

FOLDER = "openai-agents"
STYLE = "responses"


class Memory:
    """The memory of one turn; `session` is the SDK's, if the agent's author gave one."""

    def __init__(self, turn: Any, session: Any) -> None:
        self.session = session
        self._turn, self._folder = turn, folder_of(turn, FOLDER)

    async def input(self, own: Any) -> Any:
        """The input of a run; `own` is the function that the agent's author gave for it."""
        if self.session is not None and not await self._is_current():
            await self.session.clear_session()
            await self.session.add_items(_items(self._turn.history, []))
        self._forget()
        if own is not None:
            return own(self._turn)
        history = self._turn.history if self.session is None else []
        return _items(history, self._turn.parts)

    def end(self, is_whole: bool) -> None:
        """The run has ended; `is_whole` if that was by itself."""
        if is_whole and self._file is not None:
            write(self._file, self._turn.run_id)

    async def _is_current(self) -> bool:
        """Whether the session is what was said before this turn."""
        last = self._file.read_text("utf-8") if self._file and self._file.exists() else None
        if self._turn.kind != "message" or last != self._turn.parent:
            return False
        return not self._turn.history or bool(await self.session.get_items(limit=1))

    def _forget(self) -> None:
        """The session changes from now on."""
        if self._file is not None and self._file.exists():
            self._file.unlink()

    @property
    def _file(self) -> Path | None:
        """The file that names the last run of the session."""
        if self.session is None or self._folder is None:
            return None
        return self._folder / f"session-{quote(str(self.session.session_id), safe='')}"


def _items(history: list[dict[str, Any]], prompt: list[dict[str, Any]]) -> list[dict[str, Any]]:
    items, note = render(history, prompt, STYLE)
    if note:
        sys.stderr.write(f"mobox: {note}\n")
    return items
