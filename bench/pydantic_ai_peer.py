"""The peer in Python: pydantic-ai's streams for the AI SDK and AG-UI, fed with its own events.

It starts where its own model classes would have ended: nothing is parsed, no event object is built
and no string is encoded to bytes while it is timed. Citations are left out of its input: it tells
them at a part's end, and would only have more to do.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any

from pydantic_ai.messages import (
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
    ToolReturnPart,
)
from pydantic_ai.ui.ag_ui import AGUIEventStream
from pydantic_ai.ui.vercel_ai import VercelAIEventStream
from starlette.responses import Response

__all__ = ["PydanticAI", "ag_ui", "ai_sdk", "events_of"]

VENDOR = "anthropic"


def ai_sdk() -> Any:
    """A stream for the AI SDK."""
    return VercelAIEventStream(sdk_version=6)


def ag_ui() -> Any:
    """A stream for AG-UI, of the version that is installed."""
    return AGUIEventStream(ag_ui_version="1.0", thread_id="thread_1", run_id="msg_1")


class PydanticAI:
    """One event loop, and the events to send through it again and again."""

    def __init__(self, lines: Iterable[bytes], stream: Callable[[], Any] = ai_sdk) -> None:
        self._stream = stream
        self._events = list(events_of(json.loads(line) for line in lines))
        self._loop = asyncio.new_event_loop()

    def convert(self) -> None:
        """Make the whole stream; keep nothing."""
        self._loop.run_until_complete(self._drain(lambda _frame: None))

    def body(self) -> bytes:
        """The whole stream."""
        frames: list[str] = []
        self._loop.run_until_complete(self._drain(frames.append))
        return "".join(frames).encode()

    def response(self) -> Response:
        """The whole stream, as its documentation serves it."""
        stream = self._stream()
        response: Response = stream.streaming_response(stream.transform_stream(self._source()))
        return response

    def close(self) -> None:
        self._loop.close()

    async def _drain(self, take: Callable[[str], object]) -> None:
        stream = self._stream()
        async for frame in stream.encode_stream(stream.transform_stream(self._source())):
            take(frame)

    async def _source(self) -> AsyncIterator[Any]:
        for event in self._events:
            yield event


def events_of(raws: Iterable[dict[str, Any]]) -> Iterator[Any]:
    """What an agent of pydantic-ai yields for these events of the API, its tools answering ok."""
    call: Any = None
    block = _Block(0, {"type": "text"})
    for raw in raws:
        match raw["type"]:
            case "content_block_start":
                block = _Block(raw["index"], raw["content_block"])
                yield PartStartEvent(index=block.index, part=block.part())
            case "content_block_delta" if raw["delta"]["type"] != "citations_delta":
                yield PartDeltaEvent(index=block.index, delta=block.delta(raw["delta"]))
            case "content_block_stop":
                part = block.part()
                call = part if isinstance(part, ToolCallPart) else None
                yield PartEndEvent(index=block.index, part=part)
            case "message_stop" if call is not None:
                yield FunctionToolCallEvent(part=call, args_valid=True)
                answer = ToolReturnPart(call.tool_name, "ok", tool_call_id=call.tool_call_id)
                yield FunctionToolResultEvent(part=answer)
            case _:
                pass


class _Block:
    """A content block, and the part it has become so far."""

    def __init__(self, index: int, start: dict[str, Any]) -> None:
        self.index = index
        self._start = start
        self._content = ""
        self._signature: str | None = None

    def part(self) -> Any:
        match self._start["type"]:
            case "text":
                return TextPart(self._content)
            case "thinking":
                signed = {"signature": self._signature, "provider_name": VENDOR}
                return ThinkingPart(self._content, **(signed if self._signature else {}))
            case _:
                name, call_id = self._start["name"], self._start["id"]
                return ToolCallPart(name, self._content or None, tool_call_id=call_id)

    def delta(self, delta: dict[str, Any]) -> Any:
        match delta["type"]:
            case "signature_delta":
                self._signature = delta["signature"]
                return ThinkingPartDelta(signature_delta=self._signature, provider_name=VENDOR)
            case "thinking_delta":
                self._content += delta["thinking"]
                return ThinkingPartDelta(content_delta=delta["thinking"])
            case "text_delta":
                self._content += delta["text"]
                return TextPartDelta(content_delta=delta["text"])
            case _:
                self._content += delta["partial_json"]
                call_id = self._start["id"]
                return ToolCallPartDelta(args_delta=delta["partial_json"], tool_call_id=call_id)
