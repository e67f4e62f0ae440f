"""Anthropic's client in an agent: its messages, and its streams as lines for the parser `claude`.

    from shared.frameworks.anthropic import emit, messages

    history = messages(read_turn())
    answer = emit(client.messages.create(messages=history, stream=True, …))

No part of the SDK is imported: its objects are read by their fields.
"""

from __future__ import annotations

import json
from typing import Any

from ..conversation import said
from ..conversation.anthropic import result_block
from ..conversation.notes import Notes
from .answers import Answer, Call, Reader, emit_stream

__all__ = ["Answer", "Call", "emit", "messages"]

EVENTS = frozenset(
    {
        "message_start",
        "message_delta",
        "message_stop",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
    }
)
"""The API's events. `client.messages.stream` adds its own, which repeat them."""
REPEATED = ("message", "content_block")
"""What `client.messages.stream` adds to the events that end something."""


def messages(turn: Any) -> list[dict[str, Any]]:
    """The conversation as `messages` of a request."""
    native: list[dict[str, Any]] = turn.messages(style="anthropic")
    return native


def emit(stream: Any) -> Any:
    """Emit the events of a stream as they come; returns the `Answer`, with its calls.

    `stream` is what `client.messages.create(…, stream=True)` returns, or the object that the
    context of `client.messages.stream(…)` gives; of an async client, `await` this.
    """
    return emit_stream(stream, _Message())


class _Answer(Answer):
    def __init__(self, content: list[dict[str, Any]], stop_reason: str) -> None:
        uses = [block for block in content if block["type"] == "tool_use"]
        self._uses = [Call(block["id"], block["name"], block["input"]) for block in uses]
        text = "".join(block["text"] for block in content if block["type"] == "text")
        message = {"role": "assistant", "content": content}
        is_whole = stop_reason == "tool_use"  # else the input of a call may be cut
        super().__init__(
            [message] if content else [], self._uses if is_whole else [], text, stop_reason
        )

    def _owed(self) -> list[Call]:
        return self._uses

    def _native(self, call: said.Call, notes: Notes) -> dict[str, Any]:
        return result_block(call, call.id, notes)

    def _joined(self, results: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{"role": "user", "content": results}] if results else []


class _Message(Reader):
    """The content blocks of one message, from their deltas."""

    def __init__(self) -> None:
        self._blocks: dict[int, dict[str, Any]] = {}
        self._inputs: dict[int, str] = {}
        self._stop_reason: str | None = None

    def take(self, event: dict[str, Any]) -> dict[str, Any] | None:
        kind, index = event.get("type"), event.get("index", 0)
        if kind not in EVENTS:
            return None
        if kind == "content_block_start":
            self._blocks[index] = dict(event["content_block"])
        elif kind == "content_block_delta" and index in self._blocks:
            self._add(index, event["delta"])
        elif kind == "message_delta":
            self._stop_reason = event["delta"].get("stop_reason") or self._stop_reason
        elif kind.endswith("_stop"):
            return {name: event[name] for name in event if name not in REPEATED}
        return event

    def _add(self, index: int, delta: dict[str, Any]) -> None:
        block = self._blocks[index]
        if delta["type"] == "input_json_delta":
            self._inputs[index] = self._inputs.get(index, "") + delta["partial_json"]
        elif delta["type"] == "citations_delta":
            block["citations"] = [*(block.get("citations") or []), delta["citation"]]
        else:
            name = delta["type"].rpartition("_")[0]  # text, thinking, signature
            block[name] = block.get(name, "") + delta[name]

    def answer(self) -> Answer | None:
        if self._stop_reason is None:
            return None
        blocks = [self._whole(index) for index in sorted(self._blocks)]
        kept = [block for block in blocks if block["type"] != "text" or block["text"].strip()]
        while kept and kept[-1]["type"].endswith("thinking"):  # the API refuses it as the last
            kept.pop()
        return _Answer(kept, self._stop_reason)

    def _whole(self, index: int) -> dict[str, Any]:
        block, text = self._blocks[index], self._inputs.get(index)
        if text:
            try:
                block["input"] = json.loads(text)
            except ValueError:  # it was cut at the limit of tokens
                block["input"] = {"input": text}
        return {name: value for name, value in block.items() if value is not None}
