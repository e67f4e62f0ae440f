"""What the requests of sockets say, before the library below hears of it.

Rule 1: that library trusts its clients. What would break it does not get there.
Rule 2: as soon as it hears of a WebSocket it tells a client that polls nothing more. So it hears of
        one when the client has begun to speak there, and of no end that does not come in time.
Rule 3: it answers some packets without asking for room. They wait here until there is some.

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

__all__ = ["PACKETS_OF_A_POST", "hold_poll", "hold_upgrade", "hold_websocket"]

PACKETS_OF_A_POST: Final = 100
"""A client that polls sends what it has gathered in one request."""

UPGRADE_SECONDS: Final = 5.0
"""In which a client says each word by which it goes over to a WebSocket."""

Header = tuple[bytes, bytes]

_SEPARATOR: Final = "\x1e"
_LEFT: Final[Message] = {"type": "websocket.disconnect", "code": 1008}


# WebSockets


async def hold_websocket(
    engine: Any, flow: Flow, scope: Scope, receive: Receive, send: Send
) -> None:
    """A client that comes by a WebSocket."""
    await engine.handle_request(scope, _checked(receive, flow), _watched(send, flow.close))


async def hold_upgrade(
    engine: Any, engine_socket: Any, scope: Scope, receive: Receive, send: Send
) -> None:
    """A client that polls and would rather have a WebSocket (Rule 2)."""
    opening = await receive()
    await send({"type": "websocket.accept"})
    probe = await _in_time(receive)
    if _text(probe) != PROBE or engine_socket.upgrading or engine_socket.upgraded:
        await send({"type": "websocket.close"})
        return
    flow = flow_of(engine_socket)

    def end() -> None:
        if engine_socket.upgraded:  # else the client goes on polling
            flow.close()

    try:
        heard = _after(opening, probe, then=_upgrading(receive, flow))
        await engine.handle_request(scope, heard, _watched(_accepted(send), end))
    finally:
        if not engine_socket.upgraded:
            engine_socket.upgrading = False


def _upgrading(receive: Receive, flow: Flow) -> Receive:
    """The word that ends an upgrade, and then what every WebSocket says."""
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
    """What a WebSocket says, as long as it is legal; then it has left."""

    async def checked() -> Message:
        message = await receive()
        if message["type"] != "websocket.receive":
            return message
        is_heard = is_legal(_text(message)) and await _has_room([_text(message)], flow)
        return message if is_heard else _LEFT

    return checked


async def _has_room(packets: Iterable[str], flow: Flow) -> bool:
    """Wait until there is room for the answers (Rule 3); false if nobody is there to take them."""
    with suppress(SocketClosed):
        if any(map(is_connect, packets)):
            await flow.room()
        return True
    return False


def _watched(send: Send, end: Callable[[], None]) -> Send:
    """Who waits until a client takes something hears at once that it is gone.

    It may be the one who would have read that the client has left.
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
        async with asyncio.timeout(UPGRADE_SECONDS):  # `wait_for` can miss that it is cancelled
            return await receive()
    except TimeoutError:
        return _LEFT


def _text(message: Message) -> str:
    return message.get("text") or ""


def _after(*heard: Message, then: Receive) -> Receive:
    """What was heard already, and then the rest."""
    before = iter(heard)

    async def receive() -> Message:
        message = next(before, None)
        return message if message is not None else await then()

    return receive


def _accepted(send: Send) -> Send:
    """A WebSocket need not be accepted twice."""

    async def rest(message: Message) -> None:
        if message["type"] != "websocket.accept":
            await send(message)

    return rest


# Polling


async def hold_poll(
    engine: Any, engine_socket: Any, scope: Scope, receive: Receive, send: Send
) -> None:
    """One request of a client that polls; it has one at a time by which it speaks."""
    if engine_socket is None or scope["method"] != "POST":
        await _hold_request(engine, engine_socket, scope, receive, send)
    elif engine_socket.session.get("is_speaking"):
        await _refuse(send, b"expected one request at a time")
    else:
        engine_socket.session["is_speaking"] = True
        try:
            await _hold_request(engine, engine_socket, scope, receive, send)
        finally:
            engine_socket.session["is_speaking"] = False


async def _hold_request(
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
        if not answering.done():
            await _part(engine, engine_socket)
            answering.cancel()
        await answering
    finally:
        leaving.cancel()


async def _part(engine: Any, engine_socket: Any) -> None:
    """Nobody will take what was to be the answer."""
    if engine_socket is not None:
        reason = engine.reason.TRANSPORT_CLOSE
        await engine_socket.close(wait=False, abort=True, reason=reason)


def _packets(body: bytes) -> list[str] | None:
    """What a body says, if it is packets."""
    try:
        packets = body.decode().split(_SEPARATOR) if body else []
    except UnicodeDecodeError:
        return None
    is_all_legal = len(packets) <= PACKETS_OF_A_POST and all(map(is_legal, packets))
    return packets if is_all_legal else None


def _with_length(headers: Iterable[Header], length: int) -> list[Header]:
    """The library reads as much of a body as is announced: of one that came in pieces, nothing."""
    others = [(name, value) for name, value in headers if name != b"content-length"]
    return [*others, (b"content-length", str(length).encode())]


async def _body(receive: Receive) -> bytes | None:
    """All that a request says; `None` if it was broken off."""
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


async def _refuse(send: Send, why: bytes = b"expected packets of Engine.IO 4") -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8")]
    await send({"type": "http.response.start", "status": 400, "headers": headers})
    await send({"type": "http.response.body", "body": why})
