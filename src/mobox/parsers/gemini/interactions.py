"""Parses the Interactions API: an interaction of steps, each with a start, deltas and a stop.

Rule 1: a step with text is a block, `<interaction>:<index>`, opened with its first text.
Rule 2: a step that calls a tool is keyed by the call's id; its result is a step of its own.
Rule 3: an interaction that requires action hands its calls over to the caller.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final

from msgspec import Struct, convert

from mobox.errors import UnrecognizedLine
from mobox.events import (
    JSON,
    Done,
    DoneReason,
    Error,
    Events,
    File,
    Source,
    Start,
    Status,
    StepEnd,
    StepStart,
    Text,
    TextDelta,
    TextEnd,
    Thinking,
    ThinkingDelta,
    ThinkingEnd,
    ToolKind,
    ToolResult,
    ToolUseDelta,
    ToolUseEnd,
    ToolUseStart,
    Usage,
)
from mobox.events.names import IdAllocator, tool_use_end
from mobox.events.usage import sum_counts
from mobox.parsers.gemini import interactions_wire as wire
from mobox.parsers.gemini.calls import VENDOR
from mobox.parsers.tool_kinds import search_sources, tool_kind
from mobox.parsers.values import failure, parse_or_raw

Reader = Callable[["Interactions", Any], Events]
Rows = dict[str, tuple[type[Struct], Callable[..., Events]]]
"""By the kind of a step or a delta, or its suffix: new tools appear often."""

_ENDS: Final[dict[str, DoneReason]] = {
    "completed": "stop",
    "requires_action": "tool",
    "incomplete": "length",
    "budget_exceeded": "length",
    "failed": "error",
    "cancelled": "cancelled",
}
_KINDS: Final[dict[str, ToolKind]] = {
    "code_execution": "code",
    "google_search": "search",
    "google_maps": "search",
    "url_context": "search",
    "file_search": "search",
    "retrieval": "search",
    "mcp_server_tool": "mcp",
}
_MEDIA: Final = {"image": "image/png", "audio": "audio/wav", "video": "video/mp4"}
_IMPLIED: Final = {"text": "model_output", "thought_summary": "thought"}
"""The kinds of steps for deltas without a start."""


class _Step(Struct):
    """An open step."""

    kind: str
    name: str
    is_open: bool = False  # its block is open
    pieces: list[str] = []  # deltas of a call's arguments
    arguments: JSON = None
    outcome: wire.Outcome | None = None
    signatures: list[str] = []

    @property
    def provider(self) -> dict[str, JSON] | None:
        """Vendor state to send back with it."""
        return {VENDOR: {"signature": self.signatures[-1]}} if self.signatures else None


class Interactions:
    """The events of one interaction, or of several consecutive ones."""

    def __init__(self, framework: str, prefix: str = "") -> None:
        self._framework = framework
        self._names = IdAllocator(prefix)
        self._name = f"{prefix}interaction"
        self._count = 0
        self._steps: dict[int, _Step] = {}
        self._stopped: set[int] = set()
        self._status: str | None = None
        self._ended = False

    def knows(self, raw: dict[str, JSON]) -> bool:
        """Whether this is an event of an interaction."""
        kind = raw.get("event_type")
        return isinstance(kind, str) and kind in self.EVENTS

    def read(self, raw: dict[str, JSON]) -> Events:
        shape, reader = self.EVENTS[raw["event_type"]]
        return reader(self, convert(raw, shape))

    def close(self) -> Events:
        """The stream ended; return how, if that is known."""
        if not self._ended or self._status is None:
            return []
        return [Done(reason=_ENDS.get(self._status, "stop"), native=self._status)]

    # The interaction

    def _created(self, event: wire.InteractionEvent) -> Events:
        interaction = event.interaction
        self._count += 1
        self._name = self._names.unique(interaction.id, "interaction")
        self._status, self._ended = interaction.status, False
        self._steps.clear()
        self._stopped.clear()
        start = Start(framework=self._framework, model=interaction.model, agent=interaction.agent)
        return [start, StepStart(id=self._name, kind="turn", number=self._count)]

    def _updated(self, update: wire.StatusUpdate) -> Events:
        self._status = update.status or self._status
        return [Status(message=update.status, kind="progress")] if update.status else []

    def _completed(self, event: wire.InteractionEvent) -> Events:
        interaction = event.interaction
        self._status, self._ended = interaction.status or self._status, True
        events = [event for step in self._steps.values() for event in self._stop(step)]
        self._steps.clear()
        if interaction.usage is not None:
            events += parse_or_raw(lambda: [self._use_of(interaction)], interaction.usage)
        if self._status == "failed":
            events.append(Error(message="The interaction failed.", code="failed"))
        has_started = self._count > 0  # false if the stream was joined in the middle
        return [*events, StepEnd(id=self._name, reason=self._status)] if has_started else events

    def _use_of(self, interaction: wire.Interaction) -> Usage:
        usage = convert(interaction.usage, wire.Usage)
        return Usage(
            id=self._name,
            input=sum_counts(usage.total_input_tokens, usage.total_tool_use_tokens),
            output=sum_counts(usage.total_output_tokens, usage.total_thought_tokens),
            cache_read=usage.total_cached_tokens,
            reasoning=usage.total_thought_tokens,
            total=usage.total_tokens,
            model=interaction.model,
            service_tier=interaction.service_tier,
        )

    def _failed(self, event: wire.ErrorEvent) -> Events:
        problem = event.error or wire.Failure()
        code = str(problem.code) if problem.code is not None else None
        return [failure(problem.message or code or "The interaction failed.", problem.code)]

    # Steps

    def _step_start(self, event: wire.StepStart) -> Events:
        kind = convert(event.step, wire.Kind).type
        shape, reader = _row(self.STEPS, kind)
        step = _Step(kind, f"{self._name}:{event.index}")
        events = reader(self, step, convert(event.step, shape))
        self._steps[event.index] = step
        return events

    def _begin_call(self, step: _Step, call: wire.Call) -> Events:
        tool = step.kind.removesuffix("_call")
        step.name = call.id or step.name
        step.arguments = call.arguments
        step.signatures += [call.signature] if call.signature else []
        return [
            ToolUseStart(
                id=step.name,
                name=call.name or tool,
                kind=_KINDS.get(tool) or tool_kind(call.name or tool),
                server=tool != "function",
                provider=step.provider,
            )
        ]

    def _read_result(self, step: _Step, outcome: wire.Outcome) -> Events:
        before = step.outcome or wire.Outcome()
        step.outcome = wire.Outcome(
            call_id=outcome.call_id or before.call_id,
            result=before.result if outcome.result is None else outcome.result,
            is_error=outcome.is_error or before.is_error,
            signature=outcome.signature or before.signature,
        )
        return []

    def _step_delta(self, event: wire.StepDelta) -> Events:
        kind = convert(event.delta, wire.Kind).type
        shape, reader = _row(self.DELTAS, kind)
        delta = convert(event.delta, shape)
        step = self._steps.get(event.index)
        if step is None:  # the stream was joined in the middle
            if kind not in _IMPLIED or event.index in self._stopped:
                raise UnrecognizedLine
            step = _Step(_IMPLIED[kind], f"{self._name}:{event.index}")
            self._steps[event.index] = step
        return reader(self, step, delta)

    def _add_text(self, step: _Step, words: str) -> Events:
        thinks = step.kind == "thought"
        if not words:
            return []
        if step.is_open:
            delta_class: Any = ThinkingDelta if thinks else TextDelta
            return [delta_class(id=step.name, delta=words)]
        step.is_open = True
        if thinks:
            return [Thinking(id=step.name, content=words, source="summary")]
        return [Text(id=step.name, content=words)]

    def _summary(self, step: _Step, delta: wire.SummaryDelta) -> Events:
        if delta.content is None or delta.content.text is None:
            raise UnrecognizedLine
        return self._add_text(step, delta.content.text)

    def _signature(self, step: _Step, delta: wire.SignatureDelta) -> Events:
        step.signatures.append(delta.signature)
        return []

    def _arguments(self, step: _Step, delta: wire.ArgumentsDelta) -> Events:
        if not isinstance(delta.arguments, str) or not delta.arguments:
            return []
        step.pieces.append(delta.arguments)
        return [ToolUseDelta(id=step.name, delta=delta.arguments)]

    def _whole_arguments(self, step: _Step, delta: wire.ArgumentsDelta) -> Events:
        step.arguments = delta.arguments
        return []

    def _annotations(self, step: _Step, delta: wire.AnnotationsDelta) -> Events:
        return [
            Source(
                id=step.name,
                url=each.url,
                document=each.document_uri or each.source,
                file=each.file_name,
                title=each.title,
                location={"startIndex": each.start_index, "endIndex": each.end_index},
            )
            for each in delta.annotations or ()
        ]

    def _media(self, step: _Step, delta: wire.MediaDelta) -> Events:
        media_type = delta.mime_type or _MEDIA.get(delta.type, "application/octet-stream")
        return [File(id=step.name, media_type=media_type, base64=delta.data, url=delta.uri)]

    def _step_stop(self, event: wire.StepStop) -> Events:
        step = self._steps.pop(event.index, None)
        if step is None:
            raise UnrecognizedLine
        self._stopped.add(event.index)
        return self._stop(step)

    def _stop(self, step: _Step) -> Events:
        return self.STOPS.get(step.kind, Interactions._end_tool)(self, step)

    def _end_thought(self, step: _Step) -> Events:
        hidden = [] if step.is_open else [Thinking(id=step.name, redacted=True)]
        if hidden and not step.signatures:
            return []
        return [*hidden, ThinkingEnd(id=step.name, provider=step.provider)]

    def _end_text(self, step: _Step) -> Events:
        return [TextEnd(id=step.name, provider=step.provider)] if step.is_open else []

    def _end_tool(self, step: _Step) -> Events:
        if step.outcome is not None:
            return self._end_result(step.outcome)
        text = "".join(step.pieces)
        if not text and step.arguments is not None:
            return [ToolUseEnd(id=step.name, input=step.arguments)]
        return [tool_use_end(step.name, text)]

    def _end_result(self, outcome: wire.Outcome) -> Events:
        result = ToolResult(
            id=outcome.call_id,
            output=outcome.result,
            status="error" if outcome.is_error else "ok",
            provider={VENDOR: {"signature": outcome.signature}} if outcome.signature else None,
        )
        return [result, *search_sources(outcome.call_id, (), outcome.result)]

    EVENTS: ClassVar[dict[str, tuple[type[Struct], Reader]]] = {
        "interaction.created": (wire.InteractionEvent, _created),
        "interaction.status_update": (wire.StatusUpdate, _updated),
        "interaction.completed": (wire.InteractionEvent, _completed),
        "step.start": (wire.StepStart, _step_start),
        "step.delta": (wire.StepDelta, _step_delta),
        "step.stop": (wire.StepStop, _step_stop),
        "error": (wire.ErrorEvent, _failed),
    }
    STEPS: ClassVar[Rows] = {
        "thought": (wire.Kind, lambda *_: []),
        "model_output": (wire.Kind, lambda *_: []),
        "*_call": (wire.Call, _begin_call),
        "*_result": (wire.Outcome, _read_result),
    }
    STOPS: ClassVar[dict[str, Callable[[Interactions, _Step], Events]]] = {
        "thought": _end_thought,
        "model_output": _end_text,
    }
    DELTAS: ClassVar[Rows] = {
        "*_call": (wire.ArgumentsDelta, _whole_arguments),
        "*_result": (wire.Outcome, _read_result),
        "text": (wire.TextDelta, lambda self, step, delta: self._add_text(step, delta.text)),
        "thought_summary": (wire.SummaryDelta, _summary),
        "thought_signature": (wire.SignatureDelta, _signature),
        "arguments_delta": (wire.ArgumentsDelta, _arguments),
        "text_annotation_delta": (wire.AnnotationsDelta, _annotations),
        **dict.fromkeys((*_MEDIA, "document"), (wire.MediaDelta, _media)),
    }


def _row(rows: Rows, kind: str) -> tuple[type[Struct], Callable[..., Events]]:
    """The type and the reader of that kind; raises `UnrecognizedLine`."""
    _, dash, end = kind.rpartition("_")
    row = rows.get(kind) or rows.get(f"*{dash}{end}")
    if row is None:
        raise UnrecognizedLine
    return row
