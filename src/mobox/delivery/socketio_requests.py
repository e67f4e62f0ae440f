"""Checks the requests of Socket.IO clients before the Engine.IO library gets them.

Rule 1: the library trusts its clients. Packets that would break it do not reach it.
Rule 2: as soon as the library sees a WebSocket, it stops sending to the polling client. So it gets
        the upgrade only after the client has sent the probe there, and with timeouts.
Rule 3: the library responds to some packets without waiting for room. They wait here instead.

https://socket.io/docs/v4/engine-io-protocol#upgrade
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Final

from starlette.types import Message, Receive, Scope, Send

from mobox.delivery.socketio_packets import (
    PROBE,
    UPGRADE,
    Flow,
    SocketClosed,
    flow_of,
    is_connect,
    is_legal,
)

PACKETS_OF_A_POST: Final = 100
"""Maximum number of packets in one POST of a polling client."""

UPGRADE_SECONDS: Final = 5.0
"""Timeout for each packet of an upgrade to a WebSocket."""

Header = tuple[bytes, bytes]

_SEPARATOR: Final = "\x1e"
_LEFT: Final[Message] = {"type": "websocket.disconnect", "code": 1008}


# WebSockets


async def handle_websocket(
    engine: Any, flow: Flow, scope: Scope, receive: Receive, send: Send
) -> None:
    """Handle a client that connects by WebSocket."""
    await engine.handle_request(scope, _checked(receive, flow), _watched(send, flow.close))


async def handle_upgrade(
    engine: Any, engine_socket: Any, scope: Scope, receive: Receive, send: Send
) -> None:
    """Upgrade a polling client to a WebSocket (Rule 2)."""
    opening = await receive()
    await send({"type": "websocket.accept"})
    probe = await _in_time(receive)
    if _text(probe) != PROBE or engine_socket.upgrading or engine_socket.upgraded:
        await send({"type": "websocket.close"})
        return
    flow = flow_of(engine_socket)

    def end() -> None:
        if engine_socket.upgraded:  # else the client continues polling
            flow.close()

    try:
        replayed = _after(opening, probe, then=_upgrading(receive, flow))
        await engine.handle_request(scope, replayed, _watched(_accepted(send), end))
    finally:
        if not engine_socket.upgraded:
            engine_socket.upgrading = False


def _upgrading(receive: Receive, flow: Flow) -> Receive:
    """The packet that ends an upgrade, then checked messages."""
    checked = _checked(receive, flow)
    is_over = False

    async def upgrading() -> Message:
        nonlocal is_over
        if is_over:
            return await checked()
        is_over = True
        message = await _in_time(receive)
        return message if _text(message) == UPGRADE else _LEFT

    return upgrading


def _checked(receive: Receive, flow: Flow) -> Receive:
    """Messages of a WebSocket; an illegal one counts as a disconnect."""

    async def checked() -> Message:
        message = await receive()
        if message["type"] != "websocket.receive":
            return message
        is_passed = is_legal(_text(message)) and await _has_room([_text(message)], flow)
        return message if is_passed else _LEFT

    return checked


async def _has_room(packets: Iterable[str], flow: Flow) -> bool:
    """Wait until there is room for the responses (Rule 3); false if the client is gone."""
    with suppress(SocketClosed):
        if any(map(is_connect, packets)):
            await flow.room()
        return True
    return False


def _watched(send: Send, end: Callable[[], None]) -> Send:
    """Wake writers blocked on backpressure when a send fails: the client has disconnected.

    The blocked task may be the only reader of the disconnect message.
    """

    async def watched(message: Message) -> None:
        try:
            await send(message)
        except OSError:
            end()
            raise

    return watched


async def _in_time(receive: Receive) -> Message:
    try:
        async with asyncio.timeout(UPGRADE_SECONDS):  # `wait_for` can miss a cancellation
            return await receive()
    except TimeoutError:
        return _LEFT


def _text(message: Message) -> str:
    return message.get("text") or ""


def _after(*received: Message, then: Receive) -> Receive:
    """The messages that were received already, then the rest."""
    before = iter(received)

    async def receive() -> Message:
        message = next(before, None)
        return message if message is not None else await then()

    return receive


def _accepted(send: Send) -> Send:
    """Drop the library's accept: the WebSocket is accepted already."""

    async def rest(message: Message) -> None:
        if message["type"] != "websocket.accept":
            await send(message)

    return rest


# Polling


async def handle_polling(
    engine: Any, engine_socket: Any, scope: Scope, receive: Receive, send: Send
) -> None:
    """Handle one request of a polling client, which may have one POST at a time."""
    if engine_socket is None or scope["method"] != "POST":
        await _handle_request(engine, engine_socket, scope, receive, send)
    elif engine_socket.session.get("is_posting"):
        await _refuse(send, b"expected one request at a time")
    else:
        engine_socket.session["is_posting"] = True
        try:
            await _handle_request(engine, engine_socket, scope, receive, send)
        finally:
            engine_socket.session["is_posting"] = False


async def _handle_request(
    engine: Any, engine_socket: Any, scope: Scope, receive: Receive, send: Send
) -> None:
    body = await _body(receive)
    if body is None:
        return
    packets = _packets(body)
    if packets is None:
        await _refuse(send)
        return
    scope = {**scope, "headers": _with_length(scope["headers"], len(body))}

    async def answer() -> None:
        if engine_socket is not None and not await _has_room(packets, flow_of(engine_socket)):
            await _refuse(send)
        else:
            await engine.handle_request(scope, _again(body), send)

    answering = asyncio.create_task(answer())
    leaving = asyncio.create_task(_left(receive))
    try:
        await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not answering.done():  # the client has disconnected before the response
            if engine_socket is not None:
                reason = engine.reason.TRANSPORT_CLOSE
                await engine_socket.close(wait=False, abort=True, reason=reason)
            answering.cancel()
        await answering
    finally:
        leaving.cancel()


def _packets(body: bytes) -> list[str] | None:
    """The packets of a body; `None` if it is invalid."""
    try:
        packets = body.decode().split(_SEPARATOR) if body else []
    except UnicodeDecodeError:
        return None
    is_all_legal = len(packets) <= PACKETS_OF_A_POST and all(map(is_legal, packets))
    return packets if is_all_legal else None


def _with_length(headers: Iterable[Header], length: int) -> list[Header]:
    """Set `content-length`: the library reads that many bytes, and none of a chunked body."""
    others = [(name, value) for name, value in headers if name != b"content-length"]
    return [*others, (b"content-length", str(length).encode())]


async def _body(receive: Receive) -> bytes | None:
    """The whole body; `None` if the client disconnected."""
    parts: list[bytes] = []
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        more = message.get("more_body", False)
    return b"".join(parts)


def _again(body: bytes) -> Receive:
    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _refuse(send: Send, problem: bytes = b"expected packets of Engine.IO 4") -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8")]
    await send({"type": "http.response.start", "status": 400, "headers": headers})
    await send({"type": "http.response.body", "body": problem})
