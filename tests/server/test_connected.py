"""Work for a client that leaves is cancelled."""

from __future__ import annotations

import asyncio

import pytest
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message

from mobox.server.connected import while_connected

SECONDS = 60


def request(messages: asyncio.Queue[Message]) -> Request:
    return Request({"type": "http", "method": "GET", "path": "/", "headers": []}, messages.get)


async def test_work_is_cancelled_when_its_client_leaves() -> None:
    messages: asyncio.Queue[Message] = asyncio.Queue()
    messages.put_nowait({"type": "http.request", "body": b"", "more_body": False})
    has_begun, is_cancelled = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        has_begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            is_cancelled.set()

    async with asyncio.timeout(SECONDS):
        waiting = asyncio.create_task(while_connected(request(messages), work()))
        await has_begun.wait()
        messages.put_nowait({"type": "http.disconnect"})
        with pytest.raises(ClientDisconnect):
            await waiting
        await is_cancelled.wait()


async def test_result_and_failure_of_work_are_passed_on() -> None:
    async def divide(by: int) -> float:
        return 1 / by

    messages: asyncio.Queue[Message] = asyncio.Queue()
    assert await while_connected(request(messages), divide(2)) == 0.5
    with pytest.raises(ZeroDivisionError):
        await while_connected(request(messages), divide(0))
