"""What an agent is told: the prompt, and what was said before it."""

from __future__ import annotations

import msgspec

from mobox.errors import ProtocolError
from mobox.events import JSON
from mobox.message import told_again
from mobox.storage import Storage
from mobox.storage.chats import History, StoredMessage
from mobox.storage.log import Run
from mobox.transcript import Transcript
from mobox.turn import Answer, HistoryMessage, Turn, UserMessage

__all__ = ["continued_turn", "first_turn"]


async def first_turn(storage: Storage, run: Run) -> Turn:
    """The turn that begins a run: the last message of its chat is what is asked."""
    history = await storage.history(run.owner, run.chat_id)
    *before, last = _messages_before(history, run)
    if not isinstance(last.body, UserMessage):
        raise ProtocolError(f"run {run.id} answers no message")
    return Turn(prompt=last.body.parts, history=tuple(m.as_history() for m in before))


async def continued_turn(
    storage: Storage, run: Run, answers: tuple[Answer, ...], resume: JSON
) -> Turn:
    """The turn that goes on with a run: what it has said itself is the last of its history."""
    history = await storage.history(run.owner, run.chat_id)
    said = [message.as_history() for message in _messages_before(history, run)]
    return Turn(history=(*said, await _own_message(storage, run)), answers=answers, resume=resume)


def _messages_before(history: History, run: Run) -> list[StoredMessage]:
    return [message for message in history.messages if message.run_id != run.id]


async def _own_message(storage: Storage, run: Run) -> HistoryMessage:
    transcript = Transcript()
    after = 0
    while page := await storage.read(run.id, after):
        for entry in page:
            transcript.add(entry)
        after = page[-1].seq
    message = transcript.message(run.id)
    parts = msgspec.to_builtins(told_again(message))
    return HistoryMessage(id=run.id, role="assistant", parts=tuple(parts))
