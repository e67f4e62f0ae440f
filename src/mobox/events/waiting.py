"""When a run waits: from PAUSED until it is answered.

Rule 1: events that only close open blocks, or report, leave a run waiting: LETS_WAIT. So the next
        status follows from the status of a run and its next events.
Rule 2: an agent may do other work while it waits for an answer: the rest of the message that
        called the tool, other tools, other subagents. The run counts as running only while that
        is streamed. PAUSED is then logged again, so that rule 1 is all that a reader needs.
Rule 3: a request is open until it is answered, until its call has a result, or until its agent
        continues without an answer: it starts again, fails, or starts another turn. A request
        that is not in the log is closed by the next output.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final, NamedTuple

from msgspec.structs import replace

from mobox.events import (
    AGENT_STARTED,
    Custom,
    Error,
    EventType,
    InputRequest,
    InputResponse,
    Paused,
    Scope,
    StepStart,
    StreamEvent,
    ToolResult,
)

LETS_WAIT: Final = {
    EventType.RAW,
    EventType.RESULT,
    EventType.STATE,
    EventType.STATUS,
    EventType.STEP_END,
    EventType.SUBAGENT_END,
    EventType.TEXT_END,
    EventType.THINKING_END,
    EventType.TOOL_USE_END,
    EventType.USAGE,
}
"""Events that may follow PAUSED while the run waits, such as the end of the paused message."""

_STREAMS: Final = {
    EventType.TEXT,
    EventType.TEXT_DELTA,
    EventType.THINKING,
    EventType.THINKING_DELTA,
    EventType.TOOL_USE_START,
    EventType.TOOL_USE_DELTA,
}
_ENDS: Final = {
    EventType.TEXT_END,
    EventType.THINKING_END,
    EventType.TOOL_USE_END,
    EventType.TOOL_RESULT,
}
_NEXT_TURN: Final = {"turn", "node"}


def waits_after(waiting: bool, events: Sequence[StreamEvent]) -> bool:
    """Whether a run waits after `events`, given whether it was `waiting` before."""
    for event in reversed(events):
        if event.type not in LETS_WAIT:
            return event.type is EventType.PAUSED
    return waiting


class _Request(NamedTuple):
    scope: Scope
    """The scope of the agent that made the request."""
    calls: Scope
    """The calls that wait for the answer: the call to approve, and those that contain it."""


class Pause:
    """The last PAUSED of a run, and which of its requests are open."""

    def __init__(self) -> None:
        self.waiting = False
        """Whether the run waits for an answer."""
        self._last = Paused(request_ids=())
        self._requests: dict[str, _Request] = {}  # all requests without an answer
        self._open: dict[str, _Request] = {}  # those of the last PAUSED
        self._streaming: set[str | None] = set()  # blocks and inputs that are streamed meanwhile

    @property
    def is_on(self) -> bool:
        """Whether the run waits, or will wait again after other work."""
        return self.waiting or bool(self._open)

    def is_repeated_by(self, event: Paused) -> bool:
        """Whether the run waits, and `event` adds nothing to that."""
        is_same = event.request_ids == self._last.request_ids
        return self.waiting and is_same and event.resume in (None, self._last.resume)

    def is_due(self, at_end: bool) -> bool:
        """Whether to log PAUSED again: a request is open, and nothing is being streamed."""
        return bool(self._open) and not self.waiting and (at_end or not self._streaming)

    def again(self) -> Paused:
        """PAUSED, for the requests that are still open."""
        left = tuple(name for name in self._last.request_ids if name in self._open)
        return replace(self._last, request_ids=left)

    def add_request(self, request: InputRequest, scope: Scope) -> None:
        """The agent at `scope` makes a request."""
        about = (request.tool_call_id,) if request.tool_call_id else ()
        self._requests[request.id or ""] = _Request(scope, scope + about)

    def update(self, event: StreamEvent) -> None:
        """Take an entry of the log."""
        self.waiting = waits_after(self.waiting, (event,))
        if event.type in _STREAMS:
            self._streaming.add(event.id)
        elif event.type in _ENDS:
            self._streaming.discard(event.id)
        if event.type in self.CHANGES:
            self.CHANGES[event.type](self, event)

    def end(self) -> None:
        """The run continues, or ends, without an answer."""
        self.waiting = False
        self._open = {}

    def _begin(self, event: Paused) -> None:
        self._last = event
        self._open = {n: self._requests[n] for n in event.request_ids if n in self._requests}
        self._streaming.clear()

    def _answer(self, event: InputResponse) -> None:
        self._requests.pop(event.id or "", None)
        self._open.pop(event.id or "", None)

    def _finish_call(self, event: ToolResult) -> None:
        if not event.partial:
            self._keep(lambda request: event.id not in request.calls)

    def _begin_turn(self, event: StepStart) -> None:
        if event.kind in _NEXT_TURN:
            self._keep(lambda request: event.scope != request.scope)

    def _keep(self, is_open: Callable[[_Request], bool]) -> None:
        self._open = {name: request for name, request in self._open.items() if is_open(request)}

    def _start_again(self, event: Custom) -> None:
        if event.name == AGENT_STARTED:
            self.end()

    def _fail(self, event: Error) -> None:
        if not event.scope:
            self.end()

    CHANGES: ClassVar[dict[EventType, Callable[[Pause, Any], None]]] = {
        EventType.PAUSED: _begin,
        EventType.INPUT_RESPONSE: _answer,
        EventType.TOOL_RESULT: _finish_call,
        EventType.STEP_START: _begin_turn,
        EventType.CUSTOM: _start_again,
        EventType.ERROR: _fail,
    }
    """Handlers of the events that open and close the requests of a pause."""
