"""A process that appends to several runs until it is killed, and prints what was acknowledged."""

import asyncio
import sys

from mobox.events import TextDelta
from mobox.storage import Storage, open_storage
from mobox.storage.log import Run
from storage.conformance import begin, submit


async def append_for_ever(store: Storage, run: Run) -> None:
    n = 0
    while True:
        events = [TextDelta(id="text_1", delta=f"{n + k} ") for k in range(n % 5 + 1)]
        entries = await store.append(run.id, run.epoch, events, n)
        n = entries[-1].seq
        print(run.id, n, flush=True)


async def main(url: str, runs: int) -> None:
    store = await open_storage(url)
    begun = [await begin(store, submit(chat_id=f"c{n}")) for n in range(runs)]
    await asyncio.gather(*(append_for_ever(store, run) for run in begun))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
