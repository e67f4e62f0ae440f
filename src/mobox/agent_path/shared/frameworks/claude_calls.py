"""The calls that a session has emitted, by id, by input and by message."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

from .claude_memory import calls_of

__all__ = ["Call", "Calls"]

MOST_SECONDS = 5.0
"""How long a call that is asked about may take to be emitted, and its message to stop."""


class Call(NamedTuple):
    """A call of a tool."""

    id: str
    name: str
    input: Any
    message: str | None
    scope: tuple[str, ...]


class Calls:
    """The calls that were emitted."""

    def __init__(self) -> None:
        self._calls: dict[str, Call] = {}
        self._taken: set[str] = set()
        self._streaming: str | None = None  # the root's message that has not stopped
        self._changed = asyncio.Condition()

    async def see(self, message: Any) -> None:
        """A message was emitted."""
        if type(message).__name__ == "StreamEvent":
            await self._see_event(message.event)
            return
        parent = getattr(message, "parent_tool_use_id", None)
        scope = () if parent is None else (*self._scope(parent), parent)
        of = getattr(message, "message_id", None)
        found = [
            Call(name, call["name"], call["input"], of, scope)
            for name, call in calls_of(message).items()
        ]
        async with self._changed:
            self._calls.update({call.id: call for call in found})
            self._changed.notify_all()

    async def _see_event(self, event: dict[str, Any]) -> None:
        async with self._changed:
            if event.get("type") == "message_start":
                self._streaming = (event.get("message") or {}).get("id")
            elif event.get("type") == "message_stop":
                self._streaming = None
            self._changed.notify_all()

    async def find(self, call_id: str, name: str) -> Call:
        """A call by its id, once it was emitted."""
        await self._until(lambda: call_id in self._calls)
        return self._calls.get(call_id) or Call(call_id, name, {}, None, ())

    async def take(self, name: str, arguments: Any) -> Call:
        """The first call of a tool with this input that was not taken before."""

        def fits() -> Call | None:
            fit = (c for c in self._calls.values() if c.name == name and c.input == arguments)
            return next((call for call in fit if call.id not in self._taken), None)

        await self._until(lambda: fits() is not None)
        call = fits() or Call("", name, arguments, None, ())
        self._taken.add(call.id)
        return call

    async def like(self, call: Call) -> list[Call]:
        """The calls of the same MCP tool in the same message, which has stopped, and this one."""
        if call.message is None or not call.name.startswith("mcp__"):
            return [call]
        await self._until(lambda: self._streaming != call.message)
        known = [*self._calls.values()] if call.id in self._calls else [call]
        same = (call.name, call.message)
        return [each for each in known if (each.name, each.message) == same]

    def _scope(self, call_id: str) -> tuple[str, ...]:
        return self._calls[call_id].scope if call_id in self._calls else ()

    async def _until(self, happens: Callable[[], bool]) -> None:
        async def wait() -> None:
            async with self._changed:
                await self._changed.wait_for(happens)

        try:
            await asyncio.wait_for(wait(), MOST_SECONDS)
        except asyncio.TimeoutError:
            return
