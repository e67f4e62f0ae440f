"""StreamEvents as AG-UI events: one run is one or more runs of a thread, one for each response.

Rule 1: RUN_STARTED comes first, RUN_FINISHED or RUN_ERROR last, and all that was opened is closed
        before: the client refuses anything else.
Rule 2: ids are those of the log with the run's in front; a message is opened once.
Rule 3: an error ends the run at the client, so errors are held until the run's end.
Rule 4: only MESSAGES_SNAPSHOT, which has the whole thread, can retract what was sent.
Rule 5: only the opening of a message names its agent.

docs/ag-ui.md has the tables, and where the real clients differ from the documents.

A route needs of this package:

- `AGUIFormatter(message_id, profile, thread_id=…, run_id=…, history=…)`: `message_id` is our
  run's id, `run_id` the client's for this response, `history` the messages of the thread before
  this run, made by `user_message` and `snapshot`. `format`, `pause` and `resume` are those of
  `Formatter`; `resume` is RUN_STARTED, MESSAGES_SNAPSHOT and all open blocks, for a client that
  joins or continues; `pause` ends a response that waits, and repeats the end of a run that has
  ended.
- `snapshot(message, profile)`: the stored messages of one run; `user_message(message)`.
- `connect(messages, …)`: the whole response for a thread without an active run.
- `profile_for(protocol_version)`: the profile of a request.
- `wire_id(run, id)` and `own_id(wire)`: ids of messages, calls and interrupts on the wire.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

from mobox.events import (
    Custom,
    Done,
    Error,
    EventType,
    Raw,
    Result,
    Retract,
    Source,
    Start,
    Status,
    StreamEvent,
    SubagentEnd,
    SubagentStart,
    Text,
    TextDelta,
    TextEnd,
    Thinking,
    ThinkingDelta,
    ThinkingEnd,
    TodoEvent,
    ToolResult,
    ToolUseDelta,
    ToolUseEnd,
    Usage,
)
from mobox.events.blocks import BETWEEN_THOUGHTS, BLOCK_OF, NOTES, Blocks
from mobox.events.placeholders import Placeholders
from mobox.events.transcript import Transcript
from mobox.formatters import StoredRun
from mobox.formatters.ag_ui.documents import (
    DEFAULT,
    PROFILES,
    Documents,
    WireIds,
    custom,
    encode,
    event,
    mobox_metadata,
    own_id,
    profile_for,
    wire_id,
)
from mobox.formatters.ag_ui.endings import Ending, Interrupts, ModelUsage
from mobox.formatters.ag_ui.snapshot import (
    Activities,
    AGUIMessage,
    connect,
    snapshot,
    text_about,
    thought_about,
    user_message,
)
from mobox.formatters.ag_ui.spans import (
    OpenMessage,
    OpenMessages,
    Processing,
    Steps,
    Subagents,
    citation,
)
from mobox.formatters.ag_ui.state import SharedState
from mobox.formatters.ag_ui.tools import Corrections, References, Tools
from mobox.formatters.delta_fast_path import NO_FAST_PATH, DeltaFastPath, FastPath
from mobox.formatters.pieces import format_pieces
from mobox.formatters.values import profile_named

__all__ = [
    "DEFAULT",
    "PROFILES",
    "AGUIFormatter",
    "AGUIMessage",
    "connect",
    "own_id",
    "profile_for",
    "snapshot",
    "user_message",
    "wire_id",
]


Writer = Callable[["AGUIFormatter", Any], Documents]
_TURNS = BLOCK_OF.keys() - {EventType.TEXT_END, EventType.THINKING_END}


class AGUIFormatter(DeltaFastPath):
    """Writes one run for one client."""

    PROFILES: ClassVar[tuple[str, ...]] = tuple(PROFILES)

    def __init__(
        self,
        message_id: str,
        profile: str = DEFAULT,
        *,
        thread_id: str = "thread_1",
        run_id: str | None = None,
        history: Sequence[AGUIMessage] = (),
    ) -> None:
        """`run_id` is the client's id of the response; `history` the messages before this run."""
        self._profile_name, self._profile = profile, profile_named(profile, PROFILES)
        self._message_id = message_id
        self._run = {"threadId": thread_id, "runId": run_id or message_id}
        self._history = history
        self._ts: int | None = None
        self._has_started = False
        self._transcript = Transcript()
        self._ids = WireIds(message_id)
        self._unnamed = Blocks()
        self._processing = Processing()
        self._blocks = OpenMessages()
        self._tools = Tools(self._ids, self._profile)
        self._references = References(self._ids, self._tools)
        self._steps = Steps(self._ids)
        self._subagents = Subagents(self._ids, self._profile)
        self._interrupts = Interrupts(self._ids, self._tools, self._profile)
        self._state = SharedState()
        self._usage = ModelUsage()
        self._ending = Ending(self._run, self._profile)
        self._activities = Activities(self._ids)
        self._retracted: set[str | None] = set()
        self._fast_path = NO_FAST_PATH

    @classmethod
    def of_run(cls, run: StoredRun, profile: str) -> AGUIFormatter:
        """A formatter for a client that reads a run without a request of its own."""
        return cls(run.id, profile, thread_id=run.chat_id)

    def _write(self, event: StreamEvent, ts: int | None) -> Documents:
        block = self._blocks.find(event.id)
        if block is not None and block.delta_class is type(event):
            self._transcript.add(event, ts)
            return block.write(event.delta)  # type: ignore[attr-defined]
        self._ts = ts
        kind = event.type
        turn = self._turn_to(event) if kind in _TURNS else []
        streamed = self._streamed(event)
        self._transcript.add(event, ts)
        if streamed is not None:
            documents = self._complete(event, streamed)
        else:
            documents = turn + self.WRITERS[kind](self, event)
        return [*documents, self._messages()] if self._references.came_late(event.id) else documents

    def _fast_path_after(self, event: StreamEvent) -> FastPath:
        if isinstance(event, ToolUseDelta) and self._tools.streams(event.id):
            prefix = self._tools.prefix_of(event.id)
            deltas = self._transcript.deltas_of(ToolUseDelta, event.id)
            return event.id, ToolUseDelta, partial(_format_more, prefix, deltas, None)
        return self._fast_path_into(type(event), event.id)

    def _fast_path_into(self, kind: type[StreamEvent], block_id: str | None) -> FastPath:
        block = self._blocks.find(block_id)
        if block is None or block.delta_class is not kind or block.empty:
            return NO_FAST_PATH
        deltas = self._transcript.deltas_of(kind, block_id)
        return block_id, kind, partial(_format_more, block.prefix, deltas, block.placeholders)

    def pause(self) -> Documents:
        """The run waits for an answer, or has ended: end the response."""
        self._fast_path = NO_FAST_PATH
        if self._ending.documents:
            return self._ending.documents
        closing = (each.suspend() for each in self._open)
        waiting = self._ending.waiting(self._interrupts.outcome(), self._usage.by_model)
        return [*(document for documents in closing for document in documents), waiting]

    def resume(self) -> Documents:
        """Start a response in the middle, after entries formatted unsent: a snapshot first."""
        self._fast_path = NO_FAST_PATH
        opening = (each.reopen() for each in reversed(self._open))
        reopened = [document for documents in opening for document in documents]
        return [self._run_started(), self._messages(), *self._state.reopen(), *reopened]

    @property
    def _open(self) -> tuple[OpenMessages | Tools | Steps | Subagents, ...]:
        """The owners of open blocks, in the order in which they are closed."""
        return (self._blocks, self._tools, self._steps, self._subagents)

    # The run

    def _start(self, event: Start | Raw) -> Documents:
        if self._has_started:
            return []
        self._has_started = True
        self._ending.begin(self._ts, isinstance(event, Start) and event.simulated)
        return [self._run_started()]

    def _run_started(self) -> bytes:
        return event("RUN_STARTED", **self._run, protocolVersion=self._profile.version)

    def _messages(self) -> bytes:
        """Every message of the thread, as it is now."""
        own = snapshot(self._transcript.message(self._message_id), self._profile_name)
        return event("MESSAGES_SNAPSHOT", messages=[*self._history, *own])

    def _done(self, event: Done) -> Documents:
        success = self._interrupts.success()
        notices = self._ending.end(event.reason, success, self._usage.by_model)
        lines = [line for event in notices for line in self._turn_to(event) + self._status(event)]
        closing = [
            *self._processing.end(self._ts),
            *self._blocks.close_all(self._ts),
            *self._tools.suspend(),
            *self._steps.close_all(),
            *self._subagents.close_all(),
        ]
        duration = self._ending.duration(self._ts)
        return [*lines, *closing, *duration, *self._ending.documents]

    def _error(self, event: Error) -> Documents:
        self._ending.errors.hold(event)
        return []

    # Blocks without a framework id: of these, only the notes on subagents are messages

    def _turn_to(self, event: StreamEvent) -> Documents:
        move = self._unnamed.turn_to(event)
        documents = self._processing.turn(move, self._ts)
        if move.closed is not None and move.closed.id in self._blocks:
            documents += self._blocks.close(move.closed.id, self._ts)
        if move.opened is not None and event.type in NOTES:
            documents += self._open_block(move.opened.id, Thinking(id=move.opened.id))
        return documents

    def _note(self, event: StreamEvent) -> Documents:
        """Add a line to the open thought."""
        line = self._unnamed.line(event)
        block = self._blocks.find(line.block_id) if line is not None else None
        return block.write(*line[1:]) if line is not None and block is not None else []

    def _start_subagent(self, event: SubagentStart) -> Documents:
        return [*self._note(event), *self._subagents.start(event)]

    def _end_subagent(self, event: SubagentEnd) -> Documents:
        return [*self._note(event), *self._subagents.end(event)]

    def _status(self, event: Status) -> Documents:
        status = custom("mobox.status", {"message": event.message, "kind": event.kind})
        return [status, *self._processing.format_line(self._unnamed.line(event))]

    def _todos(self, event: TodoEvent) -> Documents:
        line = self._processing.format_line(self._unnamed.line(event))
        return [*line, self._activities.todos(event.items, event.scope).document()]

    # Blocks with an id

    def _open_block(self, own: str | None, event: Text | Thinking) -> Documents:
        assert own is not None  # the lifecycle names every block
        is_text = isinstance(event, Text)
        block = OpenMessage(
            own,
            self._ids.next_message(own),
            TextDelta if is_text else ThinkingDelta,
            self._ids.owner(event.scope),
            is_text=is_text and (not event.scope or self._profile.subagents),
        )
        if isinstance(event, Text):
            worked = None if event.scope else self._transcript.worked_ms
            block.mobox = text_about(event.kind, worked)
            block.placeholders = Placeholders(self._references.resolve)
        else:
            block.mobox = thought_about(event.source, event.redacted)
        return self._blocks.open(block, self._ts)

    def _text(self, event: Text) -> Documents:
        return self._open_block(event.id, event) + self._add(event.id, event.content)

    def _thinking(self, event: Thinking) -> Documents:
        block = self._blocks.find(event.id)
        is_open = block is not None and block.delta_class is ThinkingDelta
        opening = [] if is_open else self._open_block(event.id, event)
        return opening + self._add(event.id, event.content)

    def _add(self, own: str | None, text: str) -> Documents:
        block = self._blocks.find(own)
        return block.write(text, BETWEEN_THOUGHTS) if block is not None else []

    def _more(self, event: TextDelta | ThinkingDelta) -> Documents:
        """A delta of a block whose start is RAW: logged by a later version."""
        if isinstance(event, TextDelta):
            return self._text(Text(id=event.id, scope=event.scope, content=event.delta))
        return self._thinking(Thinking(id=event.id, scope=event.scope, content=event.delta))

    def _end_block(self, event: TextEnd | ThinkingEnd) -> Documents:
        self._unnamed.turn_to(event)
        if event.id not in self._blocks:
            return []
        provider = event.provider if isinstance(event, ThinkingEnd) else None
        return self._blocks.close(event.id, self._ts, provider)

    # Tool calls and requests

    def _more_input(self, event: ToolUseDelta) -> Documents:
        if self._tools.is_forgotten(event.id):
            return []
        opening = self._tools.before(event)
        if not event.delta:
            return opening
        return [*opening, self._tools.prefix_of(event.id) + encode(event.delta) + b"}"]

    def _streamed(self, event: StreamEvent) -> str | None:
        """The streamed part of the input that `event` completes; `None` if it completes none."""
        if not isinstance(event, ToolUseEnd | ToolResult) or self._tools.is_forgotten(event.id):
            return None
        if event.id in self._tools and not self._tools.streams(event.id):
            return None
        return "".join(self._transcript.deltas_of(type(event), event.id))

    def _complete(self, event: Any, streamed: str) -> Documents:
        opening = self._tools.before(event)
        if isinstance(event, ToolUseEnd):
            return opening + self._corrected(self._tools.end(event, streamed))
        # The end of its input is RAW: a correcting snapshot has the result already.
        end = self._tools.end(ToolUseEnd(id=event.id), streamed)
        result = self._tools.result(event)
        documents = end.documents + result.documents
        return opening + self._corrected(Corrections(documents, end.corrects or result.corrects))

    def _result(self, event: ToolResult) -> Documents:
        if self._tools.is_forgotten(event.id):
            return []
        return self._corrected(self._tools.result(event))

    def _corrected(self, output: Corrections) -> Documents:
        return [*output.documents, self._messages()] if output.corrects else output.documents

    # Other content of a run

    def _source(self, event: Source) -> Documents:
        cited = self._blocks.cite(event.id, citation(event))
        if cited is not None or (event.id is not None and event.id in self._retracted):
            return cited or []
        return [self._activities.source(citation(event)).document()]

    def _use(self, event: Usage | Result) -> Documents:
        self._usage.add(event)
        so_far = self._usage.so_far
        return [custom("mobox.usage", so_far)] if so_far is not None else []

    def _retract(self, event: Retract) -> Documents:
        self._retracted |= set(event.blocks)
        closing = [*self._tools.forget(event.blocks), *self._blocks.forget(event.blocks)]
        return [*closing, self._messages()]

    def _custom(self, event: Custom) -> Documents:
        """An application's own event; one with an id replaces the earlier event of that id."""
        return [custom(event.name, event.value, mobox_metadata({"id": event.id}))]

    WRITERS: ClassVar[dict[EventType, Writer]] = {
        EventType.START: _start,
        EventType.DONE: _done,
        EventType.PAUSED: lambda run, event: [],
        EventType.ERROR: _error,
        EventType.STATUS: _status,
        EventType.TEXT: _text,
        EventType.TEXT_DELTA: _more,
        EventType.TEXT_END: _end_block,
        EventType.THINKING: _thinking,
        EventType.THINKING_DELTA: _more,
        EventType.THINKING_END: _end_block,
        EventType.TOOL_USE_START: lambda run, event: run._tools.start(event),
        EventType.TOOL_USE_DELTA: _more_input,
        EventType.TOOL_USE_END: lambda run, event: [],
        EventType.TOOL_RESULT: _result,
        EventType.STEP_START: lambda run, event: run._steps.start(event),
        EventType.STEP_END: lambda run, event: run._steps.end(event),
        EventType.SUBAGENT_START: _start_subagent,
        EventType.SUBAGENT_END: _end_subagent,
        EventType.TODO_CREATE: _todos,
        EventType.TODO_UPDATE: _todos,
        EventType.TODO_DONE: _todos,
        EventType.SOURCE: _source,
        EventType.FILE: lambda run, event: [run._activities.file(event).document()],
        EventType.STATE: lambda run, event: run._state.format(event),
        EventType.INPUT_REQUEST: lambda run, event: run._interrupts.request(event),
        EventType.INPUT_RESPONSE: lambda run, event: run._interrupts.answer(event),
        EventType.USAGE: _use,
        EventType.RESULT: _use,
        EventType.RETRACT: _retract,
        EventType.CUSTOM: _custom,
        EventType.RAW: _start,
    }
    """The handler of each event; RAW is never sent, as it may hold anything."""


def _format_more(
    prefix: bytes,
    deltas: list[str],
    placeholders: Placeholders | None,
    more: Sequence[str],
    between: bytes,
) -> bytes:
    """Format deltas and add them to the message; old clients refuse an empty delta."""
    before = len(deltas)
    deltas += more
    new = deltas[before:]
    if placeholders is not None and placeholders.concern(new):
        new = more = [placeholders.feed(delta) for delta in new]
    filled = more if all(new) else [delta for delta in new if delta]
    return format_pieces(prefix, filled, between) if filled else b""
