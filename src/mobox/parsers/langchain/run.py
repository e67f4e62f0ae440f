"""One run, in any of the formats: its messages, calls, agents, plan, state and requests.

Rule 1: a streamed message is not emitted again when it comes complete, in a node's update, in the
        graph's state, or as the model's output.
Rule 2: the first state of a graph is its history, which is not emitted.
Rule 3: a graph has no final event. It succeeds if it is idle: no message is open, no call waits for
        its result. A run that is one message ends with that message.
"""

from __future__ import annotations

from msgspec import convert
from msgspec.structs import replace

from mobox.events import (
    JSON,
    UNKNOWN_TOOL,
    Custom,
    Done,
    Events,
    Outcome,
    Result,
    Scope,
    Start,
    StreamEvent,
    SubagentEnd,
    Thinking,
    ThinkingEnd,
    ToolUseEnd,
    ToolUseStart,
)
from mobox.events.names import IdAllocator
from mobox.lifecycle.ending import failed_after
from mobox.parsers.langchain import wire
from mobox.parsers.langchain.calls import Calls
from mobox.parsers.langchain.content import read_content
from mobox.parsers.langchain.message import Message, Messages
from mobox.parsers.langchain.states import Interrupts, States
from mobox.parsers.langchain.wire import (
    MessageObject,
    Namespace,
    Object,
    done_of,
    done_of_message,
    messages_in,
    stop_reason,
)
from mobox.parsers.values import first_text

_TRACKED = {ToolUseStart, ToolUseEnd}


class Run:
    """The state of one run."""

    def __init__(self, framework: str, prefix: str = "") -> None:
        names = IdAllocator(prefix)
        self.messages = Messages(names)
        self.calls = Calls(is_later_attempt=bool(prefix))
        self.interrupts = Interrupts(names, self.calls)
        self.states = States(is_later_attempt=bool(prefix))
        self.is_graph = False
        """A line of a graph was read; a run without one is a message."""
        self.failed = False
        """An error came, and no work after it."""
        self.ended: Done | None = None
        """The end that the framework itself reported."""
        self.answer: str | None = None
        """The last one in the graph's own state."""
        self._framework = framework
        self._started = False
        self._thoughts: set[str] = set()  # calls whose thought was emitted

    def emit(self, events: Events, about: wire.MessageMetadata | None = None) -> Events:
        """`events`, after a START if they are the first."""
        if any(isinstance(event, SubagentEnd) for event in events):
            events = [each for event in events for each in self._with_ends_of_messages(event)]
        for event in events:
            self.failed = failed_after(self.failed, event)
        if self._started or not events:
            return events
        self._started = True
        about = about or wire.MessageMetadata()
        start = Start(
            framework=self._framework,
            agent=about.agent,
            model=about.model,
            session_id=about.thread_id,
        )
        return [start, *events]

    def _with_ends_of_messages(self, event: StreamEvent) -> Events:
        """End the messages of an agent that ended: not all streams have the ends of messages."""
        if not isinstance(event, SubagentEnd):
            return [event]
        within = (*event.scope, event.id)
        left = [m for m in self.messages.open if m.scope[: len(within)] == within]
        return [*(end for message in left for end in self.end(message)), event]

    def track_calls(self, events: Events) -> Events:
        """Remember the calls, and emit the thoughts that are calls of a tool."""
        if _TRACKED.isdisjoint(map(type, events)):
            return events
        tracked: Events = []
        for event in events:
            tracked.append(event)
            if isinstance(event, ToolUseStart):
                self.calls.start(event)
            elif isinstance(event, ToolUseEnd):
                self.calls.complete(event)
                tracked += self._thought(event)
        return tracked

    def _thought(self, end: ToolUseEnd) -> Events:
        call = self.calls.get(end.id or "")
        thought = end.input.get("thought") if isinstance(end.input, dict) else None
        if call is None or call.name != "think_tool" or not isinstance(thought, str):
            return []
        if call.id in self._thoughts:
            return []
        self._thoughts.add(call.id)
        name = f"{call.id}:thought"
        return [
            Thinking(id=name, scope=end.scope, content=thought, source="think"),
            ThinkingEnd(id=name, scope=end.scope),
        ]

    # Messages

    def begin(
        self,
        name: str | None,
        scope: Scope,
        vendor: str | None = None,
        model: str | None = None,
        node: str | None = None,
    ) -> tuple[Message, Events]:
        """A message starts: the run continues."""
        self.interrupts.waiting.clear()
        message, opened = self.messages.begin(name, scope, vendor, model, node)
        return message, self.track_calls(opened)

    def end(self, message: Message, status: Outcome = "ok") -> Events:
        """A message ends."""
        return self.track_calls(self.messages.end(message, status))

    def add_chunk(self, piece: wire.AiMessage, scope: Scope, about: wire.MessageMetadata) -> Events:
        """A delta of a message, which may also start and end it."""
        message = self.messages.find(piece.id) or self.messages.find_by_provider_id(
            piece.id, scope, about.checkpoint_ns
        )
        events: Events = []
        if message is None and self.messages.has_ended(piece.id):
            return []  # a state had it complete
        if message is None:
            events = self.track_calls(self.messages.end_earlier(scope, about.langgraph_step))
            metadata = piece.response_metadata or {}
            vendor = about.vendor or first_text(metadata, "model_provider")
            model = about.model or first_text(metadata, "model_name")
            message, opened = self.begin(piece.id, scope, vendor, model, about.checkpoint_ns)
            message.step = about.langgraph_step
            events += opened
        events += self._add_content(message, piece)
        is_last = piece.chunk_position == "last"
        return [*events, *self.end(message)] if is_last else events

    def _add_content(self, message: Message, piece: wire.AiMessage) -> Events:
        events = read_content(message, piece, whole=False)
        for chunk in piece.tool_call_chunks or ():
            events += _add_call_chunk(message, chunk)
        if not piece.tool_call_chunks and piece.tool_calls and not message.calls:
            events += _whole_calls(message, piece)  # some models send their calls complete
        message.stop_reason = stop_reason(piece.response_metadata) or message.stop_reason
        return self.track_calls([*events, *message.add_usage(piece.usage_metadata)])

    def add_message(
        self, message: MessageObject, scope: Scope, vendor: str | None = None
    ) -> Events:
        """A complete message, of the state or of a node's update; nothing if it was emitted."""
        if message.kind == "tool":
            result = convert(message.fields, wire.ToolMessage)
            self.messages.mark_ended(result.id)
            return self.calls.add_tool_message(result, scope)
        if message.kind == "other" or self.messages.has_ended(message.id):
            return []
        answer = convert(message.fields, wire.AiMessage)
        opened = self.messages.find(answer.id)
        if opened is not None:  # streamed: this is its end
            opened.stop_reason = stop_reason(answer.response_metadata) or opened.stop_reason
            used = opened.add_usage(answer.usage_metadata, whole=True)
            return [*used, *self.end(opened)]
        return self._whole_message(answer, scope, vendor)

    def _whole_message(self, answer: wire.AiMessage, scope: Scope, vendor: str | None) -> Events:
        about = answer.response_metadata or {}
        vendor = vendor or first_text(about, "model_provider")
        message, events = self.begin(answer.id, scope, vendor, first_text(about, "model_name"))
        message.stop_reason = stop_reason(about)
        events += read_content(message, answer, whole=True)
        events += _whole_calls(message, answer)
        events += message.add_usage(answer.usage_metadata, whole=True)
        return [*self.track_calls(events), *self.end(message)]

    def remember(self, message: MessageObject, scope: Scope) -> None:
        """A message of the history."""
        if self.messages.find(message.id) is None:
            self.messages.mark_ended(message.id)
        if message.kind == "tool":
            self.calls.mark_answered(convert(message.fields, wire.ToolMessage).tool_call_id)
        elif message.kind != "other":
            for call in convert(message.fields, wire.AiMessage).tool_calls or ():
                self.calls.remember(call, scope)

    # State, plan, requests

    def update(self, update: Object, scope: Scope, namespace: Namespace) -> Events:
        """The changes of a node or a tool in the state of the graph of that namespace."""
        messages = update.get("messages")
        events = [e for m in _messages(messages) for e in self.add_message(m, scope)]
        self._note_answer(messages, scope)
        return [
            *events,
            *self.states.plan(update, scope),
            *self.states.patch(update, scope, namespace),
        ]

    def state(self, state: Object, scope: Scope, namespace: Namespace) -> Events:
        """The whole state of a graph."""
        past = self.states.is_new(namespace)
        events: Events = []
        for message in _messages(state.get("messages")):
            if past:
                self.remember(message, scope)
            else:
                events += self.add_message(message, scope)
        if past:
            self.states.old_plan(state, scope)
        else:
            self._note_answer(state.get("messages"), scope)
        plan = [] if past else self.states.plan(state, scope)
        return [*events, *plan, *self.states.snapshot(state, scope, namespace)]

    def _note_answer(self, messages: JSON, scope: Scope) -> None:
        last = list(_messages(messages))[-1:]
        if not scope and last:
            self.answer = text_of(last[0]) if last[0].kind in ("ai", "chunk") else None

    def custom(self, name: str | None, value: JSON, scope: Scope) -> Events:
        """An application's own event."""
        return [Custom(scope=scope, name=name or "custom", value=value)]

    def request_input(self, interrupts: JSON, scope: Scope) -> Events:
        """Input requests; the open messages end before them."""
        requests = self.interrupts.request_input(interrupts, scope)
        return [*self._end_all(), *requests] if requests else []

    # The end

    def finish(self, output: JSON) -> Events:
        """The framework's own end, with its output."""
        if self.interrupts.waiting:
            return []
        last = self.messages.last
        if self.is_graph or last is None:
            self.ended = self._done_if_idle() or Done(reason="stop")
        else:
            self.ended = done_of_message(last.stop_reason, bool(last.calls))
        answer = text_of(output) if isinstance(output, MessageObject) else output
        return [Result(text=answer)] if isinstance(answer, str) and answer else []

    def close(self) -> Events:
        """The stream ended: return PAUSED if it waits, else how it ended."""
        if self.interrupts.waiting:
            return [self.interrupts.pause()]
        if self.ended is not None or self.failed:
            return [] if self.ended is None else [self.ended]
        if not self.is_graph:
            return self._end_of_message()
        finished = [message for message in self.messages.open if message.stop_reason is not None]
        ends = [event for message in finished for event in self.end(message)]
        done = self._done_if_idle()
        if done is None:
            return ends
        return [*ends, Result(text=self.answer), done] if self.answer else [*ends, done]

    def _end_of_message(self) -> Events:
        last = self.messages.last
        if last is None or (last.stop_reason is None and not last.ended):
            return []
        return [*self._end_all(), done_of_message(last.stop_reason, bool(last.calls))]

    def _end_all(self) -> Events:
        return [event for message in self.messages.open for event in self.end(message)]

    def _done_if_idle(self) -> Done | None:
        if self.messages.open or any(call.started for call in self.calls.unanswered):
            return None
        done = done_of(self.messages.last.stop_reason if self.messages.last is not None else None)
        return replace(done, reason="stop") if done.reason == "tool" else done


def _add_call_chunk(message: Message, chunk: wire.ToolCallChunk) -> Events:
    index = chunk.index if chunk.index is not None else chunk.id
    opened = message.find("tool", index)
    events: Events = []
    if chunk.name and (opened is None or (chunk.id and opened.id != chunk.id)):
        events = message.start_call(index, chunk.id, chunk.name)
    return [*events, *message.add_input_delta(index, chunk.args or "")]


def _whole_calls(message: Message, answer: wire.AiMessage) -> Events:
    events: Events = []
    for number, call in enumerate(answer.tool_calls or ()):
        index = call.id or number
        events += message.start_call(index, call.id, call.name)
        events += message.finish_input(index, call.args)
    for raw in answer.invalid_tool_calls or ():
        chunk = convert(raw, wire.ToolCallChunk)
        events += message.start_call(chunk.id, chunk.id, chunk.name or UNKNOWN_TOOL)
        events += message.add_input_delta(chunk.id, chunk.args or "")
    return events


def text_of(message: MessageObject) -> str:
    """The answer in a message."""
    content = message.fields.get("content")
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    texts = [
        b.get("text") if isinstance(b, dict) and b.get("type") == "text" else b for b in blocks
    ]
    return "".join(text for text in texts if isinstance(text, str))


def _messages(raw: JSON) -> list[MessageObject]:
    return list(messages_in(raw)) if raw is not None else []
