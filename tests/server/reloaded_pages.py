"""Pages of the real clients that are loaded again until they show all of a run.

Each client is one process of Node, which is asked one thing at a time.
"""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

from server.ag_ui_clients import NEWEST, AGUIPages
from server.chat_clients import ChatClients
from server.followers import BREATH, Doors

Json = dict[str, Any]

PROFILE = "v7"


class Pages(Protocol):
    """The pages of one client."""

    async def read(self, chat_id: str, run_id: str) -> Any:
        """What a page shows of a run that is over, and all of which it has read."""
        ...


class AiSdkPages:
    """Those of `ai`; what one shows is the parts of a message."""

    def __init__(self, clients: ChatClients, doors: Doors) -> None:
        self._clients = clients
        self._doors = doors
        self._turn = asyncio.Lock()

    async def read(self, chat_id: str, run_id: str) -> list[Json]:
        async with self._turn:
            while True:
                chat = await _chat(self._doors, chat_id)
                api = f"{self._doors.any().base_url}/api/chat?profile={PROFILE}"
                found = await asyncio.to_thread(self._load, api, chat, run_id)
                if found is not None and chat["activeRun"] is None:
                    return found
                await asyncio.sleep(BREATH)

    def _load(self, api: str, chat: Json, run_id: str) -> list[Json] | None:
        """The message, if the response came to its end."""
        before = [message for message in chat["messages"] if message["id"] != run_id]
        page = self._clients.open("ai", api, chat["id"], messages=before, run=run_id)
        report = page.resume()
        page.close()
        assert report.invalid is None
        parts: list[Json] = report.messages[-1]["parts"]
        return parts if "rest" in report.requests[-1] else None


class AgUiPages:
    """Those of `@ag-ui/client`; what one shows is the messages of a thread."""

    def __init__(self, clients: AGUIPages, doors: Doors) -> None:
        self._clients = clients
        self._doors = doors
        self._turn = asyncio.Lock()

    async def read(self, chat_id: str, run_id: str) -> list[Json]:
        async with self._turn:
            while True:
                chat = await _chat(self._doors, chat_id)
                url = f"{self._doors.any().base_url}/api/agui/chat/connect?replay=1"
                found = await asyncio.to_thread(self._load, url, chat_id)
                if found is not None and chat["activeRun"] is None:
                    return found
                await asyncio.sleep(BREATH)

    def _load(self, url: str, chat_id: str) -> list[Json] | None:
        report = self._clients.open(NEWEST, url, chat_id).run()
        return report.messages if report.ending else None


async def _chat(doors: Doors, chat_id: str) -> Json:
    told = await doors.insist("GET", f"/api/chats/{chat_id}", params={"profile": PROFILE})
    assert told.status_code == 200, (told.status_code, told.content)
    chat: Json = told.json()
    return chat
