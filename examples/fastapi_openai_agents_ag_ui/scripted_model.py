"""A model without an API key: calls the weather tool and answers with its result."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter

from agents import Model

EVENT: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
RESPONSE = {
    "id": "resp_1", "object": "response", "created_at": 0, "model": "scripted", "output": [],
    "parallel_tool_calls": False, "tool_choice": "auto", "tools": [], "status": "completed",
    "usage": {
        "input_tokens": 10, "output_tokens": 5, "total_tokens": 15,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    },
}  # fmt: skip


class ScriptedModel(Model):
    """Streams a scripted tool call, then a scripted answer."""

    async def get_response(self, *_: Any, **__: Any) -> Any:
        """Not used: the runner streams."""
        raise NotImplementedError

    async def stream_response(
        self, _system: Any, given: Any, *_: Any, **__: Any
    ) -> AsyncIterator[Any]:
        """Yield the events of one response."""
        for number, event in enumerate(_events(given)):
            yield EVENT.validate_python({**event, "sequence_number": number})


def _events(given: Any) -> Iterator[dict[str, Any]]:
    last = given[-1] if isinstance(given, list) else {}
    has_result = last.get("type") == "function_call_output"
    item = _answer(last["output"]) if has_result else _call(f"call_{len(given)}")
    empty = {**item, "content": []} if has_result else {**item, "arguments": ""}
    yield {"type": "response.output_item.added", "output_index": 0, "item": empty}
    yield from _words(item) if has_result else []
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    yield {"type": "response.completed", "response": {**RESPONSE, "output": [item]}}


def _call(name: str) -> dict[str, Any]:
    args = '{"city": "Lisbon"}'
    about = {"id": f"fc_{name}", "call_id": name, "name": "get_weather", "arguments": args}
    return {"type": "function_call", "status": "completed", **about}


def _answer(result: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": f"It is {result}.", "annotations": []}
    about = {"id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}
    return {"type": "message", **about}


def _words(item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    (part,) = item["content"]
    about = {"output_index": 0, "item_id": item["id"], "content_index": 0}
    yield {"type": "response.content_part.added", **about, "part": {**part, "text": ""}}
    for word in part["text"].split(" "):
        delta = {"delta": word if word.endswith(".") else f"{word} ", "logprobs": []}
        yield {"type": "response.output_text.delta", **about, **delta}
    yield {"type": "response.content_part.done", **about, "part": part}
