"""The turn of an agent, read from the store: the conversation so far, and a person's answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from mobox.errors import ProtocolError
from mobox.events.shortening import EARLIER_LEFT_OUT, BoundedTranscript
from mobox.events.turn import Frontend, HistoryMessage, Turn, UserMessage
from mobox.storage import Storage
from mobox.storage.chats import StoredMessage
from mobox.storage.log import Run, pages
from mobox.supervisor.input_requests import InputRequests

_CUT: Final = HistoryMessage(
    id="mobox-earlier", role="user", parts=({"type": "text", "text": EARLIER_LEFT_OUT},)
)


async def turn_for(storage: Storage, run: Run, requests: InputRequests) -> Turn:
    """The turn of an agent that starts a run, or resumes it after an answer."""
    history = await storage.history(run.owner, run.chat_id)
    *before, last = [message for message in history.messages if message.run_id != run.id]
    is_cut = history.before is not None
    if not isinstance(last.body, UserMessage):
        raise ProtocolError(f"run {run.id} has no user message to answer")
    turn = Turn(
        kind=run.kind,
        chat_id=run.chat_id,
        run_id=run.id,
        attempt=run.leg,
        owner=run.owner,
        parent=before[-1].id if before else None,
        back_to=run.back_to,
        frontend=await _frontend(storage, run),
    )
    if not requests.answers and not requests.earlier_answers:
        return replace(turn, prompt=last.body.parts, history=_history(before, is_cut=is_cut))
    return replace(
        turn,
        kind="answers",
        history=_history([*before, last, await _own_message(storage, run)], is_cut=is_cut),
        answers=requests.answers,
        earlier_answers=requests.earlier_answers,
        resume=requests.resume,
    )


async def _frontend(storage: Storage, run: Run) -> Frontend | None:
    """The frontend data of the last request that had any: answers over other APIs have none."""
    sent = [request.frontend for request in await storage.asked(run.id)]
    return next((frontend for frontend in reversed(sent) if frontend is not None), None)


async def _own_message(storage: Storage, run: Run) -> StoredMessage:
    """The run's own message so far; reads the log page by page."""
    transcript = BoundedTranscript()
    async for page in pages(storage, run.id):
        for entry in page:
            transcript.add(entry.event, entry.ts)
    body = transcript.message(run.id)
    return StoredMessage(
        id=run.id, role="assistant", created_at=run.started_at, body=body, run_id=run.id
    )


def _history(messages: Iterable[StoredMessage], *, is_cut: bool) -> tuple[HistoryMessage, ...]:
    """The conversation; a plain note says that its beginning is left out."""
    history = tuple(message.as_history() for message in messages)
    return (_CUT, *history) if is_cut else history
