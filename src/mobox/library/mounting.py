"""A box in somebody's FastAPI or Starlette app: its routes below a path, its life the app's."""

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
    """Serve all of Mobox below `path`, from when the app starts until it ends.

    `principal` is asked who makes a request: the name of an owner, a `Principal`, or `None`.
    """
    box = Mobox(principal, **options)
    app.mount(path, box, name="mobox")
    theirs = app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(running: Any) -> AsyncIterator[Any]:
        async with box, theirs(running) as state:
            try:
                yield state
            finally:  # while what the app has opened is there for its functions
                await box.supervisor.close()

    app.router.lifespan_context = lifespan
    return box
