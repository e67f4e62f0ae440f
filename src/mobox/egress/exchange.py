"""One plain HTTP request and its response.

Rule 1: request and response are copied at the same time: a server may answer before it has read
        the whole request, with an error or with 100 Continue.
Rule 2: a response that breaks off is a break for the client, never an end.
"""

from __future__ import annotations

import asyncio
from typing import Final

from mobox.egress.messages import (
    BadMessage,
    Body,
    Request,
    Response,
    Target,
    forwarded_request,
    forwarded_response,
    read_response,
    request_body,
    response_body,
)
from mobox.egress.refusals import BAD_REQUEST, UNREACHABLE, Refused
from mobox.egress.relay import Idle, Stream, copy_body

INTERIM: Final = 16
"""Responses with a status of 1xx before the response."""
_BROKEN: Final = (BadMessage, EOFError, OSError, asyncio.LimitOverrunError)


class Exchange:
    """A request that is passed on to a server, and the response to it."""

    def __init__(self, request: Request, target: Target, client: Stream, server: Stream) -> None:
        self._request, self._target = request, target
        self._client, self._server = client, server

    async def run(self, idle: Idle) -> None:
        """Pass both on; raises `Refused`, or `OSError` if a part of the response has been sent."""
        upload = asyncio.ensure_future(self._send_request(request_body(self._request), idle))
        try:
            response, body = await self._response(upload)
            await self._send_response(response, body, idle)
        finally:
            upload.cancel()
            await asyncio.wait((upload,))
            if not upload.cancelled():
                upload.exception()  # it does not matter any more

    async def _send_request(self, body: Body, idle: Idle) -> None:
        try:
            await self._server.send(forwarded_request(self._request, self._target, body))
            await copy_body(body, self._client, self._server, idle)
        except (BadMessage, EOFError):
            self._server.abort()  # it must not take a part for the whole
            raise
        except OSError:  # a server that has closed its side may have answered
            if self._client.reader.exception() is not None:
                self._server.abort()

    async def _response(self, upload: asyncio.Task[None]) -> tuple[Response, Body]:
        """The head of the response, and how long its body is."""
        try:
            for _ in range(INTERIM):
                response = read_response(await self._server.reader.readuntil(b"\r\n\r\n"))
                if response.status == 101:  # no `Upgrade` was passed on
                    raise BadMessage("switched to a protocol that was not requested")
                body = response_body(response, self._request.method)
                if response.status >= 200:
                    return response, body
                if self._request.version:  # HTTP/1.0 has no such responses
                    await self._client.send(forwarded_response(response, 0, self._request.method))
            raise BadMessage("too many responses")
        except _BROKEN as error:
            if upload.done() and isinstance(bad := upload.exception(), BadMessage):
                raise Refused(BAD_REQUEST, f"invalid request: {bad}") from None
            why = str(error) if isinstance(error, BadMessage) else "the connection broke off"
            problem = f"invalid response of {self._target.authority}: {why}"
            raise Refused(UNREACHABLE, problem) from None

    async def _send_response(self, response: Response, body: Body, idle: Idle) -> None:
        # HTTP/1.0 has no chunks: the end of the connection is the end of the body.
        is_framed = body != "chunked" or self._request.version > 0
        shown: Body = body if is_framed else "until closed"
        idle.touch()
        await self._client.send(forwarded_response(response, shown, self._request.method))
        try:
            await copy_body(body, self._server, self._client, idle, is_framed=is_framed)
        except (BadMessage, EOFError) as error:
            raise ConnectionAbortedError("the response broke off") from error
