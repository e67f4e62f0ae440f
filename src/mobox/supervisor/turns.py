"""What an agent is told: the prompt, and what was said before it."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from mobox.errors import ProtocolError
from mobox.message import told_again
from mobox.storage import Storage
from mobox.storage.chats import History, StoredMessage
from mobox.storage.log import Run, pages
from mobox.supervisor.asked import Asked
from mobox.transcript import Transcript
from mobox.turn import Frontend, HistoryMessage, Turn, UserMessage

__all__ = ["turn_for"]


async def turn_for(storage: Storage, run: Run, asked: Asked) -> Turn:
    """The turn for an agent that begins with a run, or goes on with it once it was answered."""
    history = await storage.history(run.owner, run.chat_id)
    before = _messages_before(history, run)
    frontend = await _frontend(storage, run)
    if asked.answers:
        turn = await _continued(storage, run, before, asked)
        return replace(turn, frontend=frontend)
    *before, last = before
    if not isinstance(last.body, UserMessage):
        raise ProtocolError(f"run {run.id} answers no message")
    said = tuple(message.as_history() for message in before)
    return Turn(prompt=last.body.parts, history=said, frontend=frontend)


async def _frontend(storage: Storage, run: Run) -> Frontend | None:
    """What a page last brought along; who answers by other means brings nothing."""
    brought = [asking.frontend for asking in await storage.asked(run.id)]
    return next((page for page in reversed(brought) if page is not None), None)


async def _continued(storage: Storage, run: Run, before: list[StoredMessage], asked: Asked) -> Turn:
    """What the run has said itself is the last of its history."""
    said = [message.as_history() for message in before]
    own = await _own_message(storage, run)
    return Turn(history=(*said, own), answers=asked.answers, resume=asked.resume)


def _messages_before(history: History, run: Run) -> list[StoredMessage]:
    return [message for message in history.messages if message.run_id != run.id]


async def _own_message(storage: Storage, run: Run) -> HistoryMessage:
    transcript = Transcript()
    async for page in pages(storage, run.id):
        for entry in page:
            transcript.add(entry.event, entry.ts)
    message = transcript.message(run.id)
    parts = msgspec.to_builtins(told_again(message))
    return HistoryMessage(id=run.id, role="assistant", parts=tuple(parts))
