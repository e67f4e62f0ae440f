"""Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from mobox.models.simulator.answer import (
    Answer,
    Document,
    Event,
    Reply,
    Streamed,
    input_text,
    json_text,
    named_sse,
    retry_after,
    signature,
    streamed,
)
from mobox.models.simulator.reading import check_calls, objects, optional, required
from mobox.models.simulator.request import Call, Message, Offered, Request, Result, text_of
from mobox.models.simulator.script import (
    Cite,
    Content,
    Fail,
    File,
    Refuse,
    ServerTool,
    Text,
    Think,
    Tool,
    Wait,
)

KINDS: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}
WORDS: Final = {
    401: "invalid x-api-key",
    429: "This request would exceed your organization's rate limit.",
    529: "Overloaded",
}
STOP_REASONS: Final = {
    "stop": "end_turn",
    "tool": "tool_use",
    "malformed": "tool_use",
    "max_tokens": "max_tokens",
    "refuse": "refusal",
}
SERVER_TOOLS: Final = ("web_search", "code_execution")


class Messages:
    """`POST /v1/messages`."""

    last = b""
    frame = staticmethod(named_sse)

    def headers(self, given_id: str) -> dict[str, str]:
        """The id of the request, which the SDK's errors show."""
        return {"request-id": f"req_{given_id}"}

    def read(self, body: Document, _path: str) -> Request:
        """The request; raises `InvalidRequest`."""
        max_tokens = required(body, "max_tokens", int)
        return self.conversation(body, max_tokens)

    def conversation(self, body: Document, max_tokens: int | None = None) -> Request:
        """What is asked, also where only its tokens are counted."""
        required(body, "messages", list)
        given = objects(body, "messages")
        told = [message for message in given if message.get("role") == "system"]
        messages = tuple(_message(message) for message in given if message not in told)
        check_calls(
            messages,
            "`tool_use` ids were found without `tool_result` blocks immediately after: {}",
            "unexpected `tool_use_id` found in `tool_result` blocks: {}",
        )
        tools = objects(body, "tools")
        thinking = optional(body, "thinking", dict, {})
        return Request(
            model=required(body, "model", str),
            system="\n".join(
                [
                    text_of(body.get("system")),
                    *(text_of(message.get("content")) for message in told),
                ]
            ),
            messages=messages,
            tools=tuple(map(_offered, (t for t in tools if t.get("type", "custom") == "custom"))),
            server_tools=frozenset(
                name for t in tools for name in SERVER_TOOLS if str(t.get("type")).startswith(name)
            ),
            choice=_choice(optional(body, "tool_choice", dict, {})),
            schema=_schema(body),
            stream=body.get("stream") is True,
            thinks=thinking.get("type") in ("enabled", "adaptive"),
            max_tokens=max_tokens,
        )

    def whole(self, given: Answer) -> Document:
        """A message."""
        content = [
            block
            for place, step in enumerate(given.steps)
            if not isinstance(step, Wait)
            for block in BLOCKS[type(step)](given, step, place)
        ]
        return {**_message_of(given), "content": content, **_stop(given), "usage": _usage(given)}

    def events(self, given: Answer) -> Iterator[Streamed]:
        """The events of a stream, `ping` included."""
        start = {**_usage(given), "output_tokens": 1}
        yield Event({"type": "message_start", "message": {**_message_of(given), "usage": start}})
        yield Event({"type": "ping"})
        index = 0
        for place, step in enumerate(given.steps):
            if isinstance(step, Wait):
                yield step
                continue
            blocks = BLOCKS[type(step)](given, step, place)
            for number, block in enumerate(blocks):
                yield from _block_events(block, index, input_of(step) if number == 0 else "")
                if given.is_unfinished(place) and number == len(blocks) - 1:
                    return
                yield Event({"type": "content_block_stop", "index": index})
                index += 1
        if given.breaks is None:
            yield Event({"type": "message_delta", "delta": _stop(given), "usage": _last(given)})
            yield Event({"type": "message_stop"})

    def broken(self, fail: Fail, given: Answer) -> list[Document]:
        """An `error` event."""
        return [self.failure(fail, given.request.digest[:24]).body]

    def failure(self, fail: Fail, given_id: str) -> Reply:
        """An error response."""
        kind = fail.kind or KINDS.get(fail.status, "api_error")
        error = {"type": kind, "message": fail.message or WORDS.get(fail.status, kind)}
        body = {"type": "error", "error": error, "request_id": f"req_{given_id}"}
        return Reply(fail.status, retry_after(fail), body)


# Requests


def _message(message: Document) -> Message:
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    return Message(
        role="assistant" if message.get("role") == "assistant" else "user",
        text=text_of(content),
        calls=tuple(
            Call(b.get("id", ""), b.get("name", ""), b.get("input"))
            for b in blocks
            if b.get("type") == "tool_use"
        ),
        results=tuple(
            Result(b.get("tool_use_id", ""), text_of(b.get("content")))
            for b in blocks
            if b.get("type") == "tool_result"
        ),
    )


def _offered(tool: Document) -> Offered:
    return Offered(
        tool.get("name", ""), tool.get("description") or "", tool.get("input_schema", {})
    )


def _choice(choice: Document) -> str:
    kind = choice.get("type", "auto")
    return str(choice.get("name", "any") if kind == "tool" else kind)


def _schema(body: Document) -> dict[str, Any] | None:
    """Of a structured output: in `output_config`, or as the beta had it."""
    config = optional(body, "output_config", dict, {})
    given = config.get("format") or body.get("output_format")
    return given.get("schema") if isinstance(given, dict) else None


# Messages


def _message_of(given: Answer) -> Document:
    return {
        "model": given.request.model,
        "id": given.id("msg_"),
        "type": "message",
        "role": "assistant",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "stop_details": None,
    }


def _stop(given: Answer) -> Document:
    details = None
    if given.ending == "refuse":
        text = next(step.text for step in given.steps if isinstance(step, Refuse))
        details = {"type": "refusal", "category": None, "explanation": text}
    reason = STOP_REASONS[given.ending]
    return {"stop_reason": reason, "stop_sequence": None, "stop_details": details}


def _usage(given: Answer) -> Document:
    """Anthropic counts the cached tokens apart."""
    tokens = given.tokens
    cache = {"ephemeral_5m_input_tokens": tokens.cache_write, "ephemeral_1h_input_tokens": 0}
    return {
        **_last(given),
        "cache_creation": cache,
        "service_tier": "standard",
        "inference_geo": "not_available",
    }


def _last(given: Answer) -> Document:
    tokens = given.tokens
    searches = sum(isinstance(s, ServerTool) and s.name == "web_search" for s in given.steps)
    usage: Document = {
        "input_tokens": max(0, tokens.input - tokens.cached - tokens.cache_write),
        "cache_creation_input_tokens": tokens.cache_write,
        "cache_read_input_tokens": tokens.cached,
        "output_tokens": tokens.output,
    }
    if tokens.reasoning:
        usage["output_tokens_details"] = {"thinking_tokens": tokens.reasoning}
    if searches:
        usage["server_tool_use"] = {"web_search_requests": searches, "web_fetch_requests": 0}
    return usage


def _thinking(_given: Answer, step: Think, _place: int) -> list[Document]:
    if step.redacted:
        return [{"type": "redacted_thinking", "data": signature(step.text)}]
    return [{"type": "thinking", "thinking": step.text, "signature": signature(step.text)}]


def _text(_given: Answer, step: Text, _place: int) -> list[Document]:
    return [{"type": "text", "text": step.text}]


def _cited(_given: Answer, step: Cite, _place: int) -> list[Document]:
    return [{"type": "text", "text": step.text, "citations": [_citation(step)]}]


def _call(given: Answer, step: Tool, place: int) -> list[Document]:
    name = {"id": given.call_id(step, "toolu_", place), "name": step.name}
    return [{"type": "tool_use", **name, "input": step.input, "caller": {"type": "direct"}}]


def _upload(given: Answer, _step: File, place: int) -> list[Document]:
    return [{"type": "container_upload", "file_id": given.id("file_", place)}]


def _citation(step: Cite) -> Document:
    return {
        "type": "web_search_result_location",
        "cited_text": step.quote or step.text,
        "url": step.url,
        "title": step.title or None,
        "encrypted_index": signature(step.url),
    }


def _server_tool(given: Answer, step: ServerTool, place: int) -> list[Document]:
    call_id = given.call_id(step, "srvtoolu_", place)
    name = {"id": call_id, "name": step.name}
    call = {"type": "server_tool_use", **name, "input": _server_input(step)}
    result = {"type": f"{step.name}_tool_result", "tool_use_id": call_id}
    if step.name == "code_execution":
        output = {"stdout": step.output, "stderr": "", "return_code": 0, "content": []}
        return [call, {**result, "content": {"type": "code_execution_result", **output}}]
    pages = [
        {
            "type": "web_search_result",
            "title": page.title,
            "url": page.url,
            "encrypted_content": signature(page.text),
            "page_age": None,
        }
        for page in step.pages
    ]
    return [call, {**result, "content": pages}]


BLOCKS: Final[Mapping[type, Callable[[Answer, Any, int], list[Document]]]] = {
    Think: _thinking,
    Text: _text,
    Cite: _cited,
    Tool: _call,
    ServerTool: _server_tool,
    File: _upload,
    Refuse: lambda *_: [],  # it is in the stop reason
}
"""The content blocks of a step, complete."""


def _server_input(step: ServerTool) -> Document:
    return {"query" if step.name == "web_search" else "code": step.input}


# Streams


def input_of(step: Content | Refuse) -> str:
    """The input of a call as it is streamed."""
    if isinstance(step, Tool):
        return input_text(step)
    return json_text(_server_input(step)) if isinstance(step, ServerTool) else ""


EMPTY: Final[Mapping[str, Document]] = {
    "thinking": {"thinking": "", "signature": ""},
    "text": {"text": ""},
    "tool_use": {"input": {}},
    "server_tool_use": {"input": {}},
}
"""What a block does not have yet when it starts; other blocks come whole."""


def _block_events(block: Document, index: int, given_input: str) -> Iterator[Event]:
    start = {**block, **EMPTY.get(block["type"], {})}
    if "citations" in block:
        start["citations"] = []
    yield Event({"type": "content_block_start", "index": index, "content_block": start})

    def delta(kind: str, field: str, value: Any) -> Document:
        fields = {"type": kind, field: value}
        return {"type": "content_block_delta", "index": index, "delta": fields}

    match block["type"]:
        case "thinking":
            text = block["thinking"]
            yield from streamed(text, lambda p: delta("thinking_delta", "thinking", p))
            yield Event(delta("signature_delta", "signature", block["signature"]))
        case "text":
            for citation in block.get("citations", ()):
                yield Event(delta("citations_delta", "citation", citation))
            yield from streamed(block["text"], lambda p: delta("text_delta", "text", p))
        case "tool_use" | "server_tool_use":
            yield Event(delta("input_json_delta", "partial_json", ""))
            if given_input != "{}":
                yield from streamed(
                    given_input, lambda p: delta("input_json_delta", "partial_json", p)
                )
        case _:
            pass  # it came whole
