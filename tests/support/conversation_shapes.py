"""What each provider accepts as a conversation, written from its documentation alone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

Messages = list[dict[str, Any]]

NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")
CALL_ID = re.compile(r"[a-zA-Z0-9_-]{1,40}")


def anthropic(messages: Messages) -> None:
    """Roles alternate from the user's, and the results of a message come first in the next."""
    seen: set[str] = set()
    for number, message in enumerate(messages):
        assert message.keys() == {"role", "content"}
        assert message["role"] == ("user", "assistant")[number % 2]
        assert message["content"]
        uses = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
        assert seen.isdisjoint(uses)
        assert len(set(uses)) == len(uses)
        seen.update(uses)
        for block in message["content"]:
            _anthropic_block(block, message["role"])
        following = messages[number + 1]["content"] if number + 1 < len(messages) else []
        results = [b["tool_use_id"] for b in following if b["type"] == "tool_result"]
        assert [b.get("tool_use_id") for b in following[: len(uses)]] == uses
        assert len(results) == len(uses)
        if message["role"] == "assistant":
            assert not message["content"][-1]["type"].endswith("thinking")
    assert all(block["type"] != "tool_result" for block in (messages or [{"content": []}])[0][
        "content"
    ])  # fmt: skip


ANTHROPIC = {
    "text": ({"text"}, {"user", "assistant"}),
    "image": ({"source"}, {"user"}),
    "document": ({"source"}, {"user"}),
    "thinking": ({"thinking", "signature"}, {"assistant"}),
    "redacted_thinking": ({"data"}, {"assistant"}),
    "tool_use": ({"id", "name", "input"}, {"assistant"}),
    "tool_result": ({"tool_use_id"}, {"user"}),
    "server_tool_use": ({"id", "name", "input"}, {"assistant"}),
    "mcp_tool_use": ({"id", "name", "input", "server_name"}, {"assistant"}),
}


def _anthropic_block(block: dict[str, Any], role: str) -> None:
    kind = block["type"]
    if kind.endswith("_tool_result"):
        assert role == "assistant"
        assert block["tool_use_id"]
        return
    needed, roles = ANTHROPIC[kind]
    assert needed <= block.keys()
    assert role in roles
    if kind == "text":
        assert block["text"].strip()
    if kind == "tool_use":
        assert CALL_ID.fullmatch(block["id"])
        assert NAME.fullmatch(block["name"])
        assert isinstance(block["input"], dict)
    if kind == "thinking":
        assert block["signature"]
    if kind in ("image", "document"):
        source = block["source"]
        assert source["type"] in ("base64", "url", "text")
        assert source.get("data") or source["url"].startswith("http")
    for inner in block.get("content", []) if kind == "tool_result" else []:
        if not isinstance(inner, str):
            _anthropic_block(inner, "user")
    if kind == "tool_result":
        assert block.get("content") != []
        assert block.get("content") != ""


def openai(messages: Messages) -> None:
    """Each call of an assistant's message is answered right after it, in order."""
    owed: list[str] = []
    seen: set[str] = set()
    for message in messages:
        role = message["role"]
        assert role in ("user", "assistant", "tool")
        if role == "tool":
            assert message["tool_call_id"] == owed.pop(0)
            assert isinstance(message["content"], str)
            continue
        assert not owed
        if role == "user":
            _openai_content(message["content"])
            continue
        assert message.get("content") or message.get("tool_calls")
        assert isinstance(message["content"] or "", str)
        for call in message.get("tool_calls", []):
            assert call["type"] == "function"
            assert CALL_ID.fullmatch(call["id"])
            assert call["id"] not in seen
            assert NAME.fullmatch(call["function"]["name"])
            assert isinstance(json.loads(call["function"]["arguments"]), dict)
            seen.add(call["id"])
            owed.append(call["id"])
    assert not owed


def _openai_content(content: Any) -> None:
    assert content
    fields = {"text": "text", "image_url": "image_url", "file": "file", "input_audio": "data"}
    for part in content if isinstance(content, list) else []:
        assert part["type"] in fields
        assert part[part["type"]]


RESPONSE_PARTS = {"input_text", "input_image", "input_file"}


def responses(items: Messages) -> None:
    """Each call has its output after it, before anything else is said."""
    owed: set[str] = set()
    seen: set[str] = set()
    for number, item in enumerate(items):
        kind = item.get("type", "message")
        if kind == "function_call":
            assert CALL_ID.fullmatch(item["call_id"])
            assert item["call_id"] not in seen
            assert NAME.fullmatch(item["name"])
            assert isinstance(json.loads(item["arguments"]), dict)
            seen.add(item["call_id"])
            owed.add(item["call_id"])
        elif kind == "function_call_output":
            owed.remove(item["call_id"])
            if not isinstance(item["output"], str):
                assert {part["type"] for part in item["output"]} <= RESPONSE_PARTS
        elif kind == "reasoning":
            assert item["encrypted_content"]
            following = items[number + 1] if number + 1 < len(items) else {}
            is_call = following.get("type") in ("function_call", "reasoning")
            assert is_call or following.get("role") == "assistant"
        else:
            assert item["role"] in ("user", "assistant")
            assert item["content"]
            assert item["role"] == "assistant" or not owed
            if item["role"] == "user":
                types = {part["type"] for part in item["content"]}
                assert types <= RESPONSE_PARTS
    assert not owed


def gemini(contents: Messages) -> None:
    """Results are right after their calls, as many as these; only after results a role repeats."""
    before: dict[str, Any] | None = None
    for content in contents:
        assert content["role"] in ("user", "model")
        assert content["parts"]
        results = [p["functionResponse"] for p in content["parts"] if "functionResponse" in p]
        calls = _gemini_calls(before)
        assert [(r["name"], r["id"]) for r in results] == [(c["name"], c["id"]) for c in calls]
        assert not results or len(results) == len(content["parts"])
        assert all(isinstance(result["response"], dict) for result in results)
        if before is None:
            assert content["role"] == "user"
        elif before["role"] == content["role"]:
            assert "functionResponse" in before["parts"][0]
        for part in content["parts"]:
            _gemini_part(part)
        before = content
    assert not _gemini_calls(before)


def _gemini_calls(content: dict[str, Any] | None) -> list[dict[str, Any]]:
    parts = content["parts"] if content is not None else []
    return [part["functionCall"] for part in parts if "functionCall" in part]


GEMINI = {
    "text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode",
    "codeExecutionResult",
}  # fmt: skip


def _gemini_part(part: dict[str, Any]) -> None:
    assert len(GEMINI & part.keys()) == 1
    assert part.keys() <= GEMINI | {"thought", "thoughtSignature"}
    if "functionCall" in part:
        assert NAME.fullmatch(part["functionCall"]["name"])
        assert isinstance(part["functionCall"]["args"], dict)
    if part.get("thought"):
        assert part["thoughtSignature"]
    elif "text" in part:
        assert part["text"].strip()


def plain(messages: Messages) -> None:
    """Role and text, and more where there is more."""
    for message in messages:
        assert message["role"] in ("user", "assistant")
        assert message.keys() <= {"role", "content", "files", "tool_calls"}
        assert message["content"] or len(message) > 2
        assert all(message[key] for key in message.keys() - {"role", "content"})


SHAPES: dict[str | None, Callable[[Messages], None]] = {
    None: plain,
    "anthropic": anthropic,
    "openai": openai,
    "responses": responses,
    "gemini": gemini,
}
