"""Mounts Mobox in a FastAPI or Starlette app, below a path, for the app's lifespan."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Unpack

from starlette.applications import Starlette

from mobox.library.box import Mobox
from mobox.library.options import Options
from mobox.server.authentication import Hook

__all__ = ["mount"]


def mount(
    app: Starlette, path: str = "/mobox", *, principal: Hook, **options: Unpack[Options]
) -> Mobox:
    """Serve all of Mobox below `path`, during the app's lifespan.

    `principal` authenticates each request: it returns an owner's name, a `Principal`, or `None`.
    """
    box = Mobox(principal, **options)
    app.mount(path, box, name="mobox")
    theirs = app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(running: Any) -> AsyncIterator[Any]:
        async with box, theirs(running) as state:
            try:
                yield state
            finally:  # before the app closes resources that function agents may use
                await box.supervisor.close()

    app.router.lifespan_context = lifespan
    return box
