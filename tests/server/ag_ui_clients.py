"""Pages of the real AG-UI clients in front of a real server, as one Node process."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import Any
from urllib.parse import quote

import httpx

from server.live_server import LiveServer
from support.ai_sdk_client import NodeProcess

Json = dict[str, Any]

NEWEST, OLDER, COPILOTKIT = "@ag-ui/client", "@ag-ui/client-pre-1", "copilotkit"


@dataclass(frozen=True)
class Report:
    """What a page shows when nothing is under way, and how the last run of it ended."""

    messages: list[Json]
    state: Any
    interrupts: list[Json]
    events: list[str]
    failure: str | None
    ending: Json
    warnings: list[str]
    agents: list[str] | None = None

    @property
    def text(self) -> str:
        """The last message."""
        return str(self.messages[-1].get("content"))

    @property
    def roles(self) -> list[str]:
        return [message["role"] for message in self.messages]

    @property
    def outcome(self) -> str | None:
        """How the last run ended, in the client's words."""
        told: Json = self.ending.get("outcome") or {}
        kind: str | None = told.get("type")
        return kind


class AGUIPages(NodeProcess):
    """The pages that are open."""

    SCRIPT = "ag_ui_chat.mjs"

    def __init__(self, node: str) -> None:
        super().__init__(node)
        self._names = count(1)

    def open(self, client: str, url: str, thread_id: str, **more: object) -> Page:
        """A page that is new to its thread."""
        name = next(self._names)
        self.do("open", page=name, client=client, url=url, threadId=thread_id, **more)
        return Page(self, name)

    def do(self, action: str, **request: object) -> Any:
        answer = self.ask(do=action, **request)
        if not answer["ok"]:
            raise RuntimeError(answer["error"])
        return answer.get("value")


class Page:
    """One page with a thread on it."""

    def __init__(self, clients: AGUIPages, name: int) -> None:
        self._clients = clients
        self._name = name

    def _do(self, action: str, **request: Any) -> Any:
        return self._clients.do(action, page=self._name, **request)

    def begin(self, text: str | None = None, call: str = "run", **parameters: Any) -> None:
        """Run the agent, with a message if there are words, and do not wait."""
        said = {} if text is None else {"text": text}
        self._do("begin", call=call, **said, **{"with": parameters})

    def read(self, events: int, kind: str | None = None) -> None:
        """Wait until so many events have come, of that kind if one is named."""
        wanted = {} if kind is None else {"type": kind}
        self._do("read", events=events, **wanted)

    def settle(self) -> Report:
        """Wait until nothing is under way."""
        return Report(**self._do("settle"))

    def say(self, text: str, **parameters: Any) -> Report:
        """Send a message and read the answer."""
        self.begin(text, **parameters)
        return self.settle()

    def run(self, **parameters: Any) -> Report:
        """Run the agent with what the page has."""
        self.begin(**parameters)
        return self.settle()

    def connect(self) -> Report:
        """Read the thread, as a page does that is loaded again."""
        self.begin(call="connect")
        return self.settle()

    def give(self, tool_call_id: str, content: str) -> None:
        """What a tool of the page gave."""
        self._do("result", toolCallId=tool_call_id, content=content)

    def change(self, state: Any) -> None:
        """The person does something to the state."""
        self._do("change", state=state)

    def abort(self) -> None:
        """Press stop."""
        self._do("abort")


class AGUIFrontend:
    """One client in front of a server."""

    def __init__(
        self, clients: AGUIPages, http: httpx.Client, server: LiveServer, client: str
    ) -> None:
        self.client = client
        self.http = http
        self.url = server.url
        self._clients = clients

    def open(self, thread_id: str, agent: str = "scripted", **more: object) -> Page:
        """A page that is new to its thread."""
        if self.client == COPILOTKIT:
            url = f"{self.url}/api/copilotkit"
            return self._clients.open(self.client, url, thread_id, agent=agent, **more)
        url = f"{self.url}/api/agui/agents/{agent}"
        return self._clients.open(self.client, url, thread_id, **more)

    def stop(self, thread_id: str, **body: object) -> httpx.Response:
        """Stop what the thread's agent does."""
        address = f"{self.url}/api/agui/chat/stop"
        return self.http.post(address, json={"threadId": thread_id, **body})

    def stored(self, thread_id: str) -> Json:
        """The thread as any other page is told it."""
        address = f"{self.url}/api/chats/{quote(thread_id, safe='')}"
        chat: Json = self.http.get(address).raise_for_status().json()
        return chat
