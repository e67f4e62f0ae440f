"""Detects the format of a stream's lines, among all known formats.

Rule 1: only the shapes of lines count, never their content. No I/O except importing parsers.
Rule 2: the confidence in a format is the share of the lines that it explains, each counted with the
        confidence of its shape. A parser explains the simplified lines too, because it reads them.
Rule 3: text that is not JSON, and exceptions, are no evidence for a format.
Rule 4: no line is kept, as one may be large.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from mobox.errors import PluginError, UnknownFramework
from mobox.events import JSON, Error, EventType, Raw, StreamEvent
from mobox.events.printable import on_one_line
from mobox.parsers import GROUP, EmittedParser, frameworks
from mobox.parsers.emitted import EMITTED
from mobox.parsers.formats import Format, has_keys, kind_in, kind_starts_with
from mobox.parsers.values import is_exception
from mobox.registry import find

# Well-known formats without a parser yet, so that an error can name the format.
#
# When a framework gets a parser, move its row into the `formats` of that parser.

_PYDANTIC_KINDS: Final = (
    "part_start", "part_delta", "part_end", "final_result", "function_tool_call",
    "function_tool_result", "builtin_tool_call", "builtin_tool_result", "output_tool_call",
    "output_tool_result", "agent_run_result", "deferred_tool_requests", "deferred_tool_results",
    "enqueued_messages",
)  # fmt: skip
_PYDANTIC_CLASSES: Final = (
    "PartStartEvent", "PartDeltaEvent", "PartEndEvent", "FinalResultEvent",
    "FunctionToolCallEvent", "FunctionToolResultEvent", "OutputToolCallEvent",
    "OutputToolResultEvent", "BuiltinToolCallEvent", "BuiltinToolResultEvent",
    "AgentRunResultEvent", "DeferredToolRequestsEvent", "DeferredToolResultsEvent",
)  # fmt: skip
_AG_UI: Final = (
    "RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "STEP_STARTED", "STEP_FINISHED",
    "STATE_SNAPSHOT", "STATE_DELTA", "MESSAGES_SNAPSHOT",
)  # fmt: skip
_AI_SDK: Final = (
    "start", "finish", "start-step", "finish-step", "reset-step", "abort", "message-metadata",
)  # fmt: skip
_AI_SDK_PREFIXES: Final = (
    "text-", "reasoning-", "tool-input-", "tool-output-", "tool-approval-", "source-", "data-",
)  # fmt: skip
_CONVERSE: Final = (
    "messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop",
    "metadata", "redactContent",
)  # fmt: skip
_STRANDS: Final = (
    "init_event_loop", "start_event_loop", "event_loop_cycle_id", "event_loop_throttled_delay",
    "current_tool_use", "tool_stream_event", "tool_interrupt_event",
)  # fmt: skip
_LLAMA_INDEX: Final = (
    "AgentInput", "AgentSetup", "AgentStream", "AgentStreamStructuredOutput", "AgentOutput",
    "AgentWorkflowStartEvent", "ToolCallResult", "InputRequiredEvent", "HumanResponseEvent",
)  # fmt: skip
_AUTOGEN: Final = (
    "TextMessage", "MultiModalMessage", "ModelClientStreamingChunkEvent", "ThoughtEvent",
    "ToolCallRequestEvent", "ToolCallExecutionEvent", "ToolCallSummaryMessage", "HandoffMessage",
    "StopMessage", "UserInputRequestedEvent", "MemoryQueryEvent", "StructuredMessage",
)  # fmt: skip
_CREW_CHANNELS: Final = ("llm", "flow", "tools", "messages", "lifecycle", "custom")
_CODEX: Final = ("thread.started", "turn.started", "turn.completed", "turn.failed")
_COHERE: Final = (
    "message-start", "content-start", "content-delta", "content-end", "tool-plan-delta",
    "tool-call-start", "tool-call-delta", "tool-call-end", "citation-start", "citation-end",
    "message-end",
)  # fmt: skip


def _converse(line: JSON) -> float:
    """An event of the Converse API: an object of one member, which names it."""
    if not isinstance(line, dict) or len(line) != 1:
        return 0.0
    ((name, value),) = line.items()
    return 0.9 if name in _CONVERSE and isinstance(value, dict) else 0.0


def _strands(line: JSON) -> float:
    if not isinstance(line, dict):
        return 0.0
    if any(name in line for name in _STRANDS):
        return 1.0
    if len(line) == 1 and (line.get("start") is True or "message" in line or "result" in line):
        return 0.5
    return 1.0 if len(line) == 1 and _converse(line.get("event")) else 0.0


def _llama_index_call(line: JSON) -> float:
    is_call = kind_in("type", ("ToolCall",), "data")(line) > 0
    return has_keys("tool_name", "tool_kwargs")(line["data"]) if is_call else 0.0


def _agno(line: JSON) -> float:
    who = ("agent_id", "team_id", "workflow_id")
    name = line.get("event") if isinstance(line, dict) else None
    is_event = isinstance(name, str) and name[:1].isupper() and "run_id" in line
    return float(is_event and any(key in line for key in who))


def _ai_sdk(line: JSON) -> float:
    named = kind_starts_with("type", *_AI_SDK_PREFIXES)(line)
    return max(named * 0.9, kind_in("type", _AI_SDK, confidence=0.6)(line))


def _a2a(line: JSON) -> float:
    result = line.get("result", line) if isinstance(line, dict) else None
    kind = kind_in("kind", ("status-update", "artifact-update"), confidence=0.9)(result)
    return max(kind, has_keys("statusUpdate")(result), has_keys("artifactUpdate")(result))


UNSUPPORTED: Final = (
    Format(
        "pydantic-ai's events",
        (
            kind_in("event_kind", _PYDANTIC_KINDS),
            kind_in("_class", _PYDANTIC_CLASSES),
            kind_in("type", _PYDANTIC_CLASSES),
        ),
    ),
    Format(
        "AG-UI's events",
        (
            kind_in("type", _AG_UI),
            kind_starts_with(
                "type", "TEXT_MESSAGE_", "TOOL_CALL_", "THINKING_", "REASONING_", "ACTIVITY_"
            ),
            kind_in("type", ("RAW", "CUSTOM"), confidence=0.5),
        ),
    ),
    Format("the AI SDK's UI message chunks", (_ai_sdk,)),
    Format("Agno's events", (_agno,)),
    Format("Strands' events", (_strands,)),
    Format("Amazon Bedrock's Converse events", (_converse,)),
    Format(
        "LlamaIndex's workflow events",
        (
            kind_in("type", _LLAMA_INDEX),
            kind_in("_class", _LLAMA_INDEX),
            _llama_index_call,
            kind_in("type", ("StopEvent",), "data", confidence=0.6),
            has_keys("response", "current_agent_name", confidence=0.9),
            has_keys("tool_name", "tool_kwargs", confidence=0.9),
        ),
    ),
    Format(
        "Microsoft Agent Framework's updates",
        (
            kind_in("type", ("AgentResponseUpdate", "AgentRunResponseUpdate"), "contents"),
            kind_in("type", ("agent_response_update", "chat_response_update"), "contents"),
            kind_in("_class", ("AgentResponseUpdate", "WorkflowEvent")),
        ),
    ),
    Format(
        "AutoGen's messages",
        (kind_in("type", _AUTOGEN, "source"), kind_in("_class", _AUTOGEN, "source")),
    ),
    Format(
        "CrewAI's stream frames",
        (
            kind_in("channel", _CREW_CHANNELS, "namespace", "data"),
            kind_in("chunk_type", ("text", "tool_call"), "content"),
            kind_starts_with("type", "crew_", "flow_", "llm_call_", "llm_stream_", "tool_usage_"),
        ),
    ),
    Format(
        "Codex's events",
        (kind_in("type", _CODEX), kind_starts_with("type", "item.", confidence=0.8)),
    ),
    Format(
        "ACP's messages",
        (kind_in("method", ("session/update", "session/request_permission"), "params"),),
    ),
    Format("A2A's events", (_a2a,)),
    Format("Mastra's chunks", (has_keys("type", "runId", "from", "payload"),)),
    Format(
        "Ollama's responses",
        (has_keys("model", "created_at", "done", "message"), has_keys("model", "done", "response")),
    ),
    Format("Cohere's events", (kind_in("type", _COHERE, confidence=0.8),)),
    Format(
        "the OpenAI Assistants API's events",
        (kind_starts_with("event", "thread.", confidence=0.9),),
    ),
    Format(
        "the events of OpenAI's stream helper",
        (
            kind_starts_with("type", "content.", "tool_calls.function.", "refusal.", "logprobs."),
            kind_in("type", ("chunk",), confidence=0.5),
        ),
    ),
    Format("Gradio's chat messages", (has_keys("role", "content", "options", "metadata"),)),
)


LOOK_AT: Final = 32
"""Maximum number of lines that are compared."""
LEAST: Final = 0.3
"""The minimum confidence; a smaller one may be chance."""


class Guess(NamedTuple):
    """The detected format of a stream."""

    name: str
    framework: str | None
    """The framework whose parser reads it; `None` if there is no parser."""
    confidence: float


def detect(lines: Iterable[JSON]) -> Guess | None:
    """The most likely format of these lines, if any."""
    detector = Detector()
    for line in lines:
        detector.see(line)
    return detector.guess()


class Detector:
    """Compares the first lines of a stream with all formats."""

    def __init__(self) -> None:
        self._seen = 0
        self._candidates: list[_Candidate] = []

    @property
    def has_enough(self) -> bool:
        """Whether more lines would change nothing."""
        return self._seen >= LOOK_AT

    def see(self, line: JSON) -> None:
        """Take one line."""
        if self.has_enough or not _is_evidence(line):
            return
        if not self._seen:  # parsers are imported with the first line
            self._candidates = list(_candidates())
        self._seen += 1
        for candidate in self._candidates:
            try:
                candidate.see(line)
            except Exception:  # a plugin's shapes may raise anything, and this is only a guess
                continue

    def guess(self) -> Guess | None:
        """The most likely format of the lines, if any."""
        guesses = [each.guess(self._seen) for each in self._candidates if each.is_likely]
        best = max(guesses, key=lambda guess: guess.confidence, default=None)
        if best is None or best.confidence < LEAST:
            return None
        narrowed = (each.narrowed(best) for each in self._candidates)
        return next(filter(None, narrowed), best)


class _Candidate:
    """How well the lines so far match one framework, or a format without a parser."""

    def __init__(self, framework: str | None, formats: tuple[Format, ...]) -> None:
        self._framework = framework
        self._likely = {each: 0.0 for each in formats if each.narrows is None}
        self._marks = {each: 0.0 for each in formats if each.narrows is not None}
        self._explained = 0.0

    def see(self, line: JSON) -> None:
        likely = {each: each.confidence(line) for each in self._likely}
        for each, confidence in likely.items():
            self._likely[each] += confidence
        for each in self._marks:
            self._marks[each] += each.confidence(line)
        simplified = EMITTED.confidence(line) if self._framework is not None else 0.0
        self._explained += max(simplified, *likely.values(), 0.0)

    @property
    def is_likely(self) -> bool:
        """Whether some line matches; simplified lines alone match no framework."""
        return any(self._likely.values())

    def guess(self, seen: int) -> Guess:
        name = max(self._likely, key=lambda each: self._likely[each]).name
        return Guess(name, self._framework, self._explained / seen)

    def narrowed(self, guess: Guess) -> Guess | None:
        """A more specific format than `guess`, if some line is marked as that."""
        for each, confidence in self._marks.items():
            if each.narrows == guess.framework and confidence:
                return Guess(each.name, self._framework, guess.confidence)
        return None


def _is_evidence(line: JSON) -> bool:
    return isinstance(line, list) or (isinstance(line, dict) and not is_exception(line))


def _candidates() -> Iterator[_Candidate]:
    """All candidates, simplified lines first: of equally likely ones the first is taken."""
    names = sorted(frameworks(), key=lambda name: name != EmittedParser.framework)
    for name in names:
        yield _Candidate(name, _formats_of(name))
    for unsupported in UNSUPPORTED:
        yield _Candidate(None, (unsupported,))


def _formats_of(framework: str) -> tuple[Format, ...]:
    try:
        parser = find(GROUP, framework, UnknownFramework)
    except PluginError:  # such a parser cannot be used anyway
        return ()
    formats = getattr(parser, "formats", ())
    is_table = isinstance(formats, tuple | list)
    return tuple(each for each in formats if isinstance(each, Format)) if is_table else ()


# The lines of a run that its parser did not recognize: how many, and of which kinds.
#
# Rule 1: a run of which no line was recognized fails, with the error NOT_UNDERSTOOD. START and DONE
#         do not count as recognized lines.
# Rule 2: error messages name keys and types of a few lines, shortened, and never their content.
# Rule 3: a log gives the same counts as the lines that it was made of: see `recall`.

NOT_UNDERSTOOD: Final = "not_understood"
"""The code of the error."""

_FRAME: Final = {EventType.START, EventType.DONE}
_SERVERS_OWN: Final = {*_FRAME, EventType.STATUS, EventType.INPUT_RESPONSE, EventType.CUSTOM}
"""Events of a log that an agent may not have emitted."""
_READ: Final = (
    "not shown", "told before", "answered already", "answered by the agent itself",
    "somebody is asked first",
    "stray ", "choice ", "another candidate",
)  # fmt: skip
"""Prefixes of the `source` of a RAW whose line was recognized, but is no event of its own."""
_KEYS: Final = 8
_KEY: Final = 40
_TYPES: Final = ((bool, "a boolean"), (str, "a string"), (int | float, "a number"))
_AGENTS: Final = "docs/agents.md"
_ADD_A_FRAMEWORK: Final = "docs/add-a-framework.md"


def is_unread(event: StreamEvent) -> bool:
    """Whether this is a line, or a part of one, that was not recognized."""
    return isinstance(event, Raw) and not (event.source or "").startswith(_READ)


class UnreadLines:
    """The unrecognized lines of one run."""

    def __init__(self, framework: str) -> None:
        self.count = 0
        self.understood = False
        """Whether any line was recognized."""
        self._framework = framework
        self._first = ""
        self._has_json = False
        self._detector = Detector()

    def see(self, events: Iterable[StreamEvent]) -> None:
        """Take the events that a parser made of an agent's lines."""
        for event in events:
            if isinstance(event, Raw):
                if is_unread(event):
                    self._add(event)
            elif not self.understood and event.type not in _FRAME:
                self.understood = True

    def recall(self, events: Iterable[StreamEvent]) -> None:
        """Take the events of a log, which has the server's own events too."""
        self.see(event for event in events if event.type not in _SERVERS_OWN)

    def afresh(self) -> UnreadLines:
        """Reset the count for the same run; that a line was recognized stays true."""
        lines = UnreadLines(self._framework)
        lines.understood = self.understood
        return lines

    def _add(self, event: Raw) -> None:
        self.count += 1
        is_json = isinstance(event.raw, dict | list)
        if self.count == 1 or (is_json and not self._has_json):
            which = "line" if self.count == 1 else "JSON line"
            self._first = f"The first {which} is {shape_of(event)}."
        self._has_json = self._has_json or is_json
        if not self.understood:
            self._detector.see(event.raw)

    def error(self) -> Error | None:
        """The error that ends a run of which no line was recognized; `None` for other runs."""
        if self.understood or not self.count:
            return None
        return Error(message=self.summary(), code=NOT_UNDERSTOOD, retryable=False)

    def summary(self) -> str:
        """How many lines there are, what the first looks like, and what to do."""
        if self.understood:
            lines = "1 line" if self.count == 1 else f"{self.count:,} lines"
            return f"{lines} could not be read as {self._framework}. {self._first}"
        lines = "Not one line" if self.count == 1 else f"None of the {self.count:,} lines"
        return f"{lines} could be read as {self._framework}. {self._first} {self._advice()}"

    def _advice(self) -> str:
        if not self._has_json:
            return f"An agent writes JSON lines to its standard output: {_AGENTS}"
        guess = self._detector.guess()
        if guess is None:
            return f"Mobox knows no format that looks like it: {_ADD_A_FRAMEWORK}"
        looks = f"It looks like {guess.name}"
        if guess.framework is None:
            return f"{looks}; Mobox has no parser for them yet: {_ADD_A_FRAMEWORK}"
        if guess.framework == self._framework:
            return f"{looks}, but with fields that this version of Mobox cannot read."
        return f"{looks}: set framework: {guess.framework}"


def shape_of(event: Raw) -> str:
    """The kind of value that a line is, without its content."""
    match event.raw:
        case {"dropped_bytes": int() as size} if event.source is not None:
            return f"too long to be read ({size:,} bytes)"
        case dict() as line if line:
            return f"an object with the {_keys_of(line)}"
        case dict():
            return "an empty object"
        case list() as items:
            return f"an array of {len(items):,} values"
        case str() if event.source is not None:
            return "text, not JSON"
        case None:
            return "null"
        case value:
            return next(name for kind, name in _TYPES if isinstance(value, kind))


def _keys_of(line: dict[str, JSON]) -> str:
    shown = ", ".join(on_one_line(key, _KEY) for key in list(line)[:_KEYS])
    more = f" and {len(line) - _KEYS:,} more" if len(line) > _KEYS else ""
    return f"{'key' if len(line) == 1 else 'keys'} {shown}{more}"
