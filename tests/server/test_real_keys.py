"""Keys on a real server: real sockets and streams, and keys that another process revokes."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from mobox.server.auth.connections import CHECK_SECONDS
from mobox.server.auth.links import HEADER
from mobox.server.socketio.sessions import Sessions
from mobox.storage import SqliteStorage
from mobox.storage.keys import ApiKey
from server.live_server import LIMIT, LiveServer, live_server, mobox
from server.raw_sockets import RawWebSocket
from server.server_with_keys import (
    LONG_AGO,
    ask_something,
    bearer,
    give_key_at,
    revoke_at,
    say_something,
)
from server.socket_clients import SocketClients

WORDS = "what only Ann has heard"
Json = dict[str, Any]


class House(NamedTuple):
    """A server that asks for keys, and what is on it."""

    server: LiveServer
    data: Path
    run_id: str
    """Of Ann's, over."""
    waiting: str
    """Of Ann's, and waits."""

    def key(self, owner: str, **more: Any) -> tuple[ApiKey, str]:
        return asyncio.run(give_key_at(self.data, owner, **more))

    def revoke(self, key: ApiKey) -> None:
        asyncio.run(revoke_at(self.data, key))


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    data = tmp_path_factory.mktemp("keyed") / "data"

    async def furnish() -> tuple[str, str]:
        storage = await SqliteStorage.open(data / "mobox.db")
        try:
            run_id = await say_something(storage, "ann", "hers", WORDS)
            return run_id, await ask_something(storage, "ann", "asks", WORDS)
        finally:
            await storage.close()

    with live_server(data, "--auth", "keys", "--log-level", "debug", patience=20 * LIMIT) as server:
        yield House(server, data, *asyncio.run(furnish()))


# Sockets

EVENTS: dict[str, Json] = {
    "session:join": {"sessionId": "{chat}", "format": "canonical"},
    "session:leave": {"sessionId": "{chat}"},
    "chat:message": {"sessionId": "{chat}", "message": "hello"},
    "chat:stop": {"sessionId": "{chat}"},
    "chat:answer": {"sessionId": "{chat}", "requestId": "ask_1", "value": "3"},
}
MAKES = {"chat:message"}
"""What makes the chat, where there is none."""

each_event = pytest.mark.parametrize("event", EVENTS)
each_transport = pytest.mark.parametrize("transport", ["websocket", "polling"])


def about(event: str, chat_id: str) -> Json:
    return {name: chat_id if value == "{chat}" else value for name, value in EVENTS[event].items()}


def test_every_event_has_a_row() -> None:
    assert EVENTS.keys() == Sessions.HANDLERS.keys()


@each_event
@each_transport
def test_an_owners_socket_is_answered(
    event: str, transport: str, house: House, sockets: SocketClients
) -> None:
    chat = f"{event} {transport}"

    async def prepare() -> None:
        storage = await SqliteStorage.open(house.data / "mobox.db")
        try:
            await ask_something(storage, "ann", chat, "How many?")
        finally:
            await storage.close()

    if event not in MAKES:
        asyncio.run(prepare())
    _, secret = house.key("ann")
    socket = sockets.open(house.server, transport, auth={"key": secret})
    assert socket.refused is None
    assert "error" not in socket.ask(event, about(event, chat))
    socket.close()


@each_event
def test_another_owners_socket_gets_the_same_as_for_missing_resources(
    event: str, house: House, sockets: SocketClients
) -> None:
    _, secret = house.key("bob")
    socket = sockets.open(house.server, auth={"key": secret})
    foreign = socket.ask(event, about(event, "asks"))
    if event in MAKES:
        assert foreign["error"]["code"] == "not_found"
    else:
        unknown = socket.ask(event, about(event, "nobodys"))
        assert json.loads(json.dumps(foreign).replace("asks", "nobodys")) == unknown
    assert WORDS not in json.dumps(socket.all())
    socket.close()


@each_event
def test_a_socket_whose_key_is_for_something_else_is_refused(
    event: str, house: House, sockets: SocketClients
) -> None:
    needed, _ = Sessions.HANDLERS[event]
    others = tuple({"read", "write", "operate"} - {needed})
    _, secret = house.key("ann", scopes=others)
    socket = sockets.open(house.server, auth={"key": secret})
    refused = socket.ask(event, about(event, "hers"))["error"]
    assert (refused["code"], refused["scope"]) == ("missing_scope", needed)
    socket.close()


@pytest.mark.parametrize("who", ["anonymous", "revoked", "expired", "made up", "no text"])
@each_transport
def test_no_client_gets_a_socket(
    who: str, transport: str, house: House, sockets: SocketClients
) -> None:
    auth: dict[str, Callable[[], object]] = {
        "anonymous": dict,
        "revoked": lambda: {"key": house.key("ann", revoked_at=LONG_AGO)[1]},
        "expired": lambda: {"key": house.key("ann", expires_at=LONG_AGO)[1]},
        "made up": lambda: {"key": "mbx_made-up"},
        "no text": lambda: {"key": [1]},
    }
    socket = sockets.open(house.server, transport, auth=auth[who]())
    assert socket.refused == "missing, invalid, revoked or expired API key"


@each_event
def test_rejected_socket_is_not_read(event: str, house: House) -> None:
    said = json.dumps([event, about(event, "hers")])
    with RawWebSocket(house.server) as raw:
        assert raw.read().startswith("0{")
        raw.send(f"420{said}", "40")
        refused = raw.read()
        assert refused.startswith("44{"), "and what was said before has no answer"
        assert json.loads(refused[2:])["data"]["code"] == "unauthenticated"
        raw.send(f"421{said}", "40")
        assert raw.read().startswith("44{")


@each_transport
def test_token_of_a_socket_is_a_key(transport: str, house: House, sockets: SocketClients) -> None:
    _, secret = house.key("ann")
    socket = sockets.open(house.server, transport, auth={"token": secret})
    assert socket.join("hers", format="canonical")["sessionId"] == "hers"
    socket.close()
    refused = sockets.open(house.server, transport, auth={"token": "mbx_made-up"}).refused
    assert refused == "missing, invalid, revoked or expired API key"


def test_a_socket_may_also_come_with_the_header(house: House, sockets: SocketClients) -> None:
    _, secret = house.key("ann")
    socket = sockets.open(house.server, extraHeaders=bearer(secret))
    assert socket.join("hers", format="canonical")["sessionId"] == "hers"
    socket.close()


def test_reconnecting_client_is_authenticated_again(house: House) -> None:
    _, anns = house.key("ann")
    _, bobs = house.key("bob")
    stop = json.dumps(["chat:stop", {"sessionId": "hers"}])
    with RawWebSocket(house.server) as raw:
        assert raw.read().startswith("0{")
        raw.send("40" + json.dumps({"key": anns}))
        assert raw.read().startswith('40{"sid"')
        raw.send(f"421{stop}")
        assert raw.read() == '431[{"runId":null,"status":null}]'
        raw.send("41", "40" + json.dumps({"key": bobs}))
        assert raw.read().startswith('40{"sid"')
        raw.send(f"422{stop}")
        assert "not_found" in raw.read()


# Revoked while something is open


def test_the_promise_can_be_kept() -> None:
    assert CHECK_SECONDS <= 2.5, "a look may take as long again"


@each_transport
def test_a_key_that_another_process_revokes_loses_its_sockets(
    transport: str, house: House, sockets: SocketClients
) -> None:
    key, secret = house.key("ann")
    _, others = house.key("ann")
    socket = sockets.open(house.server, transport, auth={"key": secret})
    other = sockets.open(house.server, transport, auth={"key": others})
    socket.join("hers", format="canonical")
    house.revoke(key)
    assert socket.gone() == "io server disconnect", "after which a client does not come back"
    assert other.join("hers", format="canonical")["sessionId"] == "hers"
    other.close()


@pytest.mark.parametrize(
    "event", [name for name, (kind, _) in Sessions.HANDLERS.items() if kind == "write"]
)
def test_a_revoked_key_writes_nothing_over_a_socket_that_is_still_open(
    event: str, house: House
) -> None:
    key, secret = house.key("ann")
    with RawWebSocket(house.server) as raw:
        assert raw.read().startswith("0{")
        raw.send("40" + json.dumps({"key": secret}))
        assert raw.read().startswith('40{"sid"')
        house.revoke(key)
        raw.send("421" + json.dumps([event, about(event, f"revoked {event}")]))
        # The socket itself may be closed first: then it is not answered at all.
        answers = raw.read()
        assert "unauthenticated" in answers or answers == "41", answers
    chats = httpx.get(f"{house.server.url}/api/chats", headers=bearer(house.key("ann")[1])).json()
    assert f"revoked {event}" not in json.dumps(chats)


class Reading:
    """Somebody who reads a stream, in a thread of their own."""

    def __init__(self, http: httpx.Client, url: str, **request: Any) -> None:
        self.has_begun = threading.Event()
        self.status = 0
        self._thread = threading.Thread(target=self._read, args=(http, url, request))
        self._thread.start()

    def _read(self, http: httpx.Client, url: str, request: Json) -> None:
        try:
            with http.stream("GET", url, **request) as response:
                self.status = response.status_code
                for _ in response.iter_raw():
                    self.has_begun.set()
        except httpx.TransportError:
            pass
        self.has_begun.set()

    def wait_for_end(self) -> None:
        self._thread.join(LIMIT)
        assert not self._thread.is_alive()

    @property
    def goes_on(self) -> bool:
        return self._thread.is_alive()


@pytest.mark.parametrize("way", ["key", "ticket"])
def test_a_key_that_another_process_revokes_loses_its_streams(
    way: str, house: House, http: httpx.Client
) -> None:
    key, secret = house.key("ann")
    other_key, others = house.key("ann")
    url = f"{house.server.url}/api/runs/{house.waiting}/events"
    body = {"runId": house.waiting}
    bought = http.post(f"{house.server.url}/api/tickets", json=body, headers=bearer(secret))
    ticket = {"params": {"ticket": bought.json()["ticket"]}}
    reading = Reading(http, url, **(ticket if way == "ticket" else {"headers": bearer(secret)}))
    other = Reading(http, url, headers=bearer(others))
    for each in (reading, other):
        assert each.has_begun.wait(LIMIT)
        assert each.status == 200
    code, _, problem = mobox("keys", "revoke", key.id, "--data", house.data)
    assert (code, problem) == (0, "")
    reading.wait_for_end()
    assert other.goes_on, "whose key is another"
    house.revoke(other_key)
    other.wait_for_end()


def test_no_secret_is_in_the_log_of_the_server(house: House, http: httpx.Client) -> None:
    _, secret = house.key("ann")
    body = {"runId": house.run_id}
    bought = http.post(f"{house.server.url}/api/tickets", json=body, headers=bearer(secret))
    ticket = bought.json()["ticket"]
    url = f"{house.server.url}/api/runs/{house.run_id}/events"
    for path in (url, f"{url}/nowhere", f"{house.server.url}/nowhere"):
        http.get(path, params={"ticket": ticket}, headers=bearer(secret))
    http.get(f"{url}?live=%FF&ticket={ticket}")
    logged = house.server.warnings
    assert "INFO" in logged, "all is told that there is to tell"
    assert ticket not in logged
    assert secret not in logged


# Links


class Shared(NamedTuple):
    """A link to Ann's chat, and its secret."""

    id: str
    secret: str


@pytest.fixture
def shared(house: House, http: httpx.Client) -> Shared:
    _, secret = house.key("ann")
    url = f"{house.server.url}/api/chats/asks/links"
    made = http.post(url, json={"shows": "everything"}, headers=bearer(secret)).json()
    return Shared(made["id"], made["secret"])


@each_transport
def test_a_link_opens_no_socket(
    transport: str, house: House, sockets: SocketClients, shared: Shared
) -> None:
    for auth in ({"key": shared.secret}, {"token": shared.secret}, {"link": shared.secret}):
        socket = sockets.open(house.server, transport, auth=auth)
        assert socket.refused == "missing, invalid, revoked or expired API key"


def test_a_revoked_link_loses_its_streams(house: House, http: httpx.Client, shared: Shared) -> None:
    url = f"{house.server.url}/api/shared/runs/{house.waiting}/events"
    reading = Reading(http, url, headers={HEADER: shared.secret})
    assert reading.has_begun.wait(LIMIT)
    assert reading.status == 200
    _, secret = house.key("ann")
    revoked = http.delete(
        f"{house.server.url}/api/chats/asks/links/{shared.id}", headers=bearer(secret)
    )
    assert revoked.status_code == 204
    reading.wait_for_end()
    assert http.get(url, headers={HEADER: shared.secret}).status_code == 404
    assert shared.secret not in house.server.warnings
