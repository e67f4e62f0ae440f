import json
import tracemalloc
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mobox.capture.jsonlines import END, MAX_LINE, Item, JsonLines, decode
from mobox.events import Raw
from mobox.events.json_text import MAX_CONTAINERS, MAX_DEPTH

BOM = b"\xef\xbb\xbf"


def values(*reads: bytes, max_line: int = MAX_LINE) -> list[Any]:
    lines = JsonLines(max_line)
    return [value for read in reads for value in lines.feed(read)] + lines.close()


def not_json(text: str) -> Raw:
    return Raw(raw=text, source="not JSON")


def not_sse(text: str) -> Raw:
    return Raw(raw=text, source="not SSE")


def dropped(size: int, source: str = "oversized line") -> Raw:
    return Raw(raw={"dropped_bytes": size}, source=source)


def nested(depth: int, inside: bytes = b"") -> bytes:
    return b"[" * depth + inside + b"]" * depth


def depth_of(value: Any) -> int:
    if isinstance(value, dict):
        value = list(value.values())
    return 1 + max(map(depth_of, value), default=0) if isinstance(value, list) else 0


# Lines


def test_a_read_may_have_several_lines() -> None:
    lines = JsonLines(MAX_LINE)
    assert [lines.feed(b'{"n":1}\n') for _ in range(2)] == [[{"n": 1}]] * 2
    assert lines.feed(b'{"text":"a"}\n{"text":"b"}\n') == [{"text": "a"}, {"text": "b"}]
    assert lines.feed(b'{"text":"c"}\n\n{"n":2}\n') == [{"text": "c"}, {"n": 2}]


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (b'{"type":"done"}', {"type": "done"}),
        (b'[{"type":"start"},{"type":"done"}]', [{"type": "start"}, {"type": "done"}]),
        (b'"text"', "text"),
        (b"-1.5e3", -1500.0),
        (b"true", True),
        (b"null", None),
        (b' \t{"a":1} ', {"a": 1}),
        (b'"\\ud83d\\ude00 \xc3\xa9"', "\U0001f600 é"),
    ],
)
def test_a_line_is_any_json_value(line: bytes, value: Any) -> None:
    assert values(line + b"\n") == [value]


def test_values_come_with_the_read_that_completes_their_line() -> None:
    lines = JsonLines()
    assert lines.feed(b'{"a":') == []
    assert lines.feed(b'1}\n{"b":2}\n{"c"') == [{"a": 1}, {"b": 2}]
    assert lines.feed(b":3}") == []
    assert lines.close() == [{"c": 3}]
    assert lines.close() == []


def test_a_last_line_that_was_cut_is_raw() -> None:
    assert values(b'{"a":1}\n{"b":') == [{"a": 1}, not_json('{"b":')]


@pytest.mark.parametrize("inside", ["\u2028", "\u2029", "\u0085", "\r", "\x0b", "\x0c", "\x1c"])
def test_only_a_line_feed_ends_a_line(inside: str) -> None:
    text = f"one{inside}two"
    assert values(f'"{text}"\n{text}\n'.encode()) == [text, not_json(text)]


def test_one_carriage_return_before_the_line_feed_is_no_content() -> None:
    assert values(b'{"a":1}\r\nnoise\r\nnoise\r\r\n') == [
        {"a": 1}, not_json("noise"), not_json("noise\r"),
    ]  # fmt: skip


def test_blank_lines_are_nothing() -> None:
    assert values(b"\n\r\n \t\n1\n\n\r\n2\n \n") == [1, 2]


def test_no_input_is_no_value() -> None:
    assert values() == values(b"") == values(b"\n") == []


def test_a_byte_order_mark_is_skipped_at_the_very_start_only() -> None:
    assert values(BOM + b"1\n" + BOM + b"2\n") == [1, not_json("\ufeff2")]
    assert values(b"\n" + BOM + b"2\n") == [not_json("\ufeff2")]
    assert values(b"1\n", BOM + b"2\n") == [1, not_json("\ufeff2")]
    assert values(BOM + b"data: 1\n\n") == [1]


def test_a_json_value_over_several_lines_is_read_line_by_line() -> None:
    assert values(b'{\n"a": 1\n}\n') == [not_json("{"), not_json('"a": 1'), not_json("}")]


LINE = st.one_of(
    st.sampled_from(
        [
            *(b"", b"\r", b" ", BOM, b"noise", b"\xff", b"42", b'"\xe2\x80\xa8"', b'"\xff"'),
            *(b'{"a":1}', b'{"a":1}\r', b'{"a":"\\ud800"}', b"[NaN]", b'{"a":', b"x" * 40),
            *(
                b"data: 1",
                b"data:{}",
                b'data: {"a":2}',
                b"data: [DONE]",
                b"event: x",
                b"data",
                b": ping",
                b"id:1",
            ),
        ]
    ),
    st.binary(max_size=8),
)


@st.composite
def reads(draw: st.DrawFn) -> list[bytes]:
    stream = b"\n".join(draw(st.lists(LINE, max_size=12)))
    cuts = sorted(draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    return [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]


@given(reads(), st.sampled_from([3, 20, MAX_LINE]))
@example([BOM[:1], BOM[1:] + b"1\r", b"\n"], MAX_LINE)
@example([b"xxx", b"\r", b"\n"], 3)
def test_read_boundaries_in_the_stream_do_not_matter(parts: list[bytes], max_line: int) -> None:
    stream = b"".join(parts)
    whole = values(stream, max_line=max_line)
    assert values(*parts, max_line=max_line) == whole
    assert values(*(stream[n : n + 1] for n in range(len(stream))), max_line=max_line) == whole


FLOATS = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | FLOATS | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(st.lists(JSON, max_size=8))
def test_json_lines_are_their_values(written: list[Any]) -> None:
    assert values("".join(json.dumps(value) + "\n" for value in written).encode()) == written


def test_a_large_line_may_come_byte_by_byte() -> None:
    line = b'"' + b"x" * 300_000 + b'"\n'
    lines = JsonLines()
    found = [lines.feed(line[n : n + 1]) for n in range(len(line))]
    assert found[-1] == ["x" * 300_000]
    assert not any(found[:-1])


# The cap


def test_line_over_the_cap_is_dropped_and_its_length_reported() -> None:
    assert values(b'"345678"\n"3456789"\n"ok"\n', max_line=8) == ["345678", dropped(9), "ok"]


def test_line_over_the_cap_is_reported_once_at_its_end() -> None:
    lines = JsonLines(max_line=8)
    assert [lines.feed(b"123456") for _ in range(3)] == [[], [], []]
    assert lines.feed(b"7\n1\n") == [dropped(19), 1]
    assert lines.feed(b"123456789") == []
    assert lines.close() == [dropped(9)]


def test_an_oversized_first_line_decides_nothing() -> None:
    assert values(BOM + b"123456\ndata: 1\n", max_line=8) == [dropped(9), 1]


def test_the_bytes_of_a_line_over_the_cap_are_not_kept() -> None:
    lines, read = JsonLines(max_line=10_000), b"x" * 1000
    tracemalloc.start()
    for _ in range(1000):
        lines.feed(read)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100_000
    assert lines.close() == [dropped(1_000_000)]


# What is no JSON, and what almost is


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (b"loading model...", "loading model..."),
        (b"  50%|##   |\r 51%", "  50%|##   |\r 51%"),
        (b'{"a":1}{"b":2}', '{"a":1}{"b":2}'),
        (b"{'a': 1}", "{'a': 1}"),
        (b"01", "01"),
        (b"caf\xe9 \xed\xa0\x80", "caf\\xe9 \\xed\\xa0\\x80"),
        (b"[DONE]", "[DONE]"),
    ],
)
def test_invalid_json_is_raw_text(line: bytes, text: str) -> None:
    assert values(line + b"\n") == [not_json(text)]


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (b'{"k\xe9y":"caf\xe9"}', {"k\ufffdy": "caf\ufffd"}),
        (b'"\xed\xa0\x80"', "\ufffd\ufffd\ufffd"),
        (rb'{"\ud800":["\udc00 x","\ud83dx"]}', {"\ufffd": ["\ufffd x", "\ufffdx"]}),
        (rb'["\ud800\ud83d\ude00\ude00"]', ["\ufffd\U0001f600\ufffd"]),
        (b'{"a":NaN,"b":[Infinity,-Infinity]}', {"a": None, "b": [None, None]}),
        (b"[1e999,-1e999,1e-999,1.5]", [None, None, 0.0, 1.5]),
        (b"[NaN,1.5,2,true]", [None, 1.5, 2, True]),
        (b'"tab\there, nul\x00, esc\x1b[0m"', "tab\there, nul\x00, esc\x1b[0m"),
        (b"[18446744073709551616]", [2**64]),
        (b"[NaN,-18446744073709551617]", [None, -(2**64) - 1]),
        (b"9" * 4300, int("9" * 4300)),
        (b"[NaN," + b"9" * 4300 + b"]", [None, int("9" * 4300)]),
        (b"9" * 4301, None),
        (b"-" + b"9" * 4300, None),
    ],
)
def test_unstorable_characters_are_replaced_inside_the_value(line: bytes, value: Any) -> None:
    assert values(line + b"\n") == [value]
    assert msgspec.json.decode(msgspec.json.encode(value)) == value


HOSTILE = st.recursive(
    st.floats() | st.integers() | st.text(st.characters()) | st.sampled_from(["\ud800", "\udfff"]),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()), inner),
    max_leaves=10,
).map(lambda value: json.dumps(value).encode())


@given(st.lists(HOSTILE | LINE | st.integers(0, 3000).map(nested)).map(b"\n".join))
def test_every_value_can_be_stored_read_back_and_walked(stream: bytes) -> None:
    for value in values(stream):
        wrapped = [{"event": [value]}]
        stored = msgspec.json.decode(msgspec.json.encode(wrapped))
        assert stored == msgspec.to_builtins(wrapped)
        assert depth_of(stored) <= MAX_DEPTH + 3


# Nesting


@pytest.mark.parametrize(
    "line",
    [
        nested(MAX_DEPTH + 1),
        nested(MAX_DEPTH + 1, b"NaN"),
        b'{"a":' * (MAX_DEPTH + 1) + b"1" + b"}" * (MAX_DEPTH + 1),
        b"[0," + nested(MAX_DEPTH) + b',{"a":1}]',
        nested(700, b"NaN"),
        nested(MAX_CONTAINERS),
        b'[{"":' * (MAX_CONTAINERS // 2),
    ],
    ids=len,
)
def test_extreme_nesting_is_refused_as_text(line: bytes) -> None:
    assert values(line + b"\n1\n") == [Raw(raw=line.decode(), source="nested too deeply"), 1]


@pytest.mark.parametrize("inside", [b"", b"1", b"NaN", b'"' + b"[{" * 300 + b'"'])
def test_nesting_up_to_the_limit_is_a_value(inside: bytes) -> None:
    [value] = values(nested(MAX_DEPTH, inside))
    assert depth_of(value) == MAX_DEPTH


@pytest.mark.parametrize("value", [[[]] * 1000, [{"a": {}}] * 1000, "[{" * 1000])
def test_many_brackets_are_not_deep_nesting(value: Any) -> None:
    assert values(json.dumps(value).encode()) == [value]


@pytest.mark.parametrize(
    "line",
    [
        nested(1_000_000),
        b'[{"":' * 1_000_000,
        b"[" + b"[]," * MAX_CONTAINERS + b"0]",
        b"[" + b"{}," * MAX_CONTAINERS + b"NaN]",
    ],
    ids=len,
)
def test_line_with_too_many_containers_is_kept_as_text(line: bytes) -> None:
    refused = Raw(raw=line.decode(), source="too many objects and arrays")
    assert values(line + b"\n1\n") == [refused, 1]


def test_as_many_containers_as_are_allowed_are_a_value() -> None:
    [value] = values(b"[" + b"[]," * (MAX_CONTAINERS - 1) + b"0]")
    assert len(value) == MAX_CONTAINERS


# SSE


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (b'event: start\ndata: {"a":1}\n\ndata: {"b":2}\n\n', [{"a": 1}, {"b": 2}]),
        (b'event: start\r\ndata: {"a":1}\r\n\r\ndata: 2\r\n\r\n', [{"a": 1}, 2]),
        (b'\n\ndata:{"a":1}\n\n', [{"a": 1}]),
        (b": ping\n\nid: 7\nretry: 10\ndata: 1\n\n", [1]),
        (b"id: 7\ndata: 1\n\n", [1]),
        (b"retry: 10\ndata: 1\n\n", [1]),
        (b"data: {\ndata: \ndata\ndata:  1\n\n", [not_json("{\n\n\n 1")]),
        (b'data: {\ndata: "a":1\ndata: }\n\n', [{"a": 1}]),
        (b"data: 1\nevent: late\n: ping\ndata: x\n\n", [not_json("1\nx")]),
        (b"data: 1\n\ndata: [DONE]\n\ndata:[DONE] \n\n", [1]),
        (b"data:\n\ndata: \n\ndata\n\n\n\n: nothing\n\n", []),
        (b"data: 1\n\ndata: 2\n", [1, 2]),
        (b"data: 1\n\ndata: 2", [1, 2]),
        (b'data: 1\n\ndata: {"cu', [1, not_json('{"cu')]),
        (b"data: 1\n \t\ndata: 2\n\n", [1, 2]),
        (b"data: oops\n\n", [not_json("oops")]),
    ],
)
def test_an_sse_body_is_read_as_its_data(body: bytes, found: list[Any]) -> None:
    assert values(body) == found


def test_noise_decides_nothing() -> None:
    noise = b"loading model...\n42\n[INFO] ready\n"
    raw = [not_json("loading model..."), 42, not_json("[INFO] ready")]
    assert values(noise, b'{"a":1}\n') == [*raw, {"a": 1}]
    assert values(noise, b"data: 1\n\n") == [*raw, 1]
    assert values(noise + b"data: 1\n\n") == [*raw, 1]


@pytest.mark.parametrize("first", [b"{}", b"[]"])
def test_json_lines_stay_json_lines(first: bytes) -> None:
    stream = first + b"\ndata: 1\n\n: ping\n[2]\n"
    assert values(stream)[1:] == [not_json("data: 1"), not_json(": ping"), [2]]


@pytest.mark.parametrize("log", [b'{"level":"info"}', b"[0]"])
def test_a_log_line_before_sse_does_not_make_it_json_lines(log: bytes) -> None:
    body = b'event: a\ndata: {"a":1}\n\nevent: b\ndata: {"b":2}\n\ndata: [DONE]\n\n'
    found = [json.loads(log), not_json("event: a"), {"a": 1}, {"b": 2}]
    assert values(log + b"\n" + body) == found
    assert values(log + b"\n", body) == found
    assert values(log + b"\r\n" + body.replace(b"\n", b"\r\n")) == found


def test_sse_stays_sse_and_takes_stray_objects() -> None:
    body = b': ping\n{"a":1}\n {"b":2}\n[3]\nTraceback: caf\xe9\n{oops\ndata: 4\n\n'
    assert values(body) == [
        {"a": 1}, {"b": 2}, not_sse("[3]"), not_sse("Traceback: caf\\xe9"), not_json("{oops"), 4,
    ]  # fmt: skip


def test_a_stray_line_comes_after_the_event_that_it_ends() -> None:
    assert values(b'data: 1\n{"a":2}\ndata: 3\nnoise\n') == [1, {"a": 2}, 3, not_sse("noise")]


def test_the_data_of_one_event_is_capped_as_a_whole() -> None:
    body = b"data: 123456\ndata: 12345\n\n" + b"data: 123456\n" * 3 + b"\ndata: 7\n\n"
    assert values(body, max_line=12) == [
        not_json("123456\n12345"), dropped(20, "oversized event"), 7,
    ]  # fmt: skip


def test_an_oversized_line_ends_the_event_before_it() -> None:
    assert values(b"data: 1\ndata: 234567\ndata: 8\n\n", max_line=10) == [1, dropped(12), 8]


# The seam


def test_split_gives_the_bytes_that_feed_decodes() -> None:
    lines = JsonLines(max_line=20)
    body = b'data: {"a":1}\r\n\nnoise\n' + b"x" * 21 + b"\ndata: 2"
    found: list[Item] = [b'{"a":1}', not_sse("noise"), dropped(21)]
    assert lines.split(body) == found
    assert lines.split(END) == [b"2"]


def test_decode_reads_one_line() -> None:
    assert decode(b'{"a":NaN}') == {"a": None}
    assert decode(b"noise") == not_json("noise")
