"""A run's log as a script: the model answers again as it did in that run.

The agent's root is the scenario of every conversation; each of its subagents has one of its own,
chosen by its task.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from operator import itemgetter
from typing import Any, Final

from mobox.events import (
    File,
    LogEntry,
    Scope,
    Source,
    StepStart,
    StreamEvent,
    SubagentStart,
    Text,
    Thinking,
    ToolResult,
    ToolUseStart,
    Usage,
)
from mobox.events.message import (
    AnyPart,
    FilePart,
    Message,
    SourcePart,
    TextPart,
    ThinkingPart,
    ToolPart,
    parts_for_history,
)
from mobox.events.transcript import build_message
from mobox.models.simulator import script

ROOT: Final = "run"
THOUGHTS: Final = ("model", "summary")
"""Sources of a model's own thoughts; others show a tool's input."""
SERVER_TOOLS: Final = {"search": "web_search", "code": "code_execution"}
ASKED: Final = ("query", "code", "queries")
"""Where the calls of these tools have their query or code."""
PRINTED: Final = ("stdout", "logs", "output")
"""Where their results have what the code printed."""
REFUSALS: Final = ("refusal", "content_filter")
STATUSES: Final = {"rate_limited": 429, "overloaded": 529, "auth": 401, "context_length": 400}
"""The errors of a run that a provider's response causes."""


def from_log(entries: Iterable[LogEntry]) -> script.Script:
    """The script of a run."""
    entries = list(entries)
    turns = _Turns()
    for entry in entries:
        turns.add(entry.event)
    message = build_message(entries, ROOT)
    blocks = _Blocks(parts_for_history(message))
    scenarios = {ROOT: script.Scenario(_ended(turns.filled(blocks, ()), message))}
    for number, (scope, task) in enumerate(turns.tasks.items(), 1):
        filled = turns.filled(blocks, scope)
        if filled and task:
            scenarios[f"subagent-{number}"] = script.Scenario(filled, when=task)
    return script.Script(scenarios, default=ROOT)


class _Turns:
    """Which turn of which agent each block belongs to.

    A turn starts where the log says so. Where it does not, it starts with the first block after a
    tool's result.
    """

    def __init__(self) -> None:
        self.tasks: dict[Scope, str] = {}
        self._turn: defaultdict[Scope, int] = defaultdict(int)
        self._of: dict[str, tuple[Scope, int]] = {}
        self._numbered: set[Scope] = set()
        self._has_result: set[Scope] = set()
        self._usage: dict[str, tuple[Scope, int, Usage]] = {}
        """By call; its last event, which comes behind the call's blocks, counts."""

    def add(self, event: StreamEvent) -> None:
        scope = event.scope
        match event:
            case StepStart(kind="turn"):
                self._numbered.add(scope)
                self._turn[scope] += 1
            case SubagentStart() if event.id is not None:
                self.tasks[(*scope, event.id)] = event.task or ""
            case ToolResult():
                self._has_result.add(scope)
            case Text() | Thinking() | ToolUseStart() if event.id is not None:
                self._place(event.id, scope)
            case File() if event.id is not None and event.id not in self._of:
                self._place(event.id, scope)
            case Usage(per="call") if event.id is not None:
                self._usage[event.id] = (scope, self._turn[scope], event)
            case _:
                pass

    def _place(self, block: str, scope: Scope) -> None:
        if scope in self._has_result and scope not in self._numbered:
            self._turn[scope] += 1
        self._has_result.discard(scope)
        self._of[block] = (scope, self._turn[scope])

    def filled(self, blocks: _Blocks, scope: Scope) -> list[list[script.Step]]:
        """The steps of each turn of one agent."""
        turns: defaultdict[int, list[script.Step]] = defaultdict(list)
        for part in blocks.parts:
            place = self._of.get(_id_of(part))
            if place is not None and place[0] == scope:
                turns[place[1]] += blocks.steps(part)
        used = {turn: usage for agent, turn, usage in self._usage.values() if agent == scope}
        for number, usage in used.items():
            if turns[number]:
                turns[number].append(_tokens(usage))
        return [turns[number] for number in sorted(turns) if turns[number]]


def _tokens(usage: Usage) -> script.Usage:
    return script.Usage(
        usage.input, usage.output, usage.cache_read or 0, usage.cache_write or 0, usage.reasoning
    )


def _id_of(part: AnyPart) -> str:
    if isinstance(part, FilePart):
        return part.file.id or ""
    return part.id if isinstance(part, TextPart | ThinkingPart | ToolPart) else ""


class _Blocks:
    """The blocks of a message as steps, each with its sources."""

    def __init__(self, parts: list[AnyPart]) -> None:
        self.parts = parts
        self._sources: defaultdict[str | None, list[Source]] = defaultdict(list)
        self._tools: set[str] = set()
        for part in parts:
            if isinstance(part, SourcePart) and part.source.url:
                self._sources[part.source.id].append(part.source)
            if isinstance(part, ToolPart) and not part.server:
                self._tools.add(part.id)

    def steps(self, part: AnyPart) -> Iterator[script.Step]:
        """The steps of one block; none if no model wrote it."""
        match part:
            case ThinkingPart() if part.source in THOUGHTS and (part.text or part.redacted):
                yield script.Think(part.text, part.redacted)
            case TextPart(kind="refusal"):
                yield script.Refuse(part.text)
            case TextPart() if part.text:
                yield from _cited(part.text, self._sources[part.id])
            case ToolPart(server=True) if part.kind in SERVER_TOOLS:
                yield self._server_tool(part)
            case ToolPart(server=False):
                malformed = part.input_text if part.invalid else None
                given = part.input if isinstance(part.input, dict) else {}
                yield script.Tool(part.name, given, malformed, part.id)
            case FilePart() if part.file.base64 and part.file.id not in self._tools:
                yield script.File(part.file.media_type, part.file.base64, part.file.name or "")
            case _:
                pass

    def _server_tool(self, part: ToolPart) -> script.ServerTool:
        given = _first_text([part.input, part.output], ASKED)
        if part.kind == "code":
            output = part.output if isinstance(part.output, str) else ""
            printed = output or _first_text(part.output, PRINTED)
            return script.ServerTool("code_execution", given, output=printed, id=part.id)
        pages = [
            script.Page(source.url or "", source.title or "", source.cited_text or "")
            for source in self._sources[part.id]
        ]
        return script.ServerTool("web_search", given, pages, id=part.id)


def _first_text(value: Any, names: Collection[str]) -> str:
    """The first text under one of these names, at any depth."""
    if isinstance(value, list):
        return next((text for each in value if (text := _first_text(each, names))), "")
    if not isinstance(value, dict):
        return ""
    for name in names:
        found = value.get(name)
        first = found[0] if isinstance(found, list) and found else found
        if isinstance(first, str) and first:
            return first
    return _first_text(list(value.values()), names)


def _cited(text: str, sources: list[Source]) -> Iterator[script.Step]:
    """A text in steps: its cited places; without places the first source is that of all of it."""
    end = 0
    places = sorted((place for each in sources if (place := _place(each, text))), key=itemgetter(0))
    for start, stop, source in places or [(0, len(text), each) for each in sources[:1]]:
        if start < end:
            continue  # a second source of the same place
        if start > end:
            yield script.Text(text[end:start])
        cited = text[start:stop]
        quote = source.cited_text if source.cited_text != cited else ""
        yield script.Cite(cited, source.url or "", source.title or "", quote or "")
        end = stop
    if end < len(text):
        yield script.Text(text[end:])


def _place(source: Source, text: str) -> tuple[int, int, Source] | None:
    where = source.location if isinstance(source.location, dict) else {}
    start = where.get("start_index", where.get("startIndex"))
    stop = where.get("end_index", where.get("endIndex"))
    if isinstance(start, int) and isinstance(stop, int) and 0 <= start < stop <= len(text):
        return start, stop, source
    return None


def _ended(turns: list[list[script.Step]], message: Message) -> list[list[script.Step]]:
    """The turns with what ended the run: a limit, a refusal, or an error of the provider."""
    status = STATUSES.get(message.error_code or "") if message.reason == "error" else None
    if status is not None:
        fail = script.Fail(status, message.error or "")
        is_open = turns and not any(isinstance(step, script.Tool) for step in turns[-1])
        return [*turns[:-1], [*turns[-1], fail]] if is_open else [*turns, [fail]]
    last = turns[-1] if turns else []
    if message.reason in REFUSALS and not any(isinstance(step, script.Refuse) for step in last):
        return [*turns[:-1], [*last, script.Refuse()]]
    if message.reason == "length" and turns:
        turns[-1].append(script.MaxTokens())
    return turns
