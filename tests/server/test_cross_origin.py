"""Pages of other origins: refused, unless they are listed; then they may read every response."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from starlette.middleware.cors import CORSMiddleware

from library.apps import own_routes, running
from mobox.server.cors import RESPONSE_HEADERS
from server.app_client import answered, app_client
from server.live_server import message
from server.server_with_keys import keyed_app

THEIRS = "http://localhost:3000"
FROM = {"origin": THEIRS}
ASKS = {
    **FROM,
    "access-control-request-method": "POST",
    "access-control-request-headers": "content-type",
}
PLAIN = {"accept": "*/*"}


def may_read(response: httpx.Response) -> bool:
    """Whether a browser gives the response, and our headers, to a page of `THEIRS`."""
    headers = response.headers
    origins = headers.get_list("access-control-allow-origin")
    exposed = headers.get("access-control-expose-headers", "").split(", ")
    is_varying = "origin" in headers.get("vary", "").lower()
    return origins == [THEIRS] and is_varying and set(RESPONSE_HEADERS) <= {*exposed}


async def test_a_listed_page_may_ask_and_read(tmp_path: Path) -> None:
    async with app_client(tmp_path, "memory:", allowed_origins=(THEIRS,)) as (_, client):
        asked = await client.options("/api/chat", headers=ASKS)
        assert asked.status_code == 200
        assert may_read(asked)
        assert "content-type" in asked.headers["access-control-allow-headers"]
        assert "POST" in asked.headers["access-control-allow-methods"]
        unknown = {**message("c1", "hi"), "agent": "nobody"}
        refused = await client.post("/api/chat", json=unknown, headers=FROM)
        assert refused.json()["error"]["code"] == "unknown_agent"
        assert may_read(refused)


async def test_a_listed_page_may_read_whatever_goes_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with app_client(
        tmp_path, "memory:", allowed_origins=(THEIRS,), max_body=100, allowed_hosts=("a.example",)
    ) as (services, client):
        responses = [
            await client.post("/api/chat", json={"x": "x" * 100}, headers=FROM),
            await client.post("/api/chat", content=b"{}", headers={**FROM, "content-type": "a/b"}),
            await client.get("/api/nothing", headers=FROM),
            await client.put("/api/chat", headers=FROM),
            await client.get("/api/chats", headers={**FROM, "host": "b.example"}),
        ]

        async def fails(*_: object, **__: object) -> None:
            raise ValueError("not expected")

        monkeypatch.setattr(services.storage, "chats", fails)
        responses.append(await client.get("/api/chats", headers=FROM))
    assert [each.status_code for each in responses] == [413, 415, 404, 405, 421, 500]
    assert all(map(may_read, responses))


async def test_listed_page_may_read_streams_and_refused_keys(tmp_path: Path) -> None:
    async with app_client(tmp_path / "a", "memory:", allowed_origins=(THEIRS,)) as (
        services,
        client,
    ):
        run = await answered(services, "c1", "hello", "Hi")
        path = f"/api/chat/c1/stream?run={run.id}"
        stream = await client.get(path, headers=FROM)
        assert stream.headers["content-type"].startswith("text/event-stream")
        assert may_read(stream)
    async with keyed_app(tmp_path / "b", allowed_origins=(THEIRS,)) as (_, client):
        refused = await client.post("/api/chat", json=message("c", "hi"), headers=FROM)
        assert refused.status_code == 401
        assert may_read(refused)


async def test_guide_of_the_ai_sdk_may_reconnect_with_cookies_and_its_own_headers(
    tmp_path: Path,
) -> None:
    """`prepareReconnectToStreamRequest` with `credentials: "include"` and two headers."""
    wanted = "authorization,x-custom-header"
    asks = {
        **FROM,
        "access-control-request-method": "GET",
        "access-control-request-headers": wanted,
    }
    async with app_client(
        tmp_path,
        "memory:",
        allowed_origins=(THEIRS,),
        allowed_headers=("x-custom-header",),
        allow_credentials=True,
    ) as (_, client):
        asked = await client.options("/api/chat/c1/stream", headers=asks)
        resumed = await client.get("/api/chat/c1/stream", headers={**FROM, "x-custom-header": "a"})
    assert set(wanted.split(",")) <= {*asked.headers["access-control-allow-headers"].split(", ")}
    for response in (asked, resumed):
        assert may_read(response)
        assert response.headers["access-control-allow-credentials"] == "true"


async def test_forwarded_headers_may_be_sent(tmp_path: Path) -> None:
    async with app_client(
        tmp_path, "memory:", allowed_origins=(THEIRS,), forwarded_headers=("x-tenant",)
    ) as (_, client):
        asked = await client.options("/api/chat", headers=ASKS)
    assert "x-tenant" in asked.headers["access-control-allow-headers"].split(", ")


@pytest.mark.parametrize(
    ("listed", "said"),
    [
        (f"{THEIRS}/", THEIRS),
        (THEIRS.upper(), THEIRS),
        ("https://chat.example:443", "https://chat.example"),
        ("http://[::1]:3000", "http://[::1]:3000"),
    ],
)
async def test_it_does_not_matter_how_a_page_is_listed(
    tmp_path: Path, listed: str, said: str
) -> None:
    async with app_client(tmp_path, "memory:", allowed_origins=(listed,)) as (_, client):
        asked = await client.get("/api/chats", headers={"origin": said})
        assert asked.status_code == 200
        assert asked.headers["access-control-allow-origin"] == said


@pytest.mark.parametrize("origins", [("http://other.example",), ()], ids=["others", "none"])
async def test_no_other_page_may(
    tmp_path: Path, origins: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    async with app_client(tmp_path, "memory:", allowed_origins=origins) as (_, client):
        responses = [
            await client.get("/healthz", headers=FROM),
            await client.options("/api/chat", headers=ASKS),
            await client.post("/api/chat", json=message("c1", "hi"), headers=FROM),
            await client.get("/api/chats", headers=FROM),
        ]
    assert [each.status_code for each in responses] == [200, 403, 403, 403]
    for response in responses:
        assert not [name for name in response.headers if name.startswith("access-control-")]
    (line,) = (each for each in caplog.messages if "refused a request" in each)
    assert line == (
        f"refused a request of a page of {THEIRS}; to allow its origin: --allowed-origins {THEIRS}"
    )


async def test_invented_origins_do_not_fill_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with app_client(tmp_path, "memory:") as (_, client):
        for number in range(150):
            await client.get("/api/chats", headers={"origin": f"http://a{number}.example"})
        await client.get("/api/chats", headers={"origin": "null"})
    assert len([each for each in caplog.messages if "refused a request" in each]) == 100


async def test_picture_on_a_listed_page_is_shown_and_on_another_is_not(tmp_path: Path) -> None:
    embedded = {"sec-fetch-mode": "no-cors", "sec-fetch-site": "cross-site"}
    async with app_client(tmp_path, "memory:", allowed_origins=(THEIRS,)) as (_, client):
        for path in ("/api/agents", "/favicon.ico"):
            shown = await client.get(path, headers={**embedded, "referer": f"{THEIRS}/"})
            assert shown.status_code == 200
            assert shown.headers["cross-origin-resource-policy"] == "cross-origin"
        for headers in (embedded, {**embedded, "referer": "http://other.example/"}):
            hidden = await client.get("/api/agents", headers=headers)
            assert hidden.status_code == 403
            assert hidden.headers["cross-origin-resource-policy"] == "same-origin"


async def test_sentence_of_an_error_is_plain_text_with_its_code_in_a_header(tmp_path: Path) -> None:
    async with app_client(tmp_path, "memory:", allowed_origins=(THEIRS,)) as (_, client):
        unknown = {**message("c1", "hi"), "agent": "nobody"}
        told = await client.post("/api/chat", json=unknown, headers={**FROM, **PLAIN})
        assert told.headers["content-type"] == "text/plain; charset=utf-8"
        assert told.headers["x-mobox-error"] == "unknown_agent"
        assert told.text == "There is no agent called 'nobody'."
        foreign = await client.get(
            "/api/chat/c1/stream", headers={**PLAIN, "origin": "http://other.example"}
        )
        assert (foreign.status_code, foreign.headers["x-mobox-error"]) == (403, "cross_origin")
        assert foreign.text.startswith("Pages of other origins may not use this server (")
        elsewhere = await client.get("/api/chats/c9", headers=PLAIN)
        assert elsewhere.json()["error"]["code"] == elsewhere.headers["x-mobox-error"]


# Inside an app that has CORS middleware


async def test_app_around_mobox_adds_its_own_headers_once(tmp_path: Path) -> None:
    app, _ = own_routes(tmp_path, allowed_origins=(THEIRS,))
    app.add_middleware(CORSMiddleware, allow_origins=[THEIRS], allow_credentials=True)
    async with running(app) as client:
        for path in ("/mobox/api/chats", "/mobox/api/nothing"):
            response = await client.get(path, headers=FROM)
            origins = response.headers.get_list("access-control-allow-origin")
            assert origins == [THEIRS]
            assert len(response.headers.get_list("vary")) == 1
            assert response.headers.get_list("access-control-allow-credentials") == ["true"]


async def test_own_route_of_an_app_has_the_headers_of_the_app(tmp_path: Path) -> None:
    app, _ = own_routes(tmp_path)
    exposed = ["x-mobox-error"]
    app.add_middleware(CORSMiddleware, allow_origins=[THEIRS], expose_headers=exposed)
    async with running(app) as client:
        said = await client.post("/ask/eve", json=message("c", "hello"), headers=FROM)
        refused = await client.post("/ask/eve", json={}, headers={**FROM, **PLAIN})
        resumed = await client.get("/ask/c/stream", headers=FROM)
    assert [each.status_code for each in (said, refused, resumed)] == [200, 400, 204]
    for response in (said, refused, resumed):
        assert response.headers.get_list("access-control-allow-origin") == [THEIRS]
        assert response.headers["access-control-expose-headers"] == "x-mobox-error"
    assert refused.text == "The request is not valid: id: expected a value, got none."
