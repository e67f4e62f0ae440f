"""Passes a request on to a provider, and its response back, byte for byte.

Rule 1: bodies are streamed both ways. Nothing is read that the other side has not taken: a slow
        reader slows the provider down, and memory stays bounded.
Rule 2: there is no limit of the time of a call, only for connecting.
Rule 3: a client that has left ends the provider's work; a provider that breaks off is a break for
        the client, never an end.
Rule 4: redirects are passed back, not followed: a key goes to the configured address only.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import lru_cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Final

import httpx2
from starlette.types import Receive, Scope, Send

from mobox.models.providers import BEARER, Provider
from mobox.models.refusals import UNREACHABLE, CutOff, Refused
from mobox.models.requests import Target, request_headers, response_headers

CONNECT: Final = 30
"""Seconds for a connection to a provider."""


class _ClientLeft(Exception):
    """The client disconnected before its request was complete."""


class Upstreams:
    """The connections to all providers. Closed by `close`."""

    def __init__(self) -> None:
        self._client: httpx2.AsyncClient | None = None

    async def pass_on(self, target: Target, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the request to the provider; raises `Refused` if that cannot be reached."""
        body = _Body(receive)
        request = _request(target, scope, body)
        work = asyncio.ensure_future(self._exchange(target.provider.name, request, send))
        leaving = asyncio.ensure_future(body.client_left())
        try:
            await asyncio.wait((work, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            if not work.done():
                work.cancel()
                await asyncio.wait((work,))
        if not work.cancelled():
            work.result()

    async def _exchange(self, name: str, request: httpx2.Request, send: Send) -> None:
        try:
            response = await self._opened().send(request, stream=True)
        except _ClientLeft:
            return
        except (httpx2.TransportError, OSError) as error:
            why = type(error).__name__
            problem = f"the provider {name!r} cannot be reached ({why})"
            raise Refused(UNREACHABLE, problem) from error
        try:
            headers = response_headers(response.headers.raw)
            status = response.status_code
            await send({"type": "http.response.start", "status": status, "headers": headers})
            async for data in response.aiter_raw():
                await send({"type": "http.response.body", "body": data, "more_body": True})
        except (httpx2.TransportError, OSError) as error:
            raise CutOff(type(error).__name__) from error
        finally:
            await response.aclose()
        await send({"type": "http.response.body", "body": b""})

    def _opened(self) -> httpx2.AsyncClient:
        """The client, made at the first call: it loads certificates, and proxies from variables."""
        if self._client is None:
            nothing = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
            self._client = httpx2.AsyncClient(
                cookies=nothing,
                follow_redirects=False,
                timeout=httpx2.Timeout(None, connect=CONNECT),
                limits=httpx2.Limits(max_connections=None, max_keepalive_connections=100),
            )
        return self._client

    async def close(self) -> None:
        """End all connections."""
        if self._client is not None:
            await self._client.aclose()


class _Body:
    """The body of a request, and then the wait for its client to leave.

    One after the other: a client's messages have a single reader.
    """

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._complete = asyncio.Event()

    def none(self) -> None:
        """The request has no body."""
        self._complete.set()

    async def chunks(self) -> AsyncIterator[bytes]:
        more = True
        while more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise _ClientLeft
            if data := message.get("body"):
                yield data
            more = message.get("more_body", False)
        self._complete.set()

    async def client_left(self) -> None:
        """Wait for it."""
        await self._complete.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass


def _request(target: Target, scope: Scope, body: _Body) -> httpx2.Request:
    query = f"?{target.query.decode('ascii')}" if target.query else ""
    url = _parsed(target.address + target.path + query)
    headers = request_headers(scope["headers"])
    if target.key is not None:
        name, value = _key_header(target.provider, target.key)
        headers = [*(each for each in headers if each[0] != name), (name, value)]
    names = {name for name, _ in scope["headers"]}
    if names.isdisjoint((b"content-length", b"transfer-encoding")):
        body.none()
        return httpx2.Request(scope["method"], url, headers=headers)
    return httpx2.Request(scope["method"], url, headers=headers, content=body.chunks())


_parsed = lru_cache(256)(httpx2.URL)
"""Most calls of an agent have the same address."""


def _key_header(provider: Provider, key: str) -> tuple[bytes, bytes]:
    if provider.send_key == BEARER:
        return b"authorization", b"Bearer " + key.encode()
    return provider.send_key.encode(), key.encode()
