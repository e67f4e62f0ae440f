"""An app with function agents, for scripts that run in the frameworks' venv."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any, Self

import mobox
from frameworks.scripted_anthropic import Item, ScriptedAnthropic
from mobox.capture.catalog import FunctionAgent
from mobox.events.turn import Action, Answer, Cut, Place, PromptText, UserMessage
from mobox.events.turn import Request as TurnRequest

OWNER = "ann"
Event = dict[str, Any]


class FunctionApp:
    """An app with function agents, which can be closed and opened again; one chat of it."""

    def __init__(self, endpoint: ScriptedAnthropic, chat: str, *agents: FunctionAgent) -> None:
        self._options: dict[str, Any] = {"agents": agents, "data": chat}
        self._endpoint, self.chat = endpoint, chat
        self._open = AsyncExitStack()
        self._sent = 0

    async def __aenter__(self) -> Self:
        self.box = await self._open.enter_async_context(mobox.Mobox(**self._options))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()

    async def reopen(self) -> None:
        await self._open.aclose()
        await self.__aenter__()

    async def begin(self, words: str, *parts: Any, **more: Any) -> None:
        self._sent += 1
        said = UserMessage(id=f"m{self._sent}", parts=(PromptText(text=words), *parts))
        await self._ask(action=Action.SUBMIT, message=said, **more)

    async def say(self, words: str, until: str = "done", *parts: Any, **more: Any) -> list[Event]:
        """Send a message; the events of the run until one of a type."""
        await self.begin(words, *parts, **more)
        return await self.read(until)

    async def regenerate(self) -> list[Event]:
        await self._ask(action=Action.REGENERATE, cut=Cut(Place.ANSWER))
        return await self.read("done")

    async def _ask(self, **fields: Any) -> None:
        request = TurnRequest(chat_id=self.chat, **fields)
        self.run = (await self.box.supervisor.begin(OWNER, request)).run
        self._seen = 0

    async def read(self, until: str) -> list[Event]:
        events = []
        async for entry in self.box.log(OWNER, self.run.id, self._seen):
            events.append(entry.event.as_json())
            self._seen = entry.seq
            if entry.event.type == until:
                break
        return events

    async def answer(self, request: str, until: str = "done", **fields: Any) -> list[Event]:
        await self.box.answer(OWNER, self.run.id, Answer(request_id=request, **fields))
        return await self.read(until)

    async def stop(self) -> None:
        await self.box.stop(OWNER, self.run.id)
        await self.read("done")

    def items(self, *but: str) -> list[Item]:
        """What the model was given last."""
        return self._endpoint.conversations(self.chat, *but)[-1]

    def told(self, *but: str) -> list[list[str]]:
        """The same as JSON, without ids."""
        return [[item.kind, item.text] for item in self.items(*but)]


def of(kind: str, events: list[Event], *names: str) -> list[Any]:
    """The fields of all events of a type."""
    return [[each.get(name) for name in names] for each in events if each["type"] == kind]
