"""What other frameworks' models say, as their streams say it, and the floor of each.

The words are the workload's: its thoughts and answers, a line each, in turns. Every floor decodes
only what a reader needs of a line, and encodes that.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

import msgspec
from msgspec import Struct

from bench import workload

__all__ = ["FRAMEWORKS", "by_line", "lines"]

Event = dict[str, Any]
Words = tuple[int, bool, str]  # the turn, whether it is thought, and what is said

_SAID = {"text_delta": "text", "thinking_delta": "thinking"}


def _words() -> Iterator[Words]:
    turn = -1
    for line in workload.lines():
        event = json.loads(line)
        turn += event["type"] == "message_start"
        delta = event.get("delta", {})
        if delta.get("type") in _SAID:
            yield turn, delta["type"] == "thinking_delta", delta[_SAID[delta["type"]]]


def _gemini(turn: int, thought: bool, words: str, last: bool) -> Event:
    part: Event = {"text": words, "thought": True} if thought else {"text": words}
    candidate: Event = {"content": {"parts": [part], "role": "model"}, "index": 0}
    usage = {"promptTokenCount": 1100, "candidatesTokenCount": 40, "totalTokenCount": 1140}
    about = {"modelVersion": "gemini-3-pro", "responseId": f"resp_{turn}"}
    if last:
        candidate["finishReason"] = "STOP"
    return {"candidates": [candidate], "usageMetadata": usage, **about}


def _adk(turn: int, thought: bool, words: str, last: bool) -> Event:
    part: Event = {"text": words, "thought": True} if thought else {"text": words}
    actions = ("stateDelta", "artifactDelta", "requestedAuthConfigs", "requestedToolConfirmations")
    return {
        "modelVersion": "gemini-3-pro",
        "content": {"parts": [part], "role": "model"},
        "partial": True,
        "usageMetadata": {"promptTokenCount": 1100, "totalTokenCount": 1100},
        "invocationId": "e-aa990867-915c-4be1-a61b-1853f0bff6d3",
        "author": "root",
        "actions": {name: {} for name in actions},
        "nodeInfo": {"path": "root@1"},
        "id": f"74f09c45-02a6-4de5-9cdd-{turn:012d}",
        "timestamp": 1794765083.754518,
    }


def _smolagents(turn: int, thought: bool, words: str, last: bool) -> Event:
    if last:
        return {"type": "ActionStep", "data": {"step_number": turn + 1, "model_output": words}}
    said = {"content": words, "tool_calls": None, "token_usage": None}
    return {"type": "ChatMessageStreamDelta", "data": said}


class _Part(Struct, gc=False):
    text: str
    thought: bool = False


class _Content(Struct, gc=False):
    parts: list[_Part]


class _Candidate(Struct, gc=False):
    content: _Content


class _Chunk(Struct, gc=False, rename="camel"):
    candidates: list[_Candidate]
    response_id: str


class _Event(Struct, gc=False):
    content: _Content
    author: str
    id: str


class _Delta(Struct, gc=False):
    content: str | None = None
    model_output: str | None = None


class _Line(Struct, gc=False):
    type: str
    data: _Delta


FRAMEWORKS: dict[str, tuple[Callable[[int, bool, str, bool], Event], Any]] = {
    "gemini": (_gemini, msgspec.json.Decoder(_Chunk)),
    "adk": (_adk, msgspec.json.Decoder(_Event)),
    "smolagents": (_smolagents, msgspec.json.Decoder(_Line)),
}
"""How each says a piece, and what its floor decodes."""

_encode = msgspec.json.Encoder().encode


@cache
def lines(framework: str) -> tuple[bytes, ...]:
    """All that is said, a line each, with its line end."""
    tell, words = FRAMEWORKS[framework][0], list(_words())
    following = [turn for turn, *_ in words[1:]] + [-1]
    told = [tell(*each, each[0] != after) for each, after in zip(words, following, strict=True)]
    return tuple(json.dumps(event, ensure_ascii=False).encode() + b"\n" for event in told)


def by_line(framework: str, lines: Iterable[bytes]) -> Iterable[bytes]:
    """Each line decoded and encoded."""
    decode = FRAMEWORKS[framework][1].decode
    return [_encode(decode(line)) for line in lines]
