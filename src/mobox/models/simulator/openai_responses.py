"""OpenAI's Responses API: items, and the numbered events that make them.

A request may name the response before it in place of sending the conversation again; its id says
what is needed of it, as nothing is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from mobox.errors import InvalidRequest
from mobox.models.simulator.answer import (
    CREATED,
    Answer,
    Document,
    Event,
    Streamed,
    input_text,
    named_sse,
    signature,
    streamed,
)
from mobox.models.simulator.openai_chat import choice_of, offered
from mobox.models.simulator.openai_errors import Errors, error_of
from mobox.models.simulator.reading import check_calls, objects, optional, required
from mobox.models.simulator.request import (
    Call,
    Earlier,
    Message,
    Request,
    Result,
    earlier_of,
    text_of,
)
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

SERVER_TOOLS: Final = {
    "web_search": "web_search",
    "web_search_preview": "web_search",
    "code_interpreter": "code_execution",
}
REPEATED: Final[Document] = {
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "prompt_cache_key": None,
    "reasoning": {"effort": None, "summary": None},
    "safety_identifier": None,
    "store": True,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}, "verbosity": "medium"},
    "tool_choice": "auto",
    "tools": [],
    "top_logprobs": 0,
    "top_p": 1.0,
    "truncation": "disabled",
    "metadata": {},
}
"""What a response repeats of its request, with the defaults."""


Placed = tuple[int, Content | Wait | Refuse]
"""A step and its place."""


class ResponsesRequest(Request, frozen=True, kw_only=True, dict=True):
    """A request, and what its response repeats of it."""

    repeated: Document
    encrypted: bool = False
    """Reasoning is sent encrypted too."""


class Responses(Errors):
    """`POST /v1/responses`."""

    last = b""
    frame = staticmethod(named_sse)

    def read(self, body: Document, _path: str) -> Request:
        """The request; raises `InvalidRequest`."""
        given = body.get("input")
        if given is None:
            raise InvalidRequest("input", "Missing required parameter: 'input'.")
        items = [{"role": "user", "content": given}] if isinstance(given, str) else given
        items = objects({"input": items}, "input")
        earlier = _earlier(body)
        messages = tuple(filter(None, map(_message, items)))
        if earlier is None:
            check_calls(
                messages,
                "No tool output found for function call {}.",
                "No tool call found for function call output with call_id {}.",
            )
        told = [item for item in items if item.get("role") in ("system", "developer")]
        tools = objects(body, "tools")
        text = optional(body, "text", dict, {})
        kept = {k: v if body.get(k) is None else body[k] for k, v in REPEATED.items()}
        return ResponsesRequest(
            model=required(body, "model", str),
            system="\n".join(
                [body.get("instructions") or "", *(text_of(i["content"]) for i in told)]
            ),
            messages=messages,
            tools=tuple(offered(tool) for tool in tools if tool.get("type") == "function"),
            server_tools=frozenset(
                SERVER_TOOLS[t["type"]] for t in tools if t.get("type") in SERVER_TOOLS
            ),
            choice=choice_of(body.get("tool_choice")),
            schema=_schema(text.get("format")),
            stream=body.get("stream") is True,
            thinks=bool((body.get("reasoning") or {}).get("summary")),
            max_tokens=body.get("max_output_tokens"),
            earlier=earlier,
            repeated=kept,
            encrypted="reasoning.encrypted_content" in (body.get("include") or ()),
        )

    def whole(self, given: Answer) -> Document:
        """A response."""
        return _Stream(given).ended()

    def events(self, given: Answer) -> Iterator[Streamed]:
        """Events with sequence numbers."""
        return _Stream(given).events()

    def broken(self, fail: Fail, given: Answer) -> list[Document]:
        """An `error` event and `response.failed`."""
        number = sum(isinstance(event, Event) for event in self.events(given))
        error = error_of(fail)
        failed = {"code": error["code"] or error["type"], "message": error["message"]}
        response = {**_response(given, "failed"), "error": failed}
        return [
            {"type": "error", "sequence_number": number, "error": error},
            {"type": "response.failed", "sequence_number": number + 1, "response": response},
        ]


# Requests


def _earlier(body: Document) -> Earlier | None:
    name = body.get("previous_response_id")
    if name is None:
        return None
    earlier = earlier_of(str(name))
    if earlier is None:
        message = f"Previous response with id '{name}' not found."
        raise InvalidRequest("previous_response_id", message)
    return earlier


def _message(item: Document) -> Message | None:
    match item.get("type", "message"):
        case "function_call":
            name, arguments = item.get("name", ""), item.get("arguments")
            return Message("assistant", calls=(Call(item.get("call_id", ""), name, arguments),))
        case "function_call_output":
            output = text_of(item.get("output"))
            return Message("user", results=(Result(item.get("call_id", ""), output),))
        case "message":
            role = item.get("role")
            if role in ("system", "developer"):
                return None
            text = text_of(item.get("content"))
            return Message("assistant" if role == "assistant" else "user", text)
        case "reasoning" | "web_search_call" | "code_interpreter_call" | "image_generation_call":
            return Message("assistant")
        case _:
            return None


def _schema(given: Any) -> dict[str, Any] | None:
    if not isinstance(given, dict):
        return None
    return {"type": "object"} if given.get("type") == "json_object" else given.get("schema")


# Responses


def _response(given: Answer, status: str) -> Document:
    assert isinstance(given.request, ResponsesRequest)
    return {
        "id": given.request.id_of_response("resp_", given.calls),
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "background": False,
        "error": None,
        "incomplete_details": None,
        "model": given.request.model,
        "output": [],
        **given.request.repeated,
        "service_tier": "default",
        "usage": None,
        "user": None,
    }


def _usage(given: Answer) -> Document:
    tokens = given.tokens
    return {
        "input_tokens": tokens.input,
        "input_tokens_details": {"cached_tokens": tokens.cached},
        "output_tokens": tokens.output,
        "output_tokens_details": {"reasoning_tokens": tokens.reasoning},
        "total_tokens": tokens.input + tokens.output,
    }


class _Stream:
    """The items of one response, and their events. Adjacent texts are one message."""

    def __init__(self, given: Answer) -> None:
        self._given = given
        self._number = -1
        self._items: list[Document] = []
        self._status = "incomplete" if given.ending == "max_tokens" else "completed"

    def ended(self) -> Document:
        """The response, complete."""
        for _ in self.events():
            pass
        response = {**_response(self._given, self._status), "output": self._items}
        if self._status == "incomplete":
            response["incomplete_details"] = {"reason": "max_output_tokens"}
        return {**response, "usage": _usage(self._given)}

    def events(self) -> Iterator[Streamed]:
        """All events, numbered."""
        self._number, self._items = -1, []
        for event in self._unnumbered():
            if isinstance(event, Wait):
                yield event
                continue
            self._number += 1
            kind = {"type": event.data["type"], "sequence_number": self._number}
            yield Event({**kind, **event.data}, event.tokens)

    def _unnumbered(self) -> Iterator[Streamed]:
        begun = _response(self._given, "in_progress")
        yield Event({"type": "response.created", "response": begun})
        yield Event({"type": "response.in_progress", "response": begun})
        for group in _groups(self._given):
            yield from self._group(group)
        if self._given.breaks is None:
            response = {**_response(self._given, self._status), "output": self._items}
            if self._status == "incomplete":
                response["incomplete_details"] = {"reason": "max_output_tokens"}
            response["usage"] = _usage(self._given)
            yield Event({"type": f"response.{self._status}", "response": response})

    def _group(self, group: list[Placed]) -> Iterator[Streamed]:
        """The events of one item, without the last ones if it is broken off."""
        place, first = group[0]
        unfinished = self._given.is_unfinished(group[-1][0])
        for event in self._item(first, group, place):
            is_end = isinstance(event, Event) and event.data["type"].endswith(ENDS)
            if not (unfinished and is_end):
                yield event

    def _item(
        self, first: Content | Wait | Refuse, group: list[Placed], place: int
    ) -> Iterator[Streamed]:
        match first:
            case Wait():
                return iter([first])
            case Think():
                return self._reasoning(first, place)
            case Tool():
                return self._call(first, place)
            case ServerTool():
                is_search = first.name == "web_search"
                return (self._search if is_search else self._code)(first, place)
            case File() if first.media_type.startswith("image/"):
                return self._image(first, place)
            case _:
                return self._message(group, place)

    def _added(self, item: Document) -> Event:
        where = {"output_index": len(self._items), "item": item}
        return Event({"type": "response.output_item.added", **where})

    def _done(self, item: Document) -> Event:
        where = {"output_index": len(self._items), "item": item}
        self._items.append(item)
        return Event({"type": "response.output_item.done", **where})

    def _at(self, item_id: str, **more: Any) -> Callable[..., Document]:
        """Makes events about one part of an item."""
        where = {"item_id": item_id, "output_index": len(self._items), **more}
        return lambda kind, **fields: {"type": f"response.{kind}", **where, **fields}

    def _reasoning(self, step: Think, place: int) -> Iterator[Streamed]:
        name = self._given.id("rs_", place)
        summary = [] if step.redacted else [{"type": "summary_text", "text": step.text}]
        item: Document = {"id": name, "type": "reasoning", "summary": summary}
        assert isinstance(self._given.request, ResponsesRequest)
        if self._given.request.encrypted:
            item["encrypted_content"] = signature(step.text)
        yield self._added({**item, "summary": []})
        event = self._at(name, summary_index=0)
        for part in summary:
            empty = {**part, "text": ""}
            yield Event(event("reasoning_summary_part.added", part=empty))
            yield from streamed(
                step.text, lambda piece: event("reasoning_summary_text.delta", delta=piece)
            )
            yield Event(event("reasoning_summary_text.done", text=step.text))
            yield Event(event("reasoning_summary_part.done", part=part))
        yield self._done(item)

    def _call(self, step: Tool, place: int) -> Iterator[Streamed]:
        name, arguments = self._given.id("fc_", place), input_text(step)
        item = {
            "id": name,
            "type": "function_call",
            "status": "completed",
            "arguments": arguments,
            "call_id": self._given.call_id(step, "call_", place),
            "name": step.name,
        }
        yield self._added({**item, "status": "in_progress", "arguments": ""})
        event = self._at(name)
        yield from streamed(
            arguments, lambda piece: event("function_call_arguments.delta", delta=piece)
        )
        yield Event(event("function_call_arguments.done", arguments=arguments, name=step.name))
        yield self._done(item)

    def _search(self, step: ServerTool, place: int) -> Iterator[Streamed]:
        name = self._given.call_id(step, "ws_", place)
        item: Document = {"id": name, "type": "web_search_call", "status": "in_progress"}
        event = self._at(name)
        yield self._added(item)
        for status in ("in_progress", "searching", "completed"):
            yield Event(event(f"web_search_call.{status}"))
        sources = [{"type": "url", "url": page.url} for page in step.pages]
        action = {"type": "search", "query": step.input, "sources": sources}
        yield self._done({**item, "status": "completed", "action": action})

    def _code(self, step: ServerTool, place: int) -> Iterator[Streamed]:
        name = self._given.call_id(step, "ci_", place)
        container = {"container_id": self._given.id("cntr_")}
        item = {"id": name, "type": "code_interpreter_call", "status": "in_progress", **container}
        event = self._at(name)
        yield self._added({**item, "code": "", "outputs": None})
        yield Event(event("code_interpreter_call.in_progress"))
        yield from streamed(
            step.input, lambda piece: event("code_interpreter_call_code.delta", delta=piece)
        )
        yield Event(event("code_interpreter_call_code.done", code=step.input))
        yield Event(event("code_interpreter_call.interpreting"))
        yield Event(event("code_interpreter_call.completed"))
        outputs = [{"type": "logs", "logs": step.output}] if step.output else []
        yield self._done({**item, "status": "completed", "code": step.input, "outputs": outputs})

    def _image(self, step: File, place: int) -> Iterator[Streamed]:
        name = self._given.id("ig_", place)
        item = {"id": name, "type": "image_generation_call", "status": "in_progress"}
        event = self._at(name)
        yield self._added({**item, "result": None})
        for status in ("in_progress", "generating", "completed"):
            yield Event(event(f"image_generation_call.{status}"))
        kind = step.media_type.partition("/")[2]
        yield self._done(
            {**item, "status": "completed", "output_format": kind, "result": step.data}
        )

    def _message(self, group: list[Placed], place: int) -> Iterator[Streamed]:
        name = self._given.id("msg_", place)
        item: Document = {"id": name, "type": "message", "status": "in_progress", "content": []}
        item["role"] = "assistant"
        yield self._added(item)
        event = self._at(name, content_index=0)
        refusal = next((step for _, step in group if isinstance(step, Refuse)), None)
        if refusal is not None:
            yield from _refusal(refusal, event)
            part: Document = {"type": "refusal", "refusal": refusal.text}
        else:
            part = {"type": "output_text", "annotations": [], "logprobs": [], "text": ""}
            yield Event(event("content_part.added", part=part))
            part = {**part, "annotations": []}
            for at, step in group:
                yield from self._text(part, step, at, event)
            yield Event(event("output_text.done", text=part["text"], logprobs=[]))
        yield Event(event("content_part.done", part=part))
        yield self._done({**item, "status": self._status, "content": [part]})

    def _text(
        self, part: Document, step: Any, place: int, event: Callable[..., Document]
    ) -> Iterator[Streamed]:
        """More of a text; `part` is what it is at the end."""
        if isinstance(step, Wait):
            yield step
            return
        if isinstance(step, Text | Cite):
            yield from streamed(
                step.text, lambda piece: event("output_text.delta", delta=piece, logprobs=[])
            )
        start = len(part["text"])
        part["text"] += step.text if isinstance(step, Text | Cite) else ""
        if isinstance(step, Text):
            return
        annotation = _annotation(step, start, self._given, place)
        number = len(part["annotations"])
        part["annotations"].append(annotation)
        yield Event(
            event("output_text.annotation.added", annotation_index=number, annotation=annotation)
        )


ENDS: Final = (".done", "web_search_call.completed", "image_generation_call.completed")
"""The events that an item broken off lacks."""


def _annotation(step: Cite | File, start: int, given: Answer, place: int) -> Document:
    if isinstance(step, Cite):
        where = {"start_index": start, "end_index": start + len(step.text)}
        about = {"url": step.url, "title": step.title or step.url}
        return {"type": "url_citation", **where, **about}
    return {
        "type": "container_file_citation",
        "container_id": given.id("cntr_"),
        "file_id": given.id("cfile_", place),
        "filename": step.name or "file",
        "start_index": start,
        "end_index": start,
    }


def _refusal(step: Refuse, event: Callable[..., Document]) -> Iterator[Event]:
    part = {"type": "refusal", "refusal": ""}
    yield Event(event("content_part.added", part=part))
    yield from streamed(step.text, lambda piece: event("refusal.delta", delta=piece))
    yield Event(event("refusal.done", refusal=step.text))


def _is_text(step: Content | Wait | Refuse) -> bool:
    return isinstance(step, Text | Cite) or (
        isinstance(step, File) and not step.media_type.startswith("image/")
    )


def _groups(given: Answer) -> Iterator[list[Placed]]:
    """The steps of each item; adjacent texts, with the waits between them, are one."""
    group: list[Placed] = []
    for place, step in enumerate(given.steps):
        joins = group and _is_text(group[0][1]) and (_is_text(step) or isinstance(step, Wait))
        if group and not joins:
            yield group
            group = []
        group.append((place, step))
    if group:
        yield group
