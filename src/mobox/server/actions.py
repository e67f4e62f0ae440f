"""The user's actions in a chat, for every protocol: send a message, answer, stop.

And which run of a chat a request refers to.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from mobox.errors import ChatNotFound, InvalidRequest, NotWaiting, RunNotFound
from mobox.events import JSON
from mobox.events.turn import Action, Answer, AnswerScope, Decision, Request
from mobox.formatters.ai_sdk.wire_ids import WireIds
from mobox.formatters.bodies import Id
from mobox.storage import Storage
from mobox.storage.log import ClientRequest, Run, Status, active_of
from mobox.supervisor import SubmittedRun, Supervisor


class StopBody(Struct, rename="camel", kw_only=True):
    """Which run to stop: a late request must not stop a newer one.

    Also accepts the body of the AI SDK's guide on resumable streams; other fields are ignored.
    https://ai-sdk.dev/docs/ai-sdk-ui/chatbot-resume-streams
    """

    run_id: Id | None = None
    active_stream_id: str | None = None
    """The run that the page shows. Nothing is stopped if another one is active by now."""
    assistant_message: JSON = None
    """The page's copy of the message; ignored, as the log is complete."""


class AnswerBody(Struct, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """The user's answer to an input request of the agent."""

    request_id: str
    """The id of the input request: as in the log, or as the AI SDK's clients have it."""
    decision: Decision = "answered"
    value: JSON = None
    reason: str | None = None
    scope: AnswerScope = "once"
    """What `approved` is for: this call, all calls of the tool in this chat (`chat`), or those with
    the same input (`chat_input`)."""
    run_id: Id | None = None


class RunState(Struct, rename="camel", kw_only=True):
    """A run and its status."""

    run_id: str | None
    status: Status | None = None


class LateAnswer(RunState, rename="camel", kw_only=True, omit_defaults=True):
    """A run whose request was answered before: the answer that counted."""

    late: Literal[True]
    decision: Decision
    value: JSON = None
    reason: str | None = None


def _late(state: RunState, answer: Answer) -> LateAnswer:
    return LateAnswer(
        run_id=state.run_id,
        status=state.status,
        late=True,
        decision=answer.decision,
        value=answer.value,
        reason=answer.reason,
    )


class ChatActions:
    """The actions that the routes of all protocols, and sockets, share."""

    def __init__(self, storage: Storage, supervisor: Supervisor) -> None:
        self._storage = storage
        self._supervisor = supervisor

    async def submit(self, owner: str, request: Request) -> SubmittedRun:
        """Start a run, or continue a waiting one; the run, and the entry after which to read."""
        if request.action is not Action.CONTINUE:
            started = await self._supervisor.begin(owner, request)
            return SubmittedRun(started.run, 0, started.created)
        run = await self._named_or_active(owner, request.chat_id, request.run_id)
        if run is None:
            raise InvalidRequest("messages", "no run of this chat is waiting for an answer")
        client_request = ClientRequest(name=request.name, frontend=request.frontend)
        return await self._answer(owner, run, request.answers, client_request)

    async def stop(
        self, owner: str, chat_id: str, run_id: str | None, expected: str | None = None
    ) -> RunState:
        """Stop a run; its readers see how it ends. Without an id it is the active one.

        `expected` is the active run that the client knows: another one is not stopped instead.
        """
        run = await self._named_or_active(owner, chat_id, run_id)
        if run is None or expected not in (None, run.id):
            return RunState(run_id=None)
        stopped = await self._supervisor.stop(owner, run.id)
        return RunState(run_id=stopped.id, status=stopped.status)

    async def answer(self, owner: str, chat_id: str, body: AnswerBody) -> RunState:
        """Answer an input request of the agent; `LateAnswer` if it was answered before."""
        run = await self._named_or_active(owner, chat_id, body.run_id)
        if run is None:  # a late answer may be to one that has ended
            run = await latest_run(self._storage, owner, chat_id)
        if run is None:
            raise InvalidRequest("requestId", "no run of this chat is waiting for an answer")
        answer = Answer(
            request_id=WireIds(run.id).request(body.request_id),
            decision=body.decision,
            value=body.value,
            reason=body.reason,
            scope=body.scope,
        )
        submitted = await self._answer(owner, run, (answer,), ClientRequest())
        state = RunState(run_id=run.id, status=submitted.run.status)
        return _late(state, submitted.late[0]) if submitted.late else state

    async def _answer(
        self, owner: str, run: Run, answers: tuple[Answer, ...], client_request: ClientRequest
    ) -> SubmittedRun:
        """Answer a run; if others were faster, the run from their answers on."""
        try:
            return await self._supervisor.answer(owner, run.id, answers, client_request)
        except NotWaiting:
            late = await self._supervisor.late(owner, run.id, answers)
            if late is None:
                raise
            return late

    async def _named_or_active(self, owner: str, chat_id: str, run_id: str | None) -> Run | None:
        if run_id is not None:
            return await run_of_chat(self._storage, owner, chat_id, run_id)
        await self._storage.chat(owner, chat_id)
        return active_of(await runs_so_far(self._storage, owner, chat_id))


# Which run


async def run_of_chat(storage: Storage, owner: str, chat_id: str, run_id: str) -> Run:
    """The run of that id, if it is one of this chat."""
    run = await storage.run(owner, run_id)
    if run.chat_id != chat_id:
        raise RunNotFound(run_id)
    return run


async def runs_so_far(storage: Storage, owner: str, chat_id: str) -> list[Run]:
    """All runs of a chat; none if it does not exist yet, as pages may request it before."""
    try:
        return await storage.runs(owner, chat_id)
    except ChatNotFound:
        return []


async def latest_run(storage: Storage, owner: str, chat_id: str) -> Run | None:
    """The active run, else the last one."""
    runs = await runs_so_far(storage, owner, chat_id)
    live = [run for run in runs if not run.superseded]
    return active_of(runs) or (live[-1] if live else None)
