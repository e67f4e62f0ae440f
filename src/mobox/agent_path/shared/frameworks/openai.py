"""OpenAI's client in an agent: its messages, and its streams as lines for the parser `openai`.

    from shared.frameworks.openai import emit, messages

    history = messages(read_turn())
    answer = emit(client.chat.completions.create(messages=history, stream=True, …))

For the Responses API: `messages(turn, api="responses")` is the `input`, and `emit` reads what
`client.responses.create(…, stream=True)` returns. No part of the SDK is imported.
"""

from __future__ import annotations

import json
from typing import Any

from ..conversation import said
from ..conversation.notes import Notes
from ..conversation.openai import result_text
from .answers import Answer, Call, Reader, emit_stream

__all__ = ["Answer", "Call", "ResponseFailed", "emit", "messages"]

STYLES = {"chat": "openai", "responses": "responses"}


def messages(turn: Any, api: str = "chat") -> list[dict[str, Any]]:
    """The conversation as `messages` of a chat completion, or `input` of a response."""
    if api not in STYLES:
        raise ValueError(f"unknown api {api!r}; known: {', '.join(STYLES)}")
    native: list[dict[str, Any]] = turn.messages(style=STYLES[api])
    return native


def emit(stream: Any) -> Any:
    """Emit the events of a stream as they come; returns the `Answer`, with its calls.

    `stream` is what `create(…, stream=True)` of chat completions or of responses returns; of an
    async client, `await` this.
    """
    return emit_stream(stream, _Either())


class ResponseFailed(RuntimeError):
    """A response ended with an error of the provider."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error.get("message") or error.get("code") or "The response failed.")
        self.body = {"error": error}


class _Either(Reader):
    """Chat completions or responses, as the first event shows."""

    def __init__(self) -> None:
        self._reader: Reader | None = None

    def take(self, event: dict[str, Any]) -> dict[str, Any] | None:
        if event.get("type") == "chunk":  # of `client.chat.completions.stream`
            event = event["chunk"]
        if self._reader is None:
            self._reader = _Chat() if "choices" in event else _Response()
        return self._reader.take(event)

    def answer(self) -> Answer | None:
        return self._reader.answer() if self._reader is not None else None


def _input_of(arguments: str) -> dict[str, Any]:
    try:
        given = json.loads(arguments or "{}")
    except ValueError:  # it was cut at the limit of tokens, or the model made a mistake
        given = arguments
    return given if isinstance(given, dict) else {"input": given}


# Chat completions


class _ChatAnswer(Answer):
    def __init__(self, message: dict[str, Any], stop_reason: str) -> None:
        made = message.get("tool_calls") or []
        self._made = [
            Call(each["id"], each["function"]["name"], _input_of(each["function"]["arguments"]))
            for each in made
        ]
        is_whole = stop_reason not in ("length", "content_filter")
        text = message["content"] or ""
        super().__init__(
            [message] if text or made else [], self._made if is_whole else [], text, stop_reason
        )

    def _owed(self) -> list[Call]:
        return self._made

    def _native(self, call: said.Call, notes: Notes) -> dict[str, Any]:
        return {"role": "tool", "tool_call_id": call.id, "content": result_text(call, notes)}


class _Chat(Reader):
    """One message, from its chunks."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._details: list[Any] = []
        self._calls: dict[int, dict[str, str]] = {}
        self._finish: str | None = None

    def take(self, event: dict[str, Any]) -> dict[str, Any] | None:
        if "choices" not in event:
            return None  # of `client.chat.completions.stream`, which repeats the chunks
        for choice in event["choices"]:
            if not choice.get("index"):
                self._add(choice.get("delta") or {})
                self._finish = choice.get("finish_reason") or self._finish
        return event

    def _add(self, delta: dict[str, Any]) -> None:
        text = delta.get("content") or delta.get("refusal")
        self._text.append(text if isinstance(text, str) else "")
        self._details += delta.get("reasoning_details") or []
        for piece in delta.get("tool_calls") or []:
            place = piece.get("index", len(self._calls))
            call = self._calls.setdefault(place, {"id": "", "name": "", "arguments": ""})
            function = piece.get("function") or {}
            call["id"] = call["id"] or piece.get("id") or ""
            call["name"] = call["name"] or function.get("name") or ""
            call["arguments"] += function.get("arguments") or ""

    def answer(self) -> Answer | None:
        if self._finish is None:
            return None
        message: dict[str, Any] = {"role": "assistant", "content": "".join(self._text) or None}
        if self._details:
            message["reasoning_details"] = self._details
        if self._calls:
            message["tool_calls"] = [_tool_call(self._calls[n]) for n in sorted(self._calls)]
        return _ChatAnswer(message, self._finish)


def _tool_call(call: dict[str, str]) -> dict[str, Any]:
    function = {"name": call["name"], "arguments": call["arguments"] or "{}"}
    return {"id": call["id"], "type": "function", "function": function}


# Responses


class _ResponseAnswer(Answer):
    def __init__(self, items: list[dict[str, Any]], stop_reason: str) -> None:
        made = [item for item in items if item["type"] == "function_call"]
        self._made = [Call(i["call_id"], i["name"], _input_of(i["arguments"])) for i in made]
        parts = [part for item in items for part in item.get("content") or []]
        text = "".join(part["text"] for part in parts if part.get("type") == "output_text")
        is_whole = stop_reason == "completed"
        super().__init__(items, self._made if is_whole else [], text, stop_reason)

    def _owed(self) -> list[Call]:
        return self._made

    def _native(self, call: said.Call, notes: Notes) -> dict[str, Any]:
        output = result_text(call, notes)
        return {"type": "function_call_output", "call_id": call.id, "output": output}


ENDS = ("response.completed", "response.incomplete")
FAILURES = ("response.failed", "error")


class _Response(Reader):
    """One response, from its events."""

    def __init__(self) -> None:
        self._items: list[dict[str, Any]] = []
        self._status: str | None = None

    def take(self, event: dict[str, Any]) -> dict[str, Any] | None:
        kind = event.get("type")
        if kind in FAILURES:
            raise ResponseFailed((event.get("response") or event).get("error") or event)
        if kind == "response.output_item.done":
            self._items.append(event["item"])
        elif kind in ENDS:
            self._status = event["response"].get("status") or "completed"
        return {name: event[name] for name in event if name != "snapshot"}

    def answer(self) -> Answer | None:
        return None if self._status is None else _ResponseAnswer(self._items, self._status)
