"""Lines make the same log as their values, however they are read."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from mobox.events.json_text import SHORT
from parsers.openai_lines import Line, added, call, chunk, created, done, ended, event, raw
from support.slow_path import assert_same_by_turns, assert_same_log

THOROUGH = settings(max_examples=150)

DEEP = json.loads("[" * 201 + "]" * 201)
CHAT: list[Line] = [
    chunk({"content": 'é "🙂"\n'}),
    chunk({"content": "more", "role": "assistant", "refusal": None}),
    chunk({"content": SHORT * "long "}),
    chunk({"content": "x"}, deep=DEEP),
    chunk({"content": "x", "reasoning_content": "hm"}),
    chunk({"content": ""}),
    chunk({"content": 7}),
    chunk({"reasoning_content": "hm"}),
    chunk({"reasoning": "hm", "channel": "analysis"}),
    chunk({"refusal": "no"}),
    chunk({"content": "x"}, "stop"),
    chunk({"content": "x"}, citations=["https://a.example"]),
    chunk({"content": "x"}, usage={"prompt_tokens": 1}),
    chunk({"content": "x"}, error={"message": "busy"}),
    chunk({"content": "x", "hologram": 1}),
    {"id": "c", "choices": [{"index": 1, "delta": {"content": "other"}}]},
    {"id": "d", "choices": []},
    call(0, "", id="a", name="f"),
    call(0, '{"a":'),
    call(1, "{}", id="b", name="g"),
    call(1, "1}"),
    call(0, "{}", id="z", name="f"),
]
EVENTS: list[Line] = [
    created(),
    created("r2"),
    ended(),
    added(0, "message"),
    done(0, "message", content=[{"type": "output_text", "text": "Hi"}]),
    added(0, "reasoning"),
    added(1, "function_call", call_id="c", name="f", arguments=""),
    done(1, "function_call", call_id="c", name="f", arguments="{}"),
    event("output_text.delta", content_index=0, delta="Hi"),
    event("output_text.delta", content_index=0, delta="more", logprobs=[], obfuscation="x"),
    event("output_text.delta", content_index=1, delta="Hi"),
    event("output_text.delta", content_index=0, delta=""),
    event("output_text.delta", content_index=0, delta={"a": 1}),
    event("output_text.delta", 2, content_index=0, delta="Hi"),
    event("output_text.done", content_index=0, text="Hi"),
    event("content_part.done", content_index=0, part={"type": "output_text", "text": "Hi"}),
    event("reasoning_summary_text.delta", summary_index=0, delta="hm"),
    event("reasoning_text.delta", content_index=0, delta="hm"),
    event("function_call_arguments.delta", 1, delta='{"a":'),
    {"type": "error", "message": "busy"},
]
OTHERS: list[Line] = [
    {"type": "delta", "data": {"content": "simplified"}},
    {"__exception__": "APIConnectionError", "message": "busy"},
    {"hologram": 1},
]
NOISE = [b"", b"   ", b"no JSON", b'{"choices": []} {"choices": []}', b"\xff", b"7"]


def line(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


forms = [
    st.sampled_from(CHAT),
    st.sampled_from(CHAT[:3]),
    st.sampled_from(EVENTS),
    st.sampled_from(EVENTS[8:10]),
    st.sampled_from(EVENTS).map(raw),
    st.sampled_from(EVENTS[8:10]).map(raw),
    st.sampled_from(OTHERS),
]
texts = st.one_of(*[form.map(line) for form in forms], st.sampled_from(NOISE))
endings_of_lines = st.sampled_from([b"\n", b"\n", b"\n", b"\r\n", b" \n"])
bodies = st.lists(st.tuples(texts, endings_of_lines), max_size=25).map(
    lambda parts: [text + end for text, end in parts]
)


@THOROUGH
@given(bodies, st.lists(st.integers(0, 5000), max_size=5))
def test_lines_make_the_log_of_their_values(lines: list[bytes], cuts: list[int]) -> None:
    assert_same_log("openai", lines, cuts)


@THOROUGH
@given(bodies)
def test_lines_and_values_may_take_turns(lines: list[bytes]) -> None:
    assert_same_by_turns("openai", lines)
