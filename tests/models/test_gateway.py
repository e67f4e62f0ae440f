"""The gateway passes what it should, byte for byte, and refuses the rest."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from models.scripted_upstream import (
    Connection,
    anthropic_message,
    anthropic_stream,
    gemini_stream,
    openai_stream,
    scripted_upstream,
    streams,
)
from models.served_gateway import CALLER, CANARY, KEYS, pointing_to, served_gateway, token_of

MESSAGES = "/anthropic/v1/messages"
BODY = b'{"model": "claude-sonnet-4-5",  "max_tokens": 5, "messages": []}'


async def by_path(connection: Connection) -> None:
    """Each provider's own stream."""
    path = connection.request.target
    frames = gemini_stream("a", "b") if "gemini" in path else openai_stream("a", "b")
    await streams(anthropic_stream("a", "b") if "messages" in path else frames)(connection)


@pytest.mark.parametrize(
    ("path", "sent_to", "key"),
    [
        (MESSAGES, "/v1/messages", ("x-api-key", KEYS["ANTHROPIC_API_KEY"])),
        (f"{MESSAGES}?beta=true", "/v1/messages?beta=true", ("x-api-key", f"{CANARY}-a")),
        (f"{MESSAGES}/count_tokens", "/v1/messages/count_tokens", ("x-api-key", f"{CANARY}-a")),
        (
            "/openai/v1/chat/completions",
            "/v1/chat/completions",
            ("authorization", f"Bearer {CANARY}-o"),
        ),
        ("/openai/v1/responses", "/v1/responses", ("authorization", f"Bearer {CANARY}-o")),
        ("/openai/v1/embeddings", "/v1/embeddings", ("authorization", f"Bearer {CANARY}-o")),
        (
            "/gemini/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
            "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
            ("x-goog-api-key", f"{CANARY}-g"),
        ),
        ("/gemini/v1beta/interactions", "/v1beta/interactions", ("x-goog-api-key", f"{CANARY}-g")),
    ],
)
async def test_requests_and_responses_pass_unchanged(
    tmp_path: Path, path: str, sent_to: str, key: tuple[str, str]
) -> None:
    async with (
        scripted_upstream(by_path) as upstream,
        served_gateway(tmp_path, pointing_to(upstream.url)) as served,
        served.client(token_of(served.grant())) as client,
        httpx.AsyncClient(trust_env=False) as direct,
    ):
        headers = {"x-custom": "Kept  as it is", "anthropic-beta": "b1,b2"}
        response = await client.post(path, content=BODY, headers=headers)
        same = await direct.post(upstream.url + sent_to, content=BODY)
        assert (response.status_code, response.content) == (200, same.content)
        assert response.headers["content-type"] == same.headers["content-type"]
        [seen, _] = upstream.requests
        assert (seen.method, seen.target, seen.body) == ("POST", sent_to, BODY)
        assert seen.header(key[0]) == key[1]
        assert seen.header("x-custom") == "Kept  as it is"
        assert seen.header("anthropic-beta") == "b1,b2"
        assert seen.header("host") == urlsplit(upstream.url).netloc
        assert [value for _, value in seen.headers if "mbm_" in value] == []


@pytest.mark.parametrize("place", ["x-api-key", "authorization", "x-goog-api-key", "api-key"])
async def test_a_token_is_accepted_where_sdks_put_keys(tmp_path: Path, place: str) -> None:
    async with (
        scripted_upstream(by_path) as upstream,
        served_gateway(tmp_path, pointing_to(upstream.url)) as served,
        served.client() as client,
    ):
        token = token_of(served.grant())
        value = f"Bearer {token}" if place == "authorization" else token
        response = await client.post(MESSAGES, content=BODY, headers={place: value})
        assert response.status_code == 200


async def test_a_token_in_the_query_goes_no_further(tmp_path: Path) -> None:
    async with (
        scripted_upstream(by_path) as upstream,
        served_gateway(tmp_path, pointing_to(upstream.url)) as served,
        served.client() as client,
    ):
        token = token_of(served.grant())
        path = "/gemini/v1beta/models/gemini-2.5-flash:generateContent"
        response = await client.post(f"{path}?alt=sse&key={token}&x=%2F", content=b"{}")
        assert response.status_code == 200
        assert upstream.requests[0].target == path.removeprefix("/gemini") + "?alt=sse&x=%2F"


async def test_tokens_are_refused_before_the_turn_and_after_the_end(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with (
        scripted_upstream(by_path) as upstream,
        served_gateway(tmp_path, pointing_to(upstream.url)) as served,
        served.client() as client,
    ):

        async def status(token: str, path: str = MESSAGES) -> int:
            response = await client.post(path, content=BODY, headers={"x-api-key": token})
            return response.status_code

        grant = served.grant("anthropic", bound=False)
        token = token_of(grant)
        assert await status(token) == 403
        grant.bind(CALLER)
        assert await status(token) == 200
        assert await status(token, "/openai/v1/chat/completions") == 403
        grant.close()
        assert await status(token) == 401
        assert await status("mbm_unknown") == 401
        assert (await client.post(MESSAGES, content=BODY)).status_code == 401
        other = token_of(served.grant("openai"))
        assert await status(other) == 403
        assert len(upstream.requests) == 1
    assert token not in caplog.text


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (
            MESSAGES,
            {"type": "error", "error": {"type": "authentication_error"}},
        ),
        ("/openai/v1/chat/completions", {"error": {"code": "invalid_api_key", "param": None}}),
        (
            "/gemini/v1beta/models/m:generateContent",
            {"error": {"code": 401, "status": "UNAUTHENTICATED"}},
        ),
    ],
)
async def test_refusals_have_the_providers_shape(
    tmp_path: Path, path: str, expected: dict[str, object]
) -> None:
    async with served_gateway(tmp_path, {}) as served, served.client("mbm_no") as client:
        response = await client.post(path, content=b"{}")
        body = response.json()
        inner = expected.pop("error")
        assert isinstance(inner, dict)
        assert expected.items() <= body.items()
        assert inner.items() <= body["error"].items()
        assert body["error"]["message"].startswith("Mobox: ")
        assert response.headers["x-should-retry"] == "false"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/anthropic/v1/messages"),
        ("GET", "/anthropic/v1/files/f_1/content"),
        ("GET", "/anthropic/v1/messages/batches"),
        ("POST", "/anthropic/v1/messages/batches"),
        ("GET", "/openai/v1/responses/resp_1"),
        ("GET", "/openai/v1/files"),
        ("DELETE", "/openai/v1/responses/resp_1"),
        ("GET", "/gemini/v1beta/interactions/i_1"),
        ("GET", "/gemini/v1beta/files"),
        ("POST", "/gemini/v1beta/models/m:predict"),
        ("POST", "/gemini/upload/v1beta/files"),
        ("POST", "/elsewhere/v1/messages"),
        ("POST", "/v1/messages"),
    ],
)
async def test_paths_outside_of_the_list_are_refused(
    tmp_path: Path, method: str, path: str
) -> None:
    async with (
        scripted_upstream(by_path) as upstream,
        served_gateway(tmp_path, pointing_to(upstream.url)) as served,
        served.client(token_of(served.grant())) as client,
    ):
        response = await client.request(method, path, content=BODY)
        assert response.status_code == 404
        assert upstream.requests == []


async def raw(address: str, request: bytes) -> bytes:
    """What comes back for these bytes, until the connection ends or a response is complete."""
    reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(address).port)
    writer.write(request)
    try:
        return await reader.readline()
    finally:
        writer.close()


@pytest.mark.parametrize(
    "target",
    [
        "/anthropic/../openai/v1/files",
        "/anthropic/v1/messages/..",
        "/anthropic/v1/./messages",
        "/anthropic//v1/messages",
        "//anthropic/v1/messages",
        "/anthropic/v1%2fmessages",
        "/anthropic/v1%2Fmessages",
        "/anthropic/%2e%2e/v1/messages",
        "/anthropic/v1%5cmessages",
        "/anthropic/v1/messages%00",
        "/anthropic/v1/messages%252f",
        "/anthropic\\v1\\messages",
        "/anthropic/v1/messages;/../x",
        "http://127.0.0.1/anthropic/v1/messages",
        "http://evil.example/anthropic/v1/messages",
        "//evil.example/anthropic/v1/messages",
        "/anthropic/v1/messages%",
        "/anthropic/v1/messages%0d%0ax-api-key:%20other",
        "/anthropic/v1/messages#/v1/files",
        "/anthropic@evil.example/v1/messages",
        "/anthropicv1/messages",
        "/Anthropic/v1/messages",
        "*",
    ],
)
async def test_path_tricks_are_refused(tmp_path: Path, target: str) -> None:
    async with (
        scripted_upstream(by_path) as upstream,
        served_gateway(tmp_path, pointing_to(upstream.url)) as served,
    ):
        token = token_of(served.grant())
        request = (
            f"POST {target} HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: {token}\r\n"
            "content-length: 0\r\n\r\n"
        )
        status = await raw(served.address, request.encode())
        assert status.startswith((b"HTTP/1.1 400", b"HTTP/1.1 404")), status
        assert upstream.requests == []


@pytest.mark.parametrize(
    "request_line",
    ["CONNECT 127.0.0.1:1 HTTP/1.1", "OPTIONS * HTTP/1.1", f"TRACE {MESSAGES} HTTP/1.1"],
)
async def test_other_methods_are_refused(tmp_path: Path, request_line: str) -> None:
    async with (
        scripted_upstream(by_path) as upstream,
        served_gateway(tmp_path, pointing_to(upstream.url)) as served,
    ):
        token = token_of(served.grant())
        request = f"{request_line}\r\nhost: 127.0.0.1\r\nx-api-key: {token}\r\n\r\n"
        status = await raw(served.address, request.encode())
        assert status.startswith((b"HTTP/1.1 400", b"HTTP/1.1 404")), status
        assert upstream.requests == []


async def test_a_request_of_two_lengths_is_refused(tmp_path: Path) -> None:
    """A proxy and a server that read it differently could take one request for two."""
    async with (
        scripted_upstream(by_path) as upstream,
        served_gateway(tmp_path, pointing_to(upstream.url)) as served,
    ):
        hidden = "POST /v1/files HTTP/1.1\r\nhost: x\r\n\r\n"
        request = (
            f"POST {MESSAGES} HTTP/1.1\r\nhost: 127.0.0.1\r\n"
            f"x-api-key: {token_of(served.grant())}\r\ncontent-length: 5\r\n"
            f"transfer-encoding: chunked\r\n\r\n0\r\n\r\n{hidden}"
        )
        assert (await raw(served.address, request.encode())).startswith(b"HTTP/1.1 400")
        assert upstream.requests == []


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "127.0.0.1@evil"])
async def test_other_hosts_are_refused(tmp_path: Path, host: str) -> None:
    async with (
        scripted_upstream(by_path) as upstream,
        served_gateway(tmp_path, pointing_to(upstream.url)) as served,
    ):
        request = (
            f"POST {MESSAGES} HTTP/1.1\r\nhost: {host}\r\n"
            f"x-api-key: {token_of(served.grant())}\r\ncontent-length: 0\r\n\r\n"
        )
        assert (await raw(served.address, request.encode())).startswith(b"HTTP/1.1 400")
        assert upstream.requests == []


async def test_the_claude_cli_may_say_hello_without_a_token(tmp_path: Path) -> None:
    async with served_gateway(tmp_path, {}) as served, served.client() as client:
        for path in ("/api/hello", "/anthropic/api/hello"):
            assert (await client.head(path)).status_code == 200


async def test_redirects_are_passed_back(tmp_path: Path) -> None:
    async def reply(connection: Connection) -> None:
        where = "http://evil.example/v1/messages"
        await connection.document({}, 307, location=where, set_cookie="session=1")

    async with (
        scripted_upstream(reply) as upstream,
        served_gateway(tmp_path, pointing_to(upstream.url)) as served,
        served.client(token_of(served.grant())) as client,
    ):
        response = await client.post(MESSAGES, content=BODY)
        assert response.status_code == 307
        assert "set-cookie" not in response.headers
        assert len(upstream.requests) == 1


async def test_hop_by_hop_and_credential_headers_stay_here(tmp_path: Path) -> None:
    async with (
        scripted_upstream(by_path) as upstream,
        served_gateway(tmp_path, pointing_to(upstream.url)) as served,
        served.client(token_of(served.grant())) as client,
    ):
        headers = {
            "authorization": "Bearer sk-of-the-agent",
            "cookie": "a=b",
            "connection": "keep-alive, x-hop",
            "x-hop": "1",
            "te": "trailers",
            "accept-encoding": "gzip, br, zstd;q=1",
        }
        assert (await client.post(MESSAGES, content=BODY, headers=headers)).status_code == 200
        seen = upstream.requests[0]
        for name in ("authorization", "cookie", "x-hop", "te"):
            assert seen.header(name) is None, name
        assert seen.header("accept-encoding") == "gzip"


async def test_a_streamed_request_is_streamed_on(tmp_path: Path) -> None:
    """The provider sees the first piece before the second is sent."""
    arrived = asyncio.Event()

    async def first_piece(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"first")
        arrived.set()
        await reader.readuntil(b"second")
        await reader.readuntil(b"0\r\n\r\n")
        await Connection(reader, writer).document(anthropic_message("ok"))
        writer.close()

    server = await asyncio.start_server(first_piece, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"

    async def pieces() -> AsyncIterator[bytes]:
        yield b"first"
        await arrived.wait()
        yield b"second"

    async with (
        served_gateway(tmp_path, pointing_to(url)) as served,
        served.client(token_of(served.grant())) as client,
    ):
        response = await client.post(MESSAGES, content=pieces())
        assert response.json() == anthropic_message("ok")
    server.close()


async def test_a_piece_arrives_before_the_next_is_sent(tmp_path: Path) -> None:
    read = asyncio.Event()

    async def reply(connection: Connection) -> None:
        await connection.start()
        await connection.piece(b"data: 1\n\n")
        await read.wait()
        await connection.piece(b"data: 2\n\n")
        await connection.end()

    async with (
        scripted_upstream(reply) as upstream,
        served_gateway(tmp_path, pointing_to(upstream.url)) as served,
        served.client(token_of(served.grant())) as client,
        client.stream("POST", MESSAGES, content=BODY) as response,
    ):
        pieces = response.aiter_raw()
        assert await anext(pieces) == b"data: 1\n\n"
        read.set()
        assert await anext(pieces) == b"data: 2\n\n"


async def test_a_slow_reader_slows_the_provider_down(tmp_path: Path) -> None:
    """The provider can send only what buffers of the two connections take, never all of it."""
    most, sent = 256 << 20, 0
    stuck = asyncio.Event()

    async def reply(connection: Connection) -> None:
        nonlocal sent
        await connection.start()
        piece = b"data: " + b"x" * (1 << 16) + b"\n\n"
        while sent < most:
            try:
                async with asyncio.timeout(2):  # nothing is read any more
                    await connection.piece(piece)
            except TimeoutError:
                break
            sent += len(piece)
        stuck.set()
        connection.writer.transport.abort()

    async with (
        scripted_upstream(reply) as upstream,
        served_gateway(tmp_path, pointing_to(upstream.url)) as served,
        served.client(token_of(served.grant())) as client,
        client.stream("POST", MESSAGES, content=BODY) as response,
    ):
        assert response.status_code == 200
        await stuck.wait()
        assert sent < 32 << 20


async def test_a_client_that_leaves_ends_the_providers_work(tmp_path: Path) -> None:
    left = asyncio.Event()

    async def reply(connection: Connection) -> None:
        await connection.start()
        await connection.piece(b"data: 1\n\n")
        await connection.left()
        left.set()

    async with (
        scripted_upstream(reply) as upstream,
        served_gateway(tmp_path, pointing_to(upstream.url)) as served,
    ):
        async with (
            served.client(token_of(served.grant())) as client,
            client.stream("POST", MESSAGES, content=BODY) as response,
        ):
            await anext(response.aiter_raw())
        await left.wait()


async def test_a_client_that_leaves_before_the_response_ends_the_providers_work(
    tmp_path: Path,
) -> None:
    came, left = asyncio.Event(), asyncio.Event()

    async def reply(connection: Connection) -> None:
        came.set()
        await connection.left()
        left.set()

    async with (
        scripted_upstream(reply) as upstream,
        served_gateway(tmp_path, pointing_to(upstream.url)) as served,
    ):
        token = token_of(served.grant())
        reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(served.address).port)
        request = f"POST {MESSAGES} HTTP/1.1\r\nhost: localhost\r\nx-api-key: {token}\r\n"
        writer.write(f"{request}content-length: 2\r\n\r\n{{}}".encode())
        await came.wait()
        writer.close()
        await left.wait()
        del reader


async def test_a_provider_that_breaks_off_is_a_break(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def reply(connection: Connection) -> None:
        await connection.start()
        await connection.piece(b"data: 1\n\n")
        connection.writer.transport.abort()

    async with (
        scripted_upstream(reply) as upstream,
        served_gateway(tmp_path, pointing_to(upstream.url)) as served,
        served.client(token_of(served.grant())) as client,
    ):
        with pytest.raises(httpx.RemoteProtocolError):
            await client.post(MESSAGES, content=BODY)
        assert [report.outcome for report in served.reports] == ["cut"]
    assert "run r_1 (agent tester): model call to anthropic failed with cut" in caplog.text


async def test_an_unreachable_provider_is_a_502_that_may_be_tried_again(tmp_path: Path) -> None:
    async with (
        served_gateway(tmp_path, pointing_to("http://127.0.0.1:1")) as served,
        served.client(token_of(served.grant())) as client,
    ):
        response = await client.post(MESSAGES, content=BODY)
        assert response.status_code == 502
        assert response.headers["x-should-retry"] == "true"
        assert response.json()["error"]["type"] == "network_error"


async def test_errors_of_providers_pass_and_are_logged_without_their_words(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    error = {"type": "error", "error": {"type": "rate_limit_error", "message": "private words"}}

    async def reply(connection: Connection) -> None:
        await connection.document(error, 429, retry_after="7")

    async with (
        scripted_upstream(reply) as upstream,
        served_gateway(tmp_path, pointing_to(upstream.url)) as served,
        served.client(token_of(served.grant())) as client,
    ):
        response = await client.post(MESSAGES, content=BODY)
        assert (response.status_code, response.json()) == (429, error)
        assert response.headers["retry-after"] == "7"
        assert served.reports[0].outcome == "429"
    assert "model call to anthropic failed with 429" in caplog.text
    assert "private words" not in caplog.text
    assert CANARY not in caplog.text


async def test_compressed_responses_pass_as_they_are_and_are_counted(tmp_path: Path) -> None:
    body = gzip.compress(json.dumps(anthropic_message("ok")).encode())

    async def reply(connection: Connection) -> None:
        await connection.document(body, content_encoding="gzip")

    async with (
        scripted_upstream(reply) as upstream,
        served_gateway(tmp_path, pointing_to(upstream.url)) as served,
        served.client(token_of(served.grant())) as client,
        client.stream("POST", MESSAGES, content=BODY) as response,
    ):
        assert b"".join([piece async for piece in response.aiter_raw()]) == body
        assert served.reports[0].usage == (10, 7, 0, 0)


@pytest.mark.parametrize(
    ("path", "usage"),
    [
        (MESSAGES, (10, 7, 4, 0)),
        ("/openai/v1/chat/completions", (12, 5, 0, 0)),
        ("/gemini/v1beta/models/gemini-2.5-flash:streamGenerateContent", (8, 2, 0, 0)),
    ],
)
async def test_usage_is_read_from_streams(
    tmp_path: Path, path: str, usage: tuple[int, ...]
) -> None:
    async with (
        scripted_upstream(by_path) as upstream,
        served_gateway(tmp_path, pointing_to(upstream.url)) as served,
        served.client(token_of(served.grant())) as client,
    ):
        assert (await client.post(path, content=BODY)).status_code == 200
        assert served.reports[0].usage == usage


async def test_without_a_key_no_provider_is_asked(tmp_path: Path) -> None:
    async with (
        scripted_upstream(by_path) as upstream,
        served_gateway(tmp_path, {"ANTHROPIC_BASE_URL": upstream.url}) as served,
        served.client(token_of(served.grant())) as client,
    ):
        await client.post(MESSAGES, content=BODY)
        assert upstream.requests == []
        assert served.reports[0].source == "simulated"
