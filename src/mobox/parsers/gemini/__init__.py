"""Gemini: chunks of generate_content, events of interactions, and the simplified lines."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import convert
from msgspec.structs import replace

from mobox.agent_path.shared.failure_codes import retry_delay
from mobox.errors import UnrecognizedLine
from mobox.events import (
    JSON,
    Done,
    DoneReason,
    Error,
    Events,
    Outcome,
    Raw,
    Retract,
    Start,
    Status,
    StepEnd,
    StepStart,
    TextDelta,
    ToolResult,
)
from mobox.events.names import IdAllocator
from mobox.parsers import EventParser
from mobox.parsers.formats import Format, has_keys, kind_in, kind_starts_with
from mobox.parsers.gemini import wire
from mobox.parsers.gemini.calls import VENDOR, OpenCalls, reason_of, used
from mobox.parsers.gemini.content import Content
from mobox.parsers.gemini.interactions import Interactions
from mobox.parsers.gemini.wire import camel, camel_key
from mobox.parsers.values import as_object, failure, is_exception, objects_in

# Parses the stream of generate_content: answers, one after the other, in chunks.
#
# Rule 1: an answer is a turn of the loop (STEP), from its first chunk to its finish reason. If the
#         SDK runs the functions itself, several answers come in one stream.
# Rule 2: every chunk has the usage so far: only the last of an answer is emitted.
# Rule 3: results of functions that the SDK ran come only in the history that later chunks repeat,
#         and without ids: the last result is that of the last call of its name.
# Rule 4: the finish reason is STOP even if functions are called: a function without a result is for
#         the caller to run.
# Rule 5: the first candidate is the answer; others are kept as RAW.
# Rule 6: an answer after an exception replaces the one that it interrupted (RETRACT).


class Chunks:
    """The answers of one stream."""

    def __init__(self, framework: str, prefix: str = "") -> None:
        self._names = IdAllocator(prefix)
        self._calls = OpenCalls(self._names)
        self.content = Content(self._calls)
        self._framework = framework
        self._started = False
        self._step: str | None = None
        self._last_step: str | None = None
        self._steps = 0
        self._model: str | None = None
        self._finish: str | None = None
        self._blocked = False
        self._broken = False  # an exception ended the stream of the current answer
        self._response: str | None = None  # the API's own id of the current answer
        self._usage: JSON = None  # the last of this answer, not emitted yet

    def read(self, chunk: wire.Chunk) -> Events:
        candidates = [convert(raw, wire.Candidate) for raw in chunk.candidates or ()]
        if chunk.error is not None:
            return [*self._start(chunk), _error(chunk.error)]
        answer = candidates[0] if candidates else wire.Candidate()
        events = [*self._start(chunk), *self._history(chunk)]
        if self._begins(answer, chunk):
            events += self._begin(chunk)
        self._usage = chunk.usage_metadata or self._usage
        events += self._answer(answer)
        others = (chunk.candidates or [])[1:]
        events += [Raw(raw=other, source="another candidate") for other in others]
        if chunk.prompt_feedback is not None and chunk.prompt_feedback.block_reason:
            events += self._block(chunk.prompt_feedback)
        return events + (self._report_usage() if self._step is None else [])

    def read_delta(self, chunk: wire.DeltaChunk) -> Events | None:
        """`read` for a chunk that continues the open block; `None` if it does anything else."""
        is_next = chunk.response_id is not None and chunk.response_id != self._response
        if self._step is None or is_next or self._broken:
            return None
        (candidate,) = chunk.candidates
        (part,) = candidate.content.parts
        delta = self.content.delta_of(part.text, bool(part.thought))
        if delta is None:
            return None
        self._usage = chunk.usage_metadata or self._usage
        return [delta]

    def close(self) -> Events:
        """The stream ended: emit what was held back, and how it ended if that is known."""
        events = [*self.content.leave(), *self._report_usage()]
        if self._step is not None:
            return events
        # The model continued without the results of calls that the provider ran.
        unanswered = [ToolResult(id=call, status="unknown") for call in self._calls.server]
        return [*events, *unanswered, *self._done()]

    def break_off(self) -> None:
        """An exception ended the stream: if another answer follows, this one is made again."""
        self._broken = self._step is not None

    # The current answer

    def _start(self, chunk: wire.Chunk) -> Events:
        started, self._started = self._started, True
        return [] if started else [Start(framework=self._framework, model=chunk.model_version)]

    def _begins(self, answer: wire.Candidate, chunk: wire.Chunk) -> bool:
        if self._step is not None:
            return self._broken or chunk.response_id not in (None, self._response)
        has_parts = answer.content is not None and any(answer.content.parts or ())
        return self._steps == 0 or (has_parts or answer.finish_reason is not None)

    def _begin(self, chunk: wire.Chunk) -> Events:
        before = self._leave("interrupted") if self._step is not None else []
        if self._broken and self.content.block_ids:
            before.append(Retract(blocks=tuple(self.content.block_ids), reason="retry"))
        self._broken = False
        self._steps += 1
        self._response, self._model = chunk.response_id, chunk.model_version
        self._step = self._last_step = self._names.unique(self._response, "response")
        self.content.begin(self._step)
        self._usage, self._finish, self._blocked = None, None, False
        return [*before, StepStart(id=self._step, kind="turn", number=self._steps)]

    def _answer(self, answer: wire.Candidate) -> Events:
        parts = answer.content.parts if answer.content is not None else None
        events = [*self.content.read(parts), *self.content.cite(answer)]
        if answer.finish_message:
            events.append(Status(message=answer.finish_message, kind="notice"))
        if answer.finish_reason is None:
            return events
        self._finish = answer.finish_reason
        if reason_of(self._finish) == "error":
            message = answer.finish_message or f"The model stopped: {self._finish}"
            events.append(Error(message=message, code=self._finish))
        return events + self._leave("ok", answer)

    def _leave(self, status: Outcome, answer: wire.Candidate | None = None) -> Events:
        events = [*self.content.leave(), *self._report_usage()]
        step, self._step = self._step, None
        about = _about(answer) if answer is not None else None
        return [*events, StepEnd(id=step, status=status, reason=self._finish, provider=about)]

    def _block(self, feedback: wire.PromptFeedback) -> Events:
        self._finish, self._blocked = feedback.block_reason, True
        why = feedback.block_reason_message or feedback.block_reason
        notice = Status(message=f"The prompt was blocked: {why}", kind="notice")
        return [notice, *(self._leave("ok") if self._step is not None else [])]

    def _report_usage(self) -> Events:
        usage, self._usage = self._usage, None
        name = self._last_step or f"{self._names.prefix}response"
        return used(wire.camel(usage), name, (), self._model)

    # Results

    def _history(self, chunk: wire.Chunk) -> Events:
        """The results of calls that the SDK ran, in the order of the calls."""
        if not self._calls.functions or not chunk.automatic_function_calling_history:
            return []
        parts = [
            convert(part, wire.Part)
            for content in chunk.automatic_function_calling_history
            for part in content.parts or ()
        ]
        results: Events = []
        for part in reversed(parts):
            response = part.function_response
            if response is not None and self._awaits(response):
                results = self.content.respond(response, last=True) + results
        return results

    def _awaits(self, response: wire.FunctionResponse) -> bool:
        functions = self._calls.functions
        if response.id:
            return response.id in functions
        return any(self._calls.name_of(call) == response.name for call in functions)

    def _done(self) -> Events:
        if self._finish is None:
            return []
        reason: DoneReason = reason_of(self._finish) or "stop"
        if self._blocked:
            reason = "content_filter"
        elif reason == "stop" and self._calls.functions:
            reason = "tool"
        return [Done(reason=reason, native=self._finish)]


def _error(body: wire.ErrorBody) -> Error:
    code = body.status or (str(body.code) if body.code is not None else None)
    message = body.message or code or "The API answered with an error."
    return replace(failure(message, body.status, body.code), retry_after=retry_delay(body.details))


def _about(answer: wire.Candidate) -> dict[str, JSON] | None:
    """Metadata of an answer that no event has a field for."""
    grounding = dict(answer.grounding_metadata or {})
    for key in ("groundingChunks", "groundingSupports"):
        grounding.pop(key, None)
    about = {"safetyRatings": answer.safety_ratings, "groundingMetadata": grounding}
    kept = {name: value for name, value in about.items() if value}
    return {VENDOR: kept} if kept else None


_AUTHOR = ("author",)
"""An event of ADK has one, and the fields of a chunk beside it."""
PARTS: Final = tuple(map(camel_key, Content.PARTS))
"""The kinds of parts, in the API's spelling."""
_WITHOUT_PARTS: Final = ("errorCode", "finishReason", "output", "promptFeedback", "error")


def _error_shape(line: JSON) -> float:
    error = line.get("error") if isinstance(line, dict) else None
    return 0.6 if isinstance(error, dict) and error.keys() >= {"code", "status"} else 0.0


def _chunk_kind(line: dict[str, JSON]) -> str:
    chunk = as_object(camel(line))
    first = next(iter(objects_in(chunk.get("candidates"))), {})
    return kind_by_parts("chunk", first, {**chunk, **first})


def kind_by_parts(how: str, message: dict[str, JSON], line: dict[str, JSON]) -> str:
    """The kind of a line: by the parts of its message, or else by the first of its other fields."""
    parts = objects_in(as_object(message.get("content")).get("parts"))
    kinds = ["thought"] if any(part.get("thought") for part in parts) else []
    kinds += [name for part in parts if not part.get("thought") for name in part if name in PARTS]
    kinds = kinds or [name for name in _WITHOUT_PARTS if line.get(name)][:1] or ["nothing"]
    return f"{how}: {' + '.join(dict.fromkeys(kinds))}"


FORMATS: tuple[Format, ...] = (
    Format(
        "Gemini's generate_content chunks",
        (
            has_keys("candidates", without=_AUTHOR),
            has_keys("promptFeedback", without=_AUTHOR),
            has_keys("prompt_feedback", without=_AUTHOR),
            has_keys("usageMetadata", "modelVersion", without=_AUTHOR, confidence=0.9),
            has_keys("usage_metadata", "model_version", without=_AUTHOR, confidence=0.9),
            has_keys("automaticFunctionCallingHistory"),
            has_keys("automatic_function_calling_history"),
            _error_shape,
        ),
        kind=_chunk_kind,
        known=tuple(f"chunk: {part}" for part in PARTS),
    ),
    Format(
        "Gemini's interactions events",
        (kind_starts_with("event_type", "interaction.", "step."),),
        kind=("event_type", "step.type", "delta.type"),
        known=tuple(Interactions.EVENTS),
    ),
    Format(
        "simplified lines for Gemini",
        (
            kind_in(
                "type", ("content", "function_call", "function_response"), "data", confidence=0.8
            ),
        ),
    ),
)


_NAMES: Final = frozenset(
    {"candidates", "usageMetadata", "promptFeedback", "automaticFunctionCallingHistory", "error"}
)
"""Keys of which a chunk has at least one."""

SIMPLIFIED: Final = {"function_call": "functionCall", "function_response": "functionResponse"}
"""The simplified lines that the event-mapping document plans for Gemini, and the parts they are."""


_decode_delta: Final = msgspec.json.Decoder(wire.DeltaChunk).decode


class _Words(msgspec.Struct):
    text: str


class GeminiParser(EventParser):
    """One run of an agent that emits Gemini's formats."""

    framework = "gemini"
    formats = FORMATS

    def __init__(self, prefix: str = "") -> None:
        super().__init__(prefix)
        self._chunks = Chunks(self.framework, prefix)
        self._interactions = Interactions(self.framework, prefix)

    def feed_line(self, line: bytes) -> Events:
        """Parse one line. A chunk that only continues the open block is decoded into its type."""
        events = self._feed_typed(_decode_delta, self._chunks.read_delta, line)
        return super().feed_line(line) if events is None else events

    def feed(self, raw: JSON) -> Events:
        if type(raw) is dict and is_exception(raw):
            self._chunks.break_off()
        return super().feed(raw)

    def read(self, raw: JSON) -> Events:
        if not isinstance(raw, dict):
            raise UnrecognizedLine
        if self._interactions.knows(raw):
            return self._interactions.read(raw)
        kind, data = raw.get("type"), raw.get("data")
        if isinstance(kind, str) and kind in SIMPLIFIED and isinstance(data, dict):
            return self._chunks.content.part({SIMPLIFIED[kind]: data})
        if kind == "content" and isinstance(data, dict):
            return [TextDelta(delta=msgspec.convert(data, _Words).text)]
        chunk = camel(raw)
        if _NAMES.isdisjoint(chunk):
            raise UnrecognizedLine
        return self._chunks.read(msgspec.convert(chunk, wire.Chunk))

    def close(self) -> Events:
        return [*self._chunks.close(), *self._interactions.close()]
