"""Who may ask: keys, an app's own word, and tickets."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection

from mobox.errors import InvalidSetting
from mobox.server.auth.authentication import Found, Hook
from mobox.server.auth.keys import digest_of, new_key, read_expiry
from mobox.server.auth.principal import Principal
from mobox.settings import OWNER, Settings, now_ms
from server.app_client import app_client
from server.server_with_keys import bearer, code_of, give_key, keyed_app, say_something

EVENTS = "/api/runs/{}/events"


# Keys


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
async def test_a_key_opens_what_is_its_owners(scheme: str, tmp_path: Path) -> None:
    async with keyed_app(tmp_path) as (services, client):
        _, secret = await give_key(services.storage, "ann")
        await say_something(services.storage, "ann", "hers", "Hi")
        headers = {"authorization": f"{scheme} {secret}"}
        chats = (await client.get("/api/chats", headers=headers)).json()["chats"]
    assert [chat["id"] for chat in chats] == ["hers"]


@pytest.mark.parametrize("carried", ["basic", "bare", "two", "x-api-key", "cookie", "query"])
async def test_a_key_is_carried_in_one_way_only(carried: str, tmp_path: Path) -> None:
    async with keyed_app(tmp_path) as (services, client):
        _, secret = await give_key(services.storage, "ann")
        ways: dict[str, dict[str, Any]] = {
            "basic": {"headers": {"authorization": f"Basic {secret}"}},
            "bare": {"headers": {"authorization": secret}},
            "two": {"headers": [("authorization", f"Bearer {secret}")] * 2},
            "x-api-key": {"headers": {"x-api-key": secret}},
            "cookie": {"headers": {"cookie": f"key={secret}"}},
            "query": {"params": {"key": secret, "access_token": secret}},
        }
        refused = await client.get("/api/chats", **ways[carried])
    assert code_of(refused) == (401, "unauthenticated")


async def test_a_key_that_is_revoked_opens_nothing_from_then_on(tmp_path: Path) -> None:
    async with keyed_app(tmp_path) as (services, client):
        key, secret = await give_key(services.storage, "ann")
        _, others = await give_key(services.storage, "ann")
        assert (await client.get("/api/chats", headers=bearer(secret))).status_code == 200
        await services.storage.revoke_key(key.id)
        assert (await client.get("/api/chats", headers=bearer(secret))).status_code == 401
        assert (await client.get("/api/chats", headers=bearer(others))).status_code == 200


async def test_the_last_use_of_a_key_is_noted_but_not_each(tmp_path: Path) -> None:
    async with keyed_app(tmp_path) as (services, client):
        _, secret = await give_key(services.storage, "ann")
        began = now_ms()
        uses = []
        for _ in range(3):
            await client.get("/api/chats", headers=bearer(secret))
            uses.append((await services.storage.keys())[0].used_at)
    assert uses[0] is not None
    assert began <= uses[0] <= now_ms()
    assert len(set(uses)) == 1


def test_no_two_secrets_are_the_same_and_none_is_kept() -> None:
    made = [new_key("ann", "", ()) for _ in range(100)]
    assert len({secret for _, secret in made} | {key.id for key, _ in made}) == 200
    for key, secret in made:
        assert secret.startswith("mbx_")
        assert len(secret) == 4 + 43, "256 bits, six to a character"
        assert secret[4:] not in repr(key)
        assert key.digest == digest_of(secret)


@pytest.mark.parametrize(
    ("text", "minutes"), [("90m", 90), ("12h", 720), ("1d", 1440), ("2w", 20160)]
)
def test_a_key_may_last_for_so_long(text: str, minutes: int) -> None:
    assert read_expiry(text, 1000) == 1000 + minutes * 60_000


@pytest.mark.parametrize("text", ["", "30", "d", "0d", "-1d", "1.5h", "1y", "1234567d"])
def test_nothing_else_is_a_duration(text: str) -> None:
    with pytest.raises(ValueError, match="90m, 12h, 30d, 8w"):
        read_expiry(text, 1000)


# Modes


async def test_without_keys_all_local_users_are_one_owner(tmp_path: Path) -> None:
    async with app_client(tmp_path, "memory:") as (services, client):
        await give_key(services.storage, "ann")  # which changes nothing for those who need none
        await say_something(services.storage, "ann", "hers", "Hi")
        await say_something(services.storage, OWNER, "everybodys", "Hi")
        chats = (await client.get("/api/chats")).json()["chats"]
        assert [chat["id"] for chat in chats] == ["everybodys"], "what has an owner stays theirs"
        assert (await client.get("/metrics")).status_code == 200


async def test_server_with_keys_is_closed_before_the_first_key(tmp_path: Path) -> None:
    async with keyed_app(tmp_path) as (services, client):
        await say_something(services.storage, OWNER, "everybodys", "Hi")
        assert code_of(await client.get("/api/chats")) == (401, "unauthenticated")
        assert (await client.get("/chat")).status_code == 200, "the page asks for a key"


def test_only_a_server_with_keys_listens_on_other_addresses() -> None:
    assert Settings(host="0.0.0.0", auth="keys").host == "0.0.0.0"
    with pytest.raises(InvalidSetting, match=r"^host=0\.0\.0\.0: without authentication"):
        Settings(host="0.0.0.0")


@pytest.mark.parametrize(
    ("allowed", "host", "status"),
    [
        ((), "192.168.1.5:8000", 200),
        ((), "any.example", 200),
        (("chat.example",), "chat.example", 200),
        (("chat.example",), "any.example", 421),
        (("chat.example",), "10.1.2.3:8000", 200),  # as who probes pods says
    ],
)
async def test_with_keys_any_name_will_do_unless_some_are_listed(
    allowed: tuple[str, ...], host: str, status: int, tmp_path: Path
) -> None:
    async with keyed_app(tmp_path, allowed_hosts=allowed) as (_, client):
        assert (await client.get("/healthz", headers={"host": host})).status_code == status


@pytest.mark.parametrize("auth", ["none", "keys"])
async def test_wildcard_host_needs_an_app_with_own_authentication(
    auth: str, tmp_path: Path
) -> None:
    with pytest.raises(
        InvalidSetting, match=r"^allowed_hosts=\*: only an app with its own authentication"
    ):
        async with keyed_app(tmp_path, auth=auth, allowed_hosts=("*",)):
            pass


async def test_a_listed_page_may_send_a_key(tmp_path: Path) -> None:
    page = "https://front.example"
    asks = {
        "origin": page,
        "access-control-request-method": "GET",
        "access-control-request-headers": "authorization",
    }
    async with keyed_app(tmp_path, allowed_origins=(page,)) as (_, client):
        asked = await client.options("/api/chats", headers=asks)
        assert (asked.status_code, asked.headers["access-control-allow-origin"]) == (200, page)
        assert "authorization" in asked.headers["access-control-allow-headers"].lower()
        refused = await client.get("/api/chats", headers={"origin": page})
        assert refused.headers["access-control-allow-origin"] == page, "it may read why not"
        assert code_of(refused) == (401, "unauthenticated")


# An app's own word


def by_name(connection: HTTPConnection) -> Found:
    return connection.headers.get("x-user")


async def by_name_later(connection: HTTPConnection) -> Found:
    await asyncio.sleep(0)
    name = connection.headers.get("x-user")
    return None if name is None else Principal(name)


@pytest.mark.parametrize("hook", [by_name, by_name_later])
async def test_app_may_authenticate_users_itself(hook: Hook, tmp_path: Path) -> None:
    async with keyed_app(tmp_path, hook, auth="none") as (services, client):
        await say_something(services.storage, "ann", "hers", "Hi")
        found = await client.get("/api/chats/hers", headers={"x-user": "ann"})
        assert found.status_code == 200
        foreign = await client.get("/api/chats/hers", headers={"x-user": "bob"})
        assert code_of(foreign) == (404, "not_found")
        for nobody in ({}, {"x-user": ""}):
            assert code_of(await client.get("/api/chats/hers", headers=nobody)) == (
                401,
                "unauthenticated",
            )
        metrics = await client.get("/metrics", headers={"x-user": "ann"})
        assert code_of(metrics) == (403, "missing_scope"), "to be known is not to operate"


async def test_app_gets_the_setting_that_allows_a_host(tmp_path: Path) -> None:
    async with keyed_app(tmp_path, by_name, auth="none") as (_, client):
        unknown = await client.get("/api/chats", headers={"host": "any.example"})
        foreign = await client.get("/api/chats", headers={"origin": "http://any.example"})
    assert "Settings(…, allowed_hosts=('any.example',))" in unknown.text
    assert "Settings(…, allowed_origins=('http://any.example',))" in foreign.text


async def test_an_app_may_refuse_in_its_own_words(tmp_path: Path) -> None:
    def hook(connection: HTTPConnection) -> Found:
        raise HTTPException(402, "Pay first")

    async with keyed_app(tmp_path, hook, auth="none") as (_, client):
        refused = await client.get("/api/chats")
        assert (refused.status_code, refused.json()["error"]["message"]) == (402, "Pay first")
        assert (await client.get("/healthz")).status_code == 200


async def refused_socket(client: httpx.AsyncClient) -> dict[str, Any]:
    """What a socket is told that may not connect."""
    socket = {"EIO": "4", "transport": "polling"}
    opening = await client.get("/socket.io/", params=socket)
    socket["sid"] = json.loads(opening.text[1:])["sid"]
    plain = {"content-type": "text/plain"}
    said = await client.post("/socket.io/", params=socket, content="40", headers=plain)
    assert said.text == "OK"
    told = (await client.get("/socket.io/", params=socket)).text
    assert told.startswith("44")
    data: dict[str, Any] = json.loads(told[2:].partition("\x1e")[0])["data"]
    return data


@pytest.mark.parametrize(
    ("status", "code"), [(401, "unauthenticated"), (402, "payment_required"), (403, "forbidden")]
)
async def test_sockets_and_requests_are_refused_in_the_same_words(
    status: int, code: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def hook(connection: HTTPConnection) -> Found:
        raise HTTPException(status, "Not like that")

    async with keyed_app(tmp_path, hook, auth="none") as (_, client):
        assert code_of(await client.get("/api/chats")) == (status, code)
        refused = await refused_socket(client)
    assert (refused["code"], refused["message"]) == (code, "Not like that")
    assert "Traceback" not in caplog.text


async def test_keys_are_not_mentioned_where_the_app_authenticates(tmp_path: Path) -> None:
    async with keyed_app(tmp_path, by_name, auth="none") as (_, client):
        refused = await client.get("/api/chats")
        told = await refused_socket(client)
    assert code_of(refused) == (401, "unauthenticated")
    assert refused.json()["error"]["message"] == told["message"] == "authentication required"
    assert refused.headers.get_list("www-authenticate") == ['Bearer realm="app"']


async def test_app_documents_how_it_authenticates(tmp_path: Path) -> None:
    def hook(connection: HTTPConnection) -> Found:
        raise HTTPException(401, "Sign in", {"WWW-Authenticate": "Basic"})

    async with keyed_app(tmp_path, hook, auth="none") as (_, client):
        refused = await client.get("/api/chats")
    assert refused.headers.get_list("www-authenticate") == ["Basic"]


@pytest.mark.parametrize(
    ("found", "problem"),
    [
        (7, "expected a Principal, the name of an owner or None, got int"),
        (Principal(cast("str", 7)), "owner: expected a string, got 7"),
        (Principal("ann", ("reed",)), "scopes: expected some of read, write, operate, got"),
        (Principal("ann", cast("Any", "read")), "scopes: expected some of read, write, operate"),
        (Principal("ann", expires_at=1_800_000_000), "expires_at: expected milliseconds"),
        (Principal("ann", expires_at=cast("int", "soon")), "expires_at: expected milliseconds"),
        (Principal("ann", key_id="session-7"), "key_id: expected None, as only Mobox's own"),
    ],
)
async def test_principal_given_by_an_app_is_validated(
    found: Any, problem: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def my_login(_: HTTPConnection) -> Found:
        return cast("Found", found)

    async with keyed_app(tmp_path, my_login, auth="none") as (_, client):
        assert code_of(await client.get("/api/chats")) == (500, "internal_error")
    assert "authentication hook my_login returned an invalid principal" in caplog.text
    assert problem in caplog.text


async def test_keys_are_ignored_where_the_app_authenticates(tmp_path: Path) -> None:
    async with keyed_app(tmp_path, by_name) as (services, client):
        _, secret = await give_key(services.storage, "ann")
        refused = await client.get("/api/chats", headers=bearer(secret))
    assert code_of(refused) == (401, "unauthenticated")


# Tickets


async def ticket_for(client: httpx.AsyncClient, run_id: str, secret: str) -> str:
    bought = await client.post("/api/tickets", json={"runId": run_id}, headers=bearer(secret))
    assert bought.status_code == 201, bought.text
    told = bought.json()
    assert 0 < told["expiresAt"] - now_ms() <= 60_000
    return str(told["ticket"])


async def test_a_ticket_opens_one_stream_once(tmp_path: Path) -> None:
    async with keyed_app(tmp_path) as (services, client):
        _, secret = await give_key(services.storage, "ann", ("read",))
        run_id = await say_something(services.storage, "ann", "hers", "Hi, Ann")
        ticket = await ticket_for(client, run_id, secret)
        told = await client.get(EVENTS.format(run_id), params={"ticket": ticket})
        assert "Hi, Ann" in told.text
        again = await client.get(EVENTS.format(run_id), params={"ticket": ticket})
        assert code_of(again) == (401, "unauthenticated")


async def test_a_ticket_is_for_one_run_and_for_nothing_else(tmp_path: Path) -> None:
    async with keyed_app(tmp_path) as (services, client):
        _, secret = await give_key(services.storage, "ann")
        run_id = await say_something(services.storage, "ann", "hers", "Hi")
        other = await say_something(services.storage, "ann", "other", "Hi")
        for path in (EVENTS.format(other), f"/api/runs/{run_id}/inspect", "/api/chats"):
            ticket = await ticket_for(client, run_id, secret)
            refused = await client.get(path, params={"ticket": ticket})
            assert code_of(refused) == (401, "unauthenticated"), path
        wrong = await ticket_for(client, run_id, secret)
        await client.get(EVENTS.format(other), params={"ticket": wrong})
        spent = await client.get(EVENTS.format(run_id), params={"ticket": wrong})
        assert spent.status_code == 401, "shown is used up, whatever came of it"


async def test_a_ticket_is_as_good_as_the_key_that_bought_it(tmp_path: Path) -> None:
    async with keyed_app(tmp_path) as (services, client):
        key, secret = await give_key(services.storage, "ann")
        run_id = await say_something(services.storage, "ann", "hers", "Hi")
        ticket = await ticket_for(client, run_id, secret)
        await services.storage.revoke_key(key.id)
        refused = await client.get(EVENTS.format(run_id), params={"ticket": ticket})
    assert code_of(refused) == (401, "unauthenticated")


async def test_a_ticket_cannot_be_made_to_last(tmp_path: Path) -> None:
    until = now_ms() + 10_000_000

    def hook(_: HTTPConnection) -> Found:
        return Principal("ann", expires_at=until)

    async with keyed_app(tmp_path, hook, auth="none") as (services, client):
        run_id = await say_something(services.storage, "ann", "hers", "Hi")
        ticket = await ticket_for(client, run_id, "")
        assert ticket.endswith(f".{until}")
        for forged in (ticket.partition(".")[0], f"{ticket}0"):
            refused = await client.get(EVENTS.format(run_id), params={"ticket": forged})
            assert refused.status_code == 401
            assert refused.headers["www-authenticate"] == 'Bearer realm="app"', "no key would do"
        told = await client.get(EVENTS.format(run_id), params={"ticket": ticket})
        assert told.status_code == 200
