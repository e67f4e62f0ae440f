"""The calls of a run: which were emitted, which have a result, and which agents they spawned.

Rule 1: a result comes in up to four ways (a tool's own event, the message, the node's update, the
        graph's state) and is emitted once, the first time.
Rule 2: a call that this stream did not start is of the graph's history, such as one that was
        approved before this attempt. It is emitted when it runs, except in a later attempt, whose
        log has it already.
Rule 3: an agent that was spawned ends with its call.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct, convert

from mobox.events import (
    JSON,
    UNKNOWN_TOOL,
    Display,
    Events,
    File,
    Outcome,
    Scope,
    Source,
    StreamEvent,
    SubagentEnd,
    SubagentStart,
    ToolKind,
    ToolResult,
    ToolUseEnd,
    ToolUseStart,
)
from mobox.parsers import tool_kinds
from mobox.parsers.langchain import wire
from mobox.parsers.langchain.wire import Object, unwrapped
from mobox.parsers.values import as_object, first_text, is_web_url, objects_in, split_data_url

# Tools

_KINDS: Final[dict[str, ToolKind]] = {
    "task": "agent",
    "execute": "shell",
    "shell": "shell",
    "bash_code_execution": "shell",
    "glob": "search",
    "grep": "search",
    "internet_search": "search",
    "tavily_search": "search",
    "web_fetch": "search",
    "web_search": "search",
}
"""The built-in tools of LangChain and DeepAgents."""


def kind_of(name: str) -> ToolKind:
    """The kind of a tool; one of the caller's own is a function."""
    return tool_kinds.tool_kind(name, _KINDS)


def display_of(name: str) -> Display | None:
    """The kind of event that already shows what this tool does."""
    return tool_kinds.LANGCHAIN_DISPLAYS.get(name)


# Images and files of messages and tool results


_TYPES: Final = {
    "image": "image/png",
    "image_url": "image/png",
    "audio": "audio/wav",
    "video": "video/mp4",
    "file": "application/octet-stream",
    "text-plain": "text/plain",
}
"""The types of blocks with data, and their default media types."""


def file_in(block: Object, name: str | None, scope: Scope) -> File | None:
    """The file of a content block; `None` if it has none that can be referenced."""
    kind = str(block.get("type"))
    if kind not in _TYPES:
        return None
    source = as_object(block.get("source"))
    url = first_text(block, "url") or first_text(as_object(block.get("image_url")), "url")
    url = url or first_text(block, "image_url") or first_text(source, "url")
    data = first_text(block, "base64", "data") or first_text(source, "data")
    media_type = first_text(block, "mime_type") or first_text(source, "media_type") or _TYPES[kind]
    file_id = first_text(block, "file_id") or first_text(source, "file_id")
    if url is not None and (inline := split_data_url(url)) is not None:
        url, media_type, data = None, inline[0] or media_type, inline[1]
    if not (url or data or file_id):
        return None
    return File(id=name, scope=scope, media_type=media_type, url=url, base64=data, file_id=file_id)


def without_files(content: JSON, name: str | None, scope: Scope) -> tuple[JSON, list[StreamEvent]]:
    """A tool's output with the images and files taken out, and those."""
    if not isinstance(content, list):
        return content, []
    kept: list[JSON] = []
    files: list[StreamEvent] = []
    for block in content:
        file = file_in(block, name, scope) if isinstance(block, dict) else None
        if file is None:
            kept.append(block)
        else:
            files.append(file)
            kept.append({"type": block["type"], "media_type": file.media_type})
    return kept, files


# Documents, which a retriever finds, or a tool that returns them as its artifact


def sources_in(documents: JSON, call_id: str, scope: Scope) -> list[StreamEvent]:
    """The documents of a list as sources of a call; other values are left out."""
    found = [unwrapped(each) for each in objects_in(documents)]
    return [_source(call_id, scope, each) for each in found if "page_content" in each]


def _source(call_id: str, scope: Scope, document: Object) -> Source:
    about = as_object(document.get("metadata"))
    name = first_text(about, "source")
    is_url = name is not None and is_web_url(name)
    return Source(
        id=call_id,
        scope=scope,
        url=name if is_url else None,
        document=None if is_url else name,
        title=first_text(about, "title"),
        cited_text=first_text(document, "page_content"),
    )


# Calls

_REJECTED: Final = "User rejected the tool call"
"""Prefix of the result of a rejected call, from the approval middleware."""


class Call(Struct):
    """What is known of a call."""

    id: str
    name: str
    scope: Scope = ()
    input: JSON = None
    started: bool = False
    answered: bool = False
    has_request: bool = False
    """Its approval was requested."""
    agent: str | None = None
    """The running agent that it spawned."""
    spawned: bool = False

    @property
    def inner_scope(self) -> Scope:
        """The scope of events within the call."""
        return (*self.scope, self.id)


class Calls:
    """The calls of one run, in the order in which they were made."""

    def __init__(self, *, is_later_attempt: bool) -> None:
        self._is_later_attempt = is_later_attempt  # a later attempt of the run
        self._calls: dict[str, Call] = {}

    def get(self, call_id: str) -> Call | None:
        """The call of that id, if it is known."""
        return self._calls.get(call_id)

    def start(self, event: ToolUseStart) -> None:
        """A call starts."""
        known = self._calls.get(event.id or "")
        if event.id is not None and (known is None or known.answered or not known.started):
            call = Call(event.id, event.name, event.scope, started=True, answered=event.server)
            self._calls[event.id] = call

    def complete(self, event: ToolUseEnd) -> None:
        """Its input is complete."""
        call = self._calls.get(event.id or "")
        if call is not None:
            call.input = event.input

    def remember(self, call: wire.ToolCall, scope: Scope) -> None:
        """A call of the history, or one that another event emits."""
        if call.id and call.id not in self._calls:
            self._calls[call.id] = Call(call.id, call.name, scope, call.args)

    def get_or_add(self, call_id: str, scope: Scope) -> Call:
        """The call of that id; one of which no more is known is added."""
        return self._calls.setdefault(call_id, Call(call_id, UNKNOWN_TOOL, scope))

    def mark_answered(self, call_id: str | None) -> None:
        """A call of the history has its result."""
        call = self._calls.get(call_id or "")
        if call is not None and not call.started:
            call.answered = True

    def ensure_started(self, call_id: str, name: str, given: JSON, scope: Scope) -> Events:
        """A call runs: emit its start, if it was not emitted."""
        call = self._calls.setdefault(call_id, Call(call_id, name, scope, given))
        if call.started:
            return []
        call.started = True
        call.name = name if call.name == UNKNOWN_TOOL else call.name
        call.input = given if call.input is None else call.input
        if self._is_later_attempt:
            return []
        start = ToolUseStart(
            id=call.id,
            scope=call.scope,
            name=call.name,
            kind=kind_of(call.name),
            display=display_of(call.name),
        )
        given = {} if call.input is None else call.input
        return [start, ToolUseEnd(id=call.id, scope=call.scope, input=given)]

    # Results

    def add_tool_message(self, message: wire.ToolMessage, scope: Scope) -> Events:
        """A result, as the message for the model; nothing if it was emitted."""
        call_id = message.tool_call_id
        if not call_id:
            return []
        output, files = without_files(message.content, call_id, scope)
        failed = message.status == "error"
        denied = failed and isinstance(output, str) and output.startswith(_REJECTED)
        status: Outcome = "denied" if denied else "error" if failed else "ok"
        events = self.add_result(
            call_id, message.name, scope, output, status=status, structured=message.artifact
        )
        sources = sources_in(message.artifact, call_id, scope)
        return [*events, *files, *sources] if events else []

    def add_result(
        self,
        call_id: str,
        name: str | None,
        scope: Scope,
        output: JSON,
        status: Outcome = "ok",
        structured: JSON = None,
    ) -> Events:
        """A result; nothing if it was emitted."""
        known = self._calls.get(call_id)
        if known is not None and known.answered:
            return []
        events = self.ensure_started(call_id, name or UNKNOWN_TOOL, None, scope)
        call = self._calls[call_id]
        call.answered, call.input = True, None  # the input may be a whole file
        result = ToolResult(
            id=call_id, scope=call.scope, output=output, status=status, structured=structured
        )
        return [*events, result, *self.end_agent(call_id, status)]

    # Agents

    def start_agent(self, call: Call, agent: str | None) -> Events:
        """A call's agent starts; nothing if that was emitted."""
        if call.spawned:
            return []
        call.spawned = True
        arguments = as_object(call.input)
        call.agent = agent or first_text(arguments, "subagent_type") or call.name
        return [
            *self.ensure_started(call.id, call.name, call.input, call.scope),
            SubagentStart(
                id=call.id,
                scope=call.scope,
                agent=call.agent,
                task=first_text(arguments, "description"),
            ),
        ]

    def end_agent(self, call_id: str, status: Outcome) -> Events:
        """End the agent of a call, if it is running."""
        call = self._calls.get(call_id)
        if call is None or call.agent is None:
            return []
        agent, call.agent = call.agent, None
        return [SubagentEnd(id=call_id, scope=call.scope, agent=agent, status=status)]

    # Finding a call

    @property
    def unanswered(self) -> list[Call]:
        """The calls that wait for a result."""
        return [call for call in self._calls.values() if not call.answered]

    def find_call(self, name: str | None, given: JSON, scope: Scope | None = None) -> Call | None:
        """The open call of that tool without a request, preferably with that input."""
        named = [
            call
            for call in self.unanswered
            if call.name == name and not call.has_request and scope in (None, call.scope)
        ]
        same = [call for call in named if call.input == given]
        return next(iter(same or named), None)

    def find_spawner(self, scope: Scope, agent: str | None, task: JSON) -> Call | None:
        """The call that spawned an agent of which only name and task are known."""
        free = [c for c in self.unanswered if c.scope == scope and not c.spawned]
        fields = [(c, as_object(c.input)) for c in free]
        by_task = [c for c, args in fields if task and args.get("description") == task]
        by_name = [c for c, args in fields if agent and args.get("subagent_type") == agent]
        return next(iter(by_task or by_name or free), None)


def as_calls(raw: JSON) -> list[wire.ToolCall]:
    """The calls that a tool node runs."""
    items = raw if isinstance(raw, list) else [raw]
    calls = [each for each in items if isinstance(each, dict) and each.get("id") and "args" in each]
    return [convert(each, wire.ToolCall) for each in calls]
