"""What a run has asked, and what was answered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from mobox.decisions import allowed_decisions
from mobox.errors import DecisionNotAllowed, InvalidRequest
from mobox.events import (
    JSON,
    EventType,
    InputRequest,
    InputResponse,
    Outcome,
    Paused,
    StreamEvent,
    ToolResult,
)
from mobox.storage.log import Log, RunId, pages
from mobox.turn import Answer, with_reason

__all__ = ["Asked", "Reply", "asked_by"]


_TOLD_BY = {
    EventType.INPUT_REQUEST,
    EventType.INPUT_RESPONSE,
    EventType.PAUSED,
    EventType.TOOL_RESULT,
}


class Reply(NamedTuple):
    """An answer to a request that is open: as the log tells it, and as the agent is told."""

    event: InputResponse
    answer: Answer


class Asked:
    """The requests of one run, as far as its log was seen."""

    def __init__(self) -> None:
        self.resume: JSON = None
        """What the agent wants to have back when it goes on."""
        self._offered: JSON = None  # the same, told with a request before the pause
        self._waited_for: tuple[str, ...] = ()
        self._round: list[str] = []  # the requests of the last pause, answered or not
        self._has_paused = False  # since the round began: the next request begins another
        self._open: dict[str, InputRequest] = {}
        self._answers: dict[str, Answer] = {}

    def see_all(self, events: Iterable[StreamEvent]) -> None:
        """Take the next events of the log."""
        for event in events:
            if event.type in _TOLD_BY:  # most of a log is words
                self._see(event)

    def _see(self, event: StreamEvent) -> None:
        match event:
            case InputRequest(id=str(name)):
                self._begin_round()
                self._join_round(name)
                self._open[name] = event
                self._offered = event.resume if event.resume is not None else self._offered
            case InputResponse(id=str(name)):
                self._close(name, event)
            case ToolResult(id=str(name), partial=False):
                self._forget_call(name)
            case Paused(request_ids=names, resume=resume):
                self._has_paused = True
                self._join_round(*names)
                self._waited_for = names
                self.resume = resume if resume is not None else self._offered
                self._offered = None
            case _:
                pass

    def _begin_round(self) -> None:
        """What is asked after a pause belongs to the next one, and so does what is still open."""
        if self._has_paused:
            self._round = [name for name in self._round if name in self._open]
            self._has_paused = False

    def _join_round(self, *names: str) -> None:
        self._round += [name for name in names if name not in self._round]

    def _close(self, name: str, event: InputResponse) -> None:
        asked, before = self._open.pop(name, None), self._answers.get(name)
        known = asked if asked is not None else before
        answer = Answer(
            request_id=name,
            tool_call_id=known.tool_call_id if known is not None else None,
            decision=event.decision,
            value=event.value,
            reason=event.reason,
        )
        self._answers[name] = _plain(asked, answer)

    def _forget_call(self, call: str) -> None:
        self._open = {n: asked for n, asked in self._open.items() if asked.tool_call_id != call}

    @property
    def answers(self) -> tuple[Answer, ...]:
        """Those to the requests of the last pause, in their order."""
        given = self._answers.keys() - self._open.keys()  # not what is asked again since
        return tuple(self._answers[name] for name in self._round if name in given)

    @property
    def earlier_answers(self) -> tuple[Answer, ...]:
        """All others: an agent that begins anew may come by old questions again."""
        return tuple(answer for name, answer in self._answers.items() if name not in self._round)

    @property
    def pending(self) -> tuple[InputRequest, ...]:
        """What is waited for, as far as nobody has answered."""
        return tuple(self._open[name] for name in self._waited_for if name in self._open)

    def match(self, answers: Iterable[Answer]) -> list[Reply]:
        """The answers that are to something: clients repeat old ones, and those to other calls."""
        replies: dict[str, Reply] = {}
        for answer in answers:
            name = self._name_of(answer)
            if name is not None:
                replies.setdefault(name, self._reply(name, answer))
        return list(replies.values())

    def _reply(self, name: str, answer: Answer) -> Reply:
        asked = self._open[name]
        told = _plain(asked, replace(answer, request_id=name, tool_call_id=asked.tool_call_id))
        event = InputResponse(id=name, decision=told.decision, value=told.value, reason=told.reason)
        return Reply(event, told)

    def check(self, replies: Iterable[Reply]) -> None:
        """Raise for an answer that its request does not allow."""
        for reply in replies:
            name, decision = reply.event.id or "", reply.answer.decision
            if not self._allows(reply):
                raise DecisionNotAllowed(name, decision, allowed_decisions(self._open[name]))
            if decision == "edited" and reply.answer.value is None:
                raise InvalidRequest("value", "expected the edited input, got none")

    def _allows(self, reply: Reply) -> bool:
        return reply.answer.decision in allowed_decisions(self._open[reply.event.id or ""])

    def _name_of(self, answer: Answer) -> str | None:
        if answer.request_id is not None:
            return answer.request_id if answer.request_id in self._open else None
        calls = (n for n, asked in self._open.items() if asked.tool_call_id == answer.tool_call_id)
        return next(calls, None) if answer.tool_call_id is not None else None

    def told(self, replies: Sequence[Reply]) -> list[StreamEvent]:
        """What the log says of replies: while others are waited for, the run goes on waiting."""
        said = {reply.event.id for reply in replies}
        left = tuple(n for n in self._waited_for if n in self._open and n not in said)
        events: list[StreamEvent] = [reply.event for reply in replies]
        return [*events, Paused(request_ids=left, resume=self.resume)] if left else events

    def settled(self, answers: Iterable[Answer] = ()) -> list[StreamEvent]:
        """What the log says when the run ends: whatever nobody answered is cancelled.

        The agent will tell nobody what a tool of the page gave, so that is told here.
        """
        replies = [reply for reply in self.match(answers) if self._allows(reply)]
        said = {reply.event.id for reply in replies}
        results = [result for reply in replies if (result := self._result(reply))]
        left = [name for name in self._open if name not in said]
        cancelled = (InputResponse(id=name, decision="cancelled") for name in left)
        return [*(reply.event for reply in replies), *cancelled, *results]

    def _result(self, reply: Reply) -> ToolResult | None:
        event, answer = reply
        if self._open[event.id or ""].kind != "tool" or answer.decision == "cancelled":
            return None
        status: Outcome = "ok" if answer.decision == "answered" else "error"
        output = answer.reason if answer.value is None else answer.value
        return ToolResult(id=answer.tool_call_id, output=output, status=status)


def _plain(asked: InputRequest | None, answer: Answer) -> Answer:
    """`answer` with its reason as such; but what a tool of the page gave is always its value."""
    return answer if asked is not None and asked.kind == "tool" else with_reason(answer)


async def asked_by(log: Log, run_id: RunId) -> Asked:
    """What the run has asked so far."""
    asked = Asked()
    async for page in pages(log, run_id):
        asked.see_all(entry.event for entry in page)
    return asked
