"""The Messages API's stream: messages made of content blocks, each with start, deltas and stop.

Rule 1: a message is a turn of the agent's loop (STEP); START and DONE belong to the run.
Rule 2: a tool's blocks are keyed by its own id; others have only an index, which starts again with
        every message: their id is `<message>:<index>`.
Rule 3: a tool's result may come in a later message than its call.
Rule 4: usage in message_delta is cumulative and leaves out what message_start said.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import msgspec
from msgspec import convert

from mobox.events import (
    JSON,
    Error,
    Raw,
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
    Usage,
)
from mobox.parsers.claude import wire
from mobox.parsers.claude.findings import VENDOR, cite, found, is_error, uploaded, without_secrets

__all__ = ["Messages"]

Events = list[StreamEvent]

RETRYABLE = {"overloaded_error", "rate_limit_error", "api_error", "timeout_error"}
KINDS: dict[str, ToolKind] = {
    "web_search": "search",
    "web_fetch": "search",
    "tool_search_tool_regex": "search",
    "tool_search_tool_bm25": "search",
    "code_execution": "code",
    "text_editor_code_execution": "code",
    "bash_code_execution": "shell",
}


IMPLIED: dict[type[wire.Delta], str] = {
    wire.ThinkingDelta: "thinking",
    wire.SignatureDelta: "thinking",
    wire.InputJsonDelta: "tool",
    wire.CompactionDelta: "compaction",
}
"""The kind of a block whose start we did not see; text otherwise."""


class _Block:
    """A content block that has not stopped."""

    __slots__ = ("id", "kind", "parts", "provider", "whole")

    def __init__(self, name: str, kind: str, whole: JSON = None) -> None:
        self.id = name
        self.kind = kind
        self.whole = whole  # what the start said the block will be
        self.parts: list[str] = []
        self.provider: dict[str, JSON] = {}


class Messages:
    """The messages of one agent, in the order in which they are streamed."""

    def __init__(self, prefix: str = "", scope: tuple[str, ...] = ()) -> None:
        self.stop_reason: str | None = None
        """Why the last message stopped; `None` while it has not."""
        self._prefix = prefix
        self._scope = scope
        self._message: str | None = None
        self._seen: dict[str, int] = {}
        self._count = 0
        self._blocks: dict[int, _Block] = {}
        self._tools: set[str] = set()
        self._usage: dict[str, JSON] = {}
        self._model: str | None = None
        self._ending: dict[str, JSON] = {}

    def read(self, line: wire.Line) -> Events:
        """What one line means."""
        return self.LINES[type(line)](self, line)

    def close(self) -> Events:
        """The stream ended: end the tool inputs that were still coming."""
        tools = [block for block in self._blocks.values() if block.kind == "tool"]
        self._blocks.clear()
        return [self._end_of_input(block) for block in tools]

    # Messages

    def _message_start(self, line: wire.MessageStart) -> Events:
        left_open = self._leave_message("interrupted") if self._message is not None else []
        self._count += 1
        self._message = self._unique(line.message.id or f"{self._prefix}message_{self._count}")
        self._model = line.message.model
        self._usage, self._ending, self.stop_reason = {}, {}, None
        step = StepStart(id=self._message, scope=self._scope, kind="turn", number=self._count)
        return [*left_open, step, *self._use(line.message.usage)]

    def _message_delta(self, line: wire.MessageDelta) -> Events:
        change = line.delta
        self.stop_reason = change.stop_reason or self.stop_reason
        about = {
            "stop_sequence": change.stop_sequence,
            "stop_details": change.stop_details,
            "container": change.container,
            "context_management": line.context_management,
        }
        self._ending |= {name: value for name, value in about.items() if value is not None}
        return [*self._use(line.usage), *self._explain(change.stop_details)]

    def _message_stop(self, _line: wire.MessageStop) -> Events:
        return self._leave_message("ok")

    def _leave_message(self, status: Any) -> Events:
        if self._message is None:
            return []
        events = self.close()
        provider = {VENDOR: self._ending} if self._ending else None
        end = StepEnd(
            id=self._message,
            scope=self._scope,
            status=status,
            reason=self.stop_reason,
            provider=provider,
        )
        self._message = None
        return [*events, end]

    def _explain(self, details: JSON) -> Events:
        """A refusal may say why."""
        explanation = details.get("explanation") if isinstance(details, dict) else None
        if not isinstance(explanation, str):
            return []
        return [Status(scope=self._scope, message=explanation, kind="notice")]

    def _unique(self, message_id: str) -> str:
        """A message may start twice under one id, when streams are spliced."""
        self._seen[message_id] = times = self._seen.get(message_id, 0) + 1
        return message_id if times == 1 else f"{message_id}~{times}"

    def _use(self, usage: dict[str, JSON] | None) -> Events:
        if not usage:
            return []
        self._usage |= {name: value for name, value in usage.items() if value is not None}
        counted = convert(self._usage, wire.Usage)
        read, written = counted.cache_read_input_tokens, counted.cache_creation_input_tokens
        details = counted.output_tokens_details
        rest = {k: v for k, v in self._usage.items() if k not in wire.Usage.__struct_fields__}
        return [
            Usage(
                id=self._message,
                scope=self._scope,
                input=(counted.input_tokens or 0) + (read or 0) + (written or 0),
                output=counted.output_tokens or 0,
                cache_read=read,
                cache_write=written,
                reasoning=details.thinking_tokens if details is not None else None,
                model=self._model,
                service_tier=counted.service_tier,
                provider={VENDOR: rest} if rest else None,
            )
        ]

    # Content blocks: start

    def _block_start(self, line: wire.ContentBlockStart) -> Events:
        kind = convert(line.content_block, wire.Block).type
        # Providers add server tools faster than names for what they have in common.
        kind = "*_tool_result" if kind.endswith("_tool_result") else kind
        opens = self.BLOCKS.get(kind, Messages._unknown)
        return opens(self, line, self._block_name(line.index))

    def _block_name(self, index: int) -> str:
        return f"{self._message or self._prefix + 'message'}:{index}"

    def _unknown(self, line: wire.ContentBlockStart, name: str) -> Events:
        self._blocks[line.index] = _Block(name, "unknown")
        return [Raw(scope=self._scope, raw=msgspec.to_builtins(line))]

    def _text(self, line: wire.ContentBlockStart, name: str) -> Events:
        text = convert(line.content_block, wire.Text)
        self._blocks[line.index] = _Block(name, "text")
        cited = [cite(name, self._scope, citation) for citation in text.citations or ()]
        return [Text(id=name, scope=self._scope, content=text.text), *cited]

    def _thinking(self, line: wire.ContentBlockStart, name: str) -> Events:
        thinking = convert(line.content_block, wire.Thinking)
        block = self._blocks[line.index] = _Block(name, "thinking")
        if thinking.signature:
            block.provider["signature"] = thinking.signature
        return [Thinking(id=name, scope=self._scope, content=thinking.thinking)]

    def _redacted_thinking(self, line: wire.ContentBlockStart, name: str) -> Events:
        redacted = convert(line.content_block, wire.RedactedThinking)
        block = self._blocks[line.index] = _Block(name, "thinking")
        block.provider["redacted_data"] = redacted.data
        return [Thinking(id=name, scope=self._scope, redacted=True)]

    def _tool_use(self, line: wire.ContentBlockStart, _name: str) -> Events:
        tool = convert(line.content_block, wire.ToolUse)
        self._blocks[line.index] = _Block(tool.id, "tool", tool.input)
        self._tools.add(tool.id)
        about = {"server_name": tool.server_name, "toolset_name": tool.toolset_name}
        if tool.caller != {"type": "direct"}:
            about["caller"] = tool.caller
        about = {name: value for name, value in about.items() if value is not None}
        kind: ToolKind = "mcp" if tool.type == "mcp_tool_use" else KINDS.get(tool.name, "function")
        return [
            ToolUseStart(
                id=tool.id,
                scope=self._scope,
                name=tool.name,
                kind=kind,
                server=tool.type != "tool_use",
                provider={VENDOR: about} if about else None,
            )
        ]

    def _tool_result(self, line: wire.ContentBlockStart, name: str) -> Events:
        result = convert(line.content_block, wire.ToolResult)
        self._blocks[line.index] = _Block(name, "result")
        output, secrets = without_secrets(result.content)
        told = ToolResult(
            id=result.tool_use_id,
            scope=self._scope,
            output=output,
            status="error" if result.is_error or is_error(output) else "ok",
            provider={VENDOR: secrets} if secrets else None,
        )
        return [
            *self._call_before(result),
            told,
            *found(result.tool_use_id, self._scope, output),
        ]

    def _call_before(self, result: wire.ToolResult) -> Events:
        """The call that a result answers, where it was told in a stream that we did not see."""
        if result.tool_use_id in self._tools:
            return []
        self._tools.add(result.tool_use_id)
        name = result.type.removesuffix("_tool_result") or result.type
        return [
            ToolUseStart(
                id=result.tool_use_id,
                scope=self._scope,
                name=name,
                kind=KINDS.get(name, "mcp" if name == "mcp" else "function"),
                server=True,
            ),
            ToolUseEnd(id=result.tool_use_id, scope=self._scope, input={}),
        ]

    def _container_upload(self, line: wire.ContentBlockStart, name: str) -> Events:
        upload = convert(line.content_block, wire.ContainerUpload)
        self._blocks[line.index] = _Block(name, "file")
        return [uploaded(name, self._scope, upload.file_id)]

    def _compaction(self, line: wire.ContentBlockStart, name: str) -> Events:
        compaction = convert(line.content_block, wire.Compaction)
        block = self._blocks[line.index] = _Block(name, "compaction")
        self._compact(block, compaction)
        return [StepStart(id=name, scope=self._scope, kind="compaction")]

    def _fallback(self, line: wire.ContentBlockStart, name: str) -> Events:
        fallback = convert(line.content_block, wire.Fallback)
        self._blocks[line.index] = _Block(name, "fallback")
        message = f"{fallback.from_.model} declined; {fallback.to.model} goes on"
        provider = {VENDOR: {"fallback": line.content_block}}
        return [Status(scope=self._scope, message=message, kind="fallback", provider=provider)]

    def _mcp_tool_listing(self, line: wire.ContentBlockStart, name: str) -> Events:
        listing = convert(line.content_block, wire.McpToolListing)
        self._blocks[line.index] = _Block(name, "listing")
        message = f"{listing.mcp_server_name} offers {len(listing.tools)} tools"
        provider = {VENDOR: {"mcp_tool_listing": line.content_block}}
        return [Status(scope=self._scope, message=message, provider=provider)]

    # Content blocks: deltas

    def _block_delta(self, line: wire.ContentBlockDelta) -> Events:
        block = self._blocks.get(line.index)
        if block is None:  # the stream was joined in the middle
            block = _Block(self._block_name(line.index), IMPLIED.get(type(line.delta), "text"))
            self._blocks[line.index] = block
        if block.kind == "unknown":
            return [Raw(scope=self._scope, raw=msgspec.to_builtins(line))]
        return self.DELTAS[type(line.delta)](self, block, line.delta)

    def _text_delta(self, block: _Block, delta: wire.TextDelta) -> Events:
        return [TextDelta(id=block.id, scope=self._scope, delta=delta.text)]

    def _thinking_delta(self, block: _Block, delta: wire.ThinkingDelta) -> Events:
        return [ThinkingDelta(id=block.id, scope=self._scope, delta=delta.thinking)]

    def _input_json_delta(self, block: _Block, delta: wire.InputJsonDelta) -> Events:
        if not delta.partial_json:  # the first one always is empty
            return []
        block.parts.append(delta.partial_json)
        return [ToolUseDelta(id=block.id, scope=self._scope, delta=delta.partial_json)]

    def _signature_delta(self, block: _Block, delta: wire.SignatureDelta) -> Events:
        block.provider["signature"] = block.provider.get("signature", "") + delta.signature
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

    def _block_stop(self, line: wire.ContentBlockStop) -> Events:
        block = self._blocks.pop(line.index, None)
        if block is None or block.kind == "unknown":
            return [Raw(scope=self._scope, raw=msgspec.to_builtins(line))]
        end = self.STOPS.get(block.kind)
        return [end(self, block)] if end is not None else []

    def _end_of_text(self, block: _Block) -> StreamEvent:
        return TextEnd(id=block.id, scope=self._scope)

    def _end_of_thinking(self, block: _Block) -> StreamEvent:
        provider = {VENDOR: block.provider} if block.provider else None
        return ThinkingEnd(id=block.id, scope=self._scope, provider=provider)

    def _end_of_input(self, block: _Block) -> StreamEvent:
        text = "".join(block.parts)
        if not text:
            whole = {} if block.whole is None else block.whole
            return ToolUseEnd(id=block.id, scope=self._scope, input=whole)
        try:
            return ToolUseEnd(id=block.id, scope=self._scope, input=msgspec.json.decode(text))
        except (msgspec.DecodeError, RecursionError):
            return ToolUseEnd(id=block.id, scope=self._scope, invalid=text)

    def _end_of_compaction(self, block: _Block) -> StreamEvent:
        summary = {"content": "".join(block.parts), **block.provider}
        return StepEnd(id=block.id, scope=self._scope, provider={VENDOR: summary})

    # The rest

    def _error(self, line: wire.Error) -> Events:
        code = line.error.type
        provider = {VENDOR: {"request_id": line.request_id}} if line.request_id else None
        return [
            Error(
                scope=self._scope,
                message=line.error.message,
                code=code,
                retryable=code in RETRYABLE,
                provider=provider,
            )
        ]

    def _ping(self, _line: wire.Ping) -> Events:
        return []

    LINES: ClassVar[dict[type[wire.Line], Callable[[Messages, Any], Events]]] = {
        wire.ContentBlockDelta: _block_delta,
        wire.ContentBlockStart: _block_start,
        wire.ContentBlockStop: _block_stop,
        wire.MessageStart: _message_start,
        wire.MessageDelta: _message_delta,
        wire.MessageStop: _message_stop,
        wire.Ping: _ping,
        wire.Error: _error,
    }
    BLOCKS: ClassVar[dict[str, Callable[[Messages, wire.ContentBlockStart, str], Events]]] = {
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
    DELTAS: ClassVar[dict[type[wire.Delta], Callable[[Messages, _Block, Any], Events]]] = {
        wire.TextDelta: _text_delta,
        wire.ThinkingDelta: _thinking_delta,
        wire.InputJsonDelta: _input_json_delta,
        wire.SignatureDelta: _signature_delta,
        wire.CitationsDelta: _citations_delta,
        wire.CompactionDelta: _compaction_delta,
    }
    STOPS: ClassVar[dict[str, Callable[[Messages, _Block], StreamEvent]]] = {
        "text": _end_of_text,
        "thinking": _end_of_thinking,
        "tool": _end_of_input,
        "compaction": _end_of_compaction,
    }
