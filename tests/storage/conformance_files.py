"""What every store must do with files. A backend's test file subclasses it, too."""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest

from mobox.errors import FileInUse, FileNotFound, FileQuotaExceeded, FileTooLarge
from mobox.events.turn import Action, PromptFile, PromptText, Request, UserMessage
from mobox.storage import Settings, Storage
from mobox.storage.chats import IdleChat
from mobox.storage.files import (
    AT_ONCE,
    CHUNK,
    IN_FLIGHT,
    UNNAMED,
    StoredFile,
    address_of,
)
from storage.conformance import DONE, Conformance, begin, opened, say
from support.clocks import Clock

PNG = b"\x89PNG\r\n\x1a\n" + b"picture" * 10
LIMITS = Settings(max_file=3 * CHUNK, max_files_per_owner=5 * CHUNK)


async def pieces(data: bytes, size: int = 10_000) -> AsyncIterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


async def broken_off(data: bytes) -> AsyncIterator[bytes]:
    yield data
    raise ConnectionError


async def add(store: Storage, data: bytes, owner: str = "ann") -> StoredFile:
    return await store.files.add(owner, pieces(data), "image/png", "photo.png")


async def content(store: Storage, file: StoredFile, *bounds: int) -> bytes:
    async with aclosing(store.files.read(file, *bounds)) as read:
        return b"".join([piece async for piece in read])


def naming(*files: StoredFile, chat_id: str = "chat", message_id: str = "u1") -> Request:
    named = [
        PromptFile(media_type=file.media_type, url=address_of(file.id), file_id=file.id)
        for file in files
    ]
    message = UserMessage(id=message_id, parts=(PromptText(text="Look"), *named))
    return Request(chat_id=chat_id, action=Action.SUBMIT, message=message)


def noise(size: int, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(size)


class FilesConformance(Conformance):
    """Files of messages."""

    @pytest.fixture
    def clock(self) -> Clock:
        return Clock(10 * UNNAMED)

    @pytest.fixture
    async def stores(self, tmp_path: Path, clock: Clock) -> AsyncIterator[list[Storage]]:
        settings = Settings(
            lease=3600,
            clock=clock,
            max_file=LIMITS.max_file,
            max_files_per_owner=LIMITS.max_files_per_owner,
        )
        async with opened(lambda: self.open(tmp_path, settings), 2) as stores:
            yield stores

    @pytest.fixture
    def store(self, stores: list[Storage]) -> Storage:
        return stores[0]

    async def is_there(self, store: Storage, file: StoredFile) -> bool:
        """Whether a file is found, and can be read."""
        try:
            found = await store.files.find(file.owner, file.id)
        except FileNotFound:
            return False
        return hashlib.sha256(await content(store, found)).hexdigest() == file.sha256

    async def sweep(self, store: Storage) -> int:
        async def has_chat(owner: str, chat_id: str) -> bool:
            return chat_id in [chat.id for chat in (await store.chats(owner)).chats]

        return await store.files.sweep(has_chat)

    @pytest.mark.parametrize("size", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK])
    async def test_a_file_is_read_as_it_was_added(self, store: Storage, size: int) -> None:
        data = noise(size)
        file = await add(store, data)
        assert await store.files.find("ann", file.id) == file
        assert await content(store, file) == data
        assert (file.size, file.sha256) == (size, hashlib.sha256(data).hexdigest())
        assert file.name == "photo.png"

    async def test_a_part_of_a_file_is_read(self, store: Storage) -> None:
        data = noise(2 * CHUNK + 100)
        file = await add(store, data)
        for start, end in [(0, 1), (5, 5), (CHUNK - 1, CHUNK + 1), (CHUNK, 2 * CHUNK), (7, 2**19)]:
            assert await content(store, file, start, end) == data[start:end]

    async def test_every_process_has_the_file(self, stores: list[Storage]) -> None:
        one, two = stores
        file = await add(one, PNG)
        assert await self.is_there(two, file)
        assert await one.files.secret() == await two.files.secret()
        assert len(await two.files.secret()) == 32

    async def test_the_same_bytes_of_an_owner_are_stored_once(self, store: Storage) -> None:
        first = await add(store, PNG)
        again = await store.files.add("ann", pieces(PNG, 3), "image/png", "copy.png")
        assert again == first
        assert await self.is_there(store, first)

    async def test_concurrent_uploads_of_the_same_bytes_are_one_file(
        self, stores: list[Storage]
    ) -> None:
        data = noise(2 * CHUNK)
        files = await asyncio.gather(*(add(store, data) for store in stores * 4))
        assert len({file.blob for file in files}) == 1
        assert await self.is_there(stores[0], files[0])

    async def test_owners_do_not_share_files(self, store: Storage) -> None:
        hers = await add(store, PNG)
        with pytest.raises(FileNotFound):
            await store.files.find("bob", hers.id)
        his = await add(store, PNG, "bob")
        assert his.id != hers.id
        with pytest.raises(FileNotFound):
            await store.files.delete("bob", hers.id)
        with pytest.raises(FileNotFound):
            await begin(store, naming(hers), owner="bob")
        assert await self.is_there(store, hers)

    async def test_a_large_file_is_refused_and_leaves_nothing(self, store: Storage) -> None:
        with pytest.raises(FileTooLarge, match=r"--max-file\)"):
            await add(store, noise(3 * CHUNK + 1))
        for fits in (noise(2 * CHUNK), noise(3 * CHUNK, 2)):
            assert await self.is_there(store, await add(store, fits))

    async def test_the_quota_is_of_one_owner(self, store: Storage) -> None:
        first = await add(store, noise(3 * CHUNK))
        with pytest.raises(FileQuotaExceeded, match="--max-files-per-owner"):
            await add(store, noise(3 * CHUNK, 2))
        assert await add(store, noise(3 * CHUNK)) == first
        assert await self.is_there(store, await add(store, noise(2 * CHUNK, 2)))
        assert await self.is_there(store, await add(store, noise(3 * CHUNK, 2), "bob"))

    async def test_concurrent_uploads_do_not_exceed_the_quota(self, stores: list[Storage]) -> None:
        adding = (add(stores[n % 2], noise(2 * CHUNK, n)) for n in range(6))
        added = await asyncio.gather(*adding, return_exceptions=True)
        assert len([each for each in added if isinstance(each, StoredFile)]) == 2
        assert len([each for each in added if isinstance(each, FileQuotaExceeded)]) == 4

    async def test_an_upload_that_breaks_off_leaves_nothing(
        self, store: Storage, clock: Clock
    ) -> None:
        with pytest.raises(ConnectionError):
            await store.files.add("ann", broken_off(noise(3 * CHUNK)), "image/png")
        file = await add(store, noise(3 * CHUNK))
        assert await self.is_there(store, file)

    # Chats

    async def test_a_file_is_deleted_with_the_last_chat_that_names_it(
        self, store: Storage, clock: Clock
    ) -> None:
        file = await add(store, PNG)
        for chat_id in ("one", "two"):
            await begin(store, naming(file, chat_id=chat_id))
        clock.now += IN_FLIGHT + 1
        await store.delete("ann", "one")
        assert await self.is_there(store, file)
        await store.delete("ann", "two")
        assert not await self.is_there(store, file)

    async def test_pruning_a_chat_deletes_its_files(self, store: Storage, clock: Clock) -> None:
        file = await add(store, PNG)
        run = await begin(store, naming(file))
        await say(store, run, DONE)
        clock.now += IN_FLIGHT + 1
        idle = IdleChat(id="chat", owner="ann", runs=(run.id,))
        assert not await store.delete_idle(idle, run.started_at)
        assert await self.is_there(store, file)
        assert await store.delete_idle(idle, clock.now)
        assert not await self.is_there(store, file)

    async def test_a_named_file_is_not_deleted_alone(self, store: Storage, clock: Clock) -> None:
        file, other = await add(store, PNG), await add(store, PNG + b"2")
        await begin(store, naming(file))
        with pytest.raises(FileInUse):
            await store.files.delete("ann", file.id)
        await store.files.delete("ann", other.id)
        assert await self.is_there(store, file)
        assert not await self.is_there(store, other)

    async def test_a_message_cannot_name_a_missing_file(self, store: Storage) -> None:
        file, gone = await add(store, PNG), await add(store, PNG + b"2")
        await store.files.delete("ann", gone.id)
        with pytest.raises(FileNotFound, match=gone.id):
            await begin(store, naming(file, gone))
        assert (await store.chats("ann")).chats == ()

    async def test_a_file_that_no_chat_names_is_kept_for_a_day(
        self, store: Storage, clock: Clock
    ) -> None:
        uploaded, named = await add(store, PNG), await add(store, PNG + b"2")
        await begin(store, naming(named))
        clock.now += UNNAMED
        assert await self.sweep(store) == 0
        clock.now += 1
        assert await self.sweep(store) == 1
        assert not await self.is_there(store, uploaded)
        assert await self.is_there(store, named)

    async def test_uploading_again_starts_the_day_again(self, store: Storage, clock: Clock) -> None:
        file = await add(store, PNG)
        clock.now += UNNAMED
        assert await add(store, PNG) == file
        clock.now += UNNAMED
        assert await self.sweep(store) == 0
        assert await self.is_there(store, file)

    async def test_sweep_handles_many_files(self, store: Storage, clock: Clock) -> None:
        files = [await add(store, PNG + b"%d" % n) for n in range(AT_ONCE + 1)]
        clock.now += UNNAMED + 1
        assert await self.sweep(store) == len(files)

    # What a crash leaves

    async def test_a_reference_without_its_chat_is_removed(
        self, store: Storage, clock: Clock
    ) -> None:
        """As when a process dies between naming the file and storing the message."""
        file = await add(store, PNG)
        await store.files.name("ann", "never", naming(file).message)
        await self.sweep(store)
        with pytest.raises(FileInUse):
            await store.files.delete("ann", file.id)
        clock.now += IN_FLIGHT + 1
        await self.sweep(store)
        assert not await self.is_there(store, file)

    async def test_a_chat_that_was_deleted_without_its_files_is_found(
        self, store: Storage, clock: Clock
    ) -> None:
        """As when a process dies between deleting the chat and giving up its files."""
        file = await add(store, PNG)
        await begin(store, naming(file))
        clock.now += IN_FLIGHT + 1
        await self.sweep(store)
        with pytest.raises(ConnectionError):
            async with store.files.releasing("ann", "chat"):
                raise ConnectionError
        await self.sweep(store)
        assert await self.is_there(store, file)
        deleting = store.files.releasing("ann", "chat")
        async with deleting as files:
            await store.delete("ann", "chat")
            files.keep()
        await self.sweep(store)
        assert not await self.is_there(store, file)

    async def test_a_message_that_is_being_stored_keeps_its_file(
        self, store: Storage, clock: Clock
    ) -> None:
        """As when the chat is deleted, and started again, while a message names the file."""
        file = await add(store, PNG)
        await begin(store, naming(file))
        clock.now += IN_FLIGHT + 1
        await store.files.name("ann", "chat", naming(file).message)
        await store.delete("ann", "chat")
        assert await self.is_there(store, file)
        await begin(store, naming(file, message_id="u2"))
        clock.now += IN_FLIGHT + 1
        await self.sweep(store)
        assert await self.is_there(store, file)
        await store.delete("ann", "chat")
        assert not await self.is_there(store, file)

    async def test_a_file_of_a_new_chat_goes_soon_after_the_chat(
        self, store: Storage, clock: Clock
    ) -> None:
        file = await add(store, PNG)
        await begin(store, naming(file))
        await store.delete("ann", "chat")
        clock.now += IN_FLIGHT + 1
        await self.sweep(store)
        assert not await self.is_there(store, file)
