"""Mobox in routes of somebody's own app."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fastapi import FastAPI, Request, Response

import mobox
from library.apps import JSON, box_in, echo, own_routes, running, text_of
from mobox.errors import (
    UnknownProtocol,
)
from server.live_server import message


async def test_one_durable_response(tmp_path: Path) -> None:
    app, box = own_routes(tmp_path)
    async with running(app) as client:
        from_elsewhere = {"origin": "http://page.example", "sec-fetch-site": "cross-site"}
        answer = await client.post(
            "/ask/eve?profile=v6", json=message("c", "hello"), headers=from_elsewhere
        )
        assert (answer.status_code, text_of(answer.text)) == (200, "HELLO")
        assert answer.cookies["seen"] == "yes"
        assert answer.headers.get_list("cache-control") == ["private"]
        assert answer.headers["content-type"].startswith("text/event-stream")
        run_id = answer.headers["x-mobox-run"]
        assert (await box.storage.run("eve", run_id)).agent == "shout"
        assert (await client.get(f"/told/{run_id}")).status_code == 404  # it is Eve's


async def test_route_leaves_authentication_to_the_principal(tmp_path: Path) -> None:
    app, box = own_routes(tmp_path)
    async with running(app) as client:
        answer = await client.post("/body", json=message("c", "hello"))
        assert text_of(answer.text) == "You said hello"
        assert (await box.storage.chat("ann", "c")).title == "hello"
        refused = await client.post("/body", json=message("c", "x"), headers={"x-user": ""})
        assert refused.status_code == 401


async def test_reconnecting_client_continues(tmp_path: Path) -> None:
    app, _ = own_routes(tmp_path)
    async with running(app) as client:
        answer = await client.post("/body", json=message("c", "hello"))
        run_id = answer.headers["x-mobox-run"]
        again = await client.get(f"/ask/c/stream?run={run_id}")
        assert again.text == answer.text
        log = await client.get(f"/entries/{run_id}")
        theirs = await client.get(f"/entries/{run_id}?format=pdf&profile=dark")
        assert (theirs.status_code, theirs.text) == (200, log.text)
        whole = (await client.get(f"/told/{run_id}?protocol=ai-sdk")).text
        assert text_of(whole.replace("\nid: ", "\n\nid: ")) == "You said hello"
        first, rest = whole.split("\n\n", 1)
        place = first.partition("id: ")[2].partition("\n")[0]
        tail = await client.get(f"/told/{run_id}?protocol=ai-sdk", headers={"last-event-id": place})
        assert tail.text == rest


async def test_a_client_of_ag_ui_is_answered_too(tmp_path: Path) -> None:
    body = {
        "threadId": "t", "runId": "r", "state": {}, "tools": [], "context": [],
        "forwardedProps": {}, "messages": [{"id": "m", "role": "user", "content": "hello"}],
    }  # fmt: skip
    app, _ = own_routes(tmp_path)
    async with running(app) as client:
        told = (await client.post("/ag-ui", json=body)).text
        assert '"delta":"HELLO"' in told
        assert '"RUN_FINISHED"' in told
        again = await client.post("/ag-ui/connect", json=body | {"messages": []})
        assert '"content":"HELLO"' in again.text
        eve = {"x-user": "eve"}
        others = await client.post("/ag-ui/connect", json=body, headers=eve)
        assert "HELLO" not in others.text


async def test_request_errors_are_reported_as_before(tmp_path: Path) -> None:
    app, box = own_routes(tmp_path)
    async with running(app) as client:
        for content in (b"{", b"[]", b"{}"):
            answer = await client.post("/ask/eve", content=content, headers=JSON)
            assert (answer.status_code, answer.json()["error"]["code"]) == (
                400,
                "invalid_request",
            )
    scope = {"type": "http", "headers": [], "query_string": b""}
    with pytest.raises(UnknownProtocol, match="ag-ui, ai-sdk"):
        await box.respond(Request(scope), protocol="telex")


async def test_simple_cross_origin_requests_are_rejected(tmp_path: Path) -> None:
    app, box = own_routes(tmp_path)
    async with running(app) as client:
        body, plain = json.dumps(message("c", "hello")), {"content-type": "text/plain"}
        for path in ("/ask/eve", "/ag-ui"):
            answer = await client.post(path, content=body, headers=plain)
            assert answer.status_code == 415
        assert (await box.storage.chats("eve")).chats == ()


async def in_pieces(read: list[int]) -> AsyncIterator[bytes]:
    for number in range(100):
        read.append(number)
        yield b" " * 1000


async def test_body_is_read_after_authentication_and_up_to_its_limit(
    tmp_path: Path,
) -> None:
    app, _ = own_routes(tmp_path, max_body=10_000, max_chat_body=10_000)
    async with running(app) as client:
        for user, status, most in (("", 401, 0), ("ann", 413, 11)):
            read: list[int] = []
            headers = JSON | {"x-user": user}
            answer = await client.post("/ag-ui", content=in_pieces(read), headers=headers)
            assert (answer.status_code, len(read)) == (status, most)
        told = JSON | {"content-length": "100000"}
        answer = await client.post("/ag-ui", content=in_pieces(read := []), headers=told)
        assert (answer.status_code, read) == (413, [])
        own = await client.post("/body", json={"id": "c", "more": "x" * 10_000})
        assert own.status_code == 413


@mobox.agent("mirror")
async def mirror(turn: mobox.Turn) -> AsyncIterator[str]:
    yield json.dumps(turn.frontend)


async def test_function_gets_what_the_page_sends_along(tmp_path: Path) -> None:
    app = FastAPI()
    box = box_in(app, tmp_path, agents=[mirror, echo], forwarded_headers=("X-Tenant",))

    @app.post("/chat")
    async def chat(request: Request) -> Response:
        return await box.respond(request, owner="ann", agent="mirror")

    sent = {**message("c", "hello"), "model": "small", "system": "Be brief."}
    headers = {"x-tenant": "one", "x-other": "two", "cookie": "session=three"}
    async with running(app) as client:
        answer = await client.post("/chat", json=sent, headers=headers)
    got = json.loads(text_of(answer.text))
    assert got["body"] == {"model": "small"}
    assert got["instructions"] == ["Be brief."]
    assert got["headers"] == {"x-tenant": "one"}
