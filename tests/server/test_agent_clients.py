"""Who a client is, by the addresses of an ASGI scope."""

from __future__ import annotations

import socket
import sys
from typing import Any

import pytest

from mobox.sandbox.agent_sockets import AgentProcesses, AgentSockets
from mobox.server.agent_clients import PEER, AgentClients, Verdict
from mobox.server.guard import Allowed, Guard
from server.serving import client_of
from server.test_tcp_table import Connection, connected

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux shows whose a socket is"
)


def scope_of(connection: Connection, **more: Any) -> dict[str, Any]:
    server, client = connection.server.getsockname(), connection.server.getpeername()
    return {"type": "http", "server": server[:2], "client": client[:2], **more}


async def test_a_client_of_this_machine_is_looked_for_once_per_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searches = []

    def search(self: AgentProcesses, seconds: float) -> AgentSockets:
        searches.append(seconds)
        return AgentSockets()

    monkeypatch.setattr(AgentProcesses, "sockets", search)
    clients = AgentClients()
    with connected("127.0.0.1") as connection:
        scope = scope_of(connection)
        for _ in range(3):
            assert await clients.verdict(dict(scope)) == "other"
        assert len(searches) == 1
        again = scope_of(connection)  # equal, but of another connection
        assert await clients.verdict(again) == "other"
        assert len(searches) == 2


@pytest.mark.parametrize(
    ("client", "server"),
    [
        (("203.0.113.7", 4711), ("127.0.0.1", 8000)),
        (("testclient", 50000), ("testserver", 80)),
        (("127.0.0.1", 123), ("localhost", None)),
        (("127.0.0.1", 1), ("127.0.0.1", 2)),
        (None, ("/run/mobox.sock", None)),
        (None, None),
    ],
)
async def test_other_scopes_of_apps_are_not_refused(client: object, server: object) -> None:
    scope = {"type": "http", "client": client, "server": server}
    assert await AgentClients().verdict(scope) == "other"
    assert await AgentClients().verdict({"type": "http"}) == "other"


async def test_a_client_that_has_closed_its_socket_is_gone() -> None:
    with connected("127.0.0.1") as connection:
        scope = scope_of(connection)
        connection.client.close()
        assert await AgentClients().verdict(scope) == "gone"


@pytest.mark.parametrize(("is_ours", "verdict"), [(True, "gone"), (False, "other")])
async def test_a_client_that_has_reset_its_connection_is_gone(
    is_ours: bool, verdict: Verdict
) -> None:
    with connected("127.0.0.1") as connection:
        scope = scope_of(connection)
        more = {PEER: scope["client"]} if is_ours else {}
        linger = b"\1\0\0\0\0\0\0\0"
        connection.client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        connection.client.close()
        assert await AgentClients().verdict({**scope, **more}) == verdict
        assert await AgentClients().verdict({**scope, PEER: None}) == "gone"


async def test_a_search_that_takes_too_long_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        AgentProcesses, "sockets", lambda self, seconds: AgentSockets(is_complete=False)
    )

    async def app(*_: object) -> None:
        raise AssertionError("it was called")

    allowed = Allowed(hosts=None, origins=(), max_body=1)
    async with client_of(Guard(app, allowed, None, AgentClients())) as client:
        response = await client.get("/")
    assert response.status_code == 503
    assert response.json()["error"]["code"] == "client_unknown"
    assert response.headers["retry-after"]


async def test_nothing_is_refused_on_other_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    with connected("127.0.0.1") as connection:
        scope = scope_of(connection)
        connection.client.close()
        with monkeypatch.context() as patched:
            patched.setattr(sys, "platform", "darwin")
            assert await AgentClients().verdict(scope) == "other"
