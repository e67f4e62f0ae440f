"""Calls are recorded without credentials, and played back byte for byte."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from mobox.models import cassettes
from mobox.models.cassettes import CassetteFolder
from models.scripted_upstream import (
    Connection,
    Reply,
    anthropic_message,
    anthropic_stream,
    gemini_stream,
    openai_stream,
    scripted_upstream,
    streams,
)
from models.served_gateway import (
    CALLER,
    CANARY,
    ServedGateway,
    pointing_to,
    served_gateway,
    token_of,
)
from models.simulator.asking import WIRES, Wire

MESSAGES = "/anthropic/v1/messages"


def client_of(served: ServedGateway, cassette: Path | None = None) -> httpx.AsyncClient:
    return served.client(token_of(served.grant(cassette=cassette)))


async def recorded(tmp_path: Path, reply: Reply, *calls: tuple[str, Any]) -> Path:
    """The cassette of a run that makes these calls."""
    folder = CassetteFolder(tmp_path / "cassettes")
    async with (
        scripted_upstream(reply) as upstream,
        served_gateway(tmp_path, pointing_to(upstream.url), recording=folder) as served,
        client_of(served) as client,
    ):
        for path, body in calls:
            headers = {"x-account": "mine", "cookie": "session=1", "anthropic-beta": "b1"}
            try:
                await client.post(path, json=body, headers=headers)
            except httpx.RemoteProtocolError:
                assert served.reports[-1].outcome == "cut"
    return tmp_path / "cassettes" / f"{CALLER.run_id}.jsonl"


async def by_path(connection: Connection) -> None:
    path = connection.request.target
    frames = gemini_stream("ä", "b") if "v1beta" in path else openai_stream("ä", "b")
    await streams(anthropic_stream("ä", "b") if "messages" in path else frames)(connection)


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
async def test_a_recorded_call_is_played_back(tmp_path: Path, wire: Wire) -> None:
    path, body = wire.mount + (wire.stream_path or wire.path), wire.body("x", stream=True)
    tape = await recorded(tmp_path, by_path, (path, body))
    async with (
        scripted_upstream(by_path) as upstream,
        served_gateway(tmp_path, pointing_to(upstream.url)) as served,
        client_of(served) as direct,
        client_of(served, tape) as player,
    ):
        expected = await direct.post(path, json=body)
        played = await player.post(path, json=body)
        assert (played.status_code, played.content) == (200, expected.content)
        assert played.headers["content-type"] == expected.headers["content-type"]
        assert len(upstream.requests) == 1, "the player asks no provider"
        provider, tape_usage = (report.usage for report in served.reports)
        assert tape_usage == provider


async def test_a_cassette_has_no_credentials_accounts_and_ids(tmp_path: Path) -> None:
    async def reply(connection: Connection) -> None:
        await connection.document(
            anthropic_message("hi"), request_id="req_1", anthropic_organization_id="org_1",
            set_cookie="a=b", retry_after="3",
        )  # fmt: skip

    tape = await recorded(tmp_path, reply, (MESSAGES, {"messages": []}))
    (call,) = [json.loads(line) for line in tape.read_text().splitlines()]
    assert call["headers"] == {
        "accept": "*/*", "content-type": "application/json", "anthropic-beta": "b1",
    }  # fmt: skip
    assert call["response_headers"] == {"content-type": "application/json", "retry-after": "3"}
    assert (call["request"], call["status"], call["path"]) == (
        {"messages": []},
        200,
        "/v1/messages",
    )
    for secret in (CANARY, "mbm_", "org_1", "req_1", "mine", "session"):
        assert secret not in tape.read_text()
    assert tape.stat().st_mode & 0o777 == 0o600
    assert tape.parent.stat().st_mode & 0o777 == 0o700


async def test_compressed_and_binary_responses_can_be_read(tmp_path: Path) -> None:
    async def reply(connection: Connection) -> None:
        if b"binary" in connection.request.body:
            await connection.document(b"\xff\x00", content_type="application/octet-stream")
        else:
            body = gzip.compress(json.dumps(anthropic_message("hi")).encode())
            await connection.document(body, content_encoding="gzip")

    tape = await recorded(tmp_path, reply, (MESSAGES, {"a": 1}), (MESSAGES, {"a": "binary"}))
    first, second = [json.loads(line) for line in tape.read_text().splitlines()]
    assert json.loads(first["chunks"][0]) == anthropic_message("hi")
    assert second["chunks"] == [{"base64": "/wA="}]
    async with served_gateway(tmp_path, {}) as served, client_of(served, tape) as player:
        assert (await player.post(MESSAGES, json={"a": 1})).json() == anthropic_message("hi")
        assert (await player.post(MESSAGES, json={"a": "binary"})).content == b"\xff\x00"


async def test_equal_requests_are_played_in_order_and_others_in_any(tmp_path: Path) -> None:
    number = 0

    async def reply(connection: Connection) -> None:
        nonlocal number
        number += 1
        await connection.document({"number": number})

    calls = [(MESSAGES, {"a": key}) for key in ("x", "y", "x")]
    tape = await recorded(tmp_path, reply, *calls)
    async with served_gateway(tmp_path, {}) as served:
        for _ in range(2):  # each execution from the start
            async with client_of(served, tape) as player:
                played = [(await player.post(MESSAGES, json={"a": key})).json() for key in "yxxx"]
                assert [each["number"] for each in played] == [2, 1, 3, 3]


async def test_a_response_that_broke_off_breaks_off_again(tmp_path: Path) -> None:
    async def reply(connection: Connection) -> None:
        await connection.start()
        await connection.piece(b"data: 1\n\n")
        connection.writer.transport.abort()

    tape = await recorded(tmp_path, reply, (MESSAGES, {}))
    async with served_gateway(tmp_path, {}) as served, client_of(served, tape) as player:
        received = b""
        with pytest.raises(httpx.RemoteProtocolError):
            async with player.stream("POST", MESSAGES, json={}) as response:
                async for data in response.aiter_raw():
                    received += data
        assert received == b"data: 1\n\n"
        assert served.reports[-1].outcome == "cut"


async def test_an_unknown_request_is_an_error_that_shows_the_difference(tmp_path: Path) -> None:
    tape = await recorded(tmp_path, by_path, (MESSAGES, {"model": "m", "messages": ["one"]}))
    async with served_gateway(tmp_path, {}) as served, client_of(served, tape) as player:
        refused = await player.post(MESSAGES, json={"model": "m", "messages": ["two"]})
        assert refused.status_code == 400
        message = refused.json()["error"]["message"]
        assert '-  "one"\n+  "two"' in message
        assert '"model"' not in message.split("@@")[0]
        other = await player.post("/openai/v1/responses", json={})
        assert "the cassette has no request to openai /responses" in other.text
        tape.write_text("{}\n")
    async with served_gateway(tmp_path, {}) as served, client_of(served, tape) as player:
        broken = await player.post(MESSAGES, json={})
        assert broken.status_code == 503
        assert "line 1 of the cassette: Object missing required field `provider`" in broken.text


async def test_cassettes_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(cassettes, "MOST_OF_CALL", 2000)
    monkeypatch.setattr(cassettes, "MOST", 3000)
    calls = [(MESSAGES, {"text": "x" * size}) for size in (10, 3000, 10, 10)]
    tape = await recorded(tmp_path, by_path, *calls)
    assert "run r_1: a model call is too large for its cassette" in caplog.text
    assert caplog.text.count("run r_1: its cassette is full") == 1
    assert 0 < len(tape.read_text().splitlines()) < 3
    assert tape.stat().st_size <= 3000
