"""The types of the Messages API's stream that the parser reads.

Decoding validates: a line of another type raises `msgspec.ValidationError` and becomes RAW. Keys
that are not listed are ignored, and null is the same as absent.

See: https://docs.claude.com/en/docs/build-with-claude/streaming; the beta types are the SDK's.
"""

from __future__ import annotations

from msgspec import Struct, field

from mobox.events import JSON, Count

Index = Count


class Line(Struct, tag_field="type", gc=False):
    """One event of a stream."""


class Message(Struct):
    id: str | None = None
    model: str | None = None
    usage: JSON = None


class WholeMessage(Message, kw_only=True):
    content: list[dict[str, JSON]]


class StartedMessage(Message):
    content: JSON = None
    """The blocks that are complete already: none, unless the message is sent at once."""
    stop_reason: JSON = None
    stop_sequence: JSON = None
    stop_details: JSON = None


class MessageStart(Line, tag="message_start"):
    message: StartedMessage


class ContentBlockStart(Line, tag="content_block_start"):
    index: Index
    content_block: dict[str, JSON]


class Delta(Struct, tag_field="type", gc=False):
    """The delta of a content_block_delta."""


class TextDelta(Delta, tag="text_delta"):
    text: str


class ThinkingDelta(Delta, tag="thinking_delta"):
    text: str = field(name="thinking")


class SignatureDelta(Delta, tag="signature_delta"):
    signature: str


class InputJsonDelta(Delta, tag="input_json_delta"):
    text: str = field(name="partial_json")


class Citation(Struct):
    type: str
    cited_text: str | None = None
    title: str | None = None
    url: str | None = None
    source: str | None = None
    document_title: str | None = None
    document_index: int | None = None
    file_id: str | None = None
    encrypted_index: str | None = None


class CitationsDelta(Delta, tag="citations_delta"):
    citation: dict[str, JSON]


class CompactionDelta(Delta, tag="compaction_delta"):
    content: str | None = None
    encrypted_content: str | None = None


AnyDelta = (
    TextDelta | ThinkingDelta | SignatureDelta | InputJsonDelta | CitationsDelta | CompactionDelta
)


class ContentBlockDelta(Line, tag="content_block_delta"):
    index: Index
    delta: AnyDelta


class ContentBlockStop(Line, tag="content_block_stop"):
    index: Index


class MessageChange(Struct):
    stop_reason: str | None = None
    stop_sequence: str | None = None
    stop_details: JSON = None
    container: JSON = None


class MessageDelta(Line, tag="message_delta"):
    delta: MessageChange
    usage: JSON = None
    context_management: JSON = None


class MessageStop(Line, tag="message_stop"):
    pass


class Ping(Line, tag="ping"):
    pass


class ErrorBody(Struct):
    message: str | None = None
    type: str | None = None


class Error(Line, tag="error"):
    error: ErrorBody
    request_id: str | None = None


AnyLine = (
    MessageStart
    | ContentBlockStart
    | ContentBlockDelta
    | ContentBlockStop
    | MessageDelta
    | MessageStop
    | Ping
    | Error
)


# Content blocks, by their `type`


class Block(Struct):
    type: str


class Text(Struct):
    text: str | None = None
    citations: JSON = None


class Thinking(Struct):
    thinking: str | None = None
    signature: str | None = None


class RedactedThinking(Struct):
    data: str


class ToolUse(Struct):
    id: str
    name: str
    type: str
    input: JSON = None
    caller: JSON = None
    server_name: str | None = None
    toolset_name: str | None = None


class ToolResult(Struct):
    tool_use_id: str
    type: str
    content: JSON = None
    is_error: bool | None = None


class ContainerUpload(Struct):
    file_id: str


class Compaction(Struct):
    content: str | None = None
    encrypted_content: str | None = None


class Model(Struct):
    model: str


class Fallback(Struct):
    to: Model
    from_: Model = field(name="from")


class McpToolListing(Struct):
    mcp_server_name: str
    tools: list[JSON] | None = None


class OutputDetails(Struct):
    thinking_tokens: Count | None = None


class Usage(Struct):
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None
    output_tokens_details: OutputDetails | None = None
    service_tier: str | None = None
