"""Who asks, where an app around this one knows it."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from mobox.server.errors import error_response

__all__ = ["Hook", "Known", "known_owner"]

Hook: TypeAlias = Callable[[HTTPConnection], "str | Awaitable[str | None] | None"]
"""An app's own word for who asks: the name of an owner, or `None` for nobody."""

_PRINCIPAL: Final = "mobox.principal"


class Known:
    """The app, for those whom the hook knows."""

    def __init__(self, app: ASGIApp, hook: Hook) -> None:
        self._app = app
        self._hook = hook

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = self._hook(HTTPConnection(scope))
        owner = await found if inspect.isawaitable(found) else found
        if owner:
            await self._app({**scope, _PRINCIPAL: owner}, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": "not allowed"})
        else:
            refusal = error_response(401, "unauthenticated", "this needs somebody who asks")
            await refusal(scope, receive, send)


def known_owner(connection: HTTPConnection, otherwise: str) -> str:
    """Who asks, as the hook said; else whose everything is."""
    owner: str = connection.scope.get(_PRINCIPAL, otherwise)
    return owner
