"""The workload: a run of 10,000 events as the Claude API streams them, the same bytes every time.

21 turns think, then answer with two citations; all but the last then call a tool. The fragments
have what hurts an encoder: quotes, line breaks, tabs, backslashes, accents, Chinese, an emoji.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import cycle, islice, pairwise
from random import Random
from typing import Any

__all__ = ["EVENTS", "INPUT_PIECES", "SHA256", "fragment", "lines", "one_block", "reads"]

Event = dict[str, Any]

EVENTS = 10_000
SHA256 = "10de164e1083d6a470f4dccb2379f05554a8c6ba71d29a2500883077dd529025"
"""Of all lines. A change here makes every figure published before incomparable."""

TURNS = 21
THINKING, TEXT = 2_745, 6_405
"""Deltas in the whole run."""
INPUT_PIECES = 30
FRAGMENT = 20

WORDS = (
    *("alpha", "beta", "gamma", "delta", "the", "a", "of", "to", "and", "résumé", "naïve"),
    *('"quoted"', "stream", "event", "token", "parse", "line\nbreak", "tab\there"),
    *("path/to/file.py", "数据", "流", "🙂", "value=42", "<b>html</b>", "back\\slash"),
    *("agent", "sandbox", "gateway", "resume", "log"),
)


@cache
def lines() -> tuple[bytes, ...]:
    """The workload, one event a line, each with its line end."""
    random = Random(7)
    return tuple(_encode(event) for turn in range(TURNS) for event in _turn(turn, random))


def one_block(deltas: int) -> tuple[bytes, ...]:
    """A run that says everything in one text block, to see whether a long block costs more."""
    random = Random(7)
    fragments = cycle([fragment(random) for _ in range(1_000)])
    said = [_delta(0, "text_delta", text=text) for text in islice(fragments, deltas)]
    block = _block(0, {"type": "text", "text": ""}, said)
    run = [_message_start(0), *block, *_message_end(TURNS - 1)]
    return tuple(_encode(event) for event in run)


def reads(lines: Iterable[bytes], size: int) -> list[bytes]:
    """The lines as they come when `size` of them are there at each read."""
    rest = iter(lines)
    return [b"".join(batch) for batch in iter(lambda: list(islice(rest, size)), [])]


def _encode(event: Event) -> bytes:
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def fragment(random: Random, length: int = FRAGMENT) -> str:
    """About so many characters of text."""
    text = ""
    while len(text) < length - 3:
        text += random.choice(WORDS) + " "
    return text[: length + random.randint(-3, 3)]


def _share(total: int, turn: int) -> int:
    each, left_over = divmod(total, TURNS)
    return each + (turn < left_over)


# The order of the calls below is the order in which random numbers are drawn.


def _turn(turn: int, random: Random) -> Iterator[Event]:
    yield _message_start(turn)
    thinking = {"type": "thinking", "thinking": "", "signature": ""}
    yield from _block(0, thinking, _thoughts(turn, random))
    yield from _block(1, {"type": "text", "text": ""}, _answer(turn, random))
    if turn < TURNS - 1:
        call = {"type": "tool_use", "id": f"toolu_01{turn:020d}", "name": "search_files"}
        yield from _block(2, call | {"input": {}}, _tool_input(turn, random))
    yield from _message_end(turn)


def _block(index: int, block: Event, deltas: Iterable[Event]) -> Iterator[Event]:
    yield {"type": "content_block_start", "index": index, "content_block": block}
    yield from deltas
    yield {"type": "content_block_stop", "index": index}


def _delta(index: int, kind: str, **content: object) -> Event:
    delta = {"type": kind, **content}
    return {"type": "content_block_delta", "index": index, "delta": delta}


def _thoughts(turn: int, random: Random) -> Iterator[Event]:
    for _ in range(_share(THINKING, turn)):
        yield _delta(0, "thinking_delta", thinking=fragment(random))
    yield _delta(0, "signature_delta", signature="EqQBCgIYAhIM" + 80 * "x")


def _answer(turn: int, random: Random) -> Iterator[Event]:
    count = _share(TEXT, turn)
    cited = (count // 3, 2 * count // 3)
    for number in range(count):
        yield _delta(1, "text_delta", text=fragment(random))
        if number in cited:
            yield _delta(1, "citations_delta", citation=_citation(turn, number, random))


def _citation(turn: int, number: int, random: Random) -> Event:
    return {
        "type": "web_search_result_location",
        "cited_text": fragment(random, 60),
        "url": f"https://example.org/{turn}/{number}",
        "title": f"Source {turn}-{number}",
        "encrypted_index": "Eo8BCioIAhgBIiQ3",
    }


def _tool_input(turn: int, random: Random) -> Iterator[Event]:
    arguments = {
        "path": f"/workspace/src/module_{turn}.py",
        "query": fragment(random, 120),
        "limit": turn,
        "flags": ["a", "b", {"deep": True}],
        "body": fragment(random, 260),
    }
    text = json.dumps(arguments, ensure_ascii=False)
    cuts = [round(piece * (len(text) / INPUT_PIECES)) for piece in range(INPUT_PIECES + 1)]
    for start, end in pairwise(cuts):
        yield _delta(2, "input_json_delta", partial_json=text[start:end])


def _message_start(turn: int) -> Event:
    usage = {
        "input_tokens": 1200 + turn,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 800,
        "output_tokens": 1,
    }
    message: Event = {
        "id": f"msg_01{turn:022d}",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    return {"type": "message_start", "message": message}


def _message_end(turn: int) -> Iterator[Event]:
    reason = "tool_use" if turn < TURNS - 1 else "end_turn"
    change = {"stop_reason": reason, "stop_sequence": None}
    yield {"type": "message_delta", "delta": change, "usage": {"output_tokens": 400 + turn}}
    yield {"type": "message_stop"}
