"""A process that uploads a file without end, and reports each piece that is stored."""

import asyncio
import sys
from collections.abc import AsyncIterator

from mobox.storage import Settings, open_storage
from mobox.storage.files import CHUNK


async def pieces() -> AsyncIterator[bytes]:
    while True:
        yield b"x" * CHUNK
        print("stored", flush=True)


async def main(url: str) -> None:
    store = await open_storage(url, Settings(max_file=1 << 40, max_files_per_owner=1 << 40))
    await store.files.add("ann", pieces(), "text/plain")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
