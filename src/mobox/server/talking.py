"""What a person does in a chat, whichever way it is said: speak, answer, stop."""

from __future__ import annotations

from msgspec import Struct

from mobox.errors import InvalidRequest
from mobox.events import JSON
from mobox.formatters.bodies import Id
from mobox.server.runs import active_run, run_of_chat
from mobox.storage import Storage
from mobox.storage.log import Asking, Run, Status
from mobox.supervisor import Continued, Supervisor
from mobox.turn import Action, Answer, Decision, Request

__all__ = ["AnswerBody", "RunState", "StopBody", "Talk"]


class StopBody(Struct, rename="camel", kw_only=True):
    """Which run to stop: a late request must not stop a newer one.

    Also what the AI SDK's guide on resumable streams posts; other fields are ignored.
    https://ai-sdk.dev/docs/ai-sdk-ui/chatbot-resume-streams
    """

    run_id: Id | None = None
    active_stream_id: str | None = None
    """The run that the page shows. Nothing is stopped if another one is active by now."""
    assistant_message: JSON = None
    """The page's copy of the message, which is ignored: the log has all of it."""


class AnswerBody(Struct, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """What a person said to a request of the agent."""

    request_id: str
    """The agent's own word."""
    decision: Decision = "answered"
    value: JSON = None
    reason: str | None = None
    run_id: Id | None = None


class RunState(Struct, rename="camel", kw_only=True):
    """A run and how it stands."""

    run_id: str | None
    status: Status | None = None


class Talk:
    """What all routes that talk to agents, and sockets, do alike."""

    def __init__(self, storage: Storage, supervisor: Supervisor) -> None:
        self._storage = storage
        self._supervisor = supervisor

    async def say(self, owner: str, asked: Request) -> Continued:
        """Begin a run, or let one go on; the run, and after which entry the answer begins."""
        if asked.action is not Action.CONTINUE:
            begun = await self._supervisor.begin(owner, asked)
            return Continued(begun.run, 0, begun.created)
        run = await self._named_or_active(owner, asked.chat_id, asked.run_id)
        if run is None:
            raise InvalidRequest("messages", "no run of this chat waits for an answer")
        asking = Asking(name=asked.name, frontend=asked.frontend)
        return await self._supervisor.answer(owner, run.id, asked.answers, asking)

    async def stop(
        self, owner: str, chat_id: str, run_id: str | None, expected: str | None = None
    ) -> RunState:
        """End a run; whoever reads it sees how it ends. Without its id it is the active one.

        `expected` is the active run that the client knows: no other one is ended in its place.
        """
        run = await self._named_or_active(owner, chat_id, run_id)
        if run is None or expected not in (None, run.id):
            return RunState(run_id=None)
        stopped = await self._supervisor.stop(owner, run.id)
        return RunState(run_id=stopped.id, status=stopped.status)

    async def answer(self, owner: str, chat_id: str, body: AnswerBody) -> RunState:
        """Answer what the agent asked."""
        run = await self._named_or_active(owner, chat_id, body.run_id)
        if run is None:
            raise InvalidRequest("requestId", "no run of this chat asks anything")
        answer = Answer(
            request_id=body.request_id,
            decision=body.decision,
            value=body.value,
            reason=body.reason,
        )
        run = (await self._supervisor.answer(owner, run.id, (answer,))).run
        return RunState(run_id=run.id, status=run.status)

    async def _named_or_active(self, owner: str, chat_id: str, run_id: str | None) -> Run | None:
        if run_id is not None:
            return await run_of_chat(self._storage, owner, chat_id, run_id)
        await self._storage.chat(owner, chat_id)
        return await active_run(self._storage, owner, chat_id)
