"""What gets past the guard, over real connections."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.types import Message, Receive, Scope, Send

from mobox.server.errors import exception_handlers
from mobox.server.eventstream import EventStream, Heartbeats
from mobox.server.guard import Allowed, Guard
from server.serving import client_of, serve

JSON = {"content-type": "application/json"}
MAX_BODY = 100_000
REFUSED = (403, "cross_origin")


async def echo(request: Request) -> Response:
    return JSONResponse({"method": request.method, "size": len(await request.body())})


async def page(request: Request) -> Response:
    return HTMLResponse("<p>Hello")


async def cached(request: Request) -> Response:
    return PlainTextResponse("Hello", headers={"cache-control": "max-age=60"})


async def deaf(request: Request) -> EventStream:
    """Answers before it has heard anything, and for as long as somebody talks."""

    async def batches() -> AsyncIterator[bytes]:
        yield b"data: 1\n\n"
        await asyncio.Event().wait()

    return EventStream(batches(), Heartbeats())


METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]
APP = Starlette(
    routes=[
        Route("/api/echo", echo, methods=METHODS),
        Route("/api/cached", cached),
        Route("/api/deaf", deaf, methods=["POST"]),
        Route("/page", page),
        Route("/apis", cached),
    ],
    exception_handlers=exception_handlers,
)


def guarded(hosts: Collection[str] = ("127.0.0.1",), origins: Collection[str] = ()) -> Guard:
    return Guard(APP, Allowed(hosts=hosts, origins=origins, max_body=MAX_BODY))


def said(response: httpx.Response) -> tuple[int, str]:
    """The status and the code of a refusal, which are JSON and as safe as any other answer."""
    assert response.headers["content-type"] == "application/json"
    assert response.headers["x-content-type-options"] == "nosniff"
    error = response.json()["error"]
    assert error["message"]
    return response.status_code, error["code"]


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:8000", "127.0.0.1:1", "[::1]", "[::1]:80", "chat.example:443"]
)
async def test_the_server_answers_to_its_names(host: str) -> None:
    app = guarded(hosts=["localhost", "127.0.0.1", "::1", "Chat.example"])
    async with client_of(app) as client:
        response = await client.get("/api/echo", headers={"host": host})
    assert response.status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "localhost.", "[::2]", "evillocalhost", "::1"],
)
async def test_the_server_answers_to_no_other_name(host: str) -> None:
    async with client_of(guarded(hosts=["localhost", "[::1]"])) as client:
        response = await client.get("/api/echo", headers={"host": host})
    assert said(response) in {(421, "unknown_host"), (400, "invalid_host")}


@pytest.mark.parametrize(
    "hosts",
    [
        b"",
        b"host:\r\n",
        b"host: localhost\r\nhost: localhost\r\n",
        b"host: localhost@evil.example\r\n",
        b"host: localhost:80:80\r\n",
        b"host: [::1\r\n",
    ],
)
async def test_a_request_names_one_host(hosts: bytes) -> None:
    async with serve(guarded(hosts=["localhost"])) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /api/echo HTTP/1.0\r\n%b\r\n" % hosts)
        answer = await reader.read()
        writer.close()
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b'"code":"invalid_host"' in answer


@pytest.mark.parametrize(
    ("headers", "passes"),
    [
        ({}, True),
        ({"origin": "http://chat.example"}, True),
        ({"origin": "http://chat.example:80"}, True),
        ({"origin": "HTTP://Chat.Example"}, True),
        ({"origin": "https://front.example"}, True),
        ({"origin": "https://front.example", "sec-fetch-site": "cross-site"}, True),
        ({"origin": "http://[::1]:5173"}, True),
        ({"sec-fetch-site": "same-origin"}, True),
        ({"sec-fetch-site": "none"}, True),
        ({"origin": "https://chat.example"}, False),
        ({"origin": "http://chat.example:8000"}, False),
        ({"origin": "http://front.example"}, False),
        ({"origin": "https://front.example.evil.example"}, False),
        ({"origin": "http://chat.example@evil.example"}, False),
        ({"origin": "null"}, False),
        ({"origin": ""}, False),
        ({"origin": "http://chat.example:port"}, False),
        ({"origin": "http://chat.example/page"}, False),
        ({"origin": "http://evil.example", "sec-fetch-site": "same-origin"}, False),
        ({"sec-fetch-site": "cross-site"}, False),
        ({"sec-fetch-site": "same-site"}, False),
    ],
)
async def test_only_the_servers_own_pages_may_ask(headers: dict[str, str], passes: bool) -> None:
    app = guarded(["chat.example"], ["https://front.example/", "http://[::1]:5173"])
    async with client_of(app) as client:
        for method in METHODS:
            response = await client.request(
                method, "/api/echo", headers={"host": "chat.example", **headers}
            )
            assert response.status_code == 200 if passes else said(response) == REFUSED


async def test_two_origins_are_both_looked_at() -> None:
    headers = [("origin", "http://127.0.0.1"), ("origin", "http://evil.example")]
    async with client_of(guarded()) as client:
        response = await client.post("/api/echo", headers=[*headers, ("host", "127.0.0.1")])
    assert said(response) == REFUSED


FOREIGN = [{"origin": "http://evil.example"}, {"sec-fetch-site": "cross-site"}]


@pytest.mark.parametrize("headers", FOREIGN)
async def test_any_page_may_link_to_pages_and_ask_what_it_may(headers: dict[str, str]) -> None:
    async with client_of(guarded()) as client:
        response = await client.get("/page", headers=headers)
        refused = await client.options("/api/echo", headers=headers)
    assert response.status_code == 200
    assert "access-control-allow-origin" not in response.headers
    assert said(refused) == (405, "method_not_allowed")


@pytest.mark.parametrize("headers", FOREIGN)
async def test_the_api_is_guarded_wherever_it_is_mounted(headers: dict[str, str]) -> None:
    async with client_of(Starlette(routes=[Mount("/below", guarded())])) as client:
        refused = await client.get("/below/api/echo", headers=headers)
        assert said(refused) == REFUSED
        assert (await client.get("/below/page", headers=headers)).status_code == 200


@pytest.mark.parametrize("origin", ["chat.example", "null", "ftp://chat.example", "http://a/b"])
def test_an_origin_to_list_is_an_origin(origin: str) -> None:
    with pytest.raises(ValueError, match="is not an origin; expected one such as https"):
        guarded(origins=[origin])


@pytest.mark.parametrize("content_type", ["application/json", "Application/JSON; charset=utf-8"])
async def test_a_body_is_json(content_type: str) -> None:
    headers = {"content-type": content_type, "content-encoding": "identity"}
    async with client_of(guarded()) as client:
        response = await client.post("/api/echo", content=b"{}", headers=headers)
    assert response.json() == {"method": "POST", "size": 2}


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/json-x", "multipart/form-data"]
)
async def test_a_body_is_nothing_else(content_type: str) -> None:
    async with client_of(guarded()) as client:
        whole = await client.post(
            "/api/echo", content=b"{}", headers={"content-type": content_type}
        )
        chunked = await client.delete("/api/echo", headers={"transfer-encoding": "chunked"})
    assert said(whole) == said(chunked) == (415, "unsupported_media_type")


@pytest.mark.parametrize("encoding", ["gzip", "br", "identity, gzip"])
async def test_a_body_is_not_compressed(encoding: str) -> None:
    headers = {**JSON, "content-encoding": encoding}
    async with client_of(guarded()) as client:
        response = await client.post("/api/echo", content=b"{}", headers=headers)
    assert said(response) == (415, "unsupported_encoding")


async def pieces(total: int) -> AsyncIterator[bytes]:
    for start in range(0, total, 30_000):
        yield b"x" * min(30_000, total - start)


async def test_a_body_may_be_as_big_as_is_allowed() -> None:
    async with client_of(guarded()) as client:
        whole = await client.post("/api/echo", content=b"x" * MAX_BODY, headers=JSON)
        chunked = await client.post("/api/echo", content=pieces(MAX_BODY), headers=JSON)
    assert whole.json()["size"] == chunked.json()["size"] == MAX_BODY


async def test_a_body_that_is_too_big_is_refused_and_the_connection_goes_on() -> None:
    async with client_of(guarded()) as client:
        whole = await client.post("/api/echo", content=b"x" * (MAX_BODY + 1), headers=JSON)
        chunked = await client.post("/api/echo", content=pieces(MAX_BODY + 1), headers=JSON)
        after = await client.post("/api/echo", content=b"{}", headers=JSON)
    assert said(whole) == said(chunked) == (413, "body_too_large")
    assert after.json()["size"] == 2


async def test_a_length_that_is_too_big_is_refused_at_once() -> None:
    async with serve(guarded()) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(
            b"POST /api/echo HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
            b"expect: 100-continue\r\ncontent-length: 100001\r\n\r\n"
        )
        assert (await reader.readline()).startswith(b"HTTP/1.1 413 ")
        writer.close()


async def test_an_app_never_takes_a_part_for_the_whole(caplog: pytest.LogCaptureFixture) -> None:
    read: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        while not read or read[-1].get("more_body"):
            read.append(await receive())
        read.append(await receive())
        await PlainTextResponse("I have it")(scope, receive, send)
        raise ValueError("or have I?")

    allowed = Allowed(hosts=["127.0.0.1"], origins=[], max_body=10)
    async with client_of(Guard(app, allowed)) as client:
        response = await client.post("/", content=pieces(60_000), headers=JSON)
    assert said(response) == (413, "body_too_large")
    assert [message["type"] for message in read] == ["http.disconnect"] * 2
    assert not [record for record in caplog.records if record.exc_info]


async def test_started_response_is_cut_when_the_body_is_too_large() -> None:
    async with client_of(guarded()) as client:
        with pytest.raises(httpx.TransportError):
            await client.post("/api/deaf", content=pieces(1_000_000), headers=JSON)


async def test_exceptions_of_an_app_are_not_hidden(caplog: pytest.LogCaptureFixture) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise ValueError("mine")

    allowed = Allowed(hosts=["127.0.0.1"], origins=[], max_body=10)
    async with client_of(Guard(app, allowed)) as client:
        assert (await client.get("/")).status_code == 500
    assert "mine" in caplog.text


async def test_every_answer_carries_what_keeps_it_where_it_belongs() -> None:
    async with client_of(guarded()) as client:
        for path in ("/page", "/api/echo", "/nowhere"):
            headers = (await client.get(path)).headers
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "no-referrer"
            assert headers["cross-origin-resource-policy"] == "same-origin"


async def test_only_pages_have_a_policy_for_their_content() -> None:
    async with client_of(guarded()) as client:
        policy = (await client.get("/page")).headers["content-security-policy"]
        assert "content-security-policy" not in (await client.get("/api/echo")).headers
    assert "default-src 'self'; script-src 'self'; style-src 'self'; img-src" in policy


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/api/echo", "no-store"),
        ("/api/cached", "max-age=60"),
        ("/api/nowhere", "no-store"),
        ("/apis", "max-age=60"),
        ("/page", None),
    ],
)
async def test_api_responses_are_not_stored(path: str, expected: str | None) -> None:
    async with client_of(guarded()) as client:
        assert (await client.get(path)).headers.get("cache-control") == expected


@pytest.mark.parametrize(
    ("headers", "passes"),
    [
        ([(b"host", b"chat.example"), (b"origin", b"http://chat.example")], True),
        ([(b"host", b"chat.example"), (b"origin", b"http://evil.example")], False),
        ([(b"host", b"evil.example")], False),
    ],
)
async def test_a_socket_is_guarded_too(headers: list[tuple[bytes, bytes]], passes: bool) -> None:
    sent: list[Message] = []
    scope = {"type": "websocket", "scheme": "ws", "path": "/", "headers": headers}

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "websocket.accept"})

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    await Guard(app, Allowed(hosts=["chat.example"], origins=[], max_body=1))(scope, receive, send)
    assert [message["type"] for message in sent] == [
        "websocket.accept" if passes else "websocket.close"
    ]
