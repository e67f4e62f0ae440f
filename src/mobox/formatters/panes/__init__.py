"""StreamEvents as messages for three panes: chat, webide and terminal.

Rule 1: every message names its pane, which depends on the policy and the kind of a tool.
Rule 2: text is sent in deltas, and once more complete at its end.
Rule 3: Python code in a text, and the value that Python returned, is copied to the webide.
Rule 4: an error does not end a run here, so it is sent where it happened.
Rule 5: the last message of a run has a `reason`; no other has one.

docs/panes.md has the tables. The profile of `PanesFormatter` is the policy, `document` or `chat`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Final

from mobox.events import (
    FAILURES,
    JSON,
    Done,
    DoneReason,
    Error,
    EventType,
    File,
    InputRequest,
    InputResponse,
    LogEntry,
    Raw,
    Result,
    Retract,
    Source,
    Start,
    Status,
    StepStart,
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
    ToolUseStart,
)
from mobox.events.blocks import BETWEEN_THOUGHTS, line_of
from mobox.formatters.panes.calls import ERROR, Calls
from mobox.formatters.panes.messages import (
    DEFAULT,
    POLICIES,
    Component,
    Documents,
    Message,
    Messages,
    shown,
)
from mobox.formatters.values import error_of, file_url, profile_named, source_url, without_none

__all__ = ["DEFAULT", "POLICIES", "PanesFormatter"]

_PROMPTS: Final = {
    "approval": "Allow this action?",
    "question": "A question",
    "input": "Input is needed",
    "auth": "Please sign in",
    "tool": "A tool of the page is called",
}


class Requests:
    """The input requests: each is a message in the chat that stays pending until the answer."""

    def __init__(self, messages: Messages) -> None:
        self._messages = messages
        self._open: dict[str | None, Message] = {}

    def request(self, event: InputRequest) -> Documents:
        """Send a request; an answer must name its `request.id`."""
        request: dict[str, JSON] = {
            "id": event.id,
            "kind": event.kind,
            "tool_id": event.tool_call_id,
            "schema": event.schema,
            "options": event.options,
            "allowed": list(event.allowed) or None,
        }
        again = self._messages.done(self._open[event.id]) if event.id in self._open else []
        message = self._messages.new(
            "chat", scope=event.scope, title="❓ Asked", request=without_none(request)
        )
        self._open[event.id] = message
        return again + self._messages.pending(message, event.prompt or _PROMPTS[event.kind])

    def answer(self, event: InputResponse) -> Documents:
        """Send the answer."""
        message = self._open.pop(event.id, None)
        if message is None:
            return []
        has_value = event.decision in ("edited", "answered")
        message.about |= without_none(
            {
                "decision": event.decision,
                "value": event.value if has_value else None,
                "reason": event.comment,
                "automatic": event.automatic or None,
            }
        )
        return self._messages.done(message)


Writer = Callable[["PanesFormatter", Any], Documents]

_BOXES: Final = {"pending": "[ ]", "in_progress": "[~]", "completed": "[x]"}
_ANSWERED: Final[frozenset[DoneReason]] = frozenset({"stop", "max_turns"})
"""The ends of a run whose last text is its final answer."""


class PanesFormatter:
    """Writes one run."""

    PROFILES: ClassVar[tuple[str, ...]] = tuple(POLICIES)

    def __init__(self, message_id: str, profile: str = DEFAULT) -> None:
        self._policy = profile_named(profile, POLICIES)
        self._messages = Messages(message_id)
        self._calls = Calls(self._messages, self._policy)
        self._requests = Requests(self._messages)
        self._open: dict[str | None, Message] = {}
        self._todos: dict[tuple[str, ...], Message] = {}
        self._progress: Message | None = None
        self._turns = 0
        self._answer: tuple[str | None, Message] | None = None
        self._result: str | None = None
        self._has_started = self._error_is_sent = False

    def format(self, entry: LogEntry) -> Documents:
        """The messages of `entry`."""
        self._messages.ts = entry.ts
        return self.WRITERS[entry.event.type](self, entry.event)

    def pause(self) -> Documents:
        """Nothing: the request was sent, and a message may stay incomplete."""
        return []

    def resume(self) -> Documents:
        """The content so far of the messages that are not complete."""
        return self._messages.so_far()

    # The run

    def _start(self, event: Start) -> Documents:
        first, self._has_started = not self._has_started, True
        if not first or not event.prompt_preview:
            return []
        return self._messages.write("chat", event.prompt_preview, role="user")

    def _done(self, event: Done) -> Documents:
        documents = [*self._messages.close_all(), *self._final_answer(event)]
        if event.reason in FAILURES and not self._error_is_sent:
            words = error_of(event.reason, None) or ""
            documents += self._messages.write(self._policy.errors, words, title=ERROR)
        ended: dict[str, JSON] = {"title": "🏁 Finished", "reason": event.reason}
        return documents + self._messages.write("terminal", f"Finished: {event.reason}", **ended)

    def _final_answer(self, event: Done) -> Documents:
        """The last text once more, as the final answer."""
        if event.reason not in _ANSWERED:
            return []
        final: dict[str, JSON] = {"event_type": "action_output", "is_final_answer": True}
        if self._answer is None:
            return self._messages.write("chat", self._result, **final) if self._result else []
        message = self._answer[1]
        message.about |= final
        return self._messages.done(message)

    def _error(self, event: Error) -> Documents:
        self._error_is_sent = True
        documents = self._messages.write(self._policy.errors, event.message, title=ERROR)
        if event.stderr_tail:
            documents += self._messages.write("terminal", event.stderr_tail, title="📄 stderr")
        return documents

    def _step(self, event: StepStart) -> Documents:
        if event.kind == "turn" and not event.scope:
            self._turns = self._turns + 1 if event.number is None else event.number
            self._messages.step = self._turns
        return []

    def _status(self, event: Status) -> Documents:
        if event.kind != "progress":
            return self._messages.write("terminal", event.message)
        if self._progress is None:  # frequent: each replaces the one before
            self._progress = self._messages.new("terminal", title="⏳ Progress")
        return self._messages.done(self._progress, event.message)

    def _raw(self, event: Raw) -> Documents:
        if not self._policy.raw:
            return []
        return self._messages.write("terminal", shown(event.raw), title="❔ Not understood")

    # Blocks

    def _text(self, event: Text) -> Documents:
        kind = event.kind if event.kind != "answer" else None
        opened = self._messages.new("chat", event.id, scope=event.scope, kind=kind)
        return self._begin(event, opened, event.content)

    def _thinking(self, event: Thinking) -> Documents:
        if event.id in self._open:
            return self._messages.more(self._open[event.id], event.content, BETWEEN_THOUGHTS)
        title = "🗺️ Planning" if event.source == "plan" else "💭 Thinking"
        opened = self._messages.new("chat", event.id, scope=event.scope, title=title)
        return self._begin(event, opened, event.content)

    def _begin(self, event: StreamEvent, message: Message, content: str) -> Documents:
        self._open[event.id] = message
        return self._messages.pending(message, content)

    def _more(self, event: TextDelta | ThinkingDelta) -> Documents:
        message = self._open.get(event.id)
        if message is not None:
            return self._messages.more(message, event.delta)
        # The block's start is RAW: logged by a later version.
        if isinstance(event, TextDelta):
            return self._text(Text(id=event.id, scope=event.scope, content=event.delta))
        return self._thinking(Thinking(id=event.id, scope=event.scope, content=event.delta))

    def _end_text(self, event: TextEnd) -> Documents:
        message = self._open.pop(event.id, None)
        if message is None:
            return []
        if not event.scope and "kind" not in message.about:
            self._answer = event.id, message
        return self._messages.done(message) + self._copies(event, message)

    def _copies(self, event: TextEnd, text: Message) -> Documents:
        about: dict[str, JSON] = {"title": "🐍 Python", "language": "python", "copy_of": text.id}
        return [
            document
            for code in _fenced(text.content)
            for document in self._messages.write(
                "webide", code, event.id, scope=event.scope, **about
            )
        ]

    def _end_thinking(self, event: ThinkingEnd) -> Documents:
        message = self._open.pop(event.id, None)
        return self._messages.done(message) if message is not None else []

    def _retract(self, event: Retract) -> Documents:
        for name in event.blocks:
            self._open.pop(name, None)
            self._calls.forget(name)
            if self._answer is not None and self._answer[0] == name:
                self._answer = None
        return [document for name in event.blocks for document in self._messages.retract(name)]

    # Tools and requests

    def _start_tool(self, event: ToolUseStart) -> Documents:
        if not event.scope:
            self._answer = None  # text before a call is not the answer
        return self._calls.start(event)

    # Other content

    def _todo(self, event: TodoEvent) -> Documents:
        plan = self._todos.get(event.scope)
        if plan is None:
            plan = self._messages.new("chat", title="📋 Plan", scope=event.scope)
            self._todos[event.scope] = plan
        lines = [f"- {_BOXES[item.status]} {item.content}" for item in event.items]
        return self._messages.done(plan, "\n".join(lines))

    def _subagent(self, event: SubagentStart | SubagentEnd) -> Documents:
        about: dict[str, JSON] = {"title": f"🤖 {event.agent or 'agent'}", "tool_id": event.id}
        return self._messages.write("chat", line_of(event), scope=event.scope, **about)

    def _source(self, event: Source) -> Documents:
        found = event.title or event.url or event.document or event.file or ""
        about: dict[str, JSON] = {"url": source_url(event), "cited_text": event.cited_text}
        return self._messages.write("chat", found, scope=event.scope, title="🔗 Source", **about)

    def _file(self, event: File) -> Documents:
        component: Component = "webide" if self._calls.is_code(event.id) else "chat"
        name = event.name or event.file_id or event.media_type
        is_image = event.media_type.startswith("image/")
        about: dict[str, JSON] = {
            "title": "🖼️ Output Image" if is_image else "📎 Output File",
            "media_type": event.media_type,
            "url": file_url(event),
            "file_id": event.file_id,
        }
        return self._messages.write(component, name, scope=event.scope, **about)

    def _stats(self, event: Result) -> Documents:
        self._result = None if event.is_error else event.text
        return []

    WRITERS: ClassVar[dict[EventType, Writer]] = {
        EventType.START: _start,
        EventType.DONE: _done,
        EventType.PAUSED: lambda run, event: [],
        EventType.ERROR: _error,
        EventType.STATUS: _status,
        EventType.TEXT: _text,
        EventType.TEXT_DELTA: _more,
        EventType.TEXT_END: _end_text,
        EventType.THINKING: _thinking,
        EventType.THINKING_DELTA: _more,
        EventType.THINKING_END: _end_thinking,
        EventType.TOOL_USE_START: _start_tool,
        EventType.TOOL_USE_DELTA: lambda run, event: run._calls.more(event),
        EventType.TOOL_USE_END: lambda run, event: run._calls.end(event),
        EventType.TOOL_RESULT: lambda run, event: run._calls.result(event),
        EventType.STEP_START: _step,
        EventType.STEP_END: lambda run, event: [],
        EventType.SUBAGENT_START: _subagent,
        EventType.SUBAGENT_END: _subagent,
        EventType.TODO_CREATE: _todo,
        EventType.TODO_UPDATE: _todo,
        EventType.TODO_DONE: _todo,
        EventType.SOURCE: _source,
        EventType.FILE: _file,
        EventType.STATE: lambda run, event: [],
        EventType.INPUT_REQUEST: lambda run, event: run._requests.request(event),
        EventType.INPUT_RESPONSE: lambda run, event: run._requests.answer(event),
        EventType.USAGE: lambda run, event: [],
        EventType.RESULT: _stats,
        EventType.RETRACT: _retract,
        EventType.CUSTOM: lambda run, event: [],
        EventType.RAW: _raw,
    }
    """The handler of each event; total over EventType."""


_OPENING: Final = re.compile(r" {0,3}```(?:python|py)[0-9]?\b", re.IGNORECASE)
_CLOSING: Final = re.compile(r" {0,3}```\s*")


def _fenced(text: str) -> Iterator[str]:
    """The Python code in a text: closed fences that are marked as Python."""
    code: list[str] | None = None
    for line in text.splitlines(keepends=True):
        if code is None:
            code = [] if _OPENING.match(line) else None
        elif _CLOSING.fullmatch(line):
            yield "".join(code)
            code = None
        else:
            code.append(line)
