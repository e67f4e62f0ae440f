"""What tests of agents that are functions have in common."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mobox.capture.catalog import agent
from mobox.events import (
    StreamEvent,
)
from supervisor.stage import (
    run,
    staged,
    url_of,
)

Events = list[StreamEvent]


def lived(
    folder: Path,
    function: Callable[..., object],
    framework: str = "emitted",
    store: str = "memory",
) -> Events:
    """The log of a run of this function, from its beginning to its end."""

    async def scenario() -> Events:
        made = agent("it", framework=framework)(function)
        async with staged(folder, made, url=url_of(store, folder)) as stage:
            return await stage.until_it_ends(await stage.begin())

    return run(scenario())
