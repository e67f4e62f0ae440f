"""Many clients of one run: all see the same, and a message that is sent often is answered once."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from server.live_server import LiveServer, http_client
from server.scripted_agent import Gate, a_day_of_work, prompt, text

MANY = 50


def body(chat_id: str, words: str, message_id: str = "m1") -> dict[str, Any]:
    parts = [{"type": "text", "text": words}]
    return {"id": chat_id, "messages": [{"id": message_id, "role": "user", "parts": parts}]}


def frames(sse: bytes) -> list[bytes]:
    """Without the comments that keep a connection alive."""
    return [frame for frame in sse.split(b"\n\n") if not frame.startswith(b":")]


async def read(client: httpx.AsyncClient, path: str, begun: asyncio.Semaphore) -> bytes:
    async with client.stream("GET", path) as response:
        parts = response.aiter_bytes()
        sse = await anext(parts)
        begun.release()
        async for part in parts:
            sse += part
    return sse


async def test_fifty_readers_of_a_run_see_the_same_bytes(
    server: LiveServer, chat_id: str, gate: Gate
) -> None:
    words = prompt(*a_day_of_work(), gate.step, *a_day_of_work(turns=1)[1:3], text("The end."))
    async with http_client(server) as client:
        sent = asyncio.create_task(client.post("/api/chat", json=body(chat_id, words)))
        await asyncio.to_thread(gate.wait)
        begun = asyncio.Semaphore(0)
        path = f"/api/chat/{chat_id}/stream"
        readers = [asyncio.create_task(read(client, path, begun)) for _ in range(MANY)]
        for _ in readers:
            await begun.acquire()
        gate.open()
        seen = [frames(sse) for sse in await asyncio.gather(*readers)]
        posted = frames((await sent).content)
        assert len(posted) > 250
        assert posted[-2:] == [b"data: [DONE]", b""]
        assert all(each == posted for each in seen)
        again = await client.get(path, params={"run": (await sent).headers["x-mobox-run"]})
        assert frames(again.content) == posted


@pytest.mark.parametrize("headers", [{"idempotency-key": "once"}, {}], ids=["a key", "no key"])
async def test_fifty_times_the_same_message_is_one_run(
    server: LiveServer, chat_id: str, headers: dict[str, str]
) -> None:
    keys = {name: f"{value} {chat_id}" for name, value in headers.items()}
    said = body(chat_id, prompt(text("Once"), text(" only")))
    async with http_client(server) as client:
        posts = (client.post("/api/chat", json=said, headers=keys) for _ in range(MANY))
        answers = await asyncio.gather(*posts)
        assert {answer.status_code for answer in answers} == {200}
        assert len({answer.headers["x-mobox-run"] for answer in answers}) == 1
        assert all(frames(answer.content) == frames(answers[0].content) for answer in answers)
        chat = (await client.get(f"/api/chats/{chat_id}")).json()
        assert [message["role"] for message in chat["messages"]] == ["user", "assistant"]
        late = await client.post("/api/chat", json=said, headers=keys)
        assert frames(late.content) == frames(answers[0].content)


async def test_a_key_that_comes_with_another_message_is_refused(
    server: LiveServer, chat_id: str
) -> None:
    keys = {"idempotency-key": f"twice {chat_id}"}
    async with http_client(server) as client:
        said, other = (body(chat_id, prompt(text(word))) for word in ("One", "Two"))
        assert (await client.post("/api/chat", json=said, headers=keys)).status_code == 200
        assert (await client.post("/api/chat", json=other, headers=keys)).status_code == 422


async def test_of_fifty_messages_at_once_one_is_answered(
    server: LiveServer, chat_id: str, gate: Gate
) -> None:
    words = prompt(text("Me"), gate.step)
    async with http_client(server) as client:
        bodies = (body(chat_id, words, f"m{number}") for number in range(MANY))
        posts = {asyncio.create_task(client.post("/api/chat", json=said)) for said in bodies}
        await asyncio.to_thread(gate.wait)
        run = (await client.get(f"/api/chats/{chat_id}")).json()["activeRun"]["id"]
        done = asyncio.as_completed(posts)
        answers = [await next(done) for _ in range(MANY - 1)]
        assert {answer.status_code for answer in answers} == {409}
        assert all(answer.json()["error"]["runId"] == run for answer in answers)
        gate.open()
        answered = await next(done)
        assert answered.headers["x-mobox-run"] == run


async def test_missing_resources_have_their_status_code(server: LiveServer, chat_id: str) -> None:
    path = f"/api/chat/{chat_id}/stream"
    async with http_client(server) as client:
        assert (await client.get(path)).status_code == 204
        assert (await client.get(path, params={"run": "run_1"})).status_code == 404
        assert (await client.get(f"/api/chats/{chat_id}")).status_code == 404
        for unknown in ({"profile": "v99"}, {"profile": ""}):
            assert (await client.get(path, params=unknown)).status_code == 400
            assert (await client.get(f"/api/chats/{chat_id}", params=unknown)).status_code == 400
            said = body(chat_id, prompt(text("One")))
            refused = await client.post("/api/chat", json=said, params=unknown)
            assert refused.status_code == 400
        assert (await client.get(f"/api/chats/{chat_id}")).status_code == 404
        posted = await client.post("/api/chat", json=body(chat_id, prompt(text("One"))))
        elsewhere = {"run": posted.headers["x-mobox-run"]}
        other = f"/api/chat/{chat_id}-2/stream"
        assert (await client.get(other, params=elsewhere)).status_code == 404


async def test_the_frames_of_the_document_have_no_message_at_rest(
    server: LiveServer, chat_id: str
) -> None:
    document = {"profile": "document"}
    async with http_client(server) as client:
        said = body(chat_id, prompt(text("One")))
        posted = await client.post("/api/chat", json=said, params=document)
        assert b'{"type":"done"}' in posted.content
        assert (await client.get(f"/api/chats/{chat_id}", params=document)).status_code == 400
