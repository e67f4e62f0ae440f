"""Lines make the same log as their values, however they are read."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mobox.events.json_text import SHORT
from parsers.openai_lines import Line, added, call, chunk, created, done, ended, event, raw
from support.slow_path import assert_same_by_turns, assert_same_log, takes_the_short_way

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


WORDS = chunk({"content": "a", "refusal": None, "hologram": 1}, service_tier="default")
THOUGHT = chunk({"reasoning_content": "a", "content": None, "role": "assistant"})
INPUT = [call(0, "", id="a", name="f"), call(0, '{"a":')]
EVENT = event("output_text.delta", content_index=0, delta="Hi", logprobs=[])
ARGUMENTS = event("function_call_arguments.delta", 1, delta='{"a":')
NOT_ONLY_WORDS: list[Line] = [
    chunk({"content": ""}),
    chunk({"content": 7}),
    chunk({"content": "x", "role": 7}),
    chunk({"content": ["x"]}),
    chunk({"content": "x", "reasoning": "hm"}),
    chunk({"content": "x", "reasoning_details": [{"text": "hm"}]}),
    chunk({"content": "x", "refusal": "no"}),
    chunk({"content": "x", "annotations": [{}]}),
    chunk({"content": "x", "tool_calls": INPUT[1]["choices"][0]["delta"]["tool_calls"]}),
    chunk({"reasoning_content": "hm"}),
    chunk({"hologram": 1}),
    chunk({"content": "x"}, "stop"),
    chunk({"content": "x"}, usage={"prompt_tokens": 1}),
    chunk({"content": "x"}, x_groq={"usage": {"prompt_tokens": 1}}),
    chunk({"content": "x"}, error={"message": "busy"}),
    chunk({"content": "x"}, citations=["https://a.example"]),
    chunk({"content": "x"}, model=7),
    chunk({"content": "x"}, type="delta", data={"content": "y"}),
    chunk({"content": "x"}, type="response.created"),
    chunk({"content": "x"}, _exception="E"),
    chunk({"content": "x"}, __exception__=None),
    chunk({"content": "x"}, __result__=None),
    chunk({"content": "x"}, event={}, agent={}, tool_call={"call_id": "c"}),
    {"id": "c", "choices": [{"index": 1, "delta": {"content": "other"}}]},
    {"id": "c", "choices": [{"index": 0, "delta": {}, "message": {"content": "x"}}]},
    {"id": "c", "choices": [{"index": 0, "delta": {}, "text": "x"}]},
    {"id": "c", "choices": [*WORDS["choices"], *WORDS["choices"]]},
    INPUT[1],
]
NOT_ONLY_INPUT: list[Line] = [
    call(0, ""),
    call(1, "x"),
    call(0, "x", id="b", name="g"),
    call(0, "x", name="g"),
    WORDS,
]
NOT_ONLY_EVENTS: list[Line] = [
    {**EVENT, "delta": {"a": 1}},
    {**EVENT, "output_index": "0"},
    {**EVENT, "item_id": 7},
    {**EVENT, "text": "Hi"},
    {**EVENT, "type": "response.output_text.done"},
    {**EVENT, "type": "response.hologram.delta"},
    {**EVENT, "type": "text", "data": {"content": "x"}},
    {**EVENT, "_exception": None},
    {**EVENT, "__result__": None},
    {**EVENT, "event": {}, "agent": {}, "tool_call": None},
]


@pytest.mark.parametrize("value", NOT_ONLY_WORDS, ids=str)
def test_a_chunk_that_is_not_only_a_delta_takes_the_long_way(value: Line) -> None:
    assert not takes_the_short_way("openai", [WORDS], value)


@pytest.mark.parametrize("value", NOT_ONLY_INPUT, ids=str)
def test_a_chunk_that_is_not_only_input_takes_the_long_way(value: Line) -> None:
    assert not takes_the_short_way("openai", INPUT, value)


@pytest.mark.parametrize("value", NOT_ONLY_EVENTS, ids=str)
def test_an_event_that_is_not_only_a_delta_takes_the_long_way(value: Line) -> None:
    assert not takes_the_short_way("openai", [created(), EVENT], value)
    before = [raw(created()), raw(EVENT)]
    assert not takes_the_short_way("openai-agents", before, value)
    assert not takes_the_short_way("openai-agents", before, raw(value))
    assert not takes_the_short_way("openai-agents", before, {**raw(EVENT), "__result__": None})


def test_a_delta_of_the_open_block_takes_the_short_way() -> None:
    reasoning = chunk({"reasoning": "a", "channel": "analysis"})
    for value in (WORDS, THOUGHT, reasoning):
        assert not takes_the_short_way("openai", [], value)
        assert takes_the_short_way("openai", [value], value)
    assert takes_the_short_way("openai", INPUT, INPUT[1])
    assert takes_the_short_way("openai", [THOUGHT], reasoning)
    assert not takes_the_short_way("openai", [WORDS, chunk({}, "stop")], WORDS)
    assert not takes_the_short_way("openai", [WORDS, {"error": {"message": "busy"}}], WORDS)
    assert not takes_the_short_way("openai", [], EVENT)
    assert not takes_the_short_way("openai-agents", [], raw(EVENT))
    for value in (EVENT, ARGUMENTS, {**EVENT, "delta": ""}):
        assert takes_the_short_way("openai", [created()], value)
        assert takes_the_short_way("openai-agents", [raw(created())], raw(value))


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
