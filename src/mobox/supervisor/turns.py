"""What an agent is told: the prompt, and what was said before it."""

from __future__ import annotations

from collections.abc import Iterable

from mobox.errors import ProtocolError
from mobox.storage import Storage
from mobox.storage.chats import StoredMessage
from mobox.storage.log import Run, pages
from mobox.supervisor.asked import Asked
from mobox.transcript import Transcript
from mobox.turn import Frontend, HistoryMessage, Turn, UserMessage

__all__ = ["turn_for"]


async def turn_for(storage: Storage, run: Run, asked: Asked) -> Turn:
    """The turn for an agent that begins with a run, or goes on with it once it was answered."""
    history = await storage.history(run.owner, run.chat_id)
    before = [message for message in history.messages if message.run_id != run.id]
    frontend = await _frontend(storage, run)
    if asked.answers or asked.earlier_answers:
        return Turn(
            history=_told([*before, await _own_message(storage, run)]),
            answers=asked.answers,
            earlier_answers=asked.earlier_answers,
            resume=asked.resume,
            frontend=frontend,
        )
    *before, last = before
    if not isinstance(last.body, UserMessage):
        raise ProtocolError(f"run {run.id} has no user message to answer")
    return Turn(prompt=last.body.parts, history=_told(before), frontend=frontend)


async def _frontend(storage: Storage, run: Run) -> Frontend | None:
    """What a page last brought along; who answers by other means brings nothing."""
    brought = [asking.frontend for asking in await storage.asked(run.id)]
    return next((page for page in reversed(brought) if page is not None), None)


async def _own_message(storage: Storage, run: Run) -> StoredMessage:
    """What the run has said itself; of its log no more is held than a page."""
    transcript = Transcript()
    async for page in pages(storage, run.id):
        for entry in page:
            transcript.add(entry.event, entry.ts)
    body = transcript.message(run.id)
    return StoredMessage(
        id=run.id, role="assistant", created_at=run.started_at, body=body, run_id=run.id
    )


def _told(messages: Iterable[StoredMessage]) -> tuple[HistoryMessage, ...]:
    return tuple(message.as_history() for message in messages)
