"""OpenAI's chat completions, in the form that compatible providers use too.

Thinking is `reasoning_content`, and a file that is an image is in `images`: OpenAI's own models
send neither in this API, compatible providers do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from mobox.models.simulator.answer import (
    CREATED,
    Answer,
    Document,
    Event,
    Streamed,
    input_text,
    sse,
    streamed,
)
from mobox.models.simulator.openai_errors import Errors, error_of
from mobox.models.simulator.reading import check_calls, objects, optional, required
from mobox.models.simulator.request import Call, Message, Offered, Request, Result, text_of
from mobox.models.simulator.script import (
    Cite,
    Content,
    Fail,
    File,
    Refuse,
    Text,
    Think,
    Tool,
    Wait,
)

FINISH_REASONS: Final = {
    "stop": "stop",
    "tool": "tool_calls",
    "malformed": "tool_calls",
    "max_tokens": "length",
    "refuse": "stop",
}


class ChatRequest(Request, frozen=True, kw_only=True, dict=True):
    """A request, and whether its stream ends with the usage."""

    has_usage: bool = False


class ChatCompletions(Errors):
    """`POST /v1/chat/completions`."""

    last = b"data: [DONE]\n\n"
    frame = staticmethod(sse)

    def read(self, body: Document, _path: str) -> Request:
        """The request; raises `InvalidRequest`."""
        required(body, "messages", list)
        given = objects(body, "messages")
        told = [message for message in given if message.get("role") not in ("system", "developer")]
        messages = tuple(map(_message, told))
        check_calls(
            messages,
            "An assistant message with 'tool_calls' must be followed by tool messages responding"
            " to each 'tool_call_id'. These tool_call_ids did not have response messages: {}",
            "messages with role 'tool' must be a response to a preceding message with 'tool_calls':"
            " {}",
        )
        tools = [tool.get("function") or {} for tool in objects(body, "tools")]
        instructions = [message for message in given if message not in told]
        return ChatRequest(
            model=required(body, "model", str),
            has_usage=optional(body, "stream_options", dict, {}).get("include_usage") is True,
            system="\n".join(text_of(message.get("content")) for message in instructions),
            messages=messages,
            tools=tuple(map(offered, tools)),
            choice=choice_of(body.get("tool_choice")),
            schema=_schema(optional(body, "response_format", dict, {})),
            stream=body.get("stream") is True,
            max_tokens=body.get("max_completion_tokens") or body.get("max_tokens"),
        )

    def whole(self, given: Answer) -> Document:
        """A completion."""
        choice = {
            "index": 0,
            "message": _whole_message(given),
            "logprobs": None,
            "finish_reason": FINISH_REASONS[given.ending],
        }
        about = {**_about(given), "object": "chat.completion"}
        return {**about, "choices": [choice], "usage": _usage(given)}

    def events(self, given: Answer) -> Iterator[Streamed]:
        """Chunks; the last one has the usage, if it was asked for."""
        yield Event(_chunk(given, {"role": "assistant", "content": "", "refusal": None}))
        calls = sent = 0
        for place, step in enumerate(given.steps):
            if isinstance(step, Wait):
                yield step
                continue
            for event in _step_events(given, step, (place, calls, sent)):
                yield Event(_chunk(given, event.data), event.tokens)
            calls += isinstance(step, Tool)
            sent += len(step.text) if isinstance(step, Text | Cite) else 0
        if given.breaks is None:
            yield Event(_chunk(given, {}, FINISH_REASONS[given.ending]))
            if _has_usage(given):
                yield Event({**_chunk(given, {}), "choices": [], "usage": _usage(given)})

    def broken(self, fail: Fail, _given: Answer) -> list[Document]:
        """An error in place of a chunk."""
        return [{"error": error_of(fail)}]


# Requests


def _message(message: Document) -> Message:
    role = message.get("role")
    text = text_of(message.get("content"))
    if role == "tool":
        return Message("user", results=(Result(message.get("tool_call_id", ""), text),))
    calls = tuple(
        Call(
            call.get("id", ""), call["function"].get("name", ""), call["function"].get("arguments")
        )
        for call in objects(message, "tool_calls")
        if isinstance(call.get("function"), dict)
    )
    return Message("assistant" if role == "assistant" else "user", text, calls)


def offered(function: Document) -> Offered:
    """A function that a request offers."""
    return Offered(
        function.get("name", ""),
        function.get("description") or "",
        function.get("parameters") or {},
    )


def choice_of(choice: Any) -> str:
    """Which tool must be called."""
    if isinstance(choice, dict):
        function = choice.get("function") or choice
        return str(function.get("name") or "auto")
    return {"required": "any", "none": "none"}.get(choice, "auto")


def _schema(given: Document) -> dict[str, Any] | None:
    if given.get("type") == "json_object":
        return {"type": "object"}
    named = given.get("json_schema")
    return named.get("schema") if isinstance(named, dict) else None


# Responses


def _about(given: Answer) -> Document:
    return {
        "id": given.id("chatcmpl-"),
        "object": "chat.completion.chunk",
        "created": CREATED,
        "model": given.request.model,
        "service_tier": "default",
        "system_fingerprint": "fp_simulated",
    }


def _chunk(given: Answer, delta: Document, finish: str | None = None) -> Document:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    chunk = {**_about(given), "choices": [choice]}
    return {**chunk, "usage": None} if _has_usage(given) else chunk


def _has_usage(given: Answer) -> bool:
    return isinstance(given.request, ChatRequest) and given.request.has_usage


def _usage(given: Answer) -> Document:
    tokens = given.tokens
    return {
        "prompt_tokens": tokens.input,
        "completion_tokens": tokens.output,
        "total_tokens": tokens.input + tokens.output,
        "prompt_tokens_details": {"cached_tokens": tokens.cached, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": tokens.reasoning,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


def _call(given: Answer, step: Tool, place: int) -> Document:
    function = {"name": step.name, "arguments": input_text(step)}
    return {"id": given.call_id(step, "call_", place), "type": "function", "function": function}


def _annotation(step: Cite, start: int) -> Document:
    where = {"start_index": start, "end_index": start + len(step.text)}
    about = {"url": step.url, "title": step.title or step.url, **where}
    return {"type": "url_citation", "url_citation": about}


def _image(step: File) -> Document:
    url = f"data:{step.media_type};base64,{step.data}"
    return {"type": "image_url", "index": 0, "image_url": {"url": url}}


def _whole_message(given: Answer) -> Document:
    message: Document = {"role": "assistant", "content": None, "refusal": None}
    calls = [
        _call(given, step, place)
        for place, step in enumerate(given.steps)
        if isinstance(step, Tool)
    ]
    found: dict[str, list[Any]] = {"annotations": [], "images": []}
    for step in given.content:
        match step:
            case Think(redacted=False):
                message["reasoning_content"] = message.get("reasoning_content", "") + step.text
            case Text() | Cite():
                text = message["content"] or ""
                if isinstance(step, Cite):
                    found["annotations"].append(_annotation(step, len(text)))
                message["content"] = text + step.text
            case File() if step.media_type.startswith("image/"):
                found["images"].append(_image(step))
            case Refuse():
                message["refusal"] = step.text
            case _:
                pass
    if calls:
        message["tool_calls"] = calls
    return {**message, **{name: each for name, each in found.items() if each}}


def _step_events(
    given: Answer, step: Content | Refuse, at: tuple[int, int, int]
) -> Iterator[Event]:
    """The deltas of a step; server tools have none in this API."""
    place, calls, sent = at
    match step:
        case Think(redacted=False):
            yield from streamed(step.text, lambda piece: {"reasoning_content": piece})
        case Text():
            yield from streamed(step.text, lambda piece: {"content": piece})
        case Cite():
            yield from streamed(step.text, lambda piece: {"content": piece})
            yield Event({"annotations": [_annotation(step, sent)]})
        case Tool():
            whole = _call(given, step, place)
            start = {**whole, "index": calls, "function": {"name": step.name, "arguments": ""}}
            yield Event({"tool_calls": [start]})
            yield from streamed(
                input_text(step),
                lambda piece: {"tool_calls": [{"index": calls, "function": {"arguments": piece}}]},
            )
        case File() if step.media_type.startswith("image/"):
            yield Event({"images": [_image(step)]})
        case Refuse():
            yield from streamed(step.text, lambda piece: {"refusal": piece})
        case _:
            pass
