"""What a socket's requests say, where a server ends at the same moment."""

from __future__ import annotations

import asyncio

from starlette.types import Message

from mobox.delivery.socketio_requests import handle_upgrade


async def test_handler_is_cancelled_while_a_client_sends() -> None:
    said: list[Message] = [
        {"type": "websocket.connect"},
        {"type": "websocket.receive", "text": "no probe"},
    ]

    async def receive() -> Message:
        message = said.pop(0)
        if not said:
            asyncio.get_running_loop().call_soon(holding.cancel)
        return message

    async def send(_: Message) -> None:
        await asyncio.sleep(0)

    holding = asyncio.create_task(handle_upgrade(None, None, {}, receive, send))
    await asyncio.wait([holding])
    assert holding.cancelled()
