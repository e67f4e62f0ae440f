"""Parses Claude Code's stream-json lines, which the Agent SDK reads from its command line program.

Rule 1: with partial messages on, every block comes twice, streamed and then complete, before it
        stops: a streamed message is not parsed again, but the inputs of its tools are complete.
Rule 2: `result` ends a turn of the session, not the run: background tasks start further turns.
Rule 3: a subagent's lines name the tool call that spawned it; that call is its `scope`.
Rule 4: a permission request is emitted after its tool's input is complete, and the run waits
        (PAUSED) when the streamed message has stopped.
Rule 5: messages from the program to the model (user lines without a result) are RAW.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

from msgspec import ValidationError, convert
from msgspec.structs import replace

from mobox.errors import NotShown, UnrecognizedLine
from mobox.events import (
    JSON,
    Done,
    Error,
    Events,
    File,
    InputRequest,
    InputResponse,
    Outcome,
    Paused,
    Raw,
    Result,
    Scope,
    Start,
    Status,
    StreamEvent,
    ToolResult,
    ToolUseEnd,
    ToolUseStart,
    Usage,
)
from mobox.events.names import IdAllocator
from mobox.parsers.claude import session_wire as lines
from mobox.parsers.claude import wire
from mobox.parsers.claude.messages import Messages
from mobox.parsers.claude.session_wire import done_of_result
from mobox.parsers.claude.tasks import Plans, Tasks
from mobox.parsers.claude.token_usage import SessionUsage
from mobox.parsers.values import NOT_SHOWN, as_object, failure, objects_in

# Results of tools, in `user` lines that the program writes for the model


class ReadResult(NamedTuple):
    """One tool's result, as events, and the program's own record of it."""

    tool_id: str
    ok: bool
    outcome: JSON
    events: list[StreamEvent]


def read_results(line: lines.User, scope: Scope) -> list[ReadResult]:
    """The valid results in a line; none if it is text for the model."""
    results: list[ReadResult] = []
    broken: ValidationError | None = None
    for block in objects_in(line.message.content):
        if block.get("type") == "tool_result":
            try:
                results.append(_read(convert(block, lines.ToolResult), line, scope))
            except ValidationError as error:
                broken = error
    if broken is not None and not results:
        raise broken
    return results


def _read(block: lines.ToolResult, line: lines.User, scope: Scope) -> ReadResult:
    status = _status(block, line)
    output, files = _without_images(block.content)
    result = ToolResult(
        id=block.tool_use_id,
        scope=scope,
        output=_plain(output),
        status=status,
        structured=_structured(line.tool_use_result, block.content),
    )
    shown = [
        File(id=block.tool_use_id, scope=scope, media_type=media_type, base64=data)
        for media_type, data in files
    ]
    return ReadResult(block.tool_use_id, status == "ok", line.tool_use_result, [result, *shown])


def _status(block: lines.ToolResult, line: lines.User) -> Outcome:
    about = [m for m in objects_in(line.tool_result_meta) if m.get("id") == block.tool_use_id]
    decisions = [as_object(meta.get("permission_decision")).get("decision") for meta in about]
    if "reject" in decisions:
        return "denied"
    return "error" if block.is_error else "ok"


def _plain(output: JSON) -> JSON:
    """An error without the tags that mark it for the model."""
    if isinstance(output, str):
        return output.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>")
    return output


def _without_images(content: JSON) -> tuple[JSON, list[tuple[str, str]]]:
    """The content with its images taken out, and those."""
    if not isinstance(content, list):
        return content, []
    kept, images = [], []
    for block in content:
        source = block.get("source") if isinstance(block, dict) else None
        media_type, data = _image(source)
        if media_type is None or data is None:
            kept.append(block)
        else:
            images.append((media_type, data))
            kept.append({"type": block.get("type"), "media_type": media_type})
    return kept, images


def _image(source: JSON) -> tuple[str | None, str | None]:
    if not isinstance(source, dict) or source.get("type") != "base64":
        return None, None
    media_type, data = source.get("media_type"), source.get("data")
    if not isinstance(media_type, str) or not isinstance(data, str):
        return None, None
    return media_type, data


def _structured(outcome: JSON, content: JSON) -> JSON:
    """The program's record of a result, if it has more than the result itself."""
    if outcome == content or not isinstance(outcome, dict):
        return None
    file = outcome.get("file")
    if isinstance(file, dict) and "base64" in file:  # the same image once more
        slim = {name: value for name, value in file.items() if name != "base64"}
        return {**outcome, "file": slim}
    return outcome


Handler = Callable[["Session", Any], Events]

UNNAMED = "unknown"
"""The program's own name for an error that has none."""
SYNTHETIC = "<synthetic>"
"""The model name in messages that the program generates to report an error."""

_STATUSES = {"requesting": "Waiting for the model"}


class Session:
    """One session, from its first line to its last."""

    def __init__(self, prefix: str = "") -> None:
        self.started = False
        """A line of a session was read."""
        self._names = IdAllocator(prefix)
        self._messages: dict[Scope, Messages] = {(): Messages(self._names)}
        self._streamed: set[str | None] = set()
        self._calls: dict[str, ToolUseStart] = {}
        self._inputs: dict[str | None, JSON] = {}
        self._tasks = Tasks(self._names)
        self._plans = Plans()
        self._usage = SessionUsage()
        self._waiting: dict[str, InputRequest] = {}  # open requests, by request id
        self._held: list[InputRequest] = []  # requests whose tool's input is not complete
        self._initialized = False
        self._done: Done | None = None  # how the last turn ended; `None` during a turn
        self._error: Error | None = None  # of this turn

    def knows(self, kind: str) -> bool:
        """Whether a line of this type belongs to a session."""
        return kind in self.LINES

    def read_stream_event(self, line: lines.StreamEvent) -> Events:
        """`read` for streaming lines, which are decoded already."""
        self.started = True
        events = self._stream_event(line)
        return events if type(line.event) is wire.ContentBlockDelta else self._track(events)

    def read(self, kind: str, raw: dict[str, JSON]) -> Events:
        """Parse one line."""
        shape, handler = self.LINES[kind]
        self.started = True
        return self._track(handler(self, raw if shape is None else convert(raw, shape)))

    def close(self) -> Events:
        """The session ended: emit what was held back, and PAUSED or how it ended."""
        ends = self._track([*self._messages[()].close(), *self._tasks.close()])
        held, self._held = self._held, []
        events = [*ends, *held]
        if self._waiting:
            return [*events, self._pause()]
        return events if self._done is None else [*events, self._done]

    # Messages

    def _stream_event(self, line: lines.StreamEvent) -> Events:
        if isinstance(line.event, wire.MessageStart):
            self._streamed |= {line.event.message.id} - {None}
            self._begin_turn(line.parent_tool_use_id)
        scope = self._scope(line.parent_tool_use_id)
        events = self._messages_of(scope).read(line.event)
        if isinstance(line.event, wire.MessageStop) and not scope and self._waiting:
            events.append(self._pause())
        return events

    def _assistant(self, line: lines.Assistant) -> Events:
        if line.message.model == SYNTHETIC and (line.error or line.is_api_error_message):
            return self._synthetic(line)
        parent = line.parent_tool_use_id
        messages = self._messages_of(self._scope(parent))
        without_name = line.message.id is None and messages.streaming
        if line.message.id in self._streamed or without_name:
            return messages.complete(line.message)
        self._begin_turn(parent)
        return [*self._announce_agent(parent), *messages.read_whole(line.message)]

    def _synthetic(self, line: lines.Assistant) -> Events:
        texts = [block.get("text") for block in line.message.content]
        message = "\n".join(text for text in texts if isinstance(text, str))
        scope = self._scope(line.parent_tool_use_id)
        error = failure(message or "The model failed.", line.error or UNNAMED, scope=scope)
        if line.error is None and error.code == UNNAMED:
            error = replace(error, code=None)
        if not scope:
            self._error = error
        return [error]

    def _begin_turn(self, parent: str | None) -> None:
        """A message of the root after a result starts another turn."""
        if parent is None:
            self._done = self._error = None

    def _user(self, raw: dict[str, JSON]) -> Events:
        line = convert(raw, lines.User)
        scope = self._scope(line.parent_tool_use_id)
        results = read_results(line, scope)
        if not results:
            return [
                *self._announce_agent(line.parent_tool_use_id),
                Raw(scope=scope, raw=raw, source=NOT_SHOWN),
            ]
        events: Events = []
        for result in results:
            events += result.events
            self._close_requests(result.tool_id)
            if result.ok:
                events += self._plan_changes(result.tool_id, result.outcome)
            events += self._tasks.end_with_call(result.tool_id, scope, result.ok)
        has_more = len(line.message.content) > len(results)  # text for the model, or invalid blocks
        return [*events, Raw(scope=scope, raw=raw)] if has_more else events

    def _plan_changes(self, tool_id: str, outcome: JSON) -> Events:
        call = self._calls.get(tool_id)
        if call is None:
            return []
        arguments = self._inputs.get(tool_id)
        if call.kind != "agent":  # a subagent's lines may follow its result
            self._inputs[tool_id] = None
        return self._plans.after(call.name, arguments, outcome, call.scope)

    def _messages_of(self, scope: Scope) -> Messages:
        if scope not in self._messages:
            self._messages[scope] = Messages(self._names, scope)
        return self._messages[scope]

    def _scope(self, parent: str | None) -> Scope:
        if parent is None:
            return ()
        call = self._calls.get(parent)
        return (*(call.scope if call is not None else ()), parent)

    def _announce_agent(self, parent: str | None) -> Events:
        """The start of a subagent that emits before its task was announced."""
        call = self._calls.get(parent or "")
        if parent is None or call is None:
            return []
        return self._tasks.announce(parent, call.scope, self._inputs.get(parent))

    def _track(self, events: Events) -> Events:
        """Remember calls and usage, and emit held requests after the end of their call's input."""
        tracked: Events = []
        for event in events:
            tracked.append(event)
            if isinstance(event, ToolUseStart) and event.id is not None:
                self._calls[event.id] = event
            elif isinstance(event, ToolUseEnd):
                self._inputs[event.id] = event.input
                tracked += [held for held in self._held if held.tool_call_id == event.id]
                self._held = [held for held in self._held if held.tool_call_id != event.id]
            elif isinstance(event, Usage):
                self._usage.add_message(event)
        return tracked

    # Permissions and questions

    def _control_request(self, line: lines.ControlRequest) -> Events:
        if line.request.get("subtype") != "can_use_tool":
            raise NotShown
        permission = convert(line.request, lines.CanUseTool)
        is_question = permission.tool_name == "AskUserQuestion"
        call = self._calls.get(permission.tool_use_id or "")
        request = InputRequest(
            id=line.request_id,
            scope=call.scope if call is not None else (),
            kind="question" if is_question else "approval",
            tool_call_id=permission.tool_use_id,
            prompt=permission.description,
            options=permission.input if is_question else permission.permission_suggestions,
        )
        self._waiting[line.request_id] = request
        if call is not None and permission.tool_use_id not in self._inputs:
            self._held.append(request)
            return []
        return [request] if self._messages[()].streaming else [request, self._pause()]

    def _control_cancel(self, line: lines.ControlCancel) -> Events:
        """The program cancels a request: another client answered it, or the turn was stopped."""
        request = self._waiting.pop(line.request_id, None)
        if request is None:
            raise UnrecognizedLine
        if request in self._held:  # it was not emitted yet
            self._held.remove(request)
            raise UnrecognizedLine
        return [InputResponse(id=request.id, scope=request.scope, decision="cancelled")]

    def _close_requests(self, tool_id: str) -> None:
        for request_id, request in list(self._waiting.items()):
            if request.tool_call_id in (tool_id, None):
                del self._waiting[request_id]

    def _pause(self) -> Paused:
        return Paused(request_ids=tuple(self._waiting))

    # The session itself

    def _system(self, raw: dict[str, JSON]) -> Events:
        subtype = convert(raw, lines.System).subtype
        if subtype not in self.SUBTYPES:
            raise UnrecognizedLine
        shape, handler = self.SUBTYPES[subtype]
        return handler(self, convert(raw, shape))

    def _init(self, init: lines.Init) -> Events:
        if self._initialized:
            return [Status(message="The session goes on")]
        self._initialized = True
        return [Start(framework="claude", model=init.model, session_id=init.session_id)]

    def _status(self, status: lines.Status) -> Events:
        if status.status == "compacting":
            return self._tasks.compact()
        if status.compact_result not in (None, "success"):
            return self._tasks.compacted({"result": status.compact_result}, "error")
        if status.status is None:
            return []
        return [Status(message=_STATUSES.get(status.status, status.status), kind="progress")]

    def _compact_boundary(self, boundary: lines.CompactBoundary) -> Events:
        return self._tasks.compacted(boundary.compact_metadata or {}, "ok")

    def _thinking_tokens(self, thinking: lines.ThinkingTokens) -> Events:
        """A status for each hundred: the line comes with every piece of a thought."""
        tokens = thinking.estimated_tokens
        if tokens // 100 == (tokens - (thinking.estimated_tokens_delta or 100)) // 100:
            return []
        return [Status(message=f"{tokens} tokens thought", kind="progress")]

    def _api_retry(self, retry: lines.ApiRetry) -> Events:
        of = f" of {retry.max_retries}" if retry.max_retries is not None else ""
        why = f": {retry.error}" if retry.error else ""
        return [Status(message=f"Retrying, attempt {retry.attempt}{of}{why}", kind="retry")]

    def _informational(self, notice: lines.Informational) -> Events:
        return [Status(message=notice.content, kind="notice")]

    def _refused(self, refusal: lines.Refusal) -> Events:
        why = f": {refusal.api_refusal_explanation}" if refusal.api_refusal_explanation else ""
        who = refusal.original_model or "The model"
        return [Status(message=f"{who} refused{why}", kind="notice")]

    def _session_state(self, session: lines.SessionState) -> Events:
        return [self._done] if session.state == "idle" and self._done is not None else []

    def _background_tasks(self, background: lines.BackgroundTasks) -> Events:
        count = len(background.tasks)
        return [Status(message=f"{count} tasks in the background", kind="progress")]

    def _task_started(self, task: lines.TaskStarted) -> Events:
        call = self._calls.get(task.tool_use_id or "")
        return self._tasks.started(task, call.scope if call is not None else ())

    def _task_progress(self, task: lines.TaskProgress) -> Events:
        scope = self._tasks.scope_of(task.task_id)
        return [Status(scope=scope, message=task.description, kind="progress")]

    def _task_updated(self, task: lines.TaskUpdated) -> Events:
        self._tasks.updated(task)
        return []

    def _task_notification(self, task: lines.TaskNotification) -> Events:
        if not self._tasks.is_running(task.task_id):
            raise UnrecognizedLine
        scope = self._tasks.scope_of(task.task_id)
        last_turn = self._messages[scope].end_turn() if scope in self._messages and scope else []
        return [*last_turn, *self._tasks.ended(task)]

    def _rate_limit(self, line: lines.RateLimit) -> Events:
        info = line.rate_limit_info
        status = info.get("status") if isinstance(info, dict) else None
        return [Status(message=f"Rate limit: {status or 'reported'}", kind="notice")]

    def _conversation_reset(self, _raw: dict[str, JSON]) -> Events:
        return [Status(message="The conversation was reset", kind="notice")]

    def _result(self, line: lines.Result) -> Events:
        events = self._messages[()].end_turn()
        self._waiting, self._held = {}, []
        events += self._usage.total(line)
        events.append(
            Result(
                text=line.result,
                duration_ms=line.duration_ms,
                num_turns=line.num_turns,
                session_id=line.session_id,
                cost_usd=line.total_cost_usd,
                is_error=bool(line.is_error),
            )
        )
        error, self._error = self._error, None
        self._done = done_of_result(line, error.code if error is not None else None)
        if self._done.reason == "error" and error is None:
            why = line.errors or [line.result or line.subtype or "The session failed."]
            events.append(failure("\n".join(why), self._done.native))
        # The DONE of a failed result explains the error before it, so it follows directly.
        return [*events, self._done] if line.is_error else events

    LINES: ClassVar[dict[str, tuple[type[lines.Line] | None, Handler]]] = {
        "stream_event": (lines.StreamEvent, _stream_event),
        "assistant": (lines.Assistant, _assistant),
        "user": (None, _user),
        "system": (None, _system),
        "result": (lines.Result, _result),
        "control_request": (lines.ControlRequest, _control_request),
        "control_cancel_request": (lines.ControlCancel, _control_cancel),
        "rate_limit_event": (lines.RateLimit, _rate_limit),
        "conversation_reset": (None, _conversation_reset),
    }
    SUBTYPES: ClassVar[dict[str, tuple[type, Handler]]] = {
        "init": (lines.Init, _init),
        "status": (lines.Status, _status),
        "compact_boundary": (lines.CompactBoundary, _compact_boundary),
        "thinking_tokens": (lines.ThinkingTokens, _thinking_tokens),
        "api_retry": (lines.ApiRetry, _api_retry),
        "informational": (lines.Informational, _informational),
        "model_refusal_no_fallback": (lines.Refusal, _refused),
        "session_state_changed": (lines.SessionState, _session_state),
        "background_tasks_changed": (lines.BackgroundTasks, _background_tasks),
        "task_started": (lines.TaskStarted, _task_started),
        "task_progress": (lines.TaskProgress, _task_progress),
        "task_updated": (lines.TaskUpdated, _task_updated),
        "task_notification": (lines.TaskNotification, _task_notification),
    }
