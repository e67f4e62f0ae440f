"""The protocol's lines make the same log as their values, however they are read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.slow_path import assert_same_log, takes_the_short_way

Line = dict[str, Any]

THOROUGH = settings(max_examples=150)
DEEP = json.loads("[" * 201 + "]" * 201)
BLOCKS: list[Line] = [
    {"type": "text", "text": ""},
    {"type": "text", "text": "So "},
    {"type": "reasoning", "reasoning": ""},
    {"type": "tool_call_chunk", "id": "call_1", "name": "ls", "args": ""},
    {"type": "tool_call_chunk", "id": "call_2", "name": "think_tool", "args": "{"},
    {"type": "unheard_of"},
]
DELTAS: list[Line] = [
    {"type": "text-delta", "text": 'é "🙂"\n'},
    {"type": "text-delta", "text": "more"},
    {"type": "text-delta", "text": ""},
    {"type": "text-delta", "text": "long " * 200},
    {"type": "text-delta", "text": "x", "deep": DEEP},
    {"type": "text-delta"},
    {"type": "reasoning-delta", "reasoning": "hm"},
    {"type": "tool-call-delta", "args": '{"thought": "a'},
    {"type": "tool-call-delta", "args": 'b"}'},
    {"type": "data-delta", "data": "aGk="},
    {"type": "unheard_of"},
]
FINISHES: list[Line] = [
    {"type": "text", "text": "So", "annotations": [{"type": "citation", "url": "https://a.b/"}]},
    {"type": "reasoning", "reasoning": "hm", "extras": {"signature": "s"}},
    {"type": "tool_call", "id": "call_1", "name": "ls", "args": {}},
]
METADATA: list[Line] = [
    {"run_id": "r1"},
    {"run_id": "r2"},
    {},
    {"run_id": 7},
    {"run_id": "r1", "x": 1},
]


def told(data: Any, *namespace: str, method: str = "messages") -> Line:
    params = {"namespace": list(namespace), "timestamp": 1, "data": data}
    return {"type": "event", "method": method, "params": params, "seq": 1}


def block(kind: str, index: int, **about: Any) -> Line:
    return {"event": f"content-block-{kind}", "index": index, **about}


MORE = told([block("delta", 0, delta=DELTAS[1]), METADATA[0]])
OTHERS: list[Line] = [
    {"type": "text", "data": {"content": "emitted"}},
    {"_interrupted": True, "_interrupts": [{"id": "i", "value": "Sure?"}]},
    {"_exception": "E", "str": "no"},
    {"type": "AIMessageChunk", "id": "m1", "content": "piece"},
    told({"messages": []}, method="values"),
    told({"messages": [{"type": "ai", "id": "m1", "content": "So"}]}, method="values"),
    {name: value for name, value in MORE.items() if name != "method"},
    told([{"index": 0, "delta": DELTAS[1]}, METADATA[0]]),
]

TEXT, INPUT, THOUGHT = (block("start", 0, content=BLOCKS[number]) for number in (0, 3, 2))
NOT_ONLY_DELTAS: list[Line] = [
    told([block("delta", 0, delta=DELTAS[2]), METADATA[0]]),
    told([block("delta", 0, delta=DELTAS[5]), METADATA[0]]),
    told([block("delta", 0, delta=DELTAS[6]), METADATA[0]]),
    told([block("delta", 0, delta=DELTAS[7]), METADATA[0]]),
    told([block("delta", 0, delta=DELTAS[9]), METADATA[0]]),
    told([block("delta", 0, delta=DELTAS[10]), METADATA[0]]),
    told([block("delta", 1, delta=DELTAS[1]), METADATA[0]]),
    told([block("delta", 0, delta=DELTAS[1]), METADATA[1]]),
    told([block("delta", 0, delta=DELTAS[1]), METADATA[3]]),
    told([block("delta", 0, delta=DELTAS[1]), METADATA[0]], "tools:1"),
    told([block("finish", 0, content=FINISHES[0], delta=DELTAS[1]), METADATA[0]]),
    told([block("delta", 0, delta=DELTAS[1]), METADATA[0]], method="values"),
    told(block("delta", 0, delta=DELTAS[1])),
    {**MORE, "type": "text", "data": {"content": "x"}},
    {**MORE, "_exception": "E"},
    {**MORE, "__exception__": "E"},
    *OTHERS[1:],
]


@pytest.mark.parametrize("line", NOT_ONLY_DELTAS, ids=str)
def test_a_line_that_is_not_only_a_delta_takes_the_long_way(line: Line) -> None:
    assert not takes_the_short_way("langchain", [told([TEXT, METADATA[0]]), MORE], line)


def test_a_delta_of_an_open_block_takes_the_short_way() -> None:
    for start, number in ((TEXT, 1), (THOUGHT, 6), (INPUT, 7)):
        line = told([block("delta", 0, delta=DELTAS[number]), METADATA[0]])
        assert takes_the_short_way("langchain", [told([start, METADATA[0]])], line)
        assert takes_the_short_way("deepagents", [told([start, METADATA[0]]), line], line)
    failed = [told([TEXT, METADATA[0]]), MORE, {"_exception": "E", "str": "no"}]
    assert not takes_the_short_way("langchain", [], MORE)
    assert not takes_the_short_way("langchain", failed, MORE)
    in_graph = told([block("delta", 0, delta=DELTAS[1]), {}])
    assert takes_the_short_way("langchain", [TEXT], in_graph)


indexes = st.sampled_from([0, 0, 0, 1])
speakers = st.sampled_from([METADATA[0], *METADATA])
spaces = st.sampled_from([[], [], ["tools:1"]])
events = st.one_of(
    st.just({"event": "message-start", "role": "ai", "id": "m1"}),
    st.builds(lambda i, b: block("start", i, content=b), indexes, st.sampled_from(BLOCKS)),
    st.builds(lambda i, d: block("delta", i, delta=d), indexes, st.sampled_from(DELTAS)),
    st.builds(lambda i, f: block("finish", i, content=f), indexes, st.sampled_from(FINISHES)),
    st.just({"event": "message-finish", "metadata": {"stop_reason": "end_turn"}}),
)
messages = st.builds(lambda e, m, s: told([e, m], *s), events, speakers, spaces)
lines = st.one_of(messages, messages, st.just(MORE), st.just(MORE), st.sampled_from(OTHERS))
bodies = st.lists(lines, max_size=25).map(
    lambda values: [json.dumps(value, ensure_ascii=False).encode() + b"\n" for value in values]
)


@THOROUGH
@given(bodies, st.lists(st.integers(0, 9000), max_size=5))
def test_lines_make_the_log_of_their_values(body: list[bytes], cuts: list[int]) -> None:
    assert_same_log("langchain", body, cuts)
