"""Bodies of chat requests: read as a stream, long strings taken out, files moved, texts kept."""

from __future__ import annotations

import base64
import json
import tracemalloc
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mobox.errors import BodyTooLarge
from mobox.server.files.data_urls import decoded, read_header, unescaped
from mobox.server.files.scanner import LONG, SHORT, LongStrings, Span

SECRET = "0f" * 16
MOST = 8 << 20


def split(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[start:end] for start, end in pairwise(places)]


def scan(pieces: list[bytes], most: int = MOST) -> tuple[bytes, dict[str, Span], bytes]:
    strings = LongStrings(SECRET, most)
    spooled = b"".join(map(strings.feed, pieces))
    return bytes(strings.text), strings.spans, spooled


def put_back(text: bytes, spans: dict[str, Span], spooled: bytes) -> bytes:
    for name, span in reversed(spans.items()):
        text = text.replace(name.encode(), spooled[span.start : span.end])
    return text


# The scanner


PIECES = st.lists(
    st.sampled_from(
        [b'"', b"\\", b'\\"', b"\\\\", b"\\u0022", b"{", b"}", b":", b"data:", b"data:x;base64,",
         b"A" * 50, b"A" * SHORT, b"x" * LONG, b" ", b"\xff", b"\n", b"1"]
    ),
    max_size=30,
).map(b"".join)  # fmt: skip


@given(PIECES, st.lists(st.integers(0, 10**6), max_size=20))
@example(b'"data:' + b"A" * SHORT + b'"', [3])
@example(b'"' + b"\\" * 2 + b"x" * LONG + b'\\""', [2, 3])
def test_any_split_gives_the_same_and_nothing_is_lost(data: bytes, cuts: list[int]) -> None:
    whole = scan([data])
    assert scan(split(data, cuts)) == whole
    strings = LongStrings(SECRET, MOST)
    closed = b"".join(map(strings.feed, [data, b'"' * 3]))
    assert put_back(bytes(strings.text), strings.spans, closed) == data + b'"' * 3


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20)
    | st.sampled_from(["data:" + "A" * SHORT, "x" * (LONG + 1), "é\"\\" * LONG, "data:,"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)  # fmt: skip


@given(VALUES, st.booleans(), st.lists(st.integers(0, 10**6), max_size=5))
def test_json_stays_json(value: Any, ascii_only: bool, cuts: list[int]) -> None:
    data = json.dumps(value, ensure_ascii=ascii_only).encode()
    text, spans, spooled = scan(split(data, cuts))
    json.loads(text)
    assert put_back(text, spans, spooled) == data
    assert len(text) <= len(data)


def test_only_long_strings_are_taken_out() -> None:
    kept = ["data:" + "A" * (SHORT - 5), "x" * LONG]
    taken = ["data:" + "A" * (SHORT - 4), "x" * (LONG + 1)]
    text, spans, spooled = scan([json.dumps([*kept, *taken]).encode()])
    assert json.loads(text) == [*kept, f"{SECRET}:0", f"{SECRET}:1"]
    assert [spooled[start:end].decode() for start, end in spans.values()] == taken


def test_the_rest_of_a_body_is_limited() -> None:
    strings = LongStrings(SECRET, 1000)
    strings.feed(b'["data:' + b"A" * 100_000)
    strings.feed(b'",' + b" " * 900)
    with pytest.raises(BodyTooLarge, match=r"without its files is larger .*--max-body"):
        strings.feed(b" " * 100)
    with pytest.raises(BodyTooLarge):
        LongStrings(SECRET, 1000).feed(b'"' + b"x" * 1001)


def test_memory_does_not_grow_with_a_file() -> None:
    strings = LongStrings(SECRET, MOST)
    strings.feed(b'{"url":"data:image/png;base64,')
    piece = b"A" * LONG
    tracemalloc.start()
    try:
        for _ in range(500):
            strings.feed(piece)
        assert tracemalloc.get_traced_memory()[1] < 10 * LONG
    finally:
        tracemalloc.stop()


# URLs with data


@given(st.binary(max_size=300), st.lists(st.integers(0, 1000), max_size=8), st.booleans())
def test_base64_is_decoded_in_any_pieces(data: bytes, cuts: list[int], is_padded: bool) -> None:
    text = base64.b64encode(data)
    pieces = split(text if is_padded else text.rstrip(b"="), cuts)
    assert b"".join(decoded(pieces, is_base64=True)) == data
    broken = b"\r\n ".join(pieces)
    assert b"".join(decoded([broken], is_base64=True)) == data


@given(st.binary(max_size=300), st.lists(st.integers(0, 1000), max_size=8))
def test_escaped_base64_is_decoded_in_any_pieces(data: bytes, cuts: list[int]) -> None:
    """As some encoders write it: `\\/`, `\\u002B`, `%3D`."""
    text = base64.b64encode(data).replace(b"/", b"\\/").replace(b"+", b"\\u002B")
    text = text.replace(b"A", b"%41").replace(b"=", b"\\u003d")
    assert b"".join(decoded(unescaped(split(text, cuts)), is_base64=True)) == data


@given(st.binary(max_size=100), st.lists(st.integers(0, 1000), max_size=8))
def test_percent_encoded_data_is_decoded_in_any_pieces(data: bytes, cuts: list[int]) -> None:
    text = b"".join(b"%%%02X" % byte if byte % 2 or byte > 126 else b"%c" % byte for byte in data)
    text = text if b"%" not in data else b"".join(b"%%%02x" % byte for byte in data)
    assert b"".join(decoded(split(text, cuts), is_base64=False)) == data


@pytest.mark.parametrize("text", [b"A", b"AAAA=", b"AA==AAAA", b"AA=A", b"=", b"A*AA", b"\xc3\xa9"])
def test_what_is_not_base64_is_an_error(text: bytes) -> None:
    for pieces in ([text], [text[n : n + 1] for n in range(len(text))]):
        with pytest.raises(ValueError):
            b"".join(decoded(pieces, is_base64=True))


def test_an_escape_that_is_cut_off_is_an_error() -> None:
    with pytest.raises(ValueError, match="within an escape"):
        list(unescaped([b"ab\\u00"]))


@pytest.mark.parametrize(
    ("header", "media_type", "is_base64"),
    [
        ("data:image/png;base64", "image/png", True),
        ("data:image/png ; BASE64 ", "image/png", True),
        ("data:text/plain;charset=utf-8", "text/plain;charset=utf-8", False),
        ("data:;base64", "", True),
        ("data:", "", False),
    ],
)
def test_a_header_is_read(header: str, media_type: str, is_base64: bool) -> None:
    assert read_header(header) == (media_type, is_base64)
