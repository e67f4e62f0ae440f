"""Gemini's Interactions: steps that start, grow and stop.

A request may name the interaction before it in place of sending the conversation again; its id
says what is needed of it, as nothing is stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from mobox.errors import InvalidRequest
from mobox.models.simulator.answer import (
    Answer,
    Document,
    Event,
    Streamed,
    input_text,
    json_text,
    signature,
    sse,
    streamed,
)
from mobox.models.simulator.gemini_errors import Errors, error_of
from mobox.models.simulator.openai_chat import offered
from mobox.models.simulator.reading import objects, optional, required
from mobox.models.simulator.request import Call, Message, Request, Result, earlier_of, text_of
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

MADE: Final = "2025-11-15T09:46:40Z"
SERVER_TOOLS: Final = {"google_search": "web_search", "code_execution": "code_execution"}
STATUSES: Final = {
    "stop": "completed",
    "tool": "requires_action",
    "malformed": "requires_action",
    "max_tokens": "incomplete",
    "refuse": "failed",
}


class Interactions(Errors):
    """`POST /v1beta/interactions`."""

    last = b""

    def frame(self, event: Document) -> bytes:
        """An event with its type as the event's name."""
        return b"event: %b\n%b" % (event["event_type"].encode(), sse(event))

    def read(self, body: Document, _path: str) -> Request:
        """The request; raises `InvalidRequest`."""
        if body.get("input") is None:
            raise InvalidRequest("input", "Field required")
        previous = body.get("previous_interaction_id")
        earlier = None if previous is None else earlier_of(str(previous))
        if previous is not None and earlier is None:
            raise InvalidRequest("previous_interaction_id", f"interaction {previous} was not found")
        tools = objects(body, "tools")
        config = optional(body, "generation_config", dict, {})
        return Request(
            model=required(body, "model", str),
            system=body.get("system_instruction") or "",
            messages=tuple(_messages(body["input"])),
            tools=tuple(offered(tool) for tool in tools if tool.get("type") == "function"),
            server_tools=frozenset(
                SERVER_TOOLS[t["type"]] for t in tools if t.get("type") in SERVER_TOOLS
            ),
            choice=_choice(config.get("tool_choice")),
            schema=_schema(body.get("response_format")),
            stream=body.get("stream") is True,
            thinks=config.get("thinking_summaries") == "auto",
            max_tokens=config.get("max_output_tokens"),
            earlier=earlier,
        )

    def whole(self, given: Answer) -> Document:
        """An interaction."""
        steps = [
            made
            for place, step in enumerate(given.steps)
            if not isinstance(step, Wait)
            for made in _steps(given, step, place)
        ]
        return {**_interaction(given), "steps": steps, "usage": _usage(given)}

    def events(self, given: Answer) -> Iterator[Streamed]:
        """Events with ids."""
        number = 0
        for event in _events(given):
            if isinstance(event, Wait):
                yield event
                continue
            number += 1
            yield Event({**event.data, "event_id": f"{given.id('')}_{number}"}, event.tokens)

    def broken(self, fail: Fail, _given: Answer) -> list[Document]:
        """An `error` event."""
        error = error_of(fail)
        body = {"code": error["status"].lower(), "message": error["message"]}
        return [{"event_type": "error", "error": body}]


# Requests


def _messages(given: Any) -> list[Message]:
    if isinstance(given, str):
        return [Message("user", given)]
    steps = given if isinstance(given, list) else [given]
    return [_message(step) for step in objects({"input": steps}, "input")]


def _message(step: Document) -> Message:
    match step.get("type"):
        case "function_call":
            call = Call(step.get("id", ""), step.get("name", ""), step.get("arguments"))
            return Message("assistant", calls=(call,))
        case "function_result":
            text = text_of(step.get("result")) or json_text(step.get("result"))
            return Message("user", results=(Result(step.get("call_id", ""), text),))
        case "user_input" | "text" | "image" | "audio" | "video" | "document":
            return Message("user", text_of(step.get("content", step)))
        case None if step.get("role") != "model":
            return Message("user", text_of(step.get("content")))
        case _:
            return Message("assistant", text_of(step.get("content")))


def _choice(choice: Any) -> str:
    if isinstance(choice, dict):
        allowed = optional(choice, "allowed_tools", dict, {})
        names = allowed.get("tools") or []
        if allowed.get("mode") == "any":
            return str(names[0]) if len(names) == 1 else "any"
        return "auto"
    return choice if choice in ("any", "none") else "auto"


def _schema(given: Any) -> dict[str, Any] | None:
    formats = given if isinstance(given, list) else [given]
    for each in formats:
        if isinstance(each, dict):
            schema = each.get("schema", each if each.get("type") == "object" else None)
            if isinstance(schema, dict):
                return schema
    return None


# Responses


def _interaction(given: Answer) -> Document:
    return {
        "id": given.request.id_of_response("int_", given.calls),
        "status": STATUSES[given.ending],
        "object": "interaction",
        "model": given.request.model,
        "created": MADE,
        "updated": MADE,
        "service_tier": "standard",
    }


def _usage(given: Answer) -> Document:
    tokens = given.tokens
    return {
        "total_tokens": tokens.input + tokens.output,
        "total_input_tokens": tokens.input,
        "input_tokens_by_modality": [{"modality": "text", "tokens": tokens.input}],
        "total_cached_tokens": tokens.cached,
        "total_output_tokens": max(0, tokens.output - tokens.reasoning),
        "total_tool_use_tokens": 0,
        "total_thought_tokens": tokens.reasoning,
    }


def _steps(given: Answer, step: Content | Refuse, place: int) -> list[Document]:
    """The steps that one of the script becomes, complete."""
    match step:
        case Think():
            summary = [] if step.redacted else [{"type": "text", "text": step.text}]
            sign = signature(step.text)
            return [{"type": "thought", "summary": summary, "signature": sign}]
        case Text() | Refuse():
            text = {"type": "text", "text": step.text}
            return [{"type": "model_output", "content": [text]}]
        case Cite():
            cited = {"type": "text", "text": step.text, "annotations": [_citation(step)]}
            return [{"type": "model_output", "content": [cited]}]
        case Tool():
            name = {"id": given.call_id(step, "call_", place), "name": step.name}
            return [{"type": "function_call", **name, "arguments": step.input}]
        case ServerTool():
            return _server_tool(step, given.call_id(step, "srv_", place))
        case File():
            return [{"type": "model_output", "content": [_file(step)]}]


def _citation(step: Cite) -> Document:
    where = {"start_index": 0, "end_index": len(step.text.encode())}
    return {"type": "url_citation", **where, "url": step.url, "title": step.title or step.url}


def _file(step: File) -> Document:
    kind = step.media_type.partition("/")[0]
    kind = kind if kind in ("image", "audio", "video") else "document"
    return {"type": kind, "data": step.data, "mime_type": step.media_type}


def _server_tool(step: ServerTool, call_id: str) -> list[Document]:
    arguments: Document
    if step.name == "code_execution":
        name, arguments = "code_execution", {"code": step.input, "language": "python"}
        result: Any = step.output
    else:
        name, arguments = "google_search", {"queries": [step.input]}
        result = [{"search_suggestions": f"{p.title} {p.url}".strip()} for p in step.pages]
    return [
        {"type": f"{name}_call", "id": call_id, "arguments": arguments},
        {"type": f"{name}_result", "call_id": call_id, "result": result},
    ]


def _events(given: Answer) -> Iterator[Streamed]:
    interaction = _interaction(given)
    name = {"interaction_id": interaction["id"]}
    begun = {k: interaction[k] for k in ("id", "object", "model")} | {"status": "in_progress"}
    yield Event({"interaction": begun, "event_type": "interaction.created"})
    yield Event({**name, "status": "in_progress", "event_type": "interaction.status_update"})
    index = 0
    for place, step in enumerate(given.steps):
        if isinstance(step, Wait):
            yield step
            continue
        made = _steps(given, step, place)
        for number, each in enumerate(made):
            yield from _step_events(each, step, index)
            if given.is_unfinished(place) and number == len(made) - 1:
                return
            yield Event({"index": index, "event_type": "step.stop"})
            index += 1
    if given.breaks is not None:
        return
    if interaction["status"] != "completed":
        changed = {"status": interaction["status"], "event_type": "interaction.status_update"}
        yield Event({**name, **changed})
    ended = {**interaction, "usage": _usage(given)}
    yield Event({"interaction": ended, "event_type": "interaction.completed"})


def _step_events(made: Document, step: Content | Refuse, index: int) -> Iterator[Event]:
    """The start of a step and what it grows by."""
    start = {k: v for k, v in made.items() if k in ("type", "id", "call_id", "name")}
    if made["type"] == "function_call":
        start["arguments"] = {}
    yield Event({"index": index, "step": start, "event_type": "step.start"})
    for delta, tokens in _deltas(made, step):
        yield Event({"index": index, "delta": delta, "event_type": "step.delta"}, tokens)


def _deltas(made: Document, step: Content | Refuse) -> Iterator[Event]:
    match made["type"]:
        case "thought":
            for content in made["summary"]:
                yield from streamed(content["text"], _thought)
            yield Event({"type": "thought_signature", "signature": made["signature"]})
        case "model_output":
            (content,) = made["content"]
            yield from _content_deltas(content)
        case "function_call":
            assert isinstance(step, Tool)
            arguments = input_text(step)
            yield from streamed(arguments, lambda t: {"type": "arguments_delta", "arguments": t})
        case kind:
            fields = {k: v for k, v in made.items() if k in ("arguments", "result")}
            yield Event({"type": kind, **fields})


def _thought(text: str) -> Document:
    return {"type": "thought_summary", "content": {"type": "text", "text": text}}


def _content_deltas(content: Document) -> Iterator[Event]:
    if content["type"] != "text":
        yield Event(content)
        return
    yield from streamed(content["text"], lambda text: {"type": "text", "text": text})
    if "annotations" in content:
        annotations = content["annotations"]
        yield Event({"type": "text_annotation_delta", "annotations": annotations})
