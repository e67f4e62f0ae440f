"""Reads the messages of a chat: listed in one snapshot, then read in batches.

Rule 1: a chat of any length can be read. Only its list of messages is read in one query.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from mobox.errors import ChatNotFound, RunNotFound
from mobox.storage.chats import History, MessagePage, StoredMessage
from mobox.storage.log import RunId
from mobox.storage.message_cache import cached_message
from mobox.storage.postgres.folding import Folding
from mobox.storage.postgres.messages import (
    Behind,
    Body,
    Head,
    find_behind,
    find_history,
    find_messages,
    read_bodies,
    said,
)
from mobox.storage.postgres.sessions import Sessions

__all__ = ["Histories"]

_MANY: Final = 64
"""How many messages are read at once."""


class Histories:
    """Reads chats, and folds the messages that are not stored."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._folding = Folding(sessions)

    async def history(self, owner: str, chat_id: str, limit: int | None) -> History:
        """See `Chats.history`."""
        chat, found = await self._sessions.read(
            partial(find_history, owner=owner, chat_id=chat_id, limit=limit), "much"
        )
        messages = await self._read(chat_id, found.heads)
        return History(chat=chat, messages=messages, active=found.active, before=found.before)

    async def messages(
        self, owner: str, chat_id: str, before: str | None, limit: int
    ) -> MessagePage:
        """See `Chats.messages`."""
        found = await self._sessions.read(
            partial(find_messages, owner=owner, chat_id=chat_id, before=before, limit=limit), "much"
        )
        messages = await self._read(chat_id, found.heads)
        return MessagePage(messages=messages, active=found.active, before=found.before)

    async def catch_up(self, owner: str) -> None:
        """Store the messages that were never read."""
        find = partial(find_behind, owner=owner)
        after = 0
        while found := await self._sessions.ask(partial(find, after=after), "much"):
            for behind in found:
                await self._folding.keep(behind)
            after = found[-1].message

    async def close(self) -> None:
        """Store the folded messages."""
        await self._folding.close()

    async def _read(self, chat_id: str, heads: Sequence[Head]) -> tuple[StoredMessage, ...]:
        messages: list[StoredMessage] = []
        try:
            for start in range(0, len(heads), _MANY):
                some = heads[start : start + _MANY]
                read = partial(read_bodies, numbers=[head.n for head in some])
                bodies = await self._sessions.ask(read, "much")
                messages += [await self._message(head, bodies.get(head.n)) for head in some]
        except RunNotFound as error:
            raise ChatNotFound(chat_id) from error
        return tuple(reversed(messages))

    async def _message(self, head: Head, body: Body | None) -> StoredMessage:
        if body is None:
            raise RunNotFound(head.id)
        if head.run is None:
            return said(head, body)
        is_whole = body.folded_seq == head.seq
        message = cached_message(body.text) if is_whole else None
        if message is None:
            behind = Behind(head.n, RunId(head.id), head.seq)
            message = await self._folding.fold(behind)
        return StoredMessage(
            id=head.id,
            role="assistant",
            created_at=head.created_at,
            body=message,
            run_id=RunId(head.id),
        )
