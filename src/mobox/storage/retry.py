"""Retries operations while the database is unreachable, so that running work survives an outage."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, ParamSpec, TypeVar

from mobox.errors import StorageUnavailable

P = ParamSpec("P")
T = TypeVar("T")

_SECONDS: Final = 0.1


async def retry_while_unavailable(
    operation: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs
) -> T:
    """The operation's result; retries while it raises `StorageUnavailable`."""
    while True:
        try:
            return await operation(*args, **kwargs)
        except StorageUnavailable:
            await asyncio.sleep(_SECONDS)
