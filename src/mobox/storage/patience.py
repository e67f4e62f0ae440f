"""Bearing with a database that is away: what goes on already does not end because of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, ParamSpec, TypeVar

from mobox.errors import DatabaseAway

__all__ = ["patiently"]

P = ParamSpec("P")
T = TypeVar("T")

_SECONDS: Final = 0.1


async def patiently(ask: Callable[P, Awaitable[T]], *asked: P.args, **more: P.kwargs) -> T:
    """The answer, once the database is there to give one."""
    while True:
        try:
            return await ask(*asked, **more)
        except DatabaseAway:
            await asyncio.sleep(_SECONDS)
