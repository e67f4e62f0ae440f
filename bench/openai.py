"""OpenAI's two streams as workloads, each with its own floor: Mobox is measured against that.

The same words as in `bench.workload`: turns that think, answer, and call a tool. The floor decodes
every line into Structs that have all its fields, and encodes it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from random import Random
from typing import Any

import msgspec
from msgspec import Struct

from bench.workload import INPUT_PIECES, fragment

__all__ = ["FLOORS", "WORKLOADS"]

Event = dict[str, Any]

TURNS = 20
THOUGHTS, WORDS = 130, 300
"""Deltas in a turn."""


@cache
def chat() -> tuple[bytes, ...]:
    """Chunks of chat completions, with `reasoning_content`."""
    random = Random(7)
    return tuple(_encode(chunk) for turn in range(TURNS) for chunk in _completion(turn, random))


@cache
def responses() -> tuple[bytes, ...]:
    """Events of Responses."""
    random = Random(7)
    return tuple(_encode(event) for turn in range(TURNS) for event in _response(turn, random))


def _encode(event: Event) -> bytes:
    return msgspec.json.encode(event) + b"\n"


def _completion(turn: int, random: Random) -> Iterator[Event]:
    def chunk(delta: Event, finish: str | None = None) -> Event:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return {**_about_chunk(turn), "choices": [choice]}

    yield chunk({"role": "assistant", "content": ""})
    for _ in range(THOUGHTS):
        yield chunk({"reasoning_content": fragment(random)})
    for _ in range(WORDS):
        yield chunk({"content": fragment(random)})
    call = {"index": 0, "id": f"call_{turn}", "type": "function"}
    yield chunk({"tool_calls": [{**call, "function": {"name": "search", "arguments": ""}}]})
    for piece in _input(turn):
        yield chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
    yield chunk({}, "tool_calls")


def _about_chunk(turn: int) -> Event:
    return {
        "id": f"chatcmpl-{turn:08}",
        "object": "chat.completion.chunk",
        "created": 1763200000,
        "model": "gpt-5.1-mini",
        "service_tier": "default",
        "system_fingerprint": "fp_0123456789",
    }


def _input(turn: int) -> Iterator[str]:
    text = msgspec.json.encode({"query": f"turn {turn} " + "and more words " * 20}).decode()
    size = len(text) // INPUT_PIECES + 1
    return (text[start : start + size] for start in range(0, len(text), size))


def _response(turn: int, random: Random) -> Iterator[Event]:
    response = {"id": f"resp_{turn:08}", "model": "gpt-5.1", "status": "in_progress", "output": []}
    thought = {"id": f"rs_{turn:08}", "type": "reasoning", "summary": []}
    message = {"id": f"msg_{turn:08}", "type": "message", "role": "assistant", "content": []}
    call = {"id": f"fc_{turn:08}", "type": "function_call", "call_id": f"call_{turn}"}
    call |= {"name": "search", "arguments": ""}
    yield {"type": "response.created", "response": response}
    yield _item("added", 0, thought)
    for _ in range(THOUGHTS):
        yield _delta("reasoning_summary_text", thought, 0, fragment(random), summary_index=0)
    yield _item("done", 0, thought)
    yield _item("added", 1, message)
    for _ in range(WORDS):
        more = {"content_index": 0, "logprobs": [], "obfuscation": "kx3Vb9"}
        yield _delta("output_text", message, 1, fragment(random), **more)
    yield _item("done", 1, message)
    yield _item("added", 2, call)
    for piece in _input(turn):
        yield _delta("function_call_arguments", call, 2, piece, obfuscation="Yc81mQ")
    yield _item("done", 2, {**call, "arguments": "".join(_input(turn))})
    yield {"type": "response.completed", "response": {**response, "status": "completed"}}


def _item(what: str, index: int, item: Event) -> Event:
    return {"type": f"response.output_item.{what}", "output_index": index, "item": item}


def _delta(kind: str, item: Event, index: int, text: str, **more: Any) -> Event:
    about = {"item_id": item["id"], "output_index": index, "sequence_number": 4711, **more}
    return {"type": f"response.{kind}.delta", **about, "delta": text}


# The floors


class Function(Struct, gc=False, omit_defaults=True):
    """The function of a call."""

    arguments: str
    name: str | None = None


class Call(Struct, gc=False, omit_defaults=True):
    """A piece of a call."""

    index: int
    function: Function
    id: str | None = None
    type: str | None = None


class Delta(Struct, gc=False, omit_defaults=True):
    """What a chunk adds."""

    role: str | None = None
    content: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[Call] | None = None


class Choice(Struct, gc=False):
    """One answer."""

    index: int
    delta: Delta
    logprobs: None
    finish_reason: str | None


class Chunk(Struct, gc=False):
    """One chunk."""

    id: str
    object: str
    created: int
    model: str
    service_tier: str
    system_fingerprint: str
    choices: list[Choice]


class Said(Struct, gc=False, omit_defaults=True):
    """More of an item, or of the response."""

    type: str
    item_id: str | None = None
    output_index: int | None = None
    sequence_number: int | None = None
    summary_index: int | None = None
    content_index: int | None = None
    logprobs: list[Any] | None = None
    obfuscation: str | None = None
    delta: str | None = None
    item: dict[str, Any] | None = None
    response: dict[str, Any] | None = None


def _floor(shape: type[Struct]) -> Callable[[Iterable[bytes]], list[bytes]]:
    decode, encode = msgspec.json.Decoder(shape).decode, msgspec.json.Encoder().encode
    return lambda lines: [encode(decode(line)) for line in lines]


WORKLOADS = {"chat": chat, "responses": responses}
FLOORS = {"chat": _floor(Chunk), "responses": _floor(Said)}
