"""A process that writes to runs as it is told to, line by line, and says when it has.

write N     so many words to each run
hear STATE  wait until its wake-ups are up, or down
end         DONE to each run, and an end
"""

import asyncio
import sys
from collections.abc import Callable, Coroutine
from typing import Any

from mobox.storage import Settings, Storage, open_storage
from mobox.storage.log import Run
from storage.conformance import DONE, begin, say, submit, words
from waiting import until


async def write(store: Storage, runs: list[Run], count: str) -> None:
    async def write_to(run: Run) -> None:
        for n in range(int(count)):
            await say(store, run, *words(str(n)))

    await asyncio.gather(*map(write_to, runs))


async def hear(store: Storage, _runs: list[Run], state: str) -> None:
    await until(lambda: store.wake_ups == state)


async def end(store: Storage, runs: list[Run]) -> None:
    await asyncio.gather(*(say(store, run, DONE) for run in runs))


DO: dict[str, Callable[..., Coroutine[Any, Any, None]]] = {"write": write, "hear": hear, "end": end}


async def main(url: str, redis_url: str, runs: int) -> None:
    store = await open_storage(url, Settings(lease_seconds=3600), redis_url)
    begun = [await begin(store, submit(chat_id=f"c{n}")) for n in range(runs)]
    print(*(run.id for run in begun), flush=True)
    while command := (await asyncio.to_thread(sys.stdin.readline)).split():
        await DO[command[0]](store, begun, *command[1:])
        print("done", flush=True)
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
