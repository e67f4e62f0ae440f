"""The simulator as an ASGI app: finds the API of a request, and sends the answer at its pace.

Rule 1: no state is kept between requests.
Rule 2: a path is known by its end, so the app may be mounted under any prefix.
Rule 3: a connection is broken off by returning before the response is complete. uvicorn then closes
        it, and another caller of the app must do the same.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from typing import Any, Final
from urllib.parse import parse_qs

import msgspec
from msgspec.structs import replace

from mobox.errors import InvalidRequest
from mobox.models.simulator import services
from mobox.models.simulator.answer import (
    Answer,
    Api,
    Document,
    Event,
    Reply,
    Streamed,
    answer,
)
from mobox.models.simulator.anthropic import Messages
from mobox.models.simulator.default import default_turn, is_title_request
from mobox.models.simulator.gemini import GenerateContent
from mobox.models.simulator.interactions import Interactions
from mobox.models.simulator.openai_chat import ChatCompletions
from mobox.models.simulator.openai_responses import Responses
from mobox.models.simulator.request import Request, tokens_in
from mobox.models.simulator.script import Cut, Fail, Script, Stall, Turn, Wait

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]
Sleep = Callable[[asyncio.Future[Any], float | None], Awaitable[bool]]

PACE: Final = 50.0
"""Tokens per second."""
FIRST: Final = 15
"""Tokens before the first one: a model reads before it writes."""
LARGEST_BODY: Final = 64 << 20

MODELS: Final[tuple[tuple[re.Pattern[str], Api], ...]] = (
    (re.compile(r"/messages$"), Messages()),
    (re.compile(r"/chat/completions$"), ChatCompletions()),
    (re.compile(r"/responses$"), Responses()),
    (re.compile(r"/models/[^/]+:(generateContent|streamGenerateContent)$"), GenerateContent()),
    (re.compile(r"/interactions$"), Interactions()),
)
"""What answers a POST."""


def simulator(script: Script | None = None, *, pace: float | None = None) -> ASGIApp:
    """An app that answers as a model does, in the APIs of Anthropic, OpenAI and Google.

    `pace` is in tokens per second, 0 for no delay; by default the script's, else 50.
    """
    script = script or Script()
    chosen = script.pace if pace is None else pace
    return Simulator(script, PACE if chosen is None else chosen)


class _Disconnected(Exception):
    """The client has disconnected."""


async def disconnects(client: asyncio.Future[Any], seconds: float | None) -> bool:
    """Wait so long, `None` for ever, or until the client disconnects; return whether it did."""
    done, _ = await asyncio.wait({client}, timeout=seconds)
    return bool(done)


class Simulator:
    """The app; `sleep` waits between the pieces of an answer."""

    def __init__(self, script: Script, pace: float, sleep: Sleep = disconnects) -> None:
        self._script = script
        self.pace = pace
        self._sleep = sleep

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return  # a server of an app without a lifespan does not wait for one
        exchange = _Exchange(scope, receive, send, self.pace, self._sleep)
        try:
            await self._respond(exchange)
        except _Disconnected:
            pass
        finally:
            exchange.close()

    async def _respond(self, exchange: _Exchange) -> None:
        api = next((api for end, api in MODELS if end.search(exchange.path)), None)
        if api is None:
            await _serve(exchange)
            return
        if exchange.method != "POST":
            await exchange.send(services.refusal(405, exchange.method, exchange.path))
            return
        try:
            body = await exchange.body()
            asked = api.read(_decoded(body), exchange.path)
            request = replace(asked, tokens=tokens_in(body.decode()), tries=exchange.tries)
            given = answer(request, self._turn(request))
        except InvalidRequest as error:
            await exchange.fail(api, Fail(400, str(error)))
            return
        if isinstance(given.breaks, Fail) and not (request.stream and any(given.content)):
            await exchange.wait_for(given)
            await exchange.fail(api, given.breaks)
        elif request.stream:
            await exchange.stream(api, given)
        else:
            await exchange.whole(api, given)

    def _turn(self, request: Request) -> Turn:
        """The steps that answer a request."""
        if is_title_request(request):  # which frameworks make beside the conversation
            return default_turn(request)
        name = self._script.choose(request.first)
        if name is None:
            return default_turn(request)
        if name not in self._script.scenarios:
            known = ", ".join(sorted(self._script.scenarios))
            raise InvalidRequest("messages", f"unknown scenario {name!r}; known: {known}")
        turns = self._script.scenario(name).turns
        if request.turn >= len(turns):
            problem = f"scenario {name!r} has {len(turns)} turns, this is turn {request.turn + 1}"
            raise InvalidRequest("messages", problem)
        return turns[request.turn]


async def _serve(exchange: _Exchange) -> None:
    """What the APIs have besides models that answer."""
    try:
        body = _decoded(await exchange.body()) if exchange.method == "POST" else {}
        found = services.serve(exchange.method, exchange.path, body, exchange.header_names)
    except InvalidRequest as error:
        found = Reply(400, {}, {"error": {"message": str(error)}})
    await exchange.send(found)


def _decoded(body: bytes) -> Document:
    try:
        document = msgspec.json.decode(body)
        body.decode()
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidRequest("", f"not JSON: {error}") from None
    if not isinstance(document, dict):
        raise InvalidRequest("", "expected an object")
    return document


class _Exchange:
    """One request and its response."""

    def __init__(
        self, scope: Scope, receive: Receive, send: Send, pace: float, sleep: Sleep
    ) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self._headers = {name.lower(): value for name, value in scope["headers"]}
        self._query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
        self._receive = receive
        self._send = send
        self._pace = pace
        self._sleep = sleep
        self._disconnect: asyncio.Future[Any] | None = None

    @property
    def header_names(self) -> frozenset[str]:
        return frozenset(name.decode("latin-1") for name in self._headers)

    @property
    def tries(self) -> int:
        """How often the SDK has tried this request before."""
        count = self._headers.get(b"x-stainless-retry-count", b"0")[:4]
        return int(count) if count.isdigit() else 0

    async def body(self) -> bytes:
        """The whole body; raises `InvalidRequest`."""
        parts, size, more = [], 0, True
        while more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise _Disconnected
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > LARGEST_BODY:
                raise InvalidRequest("", f"larger than {LARGEST_BODY >> 20} MB")
            more = message.get("more_body", False)
        return b"".join(parts)

    async def wait_for(self, given: Answer) -> None:
        """Wait as long as all waits of the answer take, if it is not streamed."""
        await self._wait(sum(step.seconds for step in given.steps if isinstance(step, Wait)))

    async def whole(self, api: Api, given: Answer) -> None:
        """Send the answer as one document."""
        await self.wait_for(given)
        if isinstance(given.breaks, Stall):
            await self._stall(given.breaks)
        document = msgspec.json.encode(api.whole(given))
        headers = {**api.headers(_id(given)), "content-length": str(len(document))}
        await self._start(200, "application/json", headers)
        if given.breaks is None:
            await self._write(document, more=False)
        else:
            await self._write(document[: len(document) // 2])

    async def stream(self, api: Api, given: Answer) -> None:
        """Send the answer as a stream, up to where it breaks off."""
        if isinstance(given.breaks, Stall) and not given.steps:
            await self._stall(given.breaks)
        is_array = "streamGenerateContent" in self.path and self._query.get("alt") != ["sse"]
        kind = "application/json" if is_array else "text/event-stream; charset=utf-8"
        headers = {**api.headers(_id(given)), "cache-control": "no-cache"}
        await self._start(200, kind, headers)
        await self._pause(FIRST)
        frame = _array_item() if is_array else api.frame
        for event in api.events(given):
            await self._next(event, frame)
        if isinstance(given.breaks, Fail):
            for document in api.broken(given.breaks, given):
                await self._write(frame(document))
        elif isinstance(given.breaks, Stall):
            await self._stall(given.breaks)
        if not isinstance(given.breaks, Cut | Stall):
            end = b"]" if is_array else api.last if given.breaks is None else b""
            await self._write(end, more=False)

    async def _next(self, event: Streamed, frame: Callable[[Document], bytes]) -> None:
        if isinstance(event, Wait):
            await self._wait(event.seconds)
        elif isinstance(event, Event):
            await self._pause(event.tokens)
            await self._write(frame(event.data))

    async def fail(self, api: Api, fail: Fail) -> None:
        """Send an error response."""
        given_id = f"{fail.status:024d}"
        status, headers, body = api.failure(fail, given_id)
        await self.send(Reply(status, {**api.headers(given_id), **headers}, body))

    async def send(self, found: Reply) -> None:
        """Send a document; without its body to a HEAD request."""
        document = msgspec.json.encode(found.body)
        headers = {**found.headers, "content-length": str(len(document))}
        await self._start(found.status, "application/json", headers)
        await self._write(b"" if self.method == "HEAD" else document, more=False)

    def close(self) -> None:
        """Stop waiting for the client to disconnect."""
        if self._disconnect is not None:
            self._disconnect.cancel()

    async def _start(self, status: int, kind: str, headers: dict[str, str]) -> None:
        named = {"content-type": kind, **headers}.items()
        pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in named]
        await self._send({"type": "http.response.start", "status": status, "headers": pairs})

    async def _write(self, data: bytes, *, more: bool = True) -> None:
        if self._disconnect is not None and self._disconnect.done():
            raise _Disconnected
        await self._send({"type": "http.response.body", "body": data, "more_body": more})

    async def _pause(self, tokens: int) -> None:
        """The time in which a model writes so many tokens."""
        if tokens and self._pace:
            await self._wait(tokens / self._pace)

    async def _stall(self, stall: Stall) -> None:
        await self._wait(stall.seconds)

    async def _wait(self, seconds: float | None) -> None:
        """Wait, unless the client disconnects before."""
        if seconds == 0:
            return
        if self._disconnect is None:
            self._disconnect = asyncio.ensure_future(self._receive())
        if await self._sleep(self._disconnect, seconds):
            raise _Disconnected


def _id(given: Answer) -> str:
    return given.request.digest[:24]


def _array_item() -> Callable[[Document], bytes]:
    """Makes the items of a JSON array, of which only the first has no comma before it."""
    marks: Iterator[bytes] = iter([b"["])
    return lambda document: next(marks, b",\r\n") + msgspec.json.encode(document)
