"""Renders the log of a run as text for a terminal.

Rule 1: pure: the same entries give the same text. Times come from the entries.
Rule 2: what an agent emits is made printable: it cannot move the cursor or change colours.
Rule 3: a call that another event shows (a plan, a thought, a subagent) has no line of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, ClassVar, Final

from msgspec import Struct

from mobox.cli.terminal import summary
from mobox.cli.terminal.figures import bytes_of, duration, usage_line
from mobox.cli.terminal.layout import STEP, Block, Layout
from mobox.cli.terminal.order import Order
from mobox.cli.terminal.style import Style, Wrapped, cells, one_line
from mobox.events import (
    AGENT_STARTED,
    FAILURES,
    UNKNOWN_TOOL,
    Custom,
    Done,
    Error,
    EventType,
    File,
    InputRequest,
    InputResponse,
    LogEntry,
    Outcome,
    Retract,
    Scope,
    Source,
    Start,
    Status,
    StepStart,
    StreamEvent,
    SubagentEnd,
    SubagentStart,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    TodoEvent,
    TodoItem,
    ToolResult,
    ToolUseEnd,
    ToolUseStart,
)
from mobox.events.placeholders import Placeholders
from mobox.events.printable import prose
from mobox.events.usage import Totals, UsageTotal

SOURCES: Final = 20
"""How many are listed."""

ENDINGS: Final = {
    "cancelled": "Stopped.",
    "content_filter": "Stopped by a content filter.",
    "interrupted": "Interrupted.",
    "length": "Cut off at the maximum length.",
    "lost": "The process that executed this run has ended.",
    "max_turns": "Stopped at the turn limit.",
    "refusal": "The model declined to continue.",
    "truncated": "The answer ended unexpectedly.",
}
"""What is shown of the reasons to end."""
_OUTCOMES: Final[dict[Outcome, tuple[str, str]]] = {
    "error": ("red", "failed"),
    "denied": ("yellow", "denied"),
    "interrupted": ("dim", "interrupted"),
    "unknown": ("yellow", "result unknown"),
}
_DECISIONS: Final = {
    "approved": ("green", "approved"),
    "answered": ("green", "answered"),
    "edited": ("green", "approved with changes"),
    "denied": ("yellow", "denied"),
    "cancelled": ("dim", "withdrawn"),
}
_MOST_THOUGHT: Final = 100_000
CONTINUES: Final = frozenset(
    {
        EventType.RAW,
        EventType.SOURCE,
        EventType.STATE,
        EventType.TEXT,
        EventType.TEXT_DELTA,
        EventType.TEXT_END,
        EventType.USAGE,
    }
)
"""Events between two blocks of one text: a model starts a block for each citation."""
_PLACEHOLDER: Final = re.compile(r"<<(\{.*?\})>>", re.DOTALL)


class _Call(Struct):
    """A tool call without a result."""

    name: str
    scope: Scope
    is_hidden: bool = False
    is_shown: bool = False
    started: int | None = None
    input: Any = None


class Renderer:
    """The text of one run."""

    def __init__(self, style: Style, logs: str = "", *, shows_answer: bool = True) -> None:
        self.style = style
        self.activity = ""
        """What the run is doing, while no text streams."""
        self._layout = Layout(style)
        self._logs = logs
        self._shows_answer = shows_answer
        self._order = Order(self._layout)
        self._ts: int | None = None
        self._started: int | None = None
        self._is_simulated = False
        self._blocks: dict[str | None, Block] = {}
        self._thoughts: dict[str, str] = {}
        self._retracted = ""
        self._calls: dict[str | None, _Call] = {}
        self._names: dict[str, str] = {}  # of all calls
        self._agents_started: dict[str, int | None] = {}
        self._requests: dict[str | None, InputRequest] = {}
        self._plans: dict[Scope, tuple[TodoItem, ...]] = {}
        self._sources: dict[str, str] = {}
        self._shown: set[tuple[str, str | None]] = set()  # custom events
        self._errors: list[Error] = []  # not shown yet: the run may end with them
        self._last_error: Error | None = None
        self._last_note = ""
        self._usage = UsageTotal()

    @property
    def is_line_open(self) -> bool:
        """Whether the cursor is in the middle of a line."""
        return self._layout.is_line_open

    @property
    def waiting_agents(self) -> int:
        """How many subagents have lines that wait for those of another."""
        return self._order.waiting_agents

    def feed(self, entries: Iterable[LogEntry]) -> str:
        """The text for the next entries."""
        for entry in entries:
            for ready in self._order.add(entry):
                self._render(ready)
        return self._layout.taken()

    def flush(self) -> str:
        """The text that was held back; the cursor is then at the start of a line."""
        for ready in self._order.rest():
            self._render(ready)
        self._layout.end_line()
        return self._layout.taken()

    def _render(self, entry: LogEntry) -> None:
        self._ts = entry.ts if entry.ts is not None else self._ts
        event, live = entry.event, self._layout.live
        if live is not None and live.has_ended and event.type not in CONTINUES:
            self._layout.end_line()
        render = self.RENDERERS.get(event.type)
        if render is not None:
            render(self, event)

    # Lines

    def _line(self, scope: Scope, text: str, about: str | None = None) -> None:
        self._show_errors()
        self._last_note = ""
        self._layout.line(scope, text, about=about)

    def _note(self, scope: Scope, text: str, how: str = "dim") -> None:
        """A line of progress, unless it repeats the one above."""
        symbol = self.style.symbols.note
        shown = self.style.fits(text, self._used(scope, symbol), most=400)
        if shown and shown != self._last_note:
            self._line(scope, self.style.paint(how, f"{symbol} {shown}"))
            self._last_note = shown

    def _below(self, scope: Scope, how: str, text: str, took: str = "") -> None:
        """A line below the line of a call."""
        symbol = self.style.symbols.result
        used = self._used(scope, STEP + symbol) + cells(took)
        line = self.style.paint(how, f"{symbol} {self.style.fits(text, used)}{took}")
        self._line(scope, STEP + line, self._layout.last)

    def _used(self, scope: Scope, symbol: str) -> int:
        return len(STEP) * len(scope) + cells(symbol) + 1

    def _took(self, since: int | None) -> str:
        ms = self._ts - since if since is not None and self._ts is not None else 0
        return f" · {duration(ms)}" if ms >= 1000 else ""

    # The run

    def _start(self, event: Start) -> None:
        self._started, self._is_simulated = self._ts, event.simulated

    def _status(self, event: Status) -> None:
        self.activity = one_line(event.message)
        if event.kind != "progress":
            self._note(event.scope, event.message)

    def _step(self, event: StepStart) -> None:
        if event.kind == "task" and event.name:
            self._note(event.scope, event.name)
        elif event.kind == "compaction":
            self._note(event.scope, "Compacting the conversation")

    def _custom(self, event: Custom) -> None:
        """A line for each; one that replaces an earlier one has none."""
        name = (event.name, event.id)
        if event.name == AGENT_STARTED or (event.id is not None and name in self._shown):
            return
        self._shown.add(name)
        value = "" if event.value is None else summary.of_input(event.value)
        self._item(event.scope, f"{one_line(event.name, 80)} {value}")

    def _file(self, event: File) -> None:
        name = event.name or event.url or event.file_id or "file"
        size = event.size
        if size is None and event.base64 is not None:
            size = len(event.base64) * 3 // 4
        facts = [name, event.media_type, *([] if size is None else [bytes_of(size)])]
        self._item(event.scope, " · ".join(facts))

    def _item(self, scope: Scope, text: str) -> None:
        symbol = self.style.symbols.file
        shown = self.style.fits(text, self._used(scope, symbol))
        self._line(scope, f"{self.style.paint('cyan', symbol)} {shown}".rstrip())

    def _source(self, event: Source) -> None:
        where = event.url or event.document or event.file
        if where:
            self._sources.setdefault(where, event.title or "")

    # Texts and thoughts

    def _opening(self, event: Text | Thinking) -> None:
        if self._is_repeated(event):
            return
        block = self._block(event)
        content = "(redacted)" if isinstance(event, Thinking) and event.redacted else event.content
        if content:
            between = "\n\n" if block.has_text and block.is_thought else ""
            self._stream(block, between + content)
            self._remember(event, content)

    def _is_repeated(self, event: Text | Thinking) -> bool:
        """Whether it is a thought that was shown as part of a retracted one."""
        if not isinstance(event, Thinking) or not event.content or not self._retracted:
            return False
        return one_line(event.content, _MOST_THOUGHT) in self._retracted

    def _delta(self, event: TextDelta | ThinkingDelta) -> None:
        self._stream(self._block(event), event.delta)
        self._remember(event, event.delta)

    def _remember(self, event: StreamEvent, piece: str) -> None:
        if isinstance(event, Thinking | ThinkingDelta) and event.id is not None:
            self._thoughts[event.id] = self._thoughts.get(event.id, "") + piece

    def _block(self, event: Text | TextDelta | Thinking | ThinkingDelta) -> Block:
        is_thought = isinstance(event, Thinking | ThinkingDelta)
        block = self._blocks.get(event.id) or self._continued(event)
        if block is None or block.is_thought is not is_thought:
            depth = len(event.scope) + is_thought
            wrapped = Wrapped(STEP * depth, self.style.width)
            placeholders = Placeholders(lambda _: None)
            block = Block(event.scope, is_thought, wrapped, placeholders)
            self._blocks[event.id] = block
        return block

    def _continued(self, event: StreamEvent) -> Block | None:
        """The text before, if this block continues its line."""
        live = self._layout.live
        if live is None or not live.has_ended or live.scope != event.scope:
            return None
        live.has_ended = False
        self._blocks[event.id] = live
        return live

    def _stream(self, block: Block, piece: str) -> None:
        self.activity = ""
        self._write(block, _PLACEHOLDER.sub(self._chart, block.placeholders.feed(piece)))

    def _write(self, block: Block, piece: str) -> None:
        is_answer = not block.is_thought and not block.scope
        if piece and (self._shows_answer or not is_answer):
            self._show_errors()
            self._last_note = ""
            self._layout.stream(block, prose(piece))

    def _close(self, event: StreamEvent) -> None:
        block = self._blocks.pop(event.id, None)
        if block is not None:
            self._write(block, block.placeholders.flush())
            block.has_ended = True
            if block is self._layout.live and block.is_thought:
                self._layout.end_line()

    def _chart(self, found: re.Match[str]) -> str:
        """What stands for a placeholder: the name of the call whose result a page shows there."""
        with suppress(ValueError, RecursionError):
            values = [each for each in json.loads(found[1]).values() if isinstance(each, str)]
            names = [self._names[each] for each in values if each in self._names]
            return f"[chart: {names[0]}]" if names else found[0]
        return found[0]

    def _retract(self, event: Retract) -> None:
        """What was shown stays. A thought is only replaced by a part of it, or a plan."""
        thoughts = [self._thoughts[name] for name in event.blocks if name in self._thoughts]
        self._retracted += one_line("\n".join(thoughts), _MOST_THOUGHT)
        if len(thoughts) < len(event.blocks):
            self._note(event.scope, "The answer broke off and is sent again", "yellow")

    # Tool calls

    def _start_call(self, event: ToolUseStart) -> None:
        is_hidden = event.display is not None or event.kind == "agent"
        self._calls[event.id] = _Call(
            name=event.name, scope=event.scope, is_hidden=is_hidden, input=event.input
        )
        self._names[event.id or ""] = self.activity = one_line(event.name, 80)

    def _end_call(self, event: ToolUseEnd) -> None:
        call = self._call(event)
        call.started = self._ts
        given = event.input if event.invalid is None else event.invalid
        call.input = call.input if given is None else given
        if not call.is_hidden:
            self._show_call(event.id, call)

    def _call(self, event: ToolUseEnd | ToolResult) -> _Call:
        return self._calls.setdefault(event.id, _Call(name=UNKNOWN_TOOL, scope=event.scope))

    def _show_call(self, name: str | None, call: _Call) -> None:
        style, shown = self.style, one_line(call.name, 80)
        symbol = style.symbols.call
        given = style.fits(summary.of_input(call.input), self._used(call.scope, symbol + shown) + 1)
        line = f"{style.paint('cyan', symbol)} {style.paint('bold', shown)} {given}"
        self._line(call.scope, line.rstrip(), name)
        call.is_shown = True

    def _result(self, event: ToolResult) -> None:
        call = self._call(event)
        self.activity = one_line(call.name, 80)
        if event.partial:
            return
        self._calls.pop(event.id)
        if call.is_hidden and (event.status == "ok" or event.id in self._layout.agents):
            return
        if not call.is_shown:
            self._show_call(event.id, call)
        how, text = _outcome(event.status, summary.of_result(event.output))
        is_below = self._layout.last == event.id
        named = text if is_below else f"{one_line(call.name, 80)}: {text}"
        self._below(call.scope, how, named, self._took(call.started))

    def _start_agent(self, event: SubagentStart) -> None:
        name, call = self._agent_name(event.agent), event.id or ""
        self._layout.agents[call] = name
        self._agents_started[call] = self._ts
        self.activity = name
        self._show_errors()
        if self._layout.last == call:  # its work is below the line of its call
            return
        style = self.style
        task = style.fits(event.task or "", self._used(event.scope, f"{style.symbols.call}{name}"))
        line = f"{style.paint('cyan', style.symbols.call)} {style.paint('bold', name)} {task}"
        self._line(event.scope, line.rstrip(), call)
        self._layout.enter((*event.scope, call))

    def _agent_name(self, agent: str) -> str:
        """The name, with a number if there is one of that name."""
        name = one_line(agent, 80) or "subagent"
        names, number = self._layout.agents.values(), 1
        while (numbered := name if number == 1 else f"{name} {number}") in names:
            number += 1
        return numbered

    def _end_agent(self, event: SubagentEnd) -> None:
        call = event.id or ""
        if event.status == "ok" and call in self._calls and self._calls[call].is_shown:
            return  # its result is shown
        name = self._layout.agents.get(call) or one_line(event.agent or "subagent", 80)
        how, text = _outcome(event.status, "finished")
        if event.status != "ok" and event.summary:
            text = f"{text}: {event.summary}"
        is_inside = self._layout.agent[: len(event.scope) + 1] == (*event.scope, call)
        took = self._took(self._agents_started.get(call))
        self._below(event.scope, how, text if is_inside else f"{name}: {text}", took)

    # Plans and requests

    def _plan(self, event: TodoEvent) -> None:
        if event.items and event.items != self._plans.get(event.scope):
            self._show_errors()
            self._plans[event.scope] = event.items
            self._layout.plan(event.scope, [self._todo(event.scope, each) for each in event.items])

    def _todo(self, scope: Scope, item: TodoItem) -> str:
        symbol: str = getattr(self.style.symbols, item.status)
        is_current = item.status == "in_progress"
        content = item.active_form if is_current and item.active_form else item.content
        shown = f"{symbol} {self.style.fits(content, self._used(scope, symbol))}"
        looks = {"in_progress": "bold", "completed": "dim"}
        look = looks.get(item.status)
        return shown if look is None else self.style.paint(look, shown)

    def _request(self, event: InputRequest) -> None:
        self._requests[event.id] = event
        if event.kind == "tool":  # of a page: no person answers it
            return
        call = self._calls.get(event.tool_call_id)
        scope = event.scope if call is None else call.scope
        asked = (event.prompt or "").strip()
        words = asked or self._question(call if event.kind == "approval" else None)
        first, *more = prose(words).strip().splitlines() if call is None else [one_line(words)]
        symbol = self.style.symbols.question
        shown = self.style.fits(first, self._used(scope, symbol), most=600)
        is_cut = call is None and shown != one_line(first)
        self._line(scope, self.style.paint("bold", f"{symbol} {shown}"), event.tool_call_id)
        for line in [first, *more] if is_cut else more:
            wrapped = Wrapped(STEP * (len(scope) + 1), self.style.width)
            self._layout.line(scope, f"{STEP}{wrapped.feed(line)}{wrapped.end()}".rstrip())

    def _question(self, call: _Call | None) -> str:
        return "The agent has a question." if call is None else f"Allow {one_line(call.name, 80)}?"

    def _response(self, event: InputResponse) -> None:
        request = self._requests.pop(event.id, None)
        call = self._calls.get(request.tool_call_id) if request is not None else None
        how, text = _DECISIONS[event.decision]
        if event.automatic:
            text = "approved: allowed in this chat"
        elif event.permission:
            text = "approved, and allowed in this chat"
        elif event.comment:
            text = f"{text}: {event.comment}"
        elif event.decision in ("answered", "edited"):
            text = f"{text}: {summary.of_answer(event.value)}"
        scope = call.scope if call is not None else event.scope
        self._below(scope, how, text)
        if call is not None:
            call.started = self._ts  # the time until the answer is not the tool's

    # Errors and the end

    def _error(self, event: Error) -> None:
        self._errors.append(event)
        self._last_error = event

    def _show_errors(self) -> None:
        """The run goes on after these errors: they are notices."""
        held, self._errors = self._errors, []
        for error in held:
            self._note(error.scope, error.message, "yellow")

    def _end(self, event: Done) -> None:
        fatal = self._last_error if event.reason in FAILURES else None
        self._errors = [each for each in self._errors if fatal is None or _differ(each, fatal)]
        self._show_errors()
        self._list_sources()
        if fatal is not None:
            self._fail(fatal)
        elif (ending := ENDINGS.get(event.reason)) is not None:
            self._layout.line((), self.style.paint("yellow", ending), "end")
        elif event.reason in FAILURES:
            self._fail(Error(message="The run failed."))
        self._show_usage()
        self.activity = ""

    def _fail(self, error: Error) -> None:
        style = self.style
        message = prose(error.message).strip() or "The run failed."
        indented = message.replace("\n", f"\n{STEP}")
        self._layout.line((), style.paint("red", f"{style.symbols.error} {indented}"), "end")
        if hints := [*filter(None, (one_line(error.code or "", 80), self._logs))]:
            self._layout.line((), style.paint("dim", STEP + " · ".join(hints)), "end")

    def _list_sources(self) -> None:
        if not self._sources:
            return
        self._layout.line((), self.style.paint("dim", "Sources"), "sources")
        for number, (where, title) in enumerate(list(self._sources.items())[:SOURCES], 1):
            shown = f"{one_line(title, 200)} " if title and title != where else ""
            line = f"{STEP}{number}. {shown}{self.style.paint('dim', one_line(where, 400))}"
            self._layout.line((), line, "sources")
        if (more := len(self._sources) - SOURCES) > 0:
            self._layout.line((), self.style.paint("dim", f"{STEP}and {more} more"), "sources")

    def _use(self, event: Any) -> None:
        with suppress(OverflowError):
            self._usage.add(event)

    def _show_usage(self) -> None:
        ms = None if self._ts is None or self._started is None else self._ts - self._started
        facts = usage_line(self._usage.totals or Totals(), ms, is_simulated=self._is_simulated)
        if facts:
            self._layout.line((), self.style.paint("dim", facts), "end")

    RENDERERS: ClassVar[dict[EventType, Callable[[Renderer, Any], None]]] = {
        EventType.START: _start,
        EventType.DONE: _end,
        EventType.ERROR: _error,
        EventType.STATUS: _status,
        EventType.TEXT: _opening,
        EventType.TEXT_DELTA: _delta,
        EventType.TEXT_END: _close,
        EventType.THINKING: _opening,
        EventType.THINKING_DELTA: _delta,
        EventType.THINKING_END: _close,
        EventType.TOOL_USE_START: _start_call,
        EventType.TOOL_USE_END: _end_call,
        EventType.TOOL_RESULT: _result,
        EventType.STEP_START: _step,
        EventType.SUBAGENT_START: _start_agent,
        EventType.SUBAGENT_END: _end_agent,
        EventType.TODO_CREATE: _plan,
        EventType.TODO_UPDATE: _plan,
        EventType.TODO_DONE: _plan,
        EventType.SOURCE: _source,
        EventType.FILE: _file,
        EventType.INPUT_REQUEST: _request,
        EventType.INPUT_RESPONSE: _response,
        EventType.USAGE: _use,
        EventType.RESULT: _use,
        EventType.RETRACT: _retract,
        EventType.CUSTOM: _custom,
    }
    """The other events have nothing to show."""


def _outcome(status: Outcome, text: str) -> tuple[str, str]:
    """The look and the words of a result."""
    if status == "ok":
        return "dim", text
    how, word = _OUTCOMES[status]
    return how, word if text in ("done", "finished") else f"{word}: {text}"


def _differ(one: Error, other: Error) -> bool:
    return one is not other and one.message != other.message
