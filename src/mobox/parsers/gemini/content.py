"""Parses the parts of Gemini's messages. They have no ids, no starts and no ends.

Rule 1: consecutive parts of one kind are a block; its id is `<message>:<number>`.
Rule 2: a signature belongs to the block or the call that it came with, and is kept in `provider`.
Rule 3: a call that the caller runs is a function; code and server tools run at the provider.
Rule 4: a part of unknown kind is kept as RAW, and does not affect the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar, Final

from msgspec import Struct, convert, to_builtins

from mobox.errors import UnrecognizedLine
from mobox.events import (
    JSON,
    Events,
    File,
    Outcome,
    Raw,
    Scope,
    Source,
    Status,
    StreamEvent,
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
)
from mobox.parsers.gemini import wire
from mobox.parsers.gemini.calls import VENDOR, OpenCalls, PartialArguments
from mobox.parsers.tool_kinds import tool_kind
from mobox.parsers.values import is_web_url, parse_or_raw

# Sources: searched pages, retrieved files, recited texts

_FETCHED: Final = "URL_RETRIEVAL_STATUS_SUCCESS"


def grounded(metadata: JSON, text: str | None, scope: Scope) -> Iterator[StreamEvent]:
    """A citation for each passage and each of its sources, then the sources that no passage has."""
    grounding = convert(metadata, wire.Grounding)
    chunks = grounding.grounding_chunks or []
    supported: set[int] = set()
    for support in grounding.grounding_supports or ():
        for place, index in enumerate(support.grounding_chunk_indices or ()):
            if 0 <= index < len(chunks):
                supported.add(index)
                passage = {**_passage(support.segment), "confidence": _at(support, place)}
                yield _source(chunks[index], text, scope, passage)
    for index, chunk in enumerate(chunks):
        if index not in supported:
            yield _source(chunk, text, scope, {})


def cited(metadata: JSON, text: str | None, scope: Scope) -> Iterator[StreamEvent]:
    """Recited texts and their sources."""
    citations = convert(metadata, wire.Citations)
    for each in citations.citations or citations.citation_sources or ():
        place = {"startIndex": each.start_index, "endIndex": each.end_index}
        about = {**place, "license": each.license}
        yield Source(
            id=text,
            scope=scope,
            url=_link(each.uri),
            document=None if _link(each.uri) else each.uri,
            title=each.title,
            location=_known(about),
        )


def fetched(metadata: JSON, scope: Scope) -> Iterator[StreamEvent]:
    """The pages of URLs in the prompt that were read."""
    for page in convert(metadata, wire.UrlContext).url_metadata or ():
        if page.url_retrieval_status in (None, _FETCHED):
            yield Source(scope=scope, url=page.retrieved_url)
        else:
            message = f"Could not read {page.retrieved_url}: {page.url_retrieval_status}"
            yield Status(scope=scope, message=message, kind="notice")


def _source(
    chunk: wire.GroundingChunk, text: str | None, scope: Scope, passage: dict[str, JSON]
) -> Source:
    found = chunk.web or chunk.retrieved_context or chunk.maps or wire.Web()
    link = _link(found.uri)
    document = None if link else found.uri or found.file_search_store or found.title
    if chunk.image is not None:
        passage = {**passage, "location": {**(passage.get("location") or {}), "image": chunk.image}}
    return Source(
        id=text,
        scope=scope,
        url=link,
        document=document,
        title=found.title,
        cited_text=passage.get("cited_text", found.text if document else None),
        location=passage.get("location"),
        confidence=passage.get("confidence"),
    )


def _passage(segment: wire.Segment | None) -> dict[str, JSON]:
    if segment is None:
        return {}
    place = {
        "startIndex": segment.start_index,
        "endIndex": segment.end_index,
        "partIndex": segment.part_index,
    }
    return {"cited_text": segment.text, "location": _known(place)}


def _at(support: wire.GroundingSupport, place: int) -> float | None:
    scores = support.confidence_scores or []
    return scores[place] if place < len(scores) else None


def _link(uri: str | None) -> str | None:
    return uri if uri is not None and is_web_url(uri) else None


def _known(about: dict[str, JSON]) -> dict[str, JSON] | None:
    return {name: value for name, value in about.items() if value is not None} or None


Provider = dict[str, JSON] | None

CODE: Final = "code_execution"
_SERVER_KINDS: Final[dict[str, ToolKind]] = {
    "GOOGLE_SEARCH_WEB": "search",
    "GOOGLE_SEARCH_IMAGE": "search",
    "GOOGLE_MAPS": "search",
    "URL_CONTEXT": "search",
    "FILE_SEARCH": "search",
    "CODE_EXECUTION": "code",
    "MCP_SERVER": "mcp",
}
_KINDS: Final[dict[str, ToolKind]] = {"transfer_to_agent": "handoff"}
_STANDARD_BASE64: Final = str.maketrans("-_", "+/")  # Python's dumps are URL-safe


class _Block(Struct):
    """An open block."""

    name: str
    thought: bool
    signatures: list[str] = []


# Messages


class Content:
    """The messages of one agent, one after the other."""

    def __init__(self, calls: OpenCalls, scope: tuple[str, ...] = ()) -> None:
        self.block: _Block | None = None
        """The open block."""
        self.text: str | None = None
        """The last block of text, to which citations belong."""
        self.texts: list[str] = []
        """The ids of this message's blocks of text, in order."""
        self.block_ids: list[str] = []
        """The ids of all its blocks and calls."""
        self._calls = calls
        self._scope = scope
        self._message = "message"
        self._blocks = 0
        self._coming: tuple[str, PartialArguments] | None = None  # a call whose input is streamed
        self._cited: set[str] = set()

    @property
    def coming(self) -> str | None:
        """The call whose input is being streamed."""
        return self._coming[0] if self._coming is not None else None

    def begin(self, message: str) -> None:
        """Another message starts; the one before was ended."""
        self._message, self._blocks, self.texts, self.text = message, 0, [], None
        self.block_ids = []
        self._cited.clear()

    def read(self, parts: list[dict[str, JSON]] | None) -> Events:
        return [event for part in parts or () for event in self.part(part)]

    def part(self, raw: dict[str, JSON]) -> Events:
        return parse_or_raw(lambda: self._part(raw), raw, self._scope, "a part")

    def _part(self, raw: dict[str, JSON]) -> Events:
        part = convert(raw, wire.Part)
        for field, reader in self.PARTS.items():
            if (value := getattr(part, field)) is not None:
                return reader(self, value, part)
        if part.thought_signature:
            return self._sign(part.thought_signature)
        raise UnrecognizedLine

    def cite(self, candidate: wire.Candidate) -> Events:
        """The new sources of the message; a stream may repeat them in every chunk."""
        found: Events = []
        for metadata, events in self._sources(candidate):
            found += parse_or_raw(partial(list, events), metadata, self._scope)
        return [event for event in found if self._is_new(event)]

    def leave(self) -> Events:
        """The message ends: end its open block or input."""
        return [*self._end_block(), *self._end_input()]

    # Text and thoughts

    def _add_text(self, words: str, part: wire.Part) -> Events:
        if not words:
            return self._sign(part.thought_signature) if part.thought_signature else []
        thought = bool(part.thought)
        delta = self.delta_of(words, thought)
        events = [*self.leave(), self._open(words, thought)] if delta is None else [delta]
        return events + self._sign(part.thought_signature) if part.thought_signature else events

    def delta_of(self, words: str, thought: bool) -> StreamEvent | None:
        """The delta of the open block that these words are; `None` if they are not."""
        block = self.block
        if block is None or block.thought is not thought or not words:
            return None
        if thought:
            return ThinkingDelta(id=block.name, scope=self._scope, delta=words)
        return TextDelta(id=block.name, scope=self._scope, delta=words)

    def _open(self, words: str, thought: bool) -> StreamEvent:
        name = self._next_name()
        self.block = _Block(name, thought)
        self.block_ids.append(name)
        if thought:
            return Thinking(id=name, scope=self._scope, content=words)
        self.text = name
        self.texts.append(name)
        return Text(id=name, scope=self._scope, content=words)

    def _sign(self, signature: str) -> Events:
        """A signature without text belongs to the block before it."""
        if self.block is None:  # a call keeps its own signature
            return [Raw(scope=self._scope, raw={"thoughtSignature": signature}, source="a part")]
        self.block.signatures.append(signature)
        return []

    def _end_block(self) -> Events:
        block, self.block = self.block, None
        if block is None:
            return []
        end: Any = ThinkingEnd if block.thought else TextEnd
        return [end(id=block.name, scope=self._scope, provider=_signed(*block.signatures))]

    # Functions

    def _call(self, call: wire.FunctionCall, part: wire.Part) -> Events:
        is_unnamed = call.id is None and call.name is None
        if self._coming is not None and (is_unnamed or call.id == self._coming[0]):
            return self._more_input(call)
        if call.name is None:
            if call.args is not None or call.partial_args:
                raise UnrecognizedLine
            return self.leave()  # the end of a call that has ended
        events = self.leave()
        events.append(self._start(call.id, call.name, part))
        name = events[-1].id or ""
        if call.will_continue or call.partial_args:
            self._coming = (name, PartialArguments(call.args))
            return events + self._more_input(call)
        arguments = {} if call.args is None else call.args
        return [*events, ToolUseEnd(id=name, scope=self._scope, input=arguments)]

    def _start(self, call: str | None, name: str, part: wire.Part, **more: Any) -> ToolUseStart:
        name_of_call = self._calls.begin(call, name, server=bool(more.get("server")))
        self.block_ids.append(name_of_call)
        kind = more.pop("kind", tool_kind(name, _KINDS))
        return ToolUseStart(
            id=name_of_call,
            scope=self._scope,
            name=name,
            kind=kind,
            provider=_signed(part.thought_signature),
            **more,
        )

    def _more_input(self, call: wire.FunctionCall) -> Events:
        assert self._coming is not None  # callers make sure of it
        name, arguments = self._coming
        text = ""
        more: Events = []
        for patch in call.partial_args or ():
            try:
                text += arguments.add(patch)
            except UnrecognizedLine:
                more.append(Raw(scope=self._scope, raw=to_builtins(patch), source="a part"))
        events: Events = [ToolUseDelta(id=name, scope=self._scope, delta=text)] if text else []
        return events + more if call.will_continue else events + more + self._end_input()

    def _end_input(self) -> Events:
        if self._coming is None:
            return []
        (name, arguments), self._coming = self._coming, None
        text = arguments.end()
        end = ToolUseEnd(id=name, scope=self._scope, input=arguments.value)
        return [ToolUseDelta(id=name, scope=self._scope, delta=text), end] if text else [end]

    def respond(self, response: wire.FunctionResponse, *, last: bool = False) -> Events:
        """A function's result; the call is found by its name where the result has no id."""
        attached = [(raw, convert(raw, wire.Part)) for raw in response.parts or ()]
        name = self._calls.end(response.id, response.name, last=last)
        if name is None:
            raise UnrecognizedLine
        partial = bool(response.will_continue)
        if partial:
            self._calls.reopen(name, response.name or "")
        result = ToolResult(
            id=name,
            scope=self._scope,
            output=response.response,
            status=_status_of(response.response),
            partial=partial,
        )
        files = [self._attached(raw, part, name) for raw, part in attached]
        return [*self._end_input(), result, *files]

    def _attached(self, raw: dict[str, JSON], part: wire.Part, call: str) -> StreamEvent:
        if part.inline_data is not None:
            return self._blob(part.inline_data, call)
        if part.file_data is not None:
            return self._link(part.file_data, call)
        return Raw(scope=self._scope, raw=raw, source="a part")

    # Tools run by the provider

    def _code(self, code: wire.ExecutableCode, part: wire.Part) -> Events:
        arguments = {"language": code.language, "code": code.code}
        return self._serve(code.id, CODE, "code", arguments, part)

    def _code_result(self, result: wire.CodeExecutionResult, part: wire.Part) -> Events:
        output = {"outcome": result.outcome, "output": result.output}
        ok = result.outcome in (None, "OUTCOME_OK", "OUTCOME_UNSPECIFIED")
        return self._served(result.id, CODE, output, "ok" if ok else "error", part)

    def _server_call(self, call: wire.ToolCall, part: wire.Part) -> Events:
        tool = call.tool_type or "TOOL"
        kind = _SERVER_KINDS.get(tool, "custom")
        arguments = {} if call.args is None else call.args
        return self._serve(call.id, f"server:{tool}", kind, arguments, part)

    def _server_result(self, response: wire.ToolResponse, part: wire.Part) -> Events:
        output = {} if response.response is None else response.response
        tool = f"server:{response.tool_type or 'TOOL'}"
        return self._served(response.id, tool, output, _status_of(output), part)

    def _serve(
        self, call: str | None, tool: str, kind: ToolKind, arguments: JSON, part: wire.Part
    ) -> Events:
        ends = self.leave()
        start = self._start(call, tool, part, kind=kind, server=True)
        return [*ends, start, ToolUseEnd(id=start.id, scope=self._scope, input=arguments)]

    def _served(
        self, call: str | None, tool: str, output: JSON, status: Outcome, part: wire.Part
    ) -> Events:
        name = self._calls.end(call, tool)
        if name is None:
            raise UnrecognizedLine
        signature = _signed(part.thought_signature)
        result = ToolResult(
            id=name, scope=self._scope, output=output, status=status, provider=signature
        )
        return [*self.leave(), result]

    # Files

    def _inline(self, blob: wire.Blob, part: wire.Part) -> Events:
        signature = _signed(part.thought_signature)
        return [*self.leave(), self._blob(blob, self._next_name(), signature)]

    def _file(self, file: wire.FileData, part: wire.Part) -> Events:
        signature = _signed(part.thought_signature)
        return [*self.leave(), self._link(file, self._next_name(), signature)]

    def _next_name(self) -> str:
        self._blocks += 1
        return f"{self._message}:{self._blocks}"

    def _blob(self, blob: wire.Blob, name: str, provider: Provider = None) -> File:
        return File(
            id=name,
            scope=self._scope,
            media_type=blob.mime_type,
            base64=blob.data.translate(_STANDARD_BASE64),
            name=blob.display_name,
            provider=provider,
        )

    def _link(self, file: wire.FileData, name: str, provider: Provider = None) -> File:
        return File(
            id=name,
            scope=self._scope,
            media_type=file.mime_type or "application/octet-stream",
            url=file.file_uri,
            name=file.display_name,
            provider=provider,
        )

    # Sources

    def _sources(self, candidate: wire.Candidate) -> Iterator[tuple[JSON, Iterator[StreamEvent]]]:
        if metadata := candidate.grounding_metadata:
            yield metadata, grounded(metadata, self.text, self._scope)
        if metadata := candidate.citation_metadata:
            yield metadata, cited(metadata, self.text, self._scope)
        if metadata := candidate.url_context_metadata:
            yield metadata, fetched(metadata, self._scope)

    def _is_new(self, event: StreamEvent) -> bool:
        key = repr(event)
        if key in self._cited:
            return False
        self._cited.add(key)
        return True

    PARTS: ClassVar[dict[str, Callable[[Content, Any, wire.Part], Events]]] = {
        "text": _add_text,
        "function_call": _call,
        "function_response": lambda content, response, _: content.respond(response),
        "executable_code": _code,
        "code_execution_result": _code_result,
        "tool_call": _server_call,
        "tool_response": _server_result,
        "inline_data": _inline,
        "file_data": _file,
    }


def _signed(*signatures: str | None) -> Provider:
    """Vendor state to send back: the last signature, and all of them if there were more."""
    present = [signature for signature in signatures if signature]
    if not present:
        return None
    more = {"thoughtSignatures": present} if len(present) > 1 else {}
    return {VENDOR: {"thoughtSignature": present[-1], **more}}


def _status_of(response: JSON) -> Outcome:
    """By convention a failed function returns `error`."""
    return "error" if isinstance(response, dict) and response.get("error") else "ok"
