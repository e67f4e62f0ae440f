"""What a turn of the Agents SDK starts with: the chat's log, or a session of the SDK.

Rule 1: without a session, the input is the whole conversation, from the chat's log. So edits,
        regenerations and retries need nothing, and every call in it has a result.
Rule 2: a session is given only the new message; the SDK adds what is before. The chat's log
        replaces its content where it is not the conversation any more: after an edit, a
        regeneration or a retry, if it is empty, and if a call in it has no result, because the
        agent was stopped or killed.
"""

from __future__ import annotations

import sys
from typing import Any

from ..conversation import render

__all__ = ["input_for"]

STYLE = "responses"
GOES_BACK = ("edit", "regenerate", "retry")


async def input_for(turn: Any, session: Any, own: Any) -> Any:
    """The input of a run; `own` is the function that the agent's author gave for it."""
    if session is None:
        return turn.messages(style=STYLE) if own is None else own(turn)
    if await _differs(turn, session):
        await session.clear_session()
        await session.add_items(_items(turn.history, []))
    return _items([], turn.parts) if own is None else own(turn)


async def _differs(turn: Any, session: Any) -> bool:
    """Whether the session is not what was said before this turn."""
    if turn.kind in GOES_BACK:
        return True
    items = await session.get_items()
    return bool(_open_calls(items) or (turn.history and not items))


def _open_calls(items: list[Any]) -> set[str]:
    """The calls without a result, which the API refuses."""
    called = {each.get("call_id") for each in items if each.get("type") == "function_call"}
    return called - {each.get("call_id") for each in items if "output" in each}


def _items(history: list[dict[str, Any]], prompt: list[dict[str, Any]]) -> list[dict[str, Any]]:
    items, note = render(history, prompt, STYLE)
    if note:
        sys.stderr.write(f"mobox: {note}\n")
    return items
