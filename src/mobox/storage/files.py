"""Files that messages refer to: the interfaces of their stores, and the store that is made of them.

Rule 1: an owner has the same bytes once. The id of a file is derived from its owner and its bytes,
        and another owner's file is reported as not found.
Rule 2: a file is visible when it is complete. The bytes of an upload that is never finished are
        deleted after a day.
Rule 3: a chat names a file before the message is stored, and gives it up after the chat is deleted.
        So no message names a deleted file. What a crash leaves in between is found by `sweep`.
Rule 4: a file is deleted with the last chat that names it, and after a day if none ever did.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final, Protocol

from msgspec import Struct

from mobox.errors import (
    FileInUse,
    FileNotFound,
    FileQuotaExceeded,
    FileTooLarge,
    StorageError,
    UnknownFileStore,
)
from mobox.events.turn import PromptFile, UserMessage
from mobox.registry import find
from mobox.settings import Settings
from mobox.storage.media_types import HEAD, checked_type

log = logging.getLogger("mobox.storage")

GROUP: Final = "mobox.files"
CHUNK: Final = 256 * 1024
"""Bytes of a stored piece; all but the last have this size."""
IN_FLIGHT: Final = 2 * 60_000
"""Milliseconds in which a chat that names a file also stores its message. Younger references are
not deleted with a chat: they may belong to a message that is just being stored."""
UNNAMED: Final = 24 * 60 * 60_000
"""Milliseconds for which files that no chat names, and bytes of unfinished uploads, are kept."""
AT_ONCE: Final = 100
"""Rows that `sweep` handles in one transaction."""
_MOST_NAME: Final = 200
_ADDRESS: Final = re.compile(r"(?:.*/api/files/)?(file_[0-9a-f]{40})(?:[?#].*)?", re.DOTALL)


class StoredFile(Struct, frozen=True, kw_only=True):
    """A file of an owner."""

    id: str
    owner: str
    media_type: str
    name: str | None = None
    size: int
    sha256: str
    blob: str
    """The key of its bytes."""
    created_at: int


class FileReference(Struct, frozen=True):
    """A chat that names files."""

    owner: str
    chat_id: str


class Blobs(Protocol):
    """Stores bytes under keys. A package may provide one for an object store.

    Its entry point in the group `mobox.files` is a function of the `Settings` that returns one.
    """

    async def write(self, key: str, chunks: AsyncIterator[bytes]) -> None:
        """Store bytes under a new key; after an error, some of them may be left."""

    def read(self, key: str, start: int, end: int) -> AsyncIterator[bytes]:
        """The bytes from `start` up to `end`, which is not included, in pieces of any size."""

    async def delete(self, keys: Sequence[str]) -> None:
        """Delete what is stored under these keys, if there is anything."""

    async def close(self) -> None:
        """Release all resources."""


class FileIndex(Protocol):
    """Which files there are, and which chats name them. Times are in milliseconds."""

    async def open(self) -> None:
        """Create or migrate the tables, if necessary; other methods do it too."""

    async def begin(self, blob: str, now: int) -> None:
        """Note a blob that is about to be written."""

    async def finish(self, file: StoredFile, quota: int) -> StoredFile:
        """Make a written blob a file; `FileQuotaExceeded` if the owner has too many.

        If the owner has the same bytes already, that file is returned, and the blob stays loose.
        """

    async def find(self, file_id: str) -> StoredFile | None:
        """The file of that id, of whichever owner."""

    async def name(self, reference: FileReference, ids: Collection[str], now: int) -> None:
        """Note that a chat names these files; `FileNotFound` unless all are its owner's."""

    async def unsettle(self, reference: FileReference) -> int:
        """Mark the references of a chat to be checked by `sweep`; return how many."""

    async def release(self, reference: FileReference, before: int) -> list[str]:
        """Delete a chat's references older than `before`, and the files that no chat names then.

        Returns the blobs of the deleted files, which are loose.
        """

    async def settle(self, reference: FileReference, before: int) -> None:
        """The chat exists: its references older than `before` need no more checks."""

    async def unsettled(self, before: int, limit: int) -> list[FileReference]:
        """Chats with unsettled references older than `before`, the oldest first."""

    async def delete(self, file_id: str, before: int) -> list[str]:
        """Delete a file that no chat has named since `before`; return its blob, which is loose."""

    async def unnamed(self, before: int, limit: int) -> list[str]:
        """Files that no chat has named since `before`."""

    async def loose(self, before: int, limit: int) -> list[str]:
        """Blobs that have belonged to no file since `before`."""

    async def forget(self, blobs: Sequence[str]) -> None:
        """These blobs are deleted."""

    async def secret(self) -> bytes:
        """A random key, created on first use."""

    async def close(self) -> None:
        """Release all resources."""


def address_of(file_id: str) -> str:
    """The path of a file on a server: the `url` of messages that are stored."""
    return f"/api/files/{file_id}"


def file_id_in(url: str) -> str | None:
    """The id of a stored file in its address, with or without a host and a query; or a bare id."""
    match = _ADDRESS.fullmatch(url) if len(url) < 2000 else None
    return match[1] if match is not None else None


def file_id_of(owner: str, sha256: str) -> str:
    """The id of an owner's file with these bytes."""
    content = f"{len(owner)}:{owner}{sha256}"
    return "file_" + hashlib.sha256(content.encode(errors="surrogatepass")).hexdigest()[:40]


def clean_name(name: str | None) -> str | None:
    """The name of a file without folders and without characters that cannot be shown."""
    last = re.split(r"[/\\]", name or "")[-1]
    return "".join(filter(str.isprintable, last)).strip()[:_MOST_NAME] or None


def files_of(message: UserMessage | None) -> set[str]:
    """The ids of the files that a message names."""
    parts = () if message is None else message.parts
    return {part.file_id for part in parts if isinstance(part, PromptFile) and part.file_id}


def plugged_blobs(settings: Settings) -> Blobs | None:
    """The store of bytes that the setting `files` names; `None` is that of the database."""
    if not settings.files:
        return None
    provider: Callable[[Settings], Blobs] = find(GROUP, settings.files, UnknownFileStore)
    return provider(settings)


class FileStore:
    """The files of all owners: an index, and their bytes."""

    def __init__(
        self, index: FileIndex, blobs: Blobs, settings: Settings, clock: Callable[[], int]
    ) -> None:
        self._index = index
        self._blobs = blobs
        self._settings = settings
        self._clock = clock
        self._secret: bytes | None = None

    async def open(self) -> None:
        """Open it now: what cannot be opened is else reported by the first use."""
        await self._index.open()

    async def close(self) -> None:
        await self._blobs.close()
        await self._index.close()

    @property
    def max_file(self) -> int:
        """The maximum size of one file in bytes."""
        return self._settings.max_file

    async def add(
        self, owner: str, pieces: AsyncIterator[bytes], media_type: str, name: str | None = None
    ) -> StoredFile:
        """Store a file; the one that exists, if the owner has the same bytes already.

        Raises `FileTooLarge` and `FileQuotaExceeded`, and whatever `pieces` raises.
        """
        blob = f"blob_{secrets.token_hex(16)}"
        await self._index.begin(blob, self._clock())
        try:
            incoming = _Incoming(pieces, self._settings.max_file)
            await self._blobs.write(blob, incoming.chunks())
        except BaseException:
            await asyncio.shield(self._drop([blob]))
            raise
        uploaded = incoming.file(owner, blob, media_type, name, self._clock())
        try:
            stored = await self._index.finish(uploaded, self._settings.max_files_per_owner)
        except FileQuotaExceeded:  # after any other error it may be a file: `sweep` knows
            await asyncio.shield(self._drop([blob]))
            raise
        if stored.blob != blob:
            await self._drop([blob])
        return stored

    async def find(self, owner: str, file_id: str) -> StoredFile:
        """A file of an owner; `FileNotFound` if it has no such file."""
        file = await self.look_up(file_id)
        if file is None or file.owner != owner:
            raise FileNotFound(file_id)
        return file

    async def look_up(self, file_id: str) -> StoredFile | None:
        """A file of any owner: the caller checks a signature that names the owner."""
        return await self._index.find(file_id)

    async def read(
        self, file: StoredFile, start: int = 0, end: int | None = None
    ) -> AsyncGenerator[bytes, None]:
        """The bytes of a file, or some of them: `end` is not included."""
        async for piece in self._blobs.read(file.blob, start, file.size if end is None else end):
            yield piece

    async def delete(self, owner: str, file_id: str) -> None:
        """Delete a file that no chat names; `FileInUse` if one does."""
        await self.find(owner, file_id)
        blobs = await self._index.delete(file_id, self._clock() + 1)
        if not blobs:
            raise FileInUse(file_id)
        await self._drop(blobs)

    async def secret(self) -> bytes:
        """The key of signed addresses."""
        if self._secret is None:
            self._secret = await self._index.secret()
        return self._secret

    # Chats

    async def name(self, owner: str, chat_id: str, message: UserMessage | None) -> None:
        """A message of this chat is about to be stored; `FileNotFound` if a file is not there."""
        if ids := files_of(message):
            await self._index.name(FileReference(owner, chat_id), ids, self._clock())

    @asynccontextmanager
    async def releasing(self, owner: str, chat_id: str) -> AsyncIterator[Releasing]:
        """Around the deletion of a chat: then delete the files that no other chat names.

        A failure after the deletion is only logged: `sweep` will find them.
        """
        chat, before = FileReference(owner, chat_id), self._clock() - IN_FLIGHT
        releasing = Releasing(await self._index.unsettle(chat) > 0)
        yield releasing
        if releasing.is_needed:
            try:
                await self._drop(await self._index.release(chat, before))
            except StorageError as error:
                log.warning("files of a deleted chat are not deleted yet, retrying: %s", error)

    async def sweep(self, has_chat: Callable[[str, str], Awaitable[bool]]) -> int:
        """Delete what no chat names, and what a crash left; return how many files."""
        now = self._clock()
        await self._settle(has_chat, now - IN_FLIGHT)
        deleted = 0
        while ids := await self._index.unnamed(now - UNNAMED, AT_ONCE):
            blobs = [key for id_ in ids for key in await self._index.delete(id_, now - UNNAMED)]
            deleted += len(blobs)
            if not await self._drop(blobs):
                break
        while loose := await self._index.loose(now - UNNAMED, AT_ONCE):
            if not await self._drop(loose):
                break
        return deleted

    async def _settle(self, has_chat: Callable[[str, str], Awaitable[bool]], before: int) -> None:
        while chats := await self._index.unsettled(before, AT_ONCE):
            for chat in chats:
                if await has_chat(chat.owner, chat.chat_id):
                    await self._index.settle(chat, before)
                else:
                    await self._drop(await self._index.release(chat, before))

    async def _drop(self, blobs: Sequence[str]) -> bool:
        """Delete loose blobs, if there are any. If that fails, the next `sweep` retries it."""
        if not blobs:
            return False
        with suppress(StorageError):
            await self._blobs.delete(blobs)
            await self._index.forget(blobs)
            return True
        return False


class Releasing:
    """A chat that is being deleted, with its files."""

    def __init__(self, is_needed: bool) -> None:
        self.is_needed = is_needed

    def keep(self) -> None:
        """The chat was not deleted after all."""
        self.is_needed = False


class _Incoming:
    """The bytes of an upload on their way: counted, hashed, and cut into chunks."""

    def __init__(self, pieces: AsyncIterator[bytes], most: int) -> None:
        self._pieces = pieces
        self._most = most
        self._size = 0
        self._head = b""
        self._digest = hashlib.sha256()

    async def chunks(self) -> AsyncIterator[bytes]:
        held = bytearray()
        async for piece in self._pieces:
            self._note(piece)
            held += piece
            while len(held) >= CHUNK:
                yield bytes(held[:CHUNK])
                del held[:CHUNK]
        if held:
            yield bytes(held)

    def _note(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._most:
            raise FileTooLarge(self._most)
        self._head += piece[: HEAD - len(self._head)]
        self._digest.update(piece)

    def file(
        self, owner: str, blob: str, media_type: str, name: str | None, now: int
    ) -> StoredFile:
        sha256 = self._digest.hexdigest()
        return StoredFile(
            id=file_id_of(owner, sha256),
            owner=owner,
            media_type=checked_type(media_type, self._head),
            name=clean_name(name),
            size=self._size,
            sha256=sha256,
            blob=blob,
            created_at=now,
        )
