"""Sockets of the real Socket.IO client in front of a real server, as one Node process."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import Any, Protocol

import httpx

from server.live_server import LIMIT, LiveServer
from support.ai_sdk_client import NodeProcess

Json = dict[str, Any]

NEVER = 10**9
UNBROKEN: Json = {"every": NEVER, "transport": "websocket"}


class Served(Protocol):
    """Whatever a server can be reached at."""

    @property
    def url(self) -> str: ...


class SocketClients(NodeProcess):
    """The sockets that are open."""

    SCRIPT = "socketio.mjs"

    def __init__(self, node: str) -> None:
        super().__init__(node)
        self._names = count(1)

    def open(self, server: Served, transport: str = "websocket", **options: Any) -> Socket:
        """A socket that is connected, or was refused."""
        name = next(self._names)
        given = {"transports": [transport], **options}
        told = self.do("open", socket=name, url=server.url, **{"with": given})
        return Socket(self, name, told["refused"] if not told["connected"] else None)

    def watch(self, server: LiveServer, readers: Iterable[Json], join: Json, until: int) -> Watch:
        """Readers whose connections break again and again, and who read so many events."""
        return self._watch(server.url, readers, join=join, until=until)

    def watch_to_the_end(self, url: str, session_id: str) -> Watch:
        """A reader whose connections others break, who reads a session to the end of its run."""
        join = {"sessionId": session_id}
        return self._watch(url, [UNBROKEN], join=join, until=NEVER, last=["complete", "error"])

    def _watch(self, url: str, readers: Iterable[Json], **wanted: object) -> Watch:
        name = next(self._names)
        self.do("watch", watch=name, url=url, readers=list(readers), **wanted)
        return Watch(self, name)

    def do(self, action: str, **request: object) -> Any:
        """Let the process do something; what it answers."""
        answer = self.ask(do=action, **request)
        if not answer["ok"]:
            raise RuntimeError(answer["error"])
        return answer.get("value")


class Watch:
    """Some readers."""

    def __init__(self, clients: SocketClients, name: int) -> None:
        self._clients = clients
        self._name = name

    def has_read(self, events: int) -> None:
        """Wait until each has so many."""
        self._clients.do("watched", watch=self._name, count=events)

    def reports(self) -> list[Json]:
        """What each was told, once they are all done."""
        reports: list[Json] = self._clients.do("watched", watch=self._name)
        return reports


class Socket:
    """One client."""

    def __init__(self, clients: SocketClients, name: int, refused: str | None) -> None:
        self.refused = refused
        self._clients = clients
        self._name = name

    def _do(self, action: str, **request: Any) -> Any:
        return self._clients.do(action, socket=self._name, **request)

    def ask(self, event: str, *payload: object) -> Json:
        """Say something; what the server answers."""
        answer: Json = self._do("ask", event=event, payload=payload)
        return answer

    def join(self, session_id: str, **more: object) -> Json:
        return self.ask("session:join", {"sessionId": session_id, **more})

    def say(self, session_id: str, message: object, **more: object) -> Json:
        return self.ask("chat:message", {"sessionId": session_id, "message": message, **more})

    def tell(self, event: str, *payload: object) -> None:
        """Say something and want no answer."""
        self._do("tell", event=event, payload=payload)

    def read(
        self, name: str, count: int = 1, last: str | None = None, run: str | None = None
    ) -> list[Json]:
        """All events of that name, once there are so many, or one whose type is `last`.

        With `run`: only the events of that run.
        """
        wanted: Json = {"count": 10**9 if last else count}
        wanted |= {key: value for key, value in (("last", last), ("run", run)) if value}
        told: list[Json] = self._do("read", name=name, **wanted)
        return told

    def events(self, last: str = "complete", run: str | None = None) -> list[Json]:
        """The events of the contract, up to such a one."""
        return self.read("agent:event", last=last, run=run)

    def frames(self, last: str = "[DONE]") -> list[Json]:
        """The frames of another format, up to one whose document, or its type, is that."""
        return self.read("agent:frame", last=last)

    def all(self) -> list[Json]:
        """Everything that came, each with its `name` and `payload`."""
        told: list[Json] = self._do("all")
        return told

    def drop(self) -> None:
        """Cut the transport; back again on return."""
        self._do("drop")

    def upgraded(self) -> None:
        """Wait until it has gone over from polling to a WebSocket."""
        self._do("upgraded")

    def gone(self) -> str:
        """Wait until the server has hung up; what the client says to that."""
        reason: str = self._do("gone")
        return reason

    def send_raw(self, text: str) -> None:
        """Say that over a WebSocket, whatever it is."""
        self._do("raw", text=text)

    def pause(self) -> None:
        """Take nothing more from the connection."""
        self._do("pause")

    def go_on(self) -> None:
        self._do("go_on")

    def close(self) -> None:
        self._do("close")


class RawPoll:
    """A client that polls, and says what it likes; not the real one."""

    def __init__(self, http: httpx.Client, server: LiveServer, **query: str) -> None:
        self._http = http
        self._url = f"{server.url}/socket.io/"
        self._query = {"EIO": "4", "transport": "polling", **query}
        self.opening = self.take().text
        self.sid = self.opening.partition('"sid":"')[2].partition('"')[0]
        self._query["sid"] = self.sid
        assert self.send("40").text == "OK"
        assert self.take().text.startswith('40{"sid"')

    def take(self, timeout: float = LIMIT) -> httpx.Response:
        """What there is to take, once there is something."""
        return self._http.get(self._url, params=self._query, timeout=timeout)

    def send(
        self, body: str | bytes | Iterable[bytes], content_type: str = "text/plain"
    ) -> httpx.Response:
        content = body.encode() if isinstance(body, str) else body
        headers = {"content-type": content_type}
        return self._http.post(self._url, params=self._query, content=content, headers=headers)
