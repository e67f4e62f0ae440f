"""Runs in a store, for `mobox sim --run`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from mobox import StreamEvent
from mobox.events import Start, Text, TextDelta, TextEnd
from mobox.formatters.ai_sdk.requests import read_request
from mobox.server.app import open_services
from mobox.settings import OWNER, Settings
from server.live_server import message

AGENTS = Path(__file__).parents[3] / "agents"
SAID = [Text(id="t1"), TextDelta(id="t1", delta="It is warm."), TextEnd(id="t1")]


def stored_run(data: Path, said: Sequence[StreamEvent]) -> str:
    """The id of a run with these events, in a store without a server."""

    async def write() -> str:
        async with open_services(Settings(data=data, agents=AGENTS)) as it:
            request = read_request(message("c1", "Hello"))
            run = (await it.storage.begin_turn(OWNER, request, "demo", "emitted")).run
            await it.storage.append(run.id, run.epoch, [Start(framework="emitted"), *said], 1, [])
            return run.id

    return asyncio.run(write())
