"""A server with a warm agent, to be killed: `python -m supervisor.warm_server FOLDER`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from mobox.capture.catalog import load_agent
from supervisor.stage import staged, submit
from support.waiting import until


async def main(folder: Path) -> None:
    """Answer once, and once more by a spare, which takes as long as the test wants."""
    async with staged(folder, load_agent(folder / "warm"), warm=True) as stage:
        await stage.until_it_ends(await stage.begin())
        await until(lambda: stage.supervisor.spares == 1)
        await stage.until_nothing_runs()
        (folder / "has a spare").touch()
        await until((folder / "next").exists)
        await stage.until_it_ends(await stage.begin(submit("again", "m2")))
        (folder / "has ended").touch()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
