"""Cassettes: the calls of a run, written down and played back.

A cassette is a file of JSON lines, one for each call, in the order in which they ended::

    {"provider": "anthropic", "method": "POST", "path": "/v1/messages", "query": "beta=true",
     "headers": {"anthropic-version": "2023-06-01"}, "request": {"model": "…", "messages": […]},
     "status": 200, "response_headers": {"content-type": "text/event-stream"},
     "chunks": ["data: …", "…"]}

`request` is the JSON of the body, or its text. A chunk that is not text is `{"base64": "…"}`.
`"cut": true` marks a response that the provider broke off; `started_at` and `duration_ms` are in
milliseconds.

Rule 1: no header is stored that is not on a list: those with credentials, accounts, addresses and
        request ids are not.
Rule 2: a file, and what is kept of a call, are bounded. What does not fit is left out whole, and
        the log says so.
Rule 3: a call is played back to the first request that is equal and has not been played yet; the
        last one of several equal requests is played again and again.
"""

from __future__ import annotations

import base64
import difflib
import json
import logging
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct, field
from starlette.types import Message, Receive, Scope, Send

from mobox.capture.model_access import Caller
from mobox.models.refusals import INVALID, UNAVAILABLE, CutOff, Refused
from mobox.models.requests import Target
from mobox.models.usage import decompressor
from mobox.settings import now_ms

log = logging.getLogger("mobox.models")

MOST: Final = 64 << 20
"""Bytes of a cassette."""
MOST_OF_CALL: Final = 16 << 20
"""Bytes of a request and its response."""
DIFFERENCE: Final = 20
"""Lines that show what differs in a request that is not recorded."""

_REQUEST_HEADERS: Final = (
    "accept", "anthropic-beta", "anthropic-version", "content-type", "openai-beta",
)  # fmt: skip
_RESPONSE_HEADERS: Final = ("content-type", "retry-after", "retry-after-ms", "x-should-retry")

Text = str | dict[str, str]


class Recorded(Struct, kw_only=True, omit_defaults=True):
    """A call."""

    provider: str
    method: str
    path: str
    query: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    request: Any = None
    status: int
    response_headers: dict[str, str] = field(default_factory=dict)
    chunks: list[Text] = field(default_factory=list)
    cut: bool = False
    started_at: int = 0
    """When it was made, in milliseconds."""
    duration_ms: int = 0


def _text(data: bytes) -> Text:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def body_of(text: Text) -> bytes:
    """The bytes of a recorded text."""
    return text.encode() if isinstance(text, str) else base64.b64decode(text["base64"])


def response_of(call: Recorded) -> bytes:
    """The body of a response: SSE as it is, JSON on one line."""
    data = b"".join(map(body_of, call.chunks))
    if "json" not in call.response_headers.get("content-type", ""):
        return data
    try:
        return json.dumps(json.loads(data)).encode()
    except (ValueError, RecursionError):
        return data


def _body(data: bytes) -> Any:
    """The JSON of a request, or its text."""
    try:
        return json.loads(data) if data else None
    except ValueError:
        return _text(data)


def _listed(headers: Iterable[tuple[bytes, bytes]], names: tuple[str, ...]) -> dict[str, str]:
    decoded = ((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers)
    return {name: value for name, value in decoded if name in names}


# Recording


class CassetteFolder:
    """The cassettes of runs: `<run>.jsonl`, readable by the server's user only."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._full: set[str] = set()

    def begin(self, caller: Caller, target: Target, scope: Scope) -> RecordedCall:
        """A call, which is written down when its response is complete, or cut off."""
        return RecordedCall(target, scope, lambda made: self._append(caller.run_id, made))

    def _append(self, run_id: str, call: Recorded | None) -> None:
        if call is None:
            log.warning("run %s: a model call is too large for its cassette", run_id)
            return
        data = msgspec.json.encode(call) + b"\n"
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
            number = os.open(self._folder / f"{run_id}.jsonl", flags, 0o600)
            try:
                if os.fstat(number).st_size + len(data) <= MOST:
                    os.write(number, data)
                elif run_id not in self._full:
                    self._full.add(run_id)
                    log.warning("run %s: its cassette is full; further calls are left out", run_id)
            finally:
                os.close(number)
        except OSError as error:
            log.warning("run %s: cannot store its cassette: %s", run_id, error)


class RecordedCall:
    """Keeps a copy of what passes by."""

    def __init__(
        self, target: Target, scope: Scope, done: Callable[[Recorded | None], None]
    ) -> None:
        self._done = done
        self._scope = scope
        self._target = target
        self._request: list[bytes] = []
        self._chunks: list[bytes] = []
        self._size = 0
        self._start: Message | None = None
        self._started_at = now_ms()
        self._began = time.monotonic()

    def receiving(self, receive: Receive) -> Receive:
        """The same channel."""

        async def received() -> Message:
            message = await receive()
            self._keep(self._request, message.get("body", b""))
            return message

        return received

    def sending(self, send: Send) -> Send:
        """The same channel."""

        async def sent(message: Message) -> None:
            await send(message)
            if message["type"] == "http.response.start":
                self._start = message
                return
            self._keep(self._chunks, message.get("body", b""))
            if not message.get("more_body", False):
                self._write_down()

        return sent

    def cut(self) -> None:
        """The response ends here, though it is not complete."""
        if self._start is not None:
            self._write_down(cut=True)

    def _write_down(self, *, cut: bool = False) -> None:
        self._done(self._made(cut) if self._size <= MOST_OF_CALL else None)

    def _keep(self, kept: list[bytes], data: bytes) -> None:
        self._size += len(data)
        if data and self._size <= MOST_OF_CALL:
            kept.append(data)

    def _made(self, cut: bool) -> Recorded:
        assert self._start is not None
        headers = self._start["headers"]
        inflate = decompressor(dict(headers).get(b"content-encoding", b"").decode("latin-1"))
        chunks = self._chunks if inflate is None else [inflate.decompress(b"".join(self._chunks))]
        return Recorded(
            provider=self._target.provider.name,
            method=self._scope["method"],
            path=self._target.path,
            query=self._target.query.decode("ascii"),
            headers=_listed(self._scope["headers"], _REQUEST_HEADERS),
            request=_body(b"".join(self._request)),
            status=self._start["status"],
            response_headers=_listed(headers, _RESPONSE_HEADERS),
            chunks=[_text(each) for each in chunks],
            cut=cut,
            started_at=self._started_at,
            duration_ms=round(1000 * (time.monotonic() - self._began)),
        )


# Playing


class Player:
    """Responds with the calls of a cassette. One for each execution, as it has a position."""

    def __init__(self, file: Path) -> None:
        self._calls = read_cassette(file)
        self._played: set[int] = set()

    async def respond(self, target: Target, method: str, receive: Receive, send: Send) -> None:
        """Play the response to this request; raises `Refused` with what differs."""
        body = _body(await _whole(receive))
        call = self._find(target, method, body)
        headers = [(k.encode(), v.encode()) for k, v in call.response_headers.items()]
        await send({"type": "http.response.start", "status": call.status, "headers": headers})
        for chunk in call.chunks:
            message = {"type": "http.response.body", "body": body_of(chunk), "more_body": True}
            await send(message)
        if call.cut:
            raise CutOff("as recorded")
        await send({"type": "http.response.body", "body": b""})

    def _find(self, target: Target, method: str, body: Any) -> Recorded:
        same_place = [
            (number, call)
            for number, call in enumerate(self._calls)
            if (call.provider, call.method, call.path)
            == (target.provider.name, method, target.path)
        ]
        equal = [number for number, call in same_place if call.request == body]
        fresh = [number for number in equal if number not in self._played]
        if not equal:
            raise Refused(INVALID, _difference(target, [call for _, call in same_place], body))
        number = fresh[0] if fresh else equal[-1]
        self._played.add(number)
        return self._calls[number]


def read_cassette(file: Path) -> list[Recorded]:
    """The calls of a file; raises `Refused` with the line that is wrong."""
    try:
        lines = file.read_bytes().splitlines()
    except OSError as error:
        raise Refused(UNAVAILABLE, f"the cassette cannot be read: {error.strerror}") from None
    return [_recorded(line, number) for number, line in enumerate(lines, 1) if line.strip()]


def _recorded(line: bytes, number: int) -> Recorded:
    try:
        return _DECODER.decode(line)
    except msgspec.DecodeError as error:
        raise Refused(UNAVAILABLE, f"line {number} of the cassette: {error}") from None


_DECODER: Final = msgspec.json.Decoder(Recorded)


async def _whole(receive: Receive) -> bytes:
    data, more = b"", True
    while more:
        message = await receive()
        data += message.get("body", b"")
        if len(data) > MOST_OF_CALL:
            raise Refused(INVALID, "the request is larger than any recorded one")
        more = message.get("more_body", False)
    return data


def _difference(target: Target, recorded: list[Recorded], body: Any) -> str:
    """What differs between a request and the most similar one in the cassette."""
    if not recorded:
        return f"the cassette has no request to {target.provider.name} {target.path}"
    now = _lines(body)
    best = max((_lines(call.request) for call in recorded), key=lambda each: _alike(each, now))
    lines = difflib.unified_diff(best, now, "recorded", "requested", lineterm="", n=1)
    shown = [line[:200] for line in lines][: DIFFERENCE + 1]
    if len(shown) > DIFFERENCE:
        shown[-1] = "…"
    return "\n".join(["this request is not in the cassette; what differs:", *shown])


def _lines(value: Any) -> list[str]:
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False).splitlines()


def _alike(one: list[str], other: list[str]) -> float:
    return difflib.SequenceMatcher(None, one, other).quick_ratio()
