"""A run's log as a script: the model answers again as it did in that run.

The agent's root is the scenario of every conversation; each of its subagents has one of its own,
chosen by its task.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, Final

from mobox.events import (
    LogEntry,
    Scope,
    StepStart,
    StreamEvent,
    SubagentStart,
    Text,
    Thinking,
    ToolResult,
    ToolUseStart,
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
STATUSES: Final = {"rate_limited": 429, "overloaded": 529, "auth": 401, "context_length": 400}
"""The errors of a run that a provider's response causes."""


def from_log(entries: Iterable[LogEntry]) -> script.Script:
    """The script of a run."""
    entries = list(entries)
    turns = _Turns()
    for entry in entries:
        turns.add(entry.event)
    message = build_message(entries, ROOT)
    parts = parts_for_history(message)
    scenarios = {ROOT: script.Scenario(_ended(turns.filled(parts, ()), message))}
    for number, (scope, task) in enumerate(turns.tasks.items(), 1):
        filled = turns.filled(parts, scope)
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
                if scope in self._has_result and scope not in self._numbered:
                    self._turn[scope] += 1
                self._has_result.discard(scope)
                self._of[event.id] = (scope, self._turn[scope])
            case _:
                pass

    def filled(self, parts: list[AnyPart], scope: Scope) -> list[list[script.Step]]:
        """The steps of each turn of one agent."""
        turns: defaultdict[int, list[script.Step]] = defaultdict(list)
        sources = {
            part.source.id: part.source.url
            for part in parts
            if isinstance(part, SourcePart) and part.source.url
        }
        for part in parts:
            place = self._of.get(_id_of(part))
            if place is not None and place[0] == scope:
                turns[place[1]] += _steps(part, sources)
        return [turns[number] for number in sorted(turns) if turns[number]]


def _id_of(part: AnyPart) -> str:
    if isinstance(part, FilePart):
        return part.file.id or ""
    return part.id if isinstance(part, TextPart | ThinkingPart | ToolPart) else ""


def _steps(part: AnyPart, sources: dict[str | None, str]) -> Iterator[script.Step]:
    match part:
        case ThinkingPart() if part.source in THOUGHTS and (part.text or part.redacted):
            yield script.Think(part.text, part.redacted)
        case TextPart(kind="refusal"):
            yield script.Refuse(part.text)
        case TextPart() if part.text and part.id in sources:
            yield script.Cite(part.text, sources[part.id])
        case TextPart() if part.text:
            yield script.Text(part.text)
        case ToolPart(server=True) if part.kind in SERVER_TOOLS:
            yield _server_tool(part)
        case ToolPart(server=False):
            malformed = part.input_text if part.invalid else None
            given = part.input if isinstance(part.input, dict) else {}
            yield script.Tool(part.name, given, malformed, part.id)
        case FilePart() if part.file.base64:
            yield script.File(part.file.media_type, part.file.base64, part.file.name or "")
        case _:
            pass


def _server_tool(part: ToolPart) -> script.ServerTool:
    given: Any = part.input if isinstance(part.input, dict) else {}
    text = str(given.get("query") or given.get("code") or part.input or "")
    output = part.output if isinstance(part.output, str) else ""
    if part.kind == "code":
        return script.ServerTool("code_execution", text, output=output, id=part.id)
    return script.ServerTool("web_search", text, id=part.id)


def _ended(turns: list[list[script.Step]], message: Message) -> list[list[script.Step]]:
    """The turns with what ended the run: a limit, or an error of the provider."""
    status = STATUSES.get(message.error_code or "") if message.reason == "error" else None
    if status is not None:
        fail = script.Fail(status, message.error or "")
        is_open = turns and not any(isinstance(step, script.Tool) for step in turns[-1])
        return [*turns[:-1], [*turns[-1], fail]] if is_open else [*turns, [fail]]
    if message.reason == "length" and turns:
        turns[-1].append(script.MaxTokens())
    return turns
