"""The content of the model's input: the prompt and its files, results of calls, a lost history.

The program takes a user's message as content blocks of Anthropic's Messages API.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from ..conversation import render

__all__ = ["content_of", "history_of", "prompt_of", "result", "text"]

Block = dict[str, Any]

EARLIER = "The conversation so far, from before this session:"
NOW = "The conversation goes on here."
WHO = {"user": "User", "assistant": "Assistant"}


def text(words: str) -> Block:
    return {"type": "text", "text": words}


def result(call: str, content: Any, is_error: bool = False) -> Block:
    """The result of a call."""
    block = {"type": "tool_result", "tool_use_id": call, "content": content}
    return {**block, "is_error": True} if is_error else block


def content_of(blocks: list[Block]) -> str | list[Block]:
    """The content of a message: plain text if it is no more than that."""
    only_text = len(blocks) == 1 and blocks[0]["type"] == "text"
    return str(blocks[0]["text"]) if only_text else blocks


def prompt_of(turn: Any) -> list[Block]:
    """The blocks of the prompt: text, images and documents."""
    return [block for message in _rendered([], turn.parts) for block in message["content"]]


def history_of(turn: Any) -> list[Block]:
    """The history for a session that has none: its words, its calls and results, its files."""
    messages = _rendered(turn.history, [])
    if not messages:
        return []
    blocks = [text(EARLIER)]
    for message in messages:
        blocks += [_as_said(WHO[message["role"]], block) for block in message["content"]]
    return [*blocks, text(NOW)]


def _as_said(who: str, block: Block) -> Block:
    """A block of the history as the user's message can have it."""
    if block["type"] == "text":
        return text(f"{who}: {block['text']}")
    if block["type"].endswith("tool_use"):
        return text(f"{who} called {block['name']} {json.dumps(block['input'])}")
    if block["type"].endswith("tool_result"):
        return text(f"Result: {_words(block.get('content'))}")
    if block["type"].endswith("thinking"):
        return text(f"{who} thought: {block.get('thinking') or '…'}")
    return block


def _words(content: Any) -> str:
    return content if isinstance(content, str) else json.dumps(content)


def _rendered(history: list[Any], parts: list[Any]) -> list[dict[str, Any]]:
    messages, note = render(history, parts, "anthropic")
    if note:
        sys.stderr.write(f"mobox: {note}\n")
    return messages
