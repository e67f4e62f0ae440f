"""The input requests of a run and their answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

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
    ToolUseEnd,
    ToolUseStart,
)
from mobox.events.turn import Answer, AnswerScope, allowed_decisions, with_reason
from mobox.storage.log import Log, RunId, pages

_RELEVANT = {
    EventType.INPUT_REQUEST,
    EventType.INPUT_RESPONSE,
    EventType.PAUSED,
    EventType.TOOL_RESULT,
    EventType.TOOL_USE_START,
    EventType.TOOL_USE_END,
}


class Reply(NamedTuple):
    """An answer to an open request: as an event of the log, and as it is sent to the agent."""

    event: InputResponse
    answer: Answer
    scope: AnswerScope = "once"


class ToolCall(NamedTuple):
    """A call without a result."""

    name: str
    input: JSON
    is_valid: bool = True
    """Whether the input is JSON."""


class InputRequests:
    """The input requests of one run, as of the last event seen."""

    def __init__(self) -> None:
        self.resume: JSON = None
        """The agent's state to return to it when it resumes."""
        self._offered: JSON = None  # the same, from a request before the pause
        self._waited_for: tuple[str, ...] = ()
        self._round: list[str] = []  # the requests of the last pause, answered or not
        self._has_paused = False  # since the round started: the next request starts another
        self._open: dict[str, InputRequest] = {}
        self._answers: dict[str, Answer] = {}
        self._calls: dict[str, ToolCall] = {}
        self.automatic = 0
        """How many automatic answers there were since the last one of a person."""

    def see_all(self, events: Iterable[StreamEvent]) -> None:
        """Take the next events of the log."""
        for event in events:
            if event.type in _RELEVANT:  # most of a log is deltas
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
                self._count_automatic(event)
            case ToolUseStart(id=str(name)):
                self._calls[name] = ToolCall(event.name, event.input)
            case ToolUseEnd(id=str(name)) if name in self._calls:
                self._calls[name] = _complete(self._calls[name], event)
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
        """A request after a pause belongs to the next round, and so do those still open."""
        if self._has_paused:
            self._round = [name for name in self._round if name in self._open]
            self._has_paused = False

    def _join_round(self, *names: str) -> None:
        self._round += [name for name in names if name not in self._round]

    def _close(self, name: str, event: InputResponse) -> None:
        request, before = self._open.pop(name, None), self._answers.get(name)
        known = request if request is not None else before
        answer = Answer(
            request_id=name,
            tool_call_id=known.tool_call_id if known is not None else None,
            decision=event.decision,
            value=event.value,
            reason=event.reason,
        )
        self._answers[name] = _plain(request, answer)

    def _count_automatic(self, event: InputResponse) -> None:
        if event.automatic:
            self.automatic += 1
        elif event.decision != "cancelled":  # an agent can withdraw its request itself
            self.automatic = 0

    def _forget_call(self, call: str) -> None:
        self._calls.pop(call, None)
        self._open = {n: each for n, each in self._open.items() if each.tool_call_id != call}

    @property
    def answers(self) -> tuple[Answer, ...]:
        """The answers to the requests of the last pause, in their order."""
        given = self._answers.keys() - self._open.keys()  # not those requested again since
        return tuple(self._answers[name] for name in self._round if name in given)

    @property
    def earlier_answers(self) -> tuple[Answer, ...]:
        """All others: an agent that starts over may repeat old requests."""
        return tuple(answer for name, answer in self._answers.items() if name not in self._round)

    @property
    def pending(self) -> tuple[InputRequest, ...]:
        """The unanswered requests that the run waits for."""
        return tuple(self._open[name] for name in self._waited_for if name in self._open)

    @property
    def waited_for(self) -> tuple[InputRequest, ...]:
        """As `pending`; all open ones, if the agent does not say for which it has paused."""
        return self.pending if self._waited_for else tuple(self._open.values())

    def open_request(self, name: str) -> InputRequest:
        """The unanswered request of that id."""
        return self._open[name]

    def call_of(self, request: InputRequest) -> ToolCall | None:
        """The call that a request is about, if it has no result yet."""
        return self._calls.get(request.tool_call_id or "")

    def match(self, answers: Iterable[Answer]) -> list[Reply]:
        """The answers to open requests: clients repeat old ones, and those to other calls."""
        replies: dict[str, Reply] = {}
        for answer in answers:
            name = self._name_of(answer)
            if name is not None:
                replies.setdefault(name, self._reply(name, answer))
        return list(replies.values())

    def _reply(self, name: str, answer: Answer) -> Reply:
        request = self._open[name]
        names = {"request_id": name, "tool_call_id": request.tool_call_id}
        sent = _plain(request, replace(answer, **names, scope=UNSET))
        event = InputResponse(id=name, decision=sent.decision, value=sent.value, reason=sent.reason)
        return Reply(event, sent, answer.scope or "once")

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
            return answer.request_id if self._is_about(answer) else None
        calls = (n for n, each in self._open.items() if each.tool_call_id == answer.tool_call_id)
        return next(calls, None) if answer.tool_call_id is not None else None

    def _is_about(self, answer: Answer) -> bool:
        """Whether the request is open, and about the same call.

        Clients repeat old answers, and an agent may use the id of a request again.
        """
        request = self._open.get(answer.request_id or "")
        if request is None:
            return False
        return answer.tool_call_id in (None, request.tool_call_id) or request.tool_call_id is None

    def events_of(self, replies: Sequence[Reply]) -> list[StreamEvent]:
        """The events of replies; with PAUSED while other requests are unanswered."""
        if not replies:
            return []
        answered = {reply.event.id for reply in replies}
        left = tuple(n for n in self._waited_for if n in self._open and n not in answered)
        events: list[StreamEvent] = [reply.event for reply in replies]
        return [*events, Paused(request_ids=left, resume=self.resume)] if left else events

    def closing_events(self, answers: Iterable[Answer] = ()) -> list[StreamEvent]:
        """The events of open requests when the run ends: unanswered ones are cancelled.

        The agent will not emit the results of the page's tools any more, so they are added here.
        """
        replies = [reply for reply in self.match(answers) if self._allows(reply)]
        answered = {reply.event.id for reply in replies}
        results = [result for reply in replies if (result := self._result(reply))]
        left = [name for name in self._open if name not in answered]
        cancelled = (InputResponse(id=name, decision="cancelled") for name in left)
        return [*(reply.event for reply in replies), *cancelled, *results]

    def _result(self, reply: Reply) -> ToolResult | None:
        answer = reply.answer
        if self._open[reply.event.id or ""].kind != "tool" or answer.decision == "cancelled":
            return None
        status: Outcome = "ok" if answer.decision == "answered" else "error"
        output = answer.reason if answer.value is None else answer.value
        return ToolResult(id=answer.tool_call_id, output=output, status=status)


def _complete(call: ToolCall, end: ToolUseEnd) -> ToolCall:
    given = call.input if end.input is None else end.input
    return ToolCall(call.name, given, end.invalid is None)


def _plain(request: InputRequest | None, answer: Answer) -> Answer:
    """`answer` with its reason set; but the output of a tool of the page stays its value."""
    return answer if request is not None and request.kind == "tool" else with_reason(answer)


async def input_requests_of(log: Log, run_id: RunId) -> InputRequests:
    """The input requests of the run so far."""
    requests = InputRequests()
    async for page in pages(log, run_id):
        requests.see_all(entry.event for entry in page)
    return requests
