"""The types of Gemini's answers that the parsers read, in the API's own spelling.

Decoding validates: another type raises `msgspec.ValidationError` and becomes RAW. Keys that are not
listed are ignored, and null is the same as absent.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from mobox.events import JSON, Count


class Camel(Struct, rename="camel"):
    """Fields as the API spells them."""


# Keys: Python's objects are dumped in snake_case, the API writes camelCase.

_OWN_NAMES: Final = frozenset(
    {
        "args", "artifactDelta", "customMetadata", "output", "payload", "requestedAuthConfigs",
        "requestedToolConfirmations", "response", "stateDelta",
    }
)  # fmt: skip
"""Values from a caller or a tool: their keys are not changed."""
_CONTAINERS: Final = (dict, list)
_LATER_WORD: Final = re.compile(r"(?<=[a-z0-9])_([a-z0-9])")


def camel_key(key: str) -> str:
    """A key in the API's spelling."""
    return _LATER_WORD.sub(lambda found: found[1].upper(), key)


def camel(value: JSON) -> JSON:
    """`value` with the keys that are the API's in the API's spelling."""
    if isinstance(value, list):
        return [camel(each) for each in value]
    if not isinstance(value, dict):
        return value
    spelled = {}
    for key, inner in value.items():
        name = camel_key(key) if "_" in key else key
        # Most values are scalars, which need no call.
        is_apis = isinstance(inner, _CONTAINERS) and name not in _OWN_NAMES
        spelled[name] = camel(inner) if is_apis else inner
    return spelled


# Chunks


class Content(Camel):
    parts: list[dict[str, JSON]] | None = None


class Candidate(Camel):
    content: Content | None = None
    finish_reason: str | None = None
    finish_message: str | None = None
    grounding_metadata: dict[str, JSON] | None = None
    citation_metadata: dict[str, JSON] | None = None
    url_context_metadata: dict[str, JSON] | None = None
    safety_ratings: list[JSON] | None = None


class PromptFeedback(Camel):
    block_reason: str | None = None
    block_reason_message: str | None = None


class ErrorBody(Camel):
    message: str | None = None
    status: str | None = None
    code: JSON = None
    details: JSON = None


class Chunk(Camel):
    candidates: list[dict[str, JSON]] | None = None
    usage_metadata: JSON = None
    model_version: str | None = None
    response_id: str | None = None
    prompt_feedback: PromptFeedback | None = None
    automatic_function_calling_history: list[Content] | None = None
    error: ErrorBody | None = None


class Usage(Camel):
    prompt_token_count: Count | None = None
    tool_use_prompt_token_count: Count | None = None
    candidates_token_count: Count | None = None
    thoughts_token_count: Count | None = None
    cached_content_token_count: Count | None = None
    total_token_count: Count | None = None
    service_tier: str | None = None


# Parts


class PartialArg(Camel):
    json_path: str
    string_value: str | None = None
    number_value: int | float | None = None
    bool_value: bool | None = None
    will_continue: bool | None = None


class FunctionCall(Camel):
    id: str | None = None
    name: str | None = None
    args: JSON = None
    partial_args: list[PartialArg] | None = None
    will_continue: bool | None = None


class FunctionResponse(Camel):
    id: str | None = None
    name: str | None = None
    response: JSON = None
    parts: list[dict[str, JSON]] | None = None
    will_continue: bool | None = None


class ExecutableCode(Camel):
    code: str
    language: str | None = None
    id: str | None = None


class CodeExecutionResult(Camel):
    outcome: str | None = None
    output: str | None = None
    id: str | None = None


class ToolCall(Camel):
    tool_type: str | None = None
    args: JSON = None
    id: str | None = None


class ToolResponse(Camel):
    tool_type: str | None = None
    response: JSON = None
    id: str | None = None


class Blob(Camel):
    mime_type: str
    data: str
    display_name: str | None = None


class FileData(Camel):
    file_uri: str
    mime_type: str | None = None
    display_name: str | None = None


class Part(Camel):
    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None
    function_call: FunctionCall | None = None
    function_response: FunctionResponse | None = None
    executable_code: ExecutableCode | None = None
    code_execution_result: CodeExecutionResult | None = None
    tool_call: ToolCall | None = None
    tool_response: ToolResponse | None = None
    inline_data: Blob | None = None
    file_data: FileData | None = None


# Grounding


class Web(Camel):
    uri: str | None = None
    title: str | None = None
    text: str | None = None
    file_search_store: str | None = None


class GroundingChunk(Camel):
    web: Web | None = None
    retrieved_context: Web | None = None
    maps: Web | None = None
    image: JSON = None


class Segment(Camel):
    text: str | None = None
    start_index: int | None = None
    end_index: int | None = None
    part_index: int | None = None


class GroundingSupport(Camel):
    grounding_chunk_indices: list[int] | None = None
    confidence_scores: list[float] | None = None
    segment: Segment | None = None


class Grounding(Camel):
    grounding_chunks: list[GroundingChunk] | None = None
    grounding_supports: list[GroundingSupport] | None = None


class Citation(Camel):
    uri: str | None = None
    title: str | None = None
    license: str | None = None
    start_index: int | None = None
    end_index: int | None = None


class Citations(Camel):
    citations: list[Citation] | None = None
    citation_sources: list[Citation] | None = None


class UrlMetadata(Camel):
    retrieved_url: str | None = None
    url_retrieval_status: str | None = None


class UrlContext(Camel):
    url_metadata: list[UrlMetadata] | None = None


# A chunk that is one delta of text and nothing else, as most are. Other keys do not fit, so neither
# does Python's spelling of the keys: `camel` converts that before a chunk is parsed.


class Exact(Camel, forbid_unknown_fields=True):
    """Only these keys."""


class DeltaPart(Exact):
    text: str
    thought: bool | None = None


class DeltaContent(Exact):
    parts: tuple[DeltaPart]
    role: JSON = None


class DeltaCandidate(Exact):
    content: DeltaContent
    index: JSON = None


class DeltaChunk(Exact):
    candidates: tuple[DeltaCandidate]
    usage_metadata: JSON = None
    model_version: str | None = None
    response_id: str | None = None
    create_time: JSON = None
    sdk_http_response: JSON = None
