"""Interrupted streams in an app with middleware between Mobox and the server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from starlette.middleware.base import RequestResponseEndpoint
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response

import mobox
from mobox.server.auth.principal import Principal
from mobox.settings import now_ms
from server.live_server import message
from server.serving import UVLOOP, client_of


@mobox.agent("endless")
async def endless(turn: mobox.Turn) -> AsyncIterator[str]:
    yield "To begin with"
    await asyncio.Event().wait()


def briefly(_: HTTPConnection) -> Principal:
    return Principal("ann", expires_at=now_ms() + 500)


async def pass_on(request: Request, call_next: RequestResponseEndpoint) -> Response:
    return await call_next(request)


@pytest.fixture
def anyio_backend() -> object:
    """As the server runs."""
    return UVLOOP


@pytest.mark.parametrize("has_middleware", [True, False])
async def test_truncated_input_is_not_complete(has_middleware: bool, tmp_path: Path) -> None:
    app = FastAPI()
    if has_middleware:
        app.middleware("http")(pass_on)
    mobox.mount(app, principal=briefly, agents=[endless], data=tmp_path)
    heard = b""
    async with app.router.lifespan_context(app), client_of(app) as client:
        with pytest.raises(httpx.RemoteProtocolError, match="without sending complete"):
            async with client.stream("POST", "/mobox/api/chat", json=message("c", "hi")) as told:
                async for chunk in told.aiter_bytes():
                    heard += chunk
    assert b"To begin with" in heard
