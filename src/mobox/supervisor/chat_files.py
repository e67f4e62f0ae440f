"""The files that agents made in chats, for their owners."""

from __future__ import annotations

import asyncio

from mobox.errors import FileNotFound
from mobox.storage import Storage
from mobox.supervisor.agent_files import StateFolders
from mobox.supervisor.made_files import MadeFiles, OpenFile, list_files, open_file


class ChatFiles:
    """Reads the state folders of chats whose owner was checked."""

    def __init__(self, storage: Storage, states: StateFolders, *, is_here: bool) -> None:
        """`is_here`: this process executes agents, so that a missing folder has no files."""
        self._storage = storage
        self._states = states
        self._is_here = is_here

    async def list(self, owner: str, chat_id: str, *, hidden: bool = False) -> MadeFiles:
        """The files that agents made in a chat."""
        await self._storage.runs(owner, chat_id)  # raises `ChatNotFound`
        return await asyncio.to_thread(self._list, owner, chat_id, hidden)

    def _list(self, owner: str, chat_id: str, hidden: bool) -> MadeFiles:
        try:
            with self._states.opened(owner, chat_id) as folder:
                return list_files(folder, hidden=hidden)
        except OSError:  # workers may have other disks, or an agent has closed its folder
            return MadeFiles([], is_here=self._is_here)

    async def open(self, owner: str, chat_id: str, path: str) -> OpenFile:
        """Open a file that an agent made in a chat."""
        await self._storage.runs(owner, chat_id)
        return await asyncio.to_thread(self._open, owner, chat_id, path)

    def _open(self, owner: str, chat_id: str, path: str) -> OpenFile:
        try:
            with self._states.opened(owner, chat_id) as folder:
                return open_file(folder, path)
        except OSError:
            raise FileNotFound(path[:200]) from None
