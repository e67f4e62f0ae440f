"""Every route, asked by everybody: only the owner is told anything of what is theirs.

The rows are those of the table of routes: a new route fails until it has one here.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import httpx
import pytest
from starlette.routing import Mount
from starlette.routing import Route as Served

from mobox.server.auth.keys import digest_of
from mobox.server.auth.links import HEADER
from mobox.server.auth.principal import EVERY_SCOPE, SCOPES
from mobox.server.endpoint import Endpoint
from mobox.server.openapi import SHARED
from mobox.server.routes import ROUTES
from mobox.server.services import Services
from mobox.settings import MODELS
from mobox.storage.chats import History
from mobox.storage.feedback import Feedback
from mobox.storage.permissions import Permission
from mobox.storage.share_links import ShareLink
from mobox.supervisor.agent_files import StateFolders
from server.app_client import routes_of
from server.live_server import message
from server.recorded_call import record_call
from server.server_with_keys import (
    LONG_AGO,
    ask_something,
    bearer,
    give_key,
    keyed_app,
    say_something,
)

WORDS = "what only Ann has heard"
HERS, ASKS, NOBODYS = "hers", "asks", "nobodys"
ALLOWED = Permission(id="perm_hers", agent="counter", tool=WORDS, created_at=1)

SECRET = "mbl_only-her-guests-have-it"
LINK = ShareLink(id="link_hers", digest=digest_of(SECRET), shows="everything", created_at=1)

ToOthers = Literal["as unknown", "not found", "their own"]


class Row(NamedTuple):
    """How a route is asked: `{chat}`, `{run}` and the like stand for ids."""

    status: int
    to_others: ToOthers
    """What is said to others of ids that are hers: the same as of ids that nobody has; "not found"
    where the route makes what is not there; what is theirs, where no id is named."""
    ids: Mapping[str, str] = {}
    body: Any = None
    query: Mapping[str, str] = {}


def _input(thread: str) -> dict[str, Any]:
    said = {"id": "m1", "role": "user", "content": "hello"}
    return {"threadId": thread, "runId": "r1", "messages": [said]}


CHAT, RUN, AGENT = {"chat_id": "{chat}"}, {"run_id": "{run}"}, {"agent": "counter"}
FILE = {"file_id": "{file}"}
SAYS = Row(200, "not found", body=_input("{chat}"))
CONNECTS = Row(200, "as unknown", body=_input("{chat}"))
STOPS = Row(200, "as unknown", body={"threadId": "{chat}"})

BY_NAME = {f"{route.method} {route.path}": route for route in ROUTES}

ROWS: dict[str, Row] = {
    "POST /api/chat": Row(200, "not found", body=message("{chat}", "hello")),
    "GET /api/chat/{chat_id}/stream": Row(200, "as unknown", CHAT),
    "POST /api/chat/{chat_id}/stop": Row(200, "as unknown", CHAT, {}),
    "POST /api/chat/{chat_id}/answer": Row(
        202, "as unknown", {"chat_id": "{asks}"}, {"requestId": "ask_1", "value": "3"}
    ),
    "GET /api/chats": Row(200, "their own"),
    "GET /api/chats/{chat_id}": Row(200, "as unknown", CHAT),
    "PATCH /api/chats/{chat_id}": Row(200, "as unknown", CHAT, {"title": "Mine"}),
    "DELETE /api/chats/{chat_id}": Row(204, "as unknown", CHAT),
    "GET /api/chats/{chat_id}/messages": Row(200, "as unknown", CHAT),
    "GET /api/chats/{chat_id}/permissions": Row(200, "as unknown", CHAT),
    "DELETE /api/chats/{chat_id}/permissions/{permission_id}": Row(
        204, "as unknown", {**CHAT, "permission_id": "{permission}"}
    ),
    "GET /api/chats/{chat_id}/branches": Row(200, "as unknown", CHAT),
    "POST /api/chats/{chat_id}/branch": Row(200, "as unknown", CHAT, {"runId": "{run}"}),
    "GET /api/chats/{chat_id}/runs": Row(200, "as unknown", CHAT),
    "GET /api/chats/{chat_id}/feedback": Row(200, "as unknown", CHAT),
    "POST /api/chats/{chat_id}/feedback": Row(
        200, "as unknown", CHAT, {"runId": "{run}", "value": "up"}
    ),
    "DELETE /api/chats/{chat_id}/feedback/{run_id}": Row(204, "as unknown", {**CHAT, **RUN}),
    "GET /api/chats/{chat_id}/files": Row(200, "as unknown", CHAT),
    "GET /api/chats/{chat_id}/file": Row(200, "as unknown", CHAT, query={"path": "made.txt"}),
    "GET /api/chats/{chat_id}/links": Row(200, "as unknown", CHAT),
    "POST /api/chats/{chat_id}/links": Row(201, "as unknown", CHAT, {"shows": "answer"}),
    "DELETE /api/chats/{chat_id}/links/{link_id}": Row(
        204, "as unknown", {**CHAT, "link_id": "{link}"}
    ),
    "GET /api/agents": Row(200, "their own"),
    "POST /api/agui/chat": SAYS,
    "POST /api/agui/agents/{agent}": SAYS._replace(ids=AGENT),
    "POST /api/agui/chat/connect": CONNECTS,
    "POST /api/agui/agents/{agent}/connect": CONNECTS._replace(ids=AGENT),
    "POST /api/agui/chat/stop": STOPS,
    "POST /api/agui/agents/{agent}/stop": STOPS._replace(ids=AGENT),
    "GET /api/copilotkit/info": Row(200, "their own"),
    "POST /api/copilotkit/agent/{agent}/run": SAYS._replace(ids=AGENT),
    "POST /api/copilotkit/agent/{agent}/connect": CONNECTS._replace(ids=AGENT),
    "POST /api/copilotkit/agent/{agent}/stop/{thread_id}": Row(
        200, "as unknown", {**AGENT, "thread_id": "{chat}"}, {}
    ),
    "POST /api/copilotkit": CONNECTS._replace(
        body={
            "method": "agent/connect",
            "params": {"agentId": "counter"},
            "body": _input("{chat}"),
        }
    ),
    "POST /api/tickets": Row(201, "as unknown", body={"runId": "{run}"}),
    "GET /api/server": Row(200, "their own"),
    "GET /metrics": Row(200, "their own"),
    "GET /api/runs/{run_id}/events": Row(200, "as unknown", RUN),
    "GET /api/runs/{run_id}/inspect": Row(200, "as unknown", RUN),
    "GET /api/runs/{run_id}/stderr": Row(200, "as unknown", RUN),
    "GET /api/runs": Row(200, "their own"),
    "GET /api/runs/{run_id}/models": Row(200, "as unknown", RUN),
    "GET /api/runs/{run_id}/models/{n}": Row(200, "as unknown", {**RUN, "n": "1"}),
    "GET /api/formats": Row(200, "their own"),
    "POST /api/recordings": Row(200, "their own", body={"type": "text", "text": "hello"}),
    "POST /api/recordings/chats": Row(201, "their own", body={"type": "text", "text": "hello"}),
    "POST /api/files": Row(201, "their own", body={"any": "thing"}),
    "GET /api/files/{file_id}": Row(200, "as unknown", FILE),
    "DELETE /api/files/{file_id}": Row(204, "as unknown", FILE),
}
BY_LINK: dict[str, int] = {
    "GET /api/shared": 200,
    "GET /api/shared/messages": 200,
    "GET /api/shared/state": 200,
    "GET /api/shared/stream": 204,
    "GET /api/shared/formats": 200,
    "GET /api/shared/runs/{run_id}/events": 200,
    "GET /api/shared/runs/{run_id}/inspect": 200,
    "GET /api/shared/files/{file_id}": 404,
}
"""What the reader of a link is told, who has no key. A file has an address of its own."""
OPEN = {"GET /healthz", "GET /readyz"}
"""Whoever restarts processes has no key."""
PAGES = {
    "/embed",
    "/embed.js",
    "/embed/chat/{chat_id}",
    "/openapi.json", "/", "/chat", "/chat/{chat_id}", "/favicon.ico", "/shared", "/view",
    "/runs", "/runs/{run_ids}", "/assets/{name}", "/{name}",
}  # fmt: skip
"""What is the same for everybody, and in the package."""

each_row = pytest.mark.parametrize("name", ROWS)


class House:
    """A server on which Ann has said something, and Bob something else."""

    def __init__(self, services: Services, client: httpx.AsyncClient) -> None:
        self.storage = services.storage
        self._states = StateFolders(services.settings.data / "state")
        self._models = services.settings.data / MODELS
        self._client = client
        self._ids = {
            "{chat}": HERS,
            "{asks}": ASKS,
            "{run}": "",
            "{file}": "",
            "{permission}": "perm_hers",
            "{link}": "link_hers",
        }

    async def furnish(self) -> None:
        self._ids["{run}"] = await say_something(self.storage, "ann", HERS, WORDS, ALLOWED)
        record_call(self._models, self._ids["{run}"], WORDS)
        await ask_something(self.storage, "ann", ASKS, WORDS)
        await say_something(self.storage, "bob", "his", "what Bob was told")
        await self.storage.give_feedback("ann", HERS, self._ids["{run}"], "down", WORDS)
        file = await self.storage.files.add("ann", _pieces(WORDS.encode()), "text/plain")
        self._ids["{file}"] = file.id
        made = self._states.of("ann", HERS)
        made.mkdir(parents=True)
        (made / "made.txt").write_text(WORDS)
        await self.storage.add_link("ann", HERS, LINK)

    @property
    def ids(self) -> list[str]:
        return list(self._ids.values())

    async def ask(
        self, name: str, secret: str | None, ids: Mapping[str, str] | None = None
    ) -> httpx.Response:
        """Ask as the row says, with a key or without."""
        route, row = BY_NAME[name], ROWS[name]
        path = route.path.format(**row.ids)
        body = row.body
        for word, instead in (ids or self._ids).items():
            path, body = path.replace(word, instead), _replaced(body, word, instead)
        return await self._client.request(
            route.method, path, params=row.query, json=body, headers=bearer(secret)
        )

    async def ask_for_nothing(self, name: str, secret: str) -> httpx.Response:
        """The same, of ids that nobody has."""
        return await self.ask(name, secret, dict.fromkeys(self._ids, NOBODYS))

    async def ask_by_link(self, name: str, **headers: str) -> httpx.Response:
        """Ask for what is behind the link, with these headers."""
        route, ids = BY_NAME[name], {"run_id": self._ids["{run}"], "file_id": self._ids["{file}"]}
        return await self._client.request(
            route.method, route.path.format(**ids), headers=headers, params={"live": "off"}
        )

    async def theirs(self) -> list[History | Permission | Feedback | ShareLink]:
        """All that is Ann's."""
        chats = [await self.storage.history("ann", chat) for chat in (HERS, ASKS)]
        permissions = await self.storage.permissions("ann", HERS)
        feedback = await self.storage.feedback("ann", HERS)
        return [*chats, *permissions, *feedback, *await self.storage.links("ann", HERS)]


async def _pieces(data: bytes) -> AsyncIterator[bytes]:
    yield data


def _replaced(body: Any, word: str, instead: str) -> Any:
    if isinstance(body, dict):
        return {name: _replaced(each, word, instead) for name, each in body.items()}
    if isinstance(body, list):
        return [_replaced(each, word, instead) for each in body]
    return body.replace(word, instead) if isinstance(body, str) else body


def test_every_route_has_a_row_and_a_scope() -> None:
    assert ROWS.keys() | BY_LINK.keys() | OPEN == BY_NAME.keys()
    by_link = {name for name, route in BY_NAME.items() if route.scope == SHARED}
    assert by_link == BY_LINK.keys()
    assert {name for name, route in BY_NAME.items() if route.scope is None} == OPEN
    assert {route.scope for route in ROUTES} - {None, SHARED} == set(EVERY_SCOPE)
    assert SHARED not in SCOPES


async def test_nothing_is_served_but_those_routes_and_pages(tmp_path: Path) -> None:
    async with keyed_app(tmp_path) as (services, _):
        routes = routes_of(services)
    doors = [each for each in routes if isinstance(each, Served) and _is_door(each)]
    assert len(doors) == len(ROUTES)
    assert {each.path_format for each in routes if isinstance(each, Served)} - {
        each.path_format for each in doors
    } == PAGES
    assert [each.path for each in routes if isinstance(each, Mount)] == ["/socket.io"]
    assert len(routes) == len(doors) + len(PAGES) + 1


def _is_door(route: Served) -> bool:
    return isinstance(route.endpoint, Endpoint)


@each_row
async def test_the_owner_is_answered(name: str, tmp_path: Path) -> None:
    async with keyed_app(tmp_path) as (services, client):
        house = House(services, client)
        await house.furnish()
        _, secret = await give_key(services.storage, "ann")
        assert (await house.ask(name, secret)).status_code == ROWS[name].status


@each_row
async def test_another_owner_gets_the_same_as_for_missing_resources(
    name: str, tmp_path: Path
) -> None:
    async with keyed_app(tmp_path) as (services, client):
        house = House(services, client)
        await house.furnish()
        _, secret = await give_key(services.storage, "bob")
        before = await house.theirs()
        foreign = await house.ask(name, secret)
        assert WORDS not in foreign.text
        assert await house.theirs() == before
        if ROWS[name].to_others == "as unknown":
            unknown = await house.ask_for_nothing(name, secret)
            told = foreign.text
            for each in house.ids:
                told = told.replace(each, NOBODYS)
            assert (foreign.status_code, told) == (unknown.status_code, unknown.text)
            assert foreign.status_code in (200, 204, 404)
            assert foreign.headers.keys() == unknown.headers.keys()
        elif ROWS[name].to_others == "not found":
            assert foreign.status_code == 404
        else:
            assert foreign.status_code == ROWS[name].status
            assert not [each for each in house.ids if each in foreign.text]


@pytest.mark.parametrize("who", ["anonymous", "revoked", "expired", "made up"])
@each_row
async def test_no_client_gets_anything(name: str, who: str, tmp_path: Path) -> None:
    async with keyed_app(tmp_path) as (services, client):
        house = House(services, client)
        await house.furnish()
        storage = services.storage
        before = await house.theirs()
        secrets = {
            "anonymous": None,
            "revoked": (await give_key(storage, "ann", revoked_at=LONG_AGO))[1],
            "expired": (await give_key(storage, "ann", expires_at=LONG_AGO))[1],
            "made up": "mbx_made-up",
        }
        refused = await house.ask(name, secrets[who])
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"] == 'Bearer realm="mobox"'
        assert refused.json() == (await house.ask(name, "mbx_other")).json()
        assert refused.json()["error"]["code"] == "unauthenticated"
        assert await house.theirs() == before


@each_row
async def test_a_key_that_is_for_something_else_is_not_enough(name: str, tmp_path: Path) -> None:
    needed = BY_NAME[name].scope
    others = tuple(scope for scope in EVERY_SCOPE if scope != needed)
    async with keyed_app(tmp_path) as (services, client):
        house = House(services, client)
        await house.furnish()
        before = await house.theirs()
        _, secret = await give_key(services.storage, "ann", others)
        refused = await house.ask(name, secret)
        assert (refused.status_code, refused.json()["error"]["scope"]) == (403, needed)
        assert await house.theirs() == before


@pytest.mark.parametrize("name", sorted(OPEN))
async def test_health_endpoints_need_no_key(name: str, tmp_path: Path) -> None:
    async with keyed_app(tmp_path) as (_, client):
        assert (await client.get(BY_NAME[name].path)).json() == {"status": "ok", "problem": None}


@pytest.mark.parametrize("name", BY_LINK)
async def test_a_link_opens_its_own_routes(name: str, tmp_path: Path) -> None:
    async with keyed_app(tmp_path) as (services, client):
        house = House(services, client)
        await house.furnish()
        assert (await house.ask_by_link(name, **{HEADER: SECRET})).status_code == BY_LINK[name]


@pytest.mark.parametrize("name", BY_LINK)
@pytest.mark.parametrize("who", ["ann", "bob", None])
async def test_no_key_opens_the_routes_of_links(name: str, who: str | None, tmp_path: Path) -> None:
    async with keyed_app(tmp_path) as (services, client):
        house = House(services, client)
        await house.furnish()
        secret = None if who is None else (await give_key(services.storage, who))[1]
        refused = await house.ask_by_link(name, **bearer(secret))
        assert refused.status_code == 404
        made_up = await house.ask_by_link(name, **{HEADER: "mbl_made-up"}, **bearer(secret))
        assert (made_up.status_code, made_up.text) == (404, refused.text)


@pytest.mark.parametrize("how", ["header", "bearer"])
@each_row
async def test_a_link_opens_no_other_route(name: str, how: str, tmp_path: Path) -> None:
    async with keyed_app(tmp_path) as (services, client):
        house = House(services, client)
        await house.furnish()
        before = await house.theirs()
        client.headers[HEADER] = SECRET
        refused = await house.ask(name, SECRET if how == "bearer" else None)
        assert refused.status_code == 401
        assert await house.theirs() == before
