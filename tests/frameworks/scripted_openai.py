"""OpenAI's chat completions and Responses on this machine, which say what a script says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from threading import Thread
from typing import Any

from frameworks.scripted_anthropic import (
    CUT,
    GATE,
    SCRIPTS,
    Block,
    Handler,
    Item,
    ScriptedAnthropic,
    Scripts,
    asked_of,
    say,
)

USAGE = {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107}


class ScriptedOpenAI(ScriptedAnthropic):
    """The endpoint of both APIs; its `url` ends with the version, as the SDK's does."""

    def handler(self) -> type[Handler]:
        return _Handler

    @property
    def url(self) -> str:
        return f"{super().url}/v1"

    def conversation(self, body: dict[str, Any]) -> list[Item]:
        return [item for message in _told(body) for item in _items(message)]


@contextmanager
def scripted_openai(scripts: Scripts = SCRIPTS) -> Iterator[ScriptedOpenAI]:
    with ScriptedOpenAI(scripts) as endpoint:
        Thread(target=endpoint.serve_forever, daemon=True).start()
        yield endpoint
        endpoint.shutdown()


def _told(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages or input items of a request, without the instructions."""
    told = body["messages"] if "messages" in body else body["input"]
    return [each for each in told if each.get("role") != "system"]


def _items(message: dict[str, Any]) -> Iterator[Item]:
    """The items of a message or of an input item."""
    kind = message.get("type")
    if kind == "function_call":
        arguments = json.dumps(json.loads(message["arguments"]))
        yield Item("call", f"{message['name']} {arguments}", message["call_id"])
    elif kind == "function_call_output":
        yield Item("result", message["output"], message["call_id"])
    elif message.get("role") == "tool":
        yield Item("result", message["content"], message["tool_call_id"])
    else:
        yield from _said(message)


def _said(message: dict[str, Any]) -> Iterator[Item]:
    content, is_answer = message["content"] or [], message["role"] == "assistant"
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for part in parts:
        if "image_url" in part:
            url = part["image_url"]
            url = url["url"] if isinstance(url, dict) else url
            yield Item("image", url.partition(";base64,")[2])
        else:
            yield Item("text" if is_answer else "user", part["text"])
    for call in message.get("tool_calls") or []:
        arguments = json.dumps(json.loads(call["function"]["arguments"]))
        yield Item("call", f"{call['function']['name']} {arguments}", call["id"])


class _Handler(Handler):
    def respond(self, body: dict[str, Any]) -> None:
        asked = asked_of(body, _told(body)[:1], has_tools=False)
        if asked is not None:
            self.server.asked.append(asked)
        blocks = [say("Fine.")] if asked is None else self._answer(asked)
        name = f"answer_{len(self.server.asked)}"
        if blocks[0]["type"] == "fail":
            self._fail(blocks[0])
        elif "messages" in body:
            self._send_events(_chunks(blocks, name), asked.chat if asked else "", "[DONE]")
        else:
            self._send_events(_events(blocks, name), asked.chat if asked else "")

    def _turn(self, body: dict[str, Any]) -> int:
        if "messages" in body:
            return super()._turn(body)
        kinds = [each.get("role") or each["type"] for each in body["input"]]
        answers = [kind in ("assistant", "function_call", "reasoning") for kind in kinds]
        return sum(is_answer for is_answer, _ in groupby(answers))

    def _fail(self, block: Block) -> None:
        status, kind = {529: (503, "server_error")}.get(
            block["status"], (block["status"], "rate_limit_exceeded")
        )
        error = {"message": block["message"], "type": kind, "param": None, "code": kind}
        headers = {name.replace("_", "-"): value for name, value in block["headers"].items()}
        self._send(status, json.dumps({"error": error}).encode(), headers)


# Chat completions


def _chunks(blocks: list[Block], name: str) -> Iterator[dict[str, Any]]:
    yield _chunk(name, {"role": "assistant", "content": ""})
    calls = 0
    for block in blocks:
        if block in (GATE, CUT):
            yield block
        elif block["type"] == "text":
            for piece in _halves(block["text"]):
                yield _chunk(name, {"content": piece})
        else:
            about = {"index": calls, "id": block["id"], "type": "function"}
            function = {"name": block["name"], "arguments": ""}
            yield _chunk(name, {"tool_calls": [{**about, "function": function}]})
            for piece in _halves(json.dumps(block["input"])):
                more = {"index": calls, "function": {"arguments": piece}}
                yield _chunk(name, {"tool_calls": [more]})
            calls += 1
    yield _chunk(name, {}, "tool_calls" if calls else "stop")
    yield {**_chunk(name, {}), "choices": [], "usage": USAGE}


def _chunk(name: str, delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
    about = {"object": "chat.completion.chunk", "created": 1763200000, "model": "gpt-scripted"}
    return {"id": name, **about, "choices": [choice], "usage": None}


def _halves(text: str) -> list[str]:
    return [text[: len(text) // 2], text[len(text) // 2 :]]


# Responses


def _events(blocks: list[Block], name: str) -> Iterator[dict[str, Any]]:
    about = {"id": name, "object": "response", "created_at": 1763200000, "model": "gpt-scripted"}
    about |= {"parallel_tool_calls": True, "tools": [], "tool_choice": "auto", "output": []}
    yield {"type": "response.created", "response": {**about, "status": "in_progress"}}
    items: list[dict[str, Any]] = []
    for block in blocks:
        if block in (GATE, CUT):
            yield block
            continue
        item = _item(block, f"{name}_{len(items)}")
        yield from _item_events(block, item, len(items))
        items.append(item)
    usage: dict[str, Any] = {"input_tokens": 100, "output_tokens": 7, "total_tokens": 107}
    usage |= {"input_tokens_details": {"cached_tokens": 0}}
    usage |= {"output_tokens_details": {"reasoning_tokens": 0}}
    ended = {**about, "status": "completed", "output": items, "usage": usage}
    yield {"type": "response.completed", "response": ended}


def _item(block: Block, name: str) -> dict[str, Any]:
    if block["type"] == "tool_use":
        call = {"call_id": block["id"], "name": block["name"], "status": "completed"}
        arguments = json.dumps(block["input"])
        return {"type": "function_call", "id": f"fc_{name}", **call, "arguments": arguments}
    part = {"type": "output_text", "text": block["text"], "annotations": []}
    about = {"type": "message", "id": f"msg_{name}", "role": "assistant", "status": "completed"}
    return {**about, "content": [part]}


def _item_events(block: Block, item: dict[str, Any], place: int) -> Iterator[dict[str, Any]]:
    empty: dict[str, Any] = {"content": []}
    if block["type"] == "tool_use":
        empty = {"arguments": ""}
    begun = {**item, "status": "in_progress", **empty}
    yield {"type": "response.output_item.added", "output_index": place, "item": begun}
    at = {"output_index": place, "item_id": item["id"]}
    if block["type"] == "tool_use":
        for piece in _halves(item["arguments"]):
            yield {"type": "response.function_call_arguments.delta", **at, "delta": piece}
    else:
        for piece in _halves(block["text"]):
            delta = {**at, "content_index": 0, "delta": piece, "logprobs": []}
            yield {"type": "response.output_text.delta", **delta}
    yield {"type": "response.output_item.done", "output_index": place, "item": item}
