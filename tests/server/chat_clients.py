"""Chats of the real AI SDK clients with a real server, as one Node process that answers by line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from typing import Any
from urllib.parse import quote

import httpx

from server.live_server import LiveServer
from support.ai_sdk_client import NodeProcess

Json = dict[str, Any]
COLUMNS = {"processing", "thinking"}


@dataclass(frozen=True)
class Report:
    """What a page shows when nothing is under way, and what it asked for."""

    messages: list[Json]
    status: str
    error: str | None
    invalid: str | None  # why the client would not take these messages back from storage
    requests: list[Json]


@dataclass(frozen=True)
class Cut:
    """Where a response breaks off: `end` as if it were over, other words as a connection dies."""

    after: int
    how: str = "network error"  # what Chrome says


class ChatClients(NodeProcess):
    """The pages that are open."""

    SCRIPT = "chat.mjs"

    def __init__(self, node: str) -> None:
        super().__init__(node)
        self._names = count(1)

    def open(self, client: str, api: str, chat_id: str, **more: object) -> Chat:
        """A page with a chat; `messages` are those it begins with."""
        name = next(self._names)
        about = {"messages": [], **more}
        self.do("open", chat=name, client=client, api=api, chatId=chat_id, **about)
        return Chat(self, name)

    def do(self, action: str, **request: object) -> Any:
        """Let the process do something; what it answers."""
        answer = self.ask(do=action, **request)
        if not answer["ok"]:
            raise RuntimeError(answer["error"])
        return answer.get("value")


class Chat:
    """One page with a chat on it."""

    def __init__(self, clients: ChatClients, name: int) -> None:
        self._clients = clients
        self._name = name

    def begin(self, call: str, *args: object, cut: Cut | None = None) -> None:
        """Call a method of the chat and do not wait for what comes of it."""
        told = cut and {"after": cut.after, "how": cut.how}
        self._clients.do("begin", chat=self._name, call=call, args=args, cut=told)

    def read(self, frames: int) -> int:
        """Wait until so many frames have come; how many there are."""
        read: int = self._clients.do("read", chat=self._name, frames=frames)
        assert read >= frames, f"no more came after {read} frames: {self.settle()}"
        return read

    def settle(self) -> Report:
        """Wait until nothing is under way."""
        report = Report(**self._clients.do("settle", chat=self._name))
        return replace(report, messages=without_columns(report.messages))

    def close(self) -> None:
        """The page is left."""
        self._clients.do("close", chat=self._name)

    # What people do

    def send(self, text: str, cut: Cut | None = None) -> Report:
        """Send a message and read the answer."""
        self.begin("sendMessage", {"text": text}, cut=cut)
        return self.settle()

    def edit(self, message_id: str, text: str) -> Report:
        """Say something else instead of a message."""
        self.begin("sendMessage", {"text": text, "messageId": message_id})
        return self.settle()

    def regenerate(self, **args: object) -> Report:
        """Ask for another answer."""
        self.begin("regenerate", args)
        return self.settle()

    def resume(self, cut: Cut | None = None) -> Report:
        """Read what is being written, if anything is."""
        self.begin("resumeStream", cut=cut)
        return self.settle()

    def answer(self, request_id: str, approved: bool) -> Report:
        """Allow a call of the last message, or do not."""
        asked = on_wire(self.settle().messages[-1], request_id)
        self.begin("addToolApprovalResponse", {"id": asked, "approved": approved})
        return self.settle()


class Frontend:
    """One version of the client in front of a server, told of by a profile."""

    def __init__(
        self,
        clients: ChatClients,
        http: httpx.Client,
        server: LiveServer,
        client: str,
        profile: str,
    ) -> None:
        self.client = client
        self.profile = profile
        self.url = server.url
        self._http = http
        self._clients = clients

    def at(self, server: LiveServer) -> Frontend:
        """The same client in front of another server."""
        return Frontend(self._clients, self._http, server, self.client, self.profile)

    def open(self, chat_id: str, **more: object) -> Chat:
        """A page with a chat that is new to it."""
        api = f"{self.url}/api/chat?profile={self.profile}"
        return self._clients.open(self.client, api, chat_id, **more)

    def reload(self, chat_id: str, **more: object) -> Chat:
        """A page with a chat as it is stored."""
        return self.open(chat_id, messages=self.chat(chat_id)["messages"], **more)

    def stored(self, chat_id: str) -> Json:
        """The chat at rest, with messages as this client has them after reading the stream."""
        chat = self.chat(chat_id)
        return {**chat, "messages": without_columns(chat["messages"])}

    def chat(self, chat_id: str) -> Json:
        """The chat at rest."""
        chat: Json = self.get(f"/api/chats/{_quoted(chat_id)}").raise_for_status().json()
        return chat

    def stream(self, chat_id: str, **query: str) -> httpx.Response:
        """What is told to one who asks for the message that is being written."""
        return self.get(f"/api/chat/{_quoted(chat_id)}/stream", **query)

    def get(self, path: str, **query: str) -> httpx.Response:
        """What the server says to a page of this profile."""
        return self._http.get(self.url + path, params={"profile": self.profile, **query})

    def post(self, chat_id: str, what: str, **body: object) -> httpx.Response:
        """Stop a run, or answer it."""
        return self._http.post(f"{self.url}/api/chat/{_quoted(chat_id)}/{what}", json=body)

    @contextmanager
    def following(self, chat_id: str) -> Iterator[Iterator[str]]:
        """The lines of the message that is being written, as they come."""
        address = f"{self.url}/api/chat/{_quoted(chat_id)}/stream"
        with self._http.stream("GET", address, params={"profile": self.profile}) as response:
            yield response.iter_lines()


def on_wire(message: Json, own_id: str) -> str:
    """The id of a call or a request of a message, as clients have it."""
    return f"{message['id']}:{own_id}"


def without_columns(messages: list[Json]) -> list[Json]:
    """Messages without the fields that only messages at rest have, and that no stream sends."""
    return [_without_columns(message) for message in messages]


def _without_columns(message: Json) -> Json:
    read = {name: value for name, value in message.items() if name != "content"}
    if message["role"] == "assistant" and "metadata" in message:
        metadata = {n: v for n, v in message["metadata"].items() if n not in COLUMNS}
        read["metadata"] = metadata
        if not metadata:
            del read["metadata"]
    return read


def _quoted(chat_id: str) -> str:
    return quote(chat_id, safe="")
