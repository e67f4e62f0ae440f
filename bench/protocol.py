"""The same run as LangChain's typed protocol streams it (`astream_events` v3), and its floor.

The words are those of the workload. What differs is the protocol's own: every event has an envelope
with the metadata of its graph, the ends of blocks come in a burst, citations come with them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

import msgspec
from msgspec import Struct

from bench import workload

__all__ = ["by_line", "lines"]

Event = dict[str, Any]

_DELTAS = {
    "text_delta": ("text-delta", "text"),
    "thinking_delta": ("reasoning-delta", "reasoning"),
    "input_json_delta": ("tool-call-delta", "args"),
}
_THEIRS = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}


@cache
def lines() -> tuple[bytes, ...]:
    """The workload, one event a line, each with its line end."""
    events = [event for turn in _turns() for event in _turn(*turn)]
    return tuple(
        json.dumps({**event, "seq": seq}, ensure_ascii=False).encode() + b"\n"
        for seq, event in enumerate(events, 1)
    )


def _turns() -> Iterator[tuple[int, list[Event]]]:
    turn: list[Event] = []
    number = 0
    for line in workload.lines():
        turn.append(json.loads(line))
        if turn[-1]["type"] == "message_stop":
            yield number, turn
            turn, number = [], number + 1


def _turn(number: int, turn: list[Event]) -> Iterator[Event]:
    """The events of one turn of the Claude API, in the protocol's order."""
    run_id = f"01a1e059-85d6-709d-90f6-{number:012d}"
    blocks: dict[int, Event] = {}
    for event in turn:
        write = _WRITERS.get(event["type"])
        for data in write(event, blocks) if write is not None else ():
            yield _messages(data | ({"id": f"lc_run--{run_id}"} if "role" in data else {}), run_id)
    for index, block in blocks.items():
        finish = {"event": "content-block-finish", "index": index, "content": _whole(block)}
        yield _messages(finish, run_id)
    yield _messages(_message_finish(turn), run_id)
    yield from (_tools(block) for block in blocks.values() if block["type"] == "tool_call_chunk")


def _message_start(event: Event, _blocks: dict[int, Event]) -> Iterator[Event]:
    metadata = {"provider": "anthropic", "model": event["message"]["model"]}
    yield {"event": "message-start", "role": "ai", "metadata": metadata}


def _block_start(event: Event, blocks: dict[int, Event]) -> Iterator[Event]:
    told = event["content_block"]
    content = {
        "text": {"type": "text", "text": ""},
        "thinking": {"type": "reasoning", "reasoning": ""},
        "tool_use": {"type": "tool_call_chunk", "args": ""},
    }[told["type"]]
    content |= {name: told[name] for name in ("id", "name") if name in told}
    blocks[event["index"]] = {**content, "annotations": []}
    yield {"event": "content-block-start", "index": event["index"], "content": content}


def _delta(event: Event, blocks: dict[int, Event]) -> Iterator[Event]:
    index, delta = event["index"], event["delta"]
    block, kind = blocks[index], delta["type"]
    if kind == "citations_delta":
        block["annotations"].append({**delta["citation"], "type": "citation"})
    elif kind == "signature_delta":
        block["extras"] = {"signature": delta["signature"]}
    else:
        name, key = _DELTAS[kind]
        said = delta[_THEIRS[kind]]
        block[key] += said
        yield {"event": "content-block-delta", "index": index, "delta": {"type": name, key: said}}


_WRITERS: dict[str, Callable[[Event, dict[int, Event]], Iterator[Event]]] = {
    "message_start": _message_start,
    "content_block_start": _block_start,
    "content_block_delta": _delta,
}


def _whole(block: Event) -> Event:
    if block["type"] == "tool_call_chunk":
        call = {"type": "tool_call", "args": json.loads(block["args"])}
        return call | {name: block[name] for name in ("id", "name")}
    return {name: value for name, value in block.items() if value != []}


def _message_finish(turn: list[Event]) -> Event:
    change = next(event for event in turn if event["type"] == "message_delta")
    used = {"input_tokens": 2000, "total_tokens": 2400, **change["usage"]}
    return {"event": "message-finish", "usage": used, "metadata": change["delta"]}


def _messages(data: Event, run_id: str) -> Event:
    node = f"model:{run_id}"
    metadata = {
        "ls_integration": "langchain_chat_model",
        "thread_id": "3dc37f7f-5786-4b86-8ec2-d65c10b4ec45",
        "langgraph_step": 1,
        "langgraph_node": "model",
        "langgraph_triggers": ["branch:to:model"],
        "langgraph_path": ["__pregel_pull", "model"],
        "langgraph_checkpoint_ns": node,
        "checkpoint_ns": node,
        "ls_provider": "anthropic",
        "ls_model_name": "claude-sonnet-4-5",
        "ls_model_type": "chat",
        "ls_temperature": None,
        "ls_max_tokens": 2000,
        "lc_versions": {"langchain-core": "1.7.2", "langchain": "1.4.7"},
        "run_id": run_id,
    }
    params = {"namespace": [], "timestamp": 1794765248944, "data": [data, metadata]}
    return {"type": "event", "method": "messages", "params": params}


def _tools(block: Event) -> Event:
    data = {"event": "tool-finished", "tool_call_id": block["id"], "output": "done"}
    params = {"namespace": [], "timestamp": 1794765248944, "data": data}
    return {"type": "event", "method": "tools", "params": params}


# The floor: only what a reader needs is decoded, and no metadata is encoded but the run's id.


class Text(Struct, tag="text-delta", gc=False):
    """More of an answer."""

    text: str


class Thought(Struct, tag="reasoning-delta", gc=False):
    """More of a thought."""

    reasoning: str


class Input(Struct, tag="tool-call-delta", gc=False):
    """More of a tool's input."""

    args: str


class Start(Struct, tag_field="event", tag="message-start"):
    """A turn begins."""

    id: str
    metadata: dict[str, Any]


class BlockStart(Struct, tag_field="event", tag="content-block-start"):
    """A block begins."""

    index: int
    content: dict[str, Any]


class Delta(Struct, tag_field="event", tag="content-block-delta", gc=False):
    """More of a block."""

    index: int
    delta: Text | Thought | Input


class BlockFinish(Struct, tag_field="event", tag="content-block-finish"):
    """A block ends."""

    index: int
    content: dict[str, Any]


class Finish(Struct, tag_field="event", tag="message-finish"):
    """A turn ends."""

    usage: dict[str, Any]
    metadata: dict[str, Any]


class Tool(Struct, tag_field="event", tag="tool-finished"):
    """A tool has run."""

    tool_call_id: str
    output: str


class Metadata(Struct, gc=False):
    """Whose events these are."""

    run_id: str


class Params(Struct, gc=False):
    """What is told, and where."""

    namespace: list[str]
    data: tuple[Start | BlockStart | Delta | BlockFinish | Finish, Metadata] | Tool


class Line(Struct, gc=False):
    """An event of a run."""

    method: str
    params: Params


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Line)


def by_line(lines: Iterable[bytes]) -> Iterable[bytes]:
    """Each line decoded and encoded."""
    decode, encode = _decoder.decode, _encoder.encode
    return [encode(decode(line)) for line in lines]
