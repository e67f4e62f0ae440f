"""Gives an agent the files of its turn.

Rule 1: files of the prompt are `data:` URLs while they have at most `INLINE` bytes together.
Rule 2: all others are copied into the chat's state folder, once, and the part has the `path` there.
        The agent may do anything with that folder, so links in it are not followed.
Rule 3: a file that cannot be copied stays an address: the turn does not fail for it.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import mimetypes
import os
import secrets
from collections.abc import Iterator
from contextlib import aclosing, contextmanager, suppress
from pathlib import Path
from stat import S_ISREG
from typing import Any, Final

from msgspec.structs import replace

from mobox.errors import FileNotFound
from mobox.events import JSON
from mobox.events.turn import HistoryMessage, PromptFile, PromptPart, Turn
from mobox.storage.files import FileStore, StoredFile

log = logging.getLogger("mobox.supervisor")

INLINE: Final = 8 << 20
"""Bytes of files that a turn has as `data:` URLs."""
FOLDER: Final = "files"


async def with_files(turn: Turn, files: FileStore, owner: str, state: Path) -> Turn:
    """The turn with the files that it names; `state` is the chat's state folder."""
    giving = _Giving(files, owner, state)
    prompt = [await giving.prompt_part(part) for part in turn.prompt]
    history = [await giving.message(message) for message in turn.history]
    return replace(turn, prompt=tuple(prompt), history=tuple(history))


class _Giving:
    def __init__(self, files: FileStore, owner: str, state: Path) -> None:
        self._files = files
        self._owner = owner
        self._state = state
        self._left = INLINE

    async def prompt_part(self, part: PromptPart) -> PromptPart:
        file = await self._find(part.file_id) if isinstance(part, PromptFile) else None
        if file is None or not isinstance(part, PromptFile):
            return part
        if file.size > self._left:
            return replace(part, path=await self._copied(file))
        self._left -= file.size
        return replace(part, url=await self._data_url(file, part.media_type))

    async def message(self, message: HistoryMessage) -> HistoryMessage:
        """A message with the paths of its files; those of the agent have none."""
        if message.role != "user":
            return message
        return replace(message, parts=tuple([await self._history_part(p) for p in message.parts]))

    async def _history_part(self, part: JSON) -> JSON:
        about: dict[str, Any] = part if isinstance(part, dict) else {}
        file = await self._find(about.get("file_id"))
        path = None if file is None else await self._copied(file)
        return part if path is None else {**about, "path": path}

    async def _find(self, file_id: str | None) -> StoredFile | None:
        if file_id is None:
            return None
        try:
            return await self._files.find(self._owner, file_id)
        except FileNotFound:
            return None

    async def _data_url(self, file: StoredFile, media_type: str) -> str:
        async with aclosing(self._files.read(file)) as pieces:
            data = b"".join([piece async for piece in pieces])
        content = await asyncio.to_thread(base64.b64encode, data)
        return f"data:{media_type};base64,{content.decode()}"

    async def _copied(self, file: StoredFile) -> str | None:
        """The path of a file in the state folder, where it is copied to."""
        name = file.id + (mimetypes.guess_extension(file.media_type) or "")
        try:
            await self._copy(file, name)
        except OSError as error:
            log.warning("cannot copy file %s for an agent: %s", file.id, error)
            return None
        return f"{FOLDER}/{name}"

    async def _copy(self, file: StoredFile, name: str) -> None:
        with _opened(self._state) as folder:
            if _has(folder, name, file.size):
                return
            part = f".{secrets.token_hex(8)}"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            try:
                with os.fdopen(os.open(part, flags, 0o600, dir_fd=folder), "wb") as copy:
                    async with aclosing(self._files.read(file)) as pieces:
                        async for piece in pieces:
                            await asyncio.to_thread(copy.write, piece)
                os.rename(part, name, src_dir_fd=folder, dst_dir_fd=folder)
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(part, dir_fd=folder)


@contextmanager
def _opened(state: Path) -> Iterator[int]:
    """The folder of files in a state folder, created if it is missing."""
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    place = state / FOLDER
    with suppress(FileExistsError):
        place.mkdir(mode=0o700)
    folder = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield folder
    finally:
        os.close(folder)


def _has(folder: int, name: str, size: int) -> bool:
    with suppress(FileNotFoundError):
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        return S_ISREG(found.st_mode) and found.st_size == size
    return False
