"""The event loop of `mobox run`, which is in a thread of its own."""

from __future__ import annotations

import signal
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from mobox.cli.terminal.background import Background


async def text_of(resource: str) -> str:
    return f"{resource} is open"


def test_resource_is_closed_at_the_end() -> None:
    closed = threading.Event()

    @asynccontextmanager
    async def opened() -> AsyncIterator[str]:
        yield "it"
        closed.set()

    with Background(opened) as background:
        assert background.run(text_of(background.resource)) == "it is open"
        assert not closed.is_set()
    assert closed.is_set()


def test_resource_that_cannot_be_opened_raises() -> None:
    @asynccontextmanager
    async def opened() -> AsyncIterator[str]:
        yield str(int("away"))

    with pytest.raises(ValueError, match="away"), Background(opened):
        pass


def test_interrupt_while_the_resource_is_opened_closes_it() -> None:
    main, interrupted, closed = threading.get_ident(), threading.Event(), threading.Event()

    @asynccontextmanager
    async def opened() -> AsyncIterator[str]:
        signal.pthread_kill(main, signal.SIGINT)
        interrupted.wait(30)
        yield "it"
        closed.set()

    with pytest.raises(KeyboardInterrupt), Background(opened):
        pass
    interrupted.set()
    assert closed.wait(30)
