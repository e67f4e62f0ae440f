"""Parses the content blocks of Claude's messages, each with start, deltas and stop.

Rule 1: a tool's blocks are keyed by its own id; others have only an index, which restarts with
        every message: their id is `<message>:<index>`.
Rule 2: a tool's result may come in a later message than its call.
Rule 3: a block of unknown kind is RAW, and so are its deltas and its stop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar

from msgspec import convert

from mobox.errors import UnrecognizedLine
from mobox.events import (
    JSON,
    Display,
    Events,
    File,
    Scope,
    Source,
    Status,
    StepEnd,
    StepStart,
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
from mobox.events.names import tool_use_end
from mobox.parsers import tool_kinds
from mobox.parsers.claude import wire
from mobox.parsers.tool_kinds import is_failed_output, split_encrypted
from mobox.parsers.values import is_web_url, parse_or_raw

# Tools

_KINDS: dict[str, ToolKind] = {
    "web_search": "search",
    "web_fetch": "search",
    "tool_search_tool_regex": "search",
    "tool_search_tool_bm25": "search",
    "text_editor_code_execution": "code",
    "bash_code_execution": "shell",
    "Agent": "agent",
    "Task": "agent",
    "Bash": "shell",
    "BashOutput": "shell",
    "KillShell": "shell",
    "NotebookEdit": "code",
    "Glob": "search",
    "Grep": "search",
    "ToolSearch": "search",
    "WebFetch": "search",
    "WebSearch": "search",
}
"""The tools of the API and of Claude Code."""


def kind_of(name: str, *, is_mcp: bool = False) -> ToolKind:
    """The kind of a tool; one of the caller's own is a function."""
    kind = tool_kinds.tool_kind(name, _KINDS)
    return "mcp" if (is_mcp or name.startswith("mcp__")) and kind != "code" else kind


def display_of(name: str) -> Display | None:
    """The kind of event that already shows what this tool does."""
    return tool_kinds.CLAUDE_DISPLAYS.get(name)


# Citations, and results of server tools

VENDOR = "anthropic"
"""The key of `provider` under which this vendor's state is kept."""

_KNOWN_FIELDS = {*wire.Citation.__struct_fields__} - {"type", "document_index"}


def cite(block_id: str, scope: Scope, citation: dict[str, JSON]) -> Source:
    """A citation of a text block."""
    cited = convert(citation, wire.Citation)
    link = cited.url or cited.source or ""
    is_url = is_web_url(link)
    secret = {"encrypted_index": cited.encrypted_index} if cited.encrypted_index else None
    return Source(
        id=block_id,
        scope=scope,
        url=link if is_url else None,
        document=cited.document_title if is_url or not link else link,
        file=cited.file_id,
        title=cited.title or cited.document_title,
        cited_text=cited.cited_text,
        location={k: v for k, v in citation.items() if k not in _KNOWN_FIELDS and v is not None},
        provider={VENDOR: secret} if secret else None,
    )


def sources_in(tool_id: str, scope: Scope, output: JSON) -> list[StreamEvent]:
    """The pages and files that a server tool's output names."""
    events: list[StreamEvent] = []
    for item in _objects(output):
        if isinstance(url := item.get("url"), str):
            events.append(Source(id=tool_id, scope=scope, url=url, title=_title(item)))
        files = [made.get("file_id") for made in _objects(item.get("content"))]
        events += [container_file(tool_id, scope, name) for name in files if isinstance(name, str)]
    return events


def container_file(name: str, scope: Scope, file_id: str) -> File:
    """A file in the container; the API has neither its type nor its name."""
    return File(id=name, scope=scope, media_type="application/octet-stream", file_id=file_id)


def _objects(value: JSON) -> Iterator[dict[str, JSON]]:
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, dict):
            yield item


def _title(item: dict[str, JSON]) -> str | None:
    for holder in (item, *_objects(item.get("content"))):
        if isinstance(title := holder.get("title"), str):
            return title
    return None


Opener = Callable[["Content", wire.ContentBlockStart, str], Events]

IMPLIED_KINDS: dict[type[wire.Delta], str] = {
    wire.ThinkingDelta: "thinking",
    wire.SignatureDelta: "thinking",
    wire.InputJsonDelta: "tool",
    wire.CompactionDelta: "compaction",
}
"""The kind of a block without a start, by its delta; text otherwise."""


class _Block:
    """An open content block."""

    __slots__ = ("id", "kind", "parts", "provider", "whole")

    def __init__(self, name: str, kind: str, whole: JSON = None) -> None:
        self.id = name
        self.kind = kind
        self.whole = whole  # the block as its start has it
        self.parts: list[str] = []
        self.provider: dict[str, JSON] = {}


class Content:
    """The content of one agent's messages, one after the other."""

    def __init__(self, message: str, scope: tuple[str, ...] = ()) -> None:
        self.block_ids: list[str] = []
        """The ids of the blocks of this message, in order."""
        self._message = message
        self._scope = scope
        self._blocks: dict[int, _Block] = {}
        self._tools: set[str] = set()  # ids of all messages
        self._files: set[str | None] = set()  # likewise

    def begin(self, message: str) -> None:
        """Another message: its indexes restart."""
        self._message = message
        self._blocks.clear()
        self.block_ids = []

    def complete(self, content: list[dict[str, JSON]]) -> Events:
        """End the open tool inputs among these blocks."""
        tools = [block for block in content if isinstance(block.get("id"), str)]
        whole = {block["id"]: block.get("input") for block in tools}
        ends: Events = []
        for block in self._blocks.values():
            if block.kind == "tool" and block.id in whole:
                block.kind = "ended"
                ends.append(ToolUseEnd(id=block.id, scope=self._scope, input=whole[block.id]))
        return ends

    def end_blocks(self) -> Events:
        """End the blocks that did not stop; their message was interrupted."""
        ends: Events = []
        for block in self._blocks.values():
            if block.kind == "text":
                ends.append(TextEnd(id=block.id, scope=self._scope, interrupted=True))
            elif block.kind == "thinking":
                ends.append(self._end_of_thinking(block))
        return ends + self.close()

    def close(self) -> Events:
        """The message ended: end the tool inputs that were being streamed."""
        tools = [block for block in self._blocks.values() if block.kind == "tool"]
        self._blocks.clear()
        return [self._end_of_input(block) for block in tools]

    # Content blocks: start

    def start(self, line: wire.ContentBlockStart) -> Events:
        kind = convert(line.content_block, wire.Block).type
        # New server tools appear often; their results share a suffix.
        kind = "*_tool_result" if kind.endswith("_tool_result") else kind
        opens = self.BLOCKS.get(kind, Content._unknown)
        return opens(self, line, self._block_name(line.index))

    def _open(self, index: int, name: str, kind: str, whole: JSON = None) -> _Block:
        block = self._blocks[index] = _Block(name, kind, whole)
        self.block_ids.append(name)
        return block

    def _block_name(self, index: int) -> str:
        return f"{self._message}:{index}"

    def _unknown(self, line: wire.ContentBlockStart, name: str) -> Events:
        self._open(line.index, name, "unknown")
        raise UnrecognizedLine

    def _text(self, line: wire.ContentBlockStart, name: str) -> Events:
        text = convert(line.content_block, wire.Text)
        self._open(line.index, name, "text")
        opening = Text(id=name, scope=self._scope, content=text.text or "")
        return [opening, *self._cited(name, text.citations)]

    def _cited(self, name: str, citations: JSON) -> Events:
        """The sources of a text; one that cannot be parsed does not affect the others."""
        found = citations if isinstance(citations, list) else [citations] if citations else []
        reads = [(partial(self._cite, name, each), each) for each in found]
        return [event for read, each in reads for event in parse_or_raw(read, each, self._scope)]

    def _cite(self, name: str, citation: JSON) -> Events:
        return [cite(name, self._scope, convert(citation, dict[str, JSON]))]

    def _thinking(self, line: wire.ContentBlockStart, name: str) -> Events:
        thinking = convert(line.content_block, wire.Thinking)
        block = self._open(line.index, name, "thinking")
        if thinking.signature:
            block.provider["signature"] = thinking.signature
        return [Thinking(id=name, scope=self._scope, content=thinking.thinking or "")]

    def _redacted_thinking(self, line: wire.ContentBlockStart, name: str) -> Events:
        redacted = convert(line.content_block, wire.RedactedThinking)
        block = self._open(line.index, name, "thinking")
        block.provider["redacted_data"] = redacted.data
        return [Thinking(id=name, scope=self._scope, redacted=True)]

    def _tool_use(self, line: wire.ContentBlockStart, _name: str) -> Events:
        tool = convert(line.content_block, wire.ToolUse)
        self._open(line.index, tool.id, "tool", tool.input)
        self._tools.add(tool.id)
        about = {"server_name": tool.server_name, "toolset_name": tool.toolset_name}
        if tool.caller != {"type": "direct"}:
            about["caller"] = tool.caller
        about = {name: value for name, value in about.items() if value is not None}
        kind = kind_of(tool.name, is_mcp=tool.type == "mcp_tool_use")
        return [
            ToolUseStart(
                id=tool.id,
                scope=self._scope,
                name=tool.name,
                kind=kind,
                server=tool.type != "tool_use",
                display=display_of(tool.name),
                provider={VENDOR: about} if about else None,
            )
        ]

    def _tool_result(self, line: wire.ContentBlockStart, name: str) -> Events:
        result = convert(line.content_block, wire.ToolResult)
        self._open(line.index, name, "result")
        output, secrets = split_encrypted(result.content)
        event = ToolResult(
            id=result.tool_use_id,
            scope=self._scope,
            output=output,
            status="error" if result.is_error or is_failed_output(output) else "ok",
            provider={VENDOR: secrets} if secrets else None,
        )
        return [
            *self._call_before(result),
            event,
            *self._new_files(sources_in(result.tool_use_id, self._scope, output)),
        ]

    def _call_before(self, result: wire.ToolResult) -> Events:
        """The call of a result, if it was in a stream that was not captured."""
        if result.tool_use_id in self._tools:
            return []
        self._tools.add(result.tool_use_id)
        name = result.type.removesuffix("_tool_result") or result.type
        return [
            ToolUseStart(
                id=result.tool_use_id,
                scope=self._scope,
                name=name,
                kind=kind_of(name),
                server=True,
            ),
            ToolUseEnd(id=result.tool_use_id, scope=self._scope, input={}),
        ]

    def _new_files(self, events: Events) -> Events:
        """The files that are new: the API sends some twice."""
        new = [e for e in events if not (isinstance(e, File) and e.file_id in self._files)]
        self._files |= {event.file_id for event in new if isinstance(event, File)}
        return new

    def _container_upload(self, line: wire.ContentBlockStart, name: str) -> Events:
        upload = convert(line.content_block, wire.ContainerUpload)
        self._open(line.index, name, "file")
        return self._new_files([container_file(name, self._scope, upload.file_id)])

    def _compaction(self, line: wire.ContentBlockStart, name: str) -> Events:
        compaction = convert(line.content_block, wire.Compaction)
        block = self._open(line.index, name, "compaction")
        self._compact(block, compaction)
        return [StepStart(id=name, scope=self._scope, kind="compaction")]

    def _fallback(self, line: wire.ContentBlockStart, name: str) -> Events:
        fallback = convert(line.content_block, wire.Fallback)
        self._open(line.index, name, "fallback")
        message = f"{fallback.from_.model} declined; {fallback.to.model} continues"
        provider = {VENDOR: {"fallback": line.content_block}}
        return [Status(scope=self._scope, message=message, kind="fallback", provider=provider)]

    def _mcp_tool_listing(self, line: wire.ContentBlockStart, name: str) -> Events:
        listing = convert(line.content_block, wire.McpToolListing)
        self._open(line.index, name, "listing")
        message = f"{listing.mcp_server_name} offers {len(listing.tools or ())} tools"
        provider = {VENDOR: {"mcp_tool_listing": line.content_block}}
        return [Status(scope=self._scope, message=message, provider=provider)]

    # Content blocks: deltas

    def delta(self, line: wire.ContentBlockDelta) -> Events:
        """A delta of a block."""
        block = self._blocks.get(line.index)
        if block is None:  # the stream was joined in the middle
            kind = IMPLIED_KINDS.get(type(line.delta), "text")
            block = self._open(line.index, self._block_name(line.index), kind)
        delta = line.delta
        if block.kind == "unknown":
            raise UnrecognizedLine
        return self.DELTAS[type(delta)](self, block, delta)

    def _text_delta(self, block: _Block, delta: wire.TextDelta) -> Events:
        return [TextDelta(id=block.id, scope=self._scope, delta=delta.text)]

    def _thinking_delta(self, block: _Block, delta: wire.ThinkingDelta) -> Events:
        return [ThinkingDelta(id=block.id, scope=self._scope, delta=delta.text)]

    def _input_json_delta(self, block: _Block, delta: wire.InputJsonDelta) -> Events:
        if not delta.text:  # the first one always is empty
            return []
        block.parts.append(delta.text)
        return [ToolUseDelta(id=block.id, scope=self._scope, delta=delta.text)]

    def _signature_delta(self, block: _Block, delta: wire.SignatureDelta) -> Events:
        block.parts.append(delta.signature)
        return []

    def _citations_delta(self, block: _Block, delta: wire.CitationsDelta) -> Events:
        return [cite(block.id, self._scope, delta.citation)]

    def _compaction_delta(self, block: _Block, delta: wire.CompactionDelta) -> Events:
        self._compact(block, delta)
        return []

    def _compact(self, block: _Block, more: wire.Compaction | wire.CompactionDelta) -> None:
        if more.content:
            block.parts.append(more.content)
        if more.encrypted_content:
            block.provider["encrypted_content"] = more.encrypted_content

    # Content blocks: stop

    def stop(self, line: wire.ContentBlockStop) -> Events:
        block = self._blocks.pop(line.index, None)
        if block is None or block.kind == "unknown":
            raise UnrecognizedLine
        end = self.STOPS.get(block.kind)
        return [end(self, block)] if end is not None else []

    def _end_of_text(self, block: _Block) -> StreamEvent:
        return TextEnd(id=block.id, scope=self._scope)

    def _end_of_thinking(self, block: _Block) -> StreamEvent:
        if block.parts:
            block.provider["signature"] = block.provider.get("signature", "") + "".join(block.parts)
        provider = {VENDOR: block.provider} if block.provider else None
        return ThinkingEnd(id=block.id, scope=self._scope, provider=provider)

    def _end_of_input(self, block: _Block) -> StreamEvent:
        text = "".join(block.parts)
        if not text and block.whole is not None:
            return ToolUseEnd(id=block.id, scope=self._scope, input=block.whole)
        return tool_use_end(block.id, text, self._scope)

    def _end_of_compaction(self, block: _Block) -> StreamEvent:
        summary = {"content": "".join(block.parts), **block.provider}
        return StepEnd(id=block.id, scope=self._scope, provider={VENDOR: summary})

    BLOCKS: ClassVar[dict[str, Opener]] = {
        "text": _text,
        "thinking": _thinking,
        "redacted_thinking": _redacted_thinking,
        "tool_use": _tool_use,
        "server_tool_use": _tool_use,
        "mcp_tool_use": _tool_use,
        "*_tool_result": _tool_result,
        "container_upload": _container_upload,
        "compaction": _compaction,
        "fallback": _fallback,
        "mcp_tool_listing": _mcp_tool_listing,
    }
    DELTAS: ClassVar[dict[type[wire.Delta], Callable[[Content, _Block, Any], Events]]] = {
        wire.TextDelta: _text_delta,
        wire.ThinkingDelta: _thinking_delta,
        wire.InputJsonDelta: _input_json_delta,
        wire.SignatureDelta: _signature_delta,
        wire.CitationsDelta: _citations_delta,
        wire.CompactionDelta: _compaction_delta,
    }
    STOPS: ClassVar[dict[str, Callable[[Content, _Block], StreamEvent]]] = {
        "text": _end_of_text,
        "thinking": _end_of_thinking,
        "tool": _end_of_input,
        "compaction": _end_of_compaction,
    }
