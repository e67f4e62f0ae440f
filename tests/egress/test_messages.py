"""Heads and bodies of HTTP messages: what is read, what is refused, what is passed on."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobox.egress.messages import (
    BadMessage,
    Body,
    Target,
    chunk_length,
    forwarded_request,
    forwarded_response,
    http_target,
    read_request,
    read_response,
    request_body,
    response_body,
    token_of,
    tunnel_target,
)


def head(*lines: str) -> bytes:
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


NOT_REQUESTS = [
    "",
    "GET",
    "GET http://a.com/",
    "GET  http://a.com/ HTTP/1.1",
    "GET http://a.com/ x HTTP/1.1",
    "GET http://a.com/ HTTP/2.0",
    "GET http://a.com/ HTTP/1.1 ",
    " GET http://a.com/ HTTP/1.1",
    "GET http://a.com/\x00 HTTP/1.1",
    "GET http://a.com/\xe4 HTTP/1.1",
    "GET http://a.com/\nX: y HTTP/1.1",
    "G(T http://a.com/ HTTP/1.1",
]
NOT_HEADERS = [
    "no colon",
    ": no name",
    "Name : space",
    " folded",
    "\tfolded",
    "A: b\nC: d",
    "A: b\rC: d",
    "A: b\x00",
    "Ä: b",
    "A(b): c",
]


@pytest.mark.parametrize("line", NOT_REQUESTS)
def test_first_lines_that_are_not_of_a_request_are_refused(line: str) -> None:
    with pytest.raises(BadMessage):
        read_request(head(line, "Host: a.com"))


@pytest.mark.parametrize("line", NOT_HEADERS)
def test_headers_that_readers_might_take_for_others_are_refused(line: str) -> None:
    with pytest.raises(BadMessage):
        read_request(head("GET http://a.com/ HTTP/1.1", line))


@given(st.binary(max_size=80))
def test_any_bytes_are_a_request_or_refused(data: bytes) -> None:
    for read in (read_request, read_response):
        try:
            message = read(data + b"\r\n\r\n")
        except BadMessage:
            continue
        assert all(b"\n" not in name + value for name, value in message.headers)


TARGETS = [
    ("http://a.com", Target("a.com", 80, "/")),
    ("HTTP://A.com./x?y=http://b.com", Target("a.com", 80, "/x?y=http://b.com")),
    ("http://a.com:8080?q", Target("a.com", 8080, "/?q")),
    ("http://a.com:/", Target("a.com", 80, "/")),
    ("http://[::1]:81/", Target("::1", 81, "/")),
    ("http://[::ffff:127.0.0.1]/", Target("127.0.0.1", 80, "/")),
    ("http://a.com/@b.com", Target("a.com", 80, "/@b.com")),
]
NOT_TARGETS = [
    "/", "*", "a.com:80", "https://a.com/", "ftp://a.com/", "http:///", "http:/a.com/", "//a.com/",
    "http://me@a.com/", "http://a.com:80@b.com/", "http://a.com#@b.com/", "http://a.com/#x",
    "http://a.com\\@b.com/", "http://a%2ecom/", "http://a.com:x/", "http://a.com:0/",
    "http://a.com:65536/", "http://2130706433/", "http://0x7f.1/", "http://0177.0.0.1/",
    "http://127.1/", "http://[::1/", "http://[fe80::1%25eth0]/", "http://[a.com]/", "http://[abc]/",
    "http://[10.0.0.5]/", "http://a..com/",
    "http://a.com,b.com/",
]  # fmt: skip


@pytest.mark.parametrize(("url", "target"), TARGETS)
def test_a_proxy_gets_whole_urls(url: str, target: Target) -> None:
    assert http_target(read_request(head(f"GET {url} HTTP/1.1"))) == target


@pytest.mark.parametrize("url", NOT_TARGETS)
def test_other_targets_are_refused(url: str) -> None:
    with pytest.raises(BadMessage):
        http_target(read_request(head(f"GET {url} HTTP/1.1")))


def test_a_tunnel_has_a_host_and_a_port() -> None:
    def of(target: str) -> Target:
        return tunnel_target(read_request(head(f"CONNECT {target} HTTP/1.1")))

    assert of("A.com:443") == Target("a.com", 443)
    assert of("[2606:4700:0:0::1]:443") == Target("2606:4700::1", 443)
    for target in ("a.com", "a.com:", "me@a.com:443", "http://a.com:443", "a.com:443/", "1:2:3:4"):
        with pytest.raises(BadMessage):
            of(target)


FRAMINGS: list[tuple[list[str], Body | None]] = [
    ([], 0),
    (["Content-Length: 0"], 0),
    (["content-length: 12"], 12),
    (["Transfer-Encoding: Chunked"], "chunked"),
    (["Content-Length: 1", "Transfer-Encoding: chunked"], None),
    (["Content-Length: 1", "Content-Length: 1"], None),
    (["Content-Length: 1, 1"], None),
    (["Content-Length: +1"], None),
    (["Content-Length: -1"], None),
    (["Content-Length: 0x1"], None),
    (["Content-Length: 1_0"], None),
    (["Content-Length:"], None),
    (["Content-Length: " + "9" * 5000], None),
    (["Transfer-Encoding: gzip, chunked"], None),
    (["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"], None),
    (["Transfer-Encoding: xchunked"], None),
    (["Transfer-Encoding: identity"], None),
    (["Transfer-Encoding:"], None),
]


@pytest.mark.parametrize(("headers", "body"), FRAMINGS)
def test_a_body_has_one_length(headers: list[str], body: Body | None) -> None:
    request = read_request(head("POST http://a.com/ HTTP/1.1", *headers))
    if body is not None:
        assert request_body(request) == body
    else:
        with pytest.raises(BadMessage):
            request_body(request)


def test_http_1_0_has_no_chunks() -> None:
    request = read_request(head("POST http://a.com/ HTTP/1.0", "Transfer-Encoding: chunked"))
    with pytest.raises(BadMessage):
        request_body(request)


def test_some_responses_have_no_body() -> None:
    ok = read_response(head("HTTP/1.1 200", "Content-Length: 5"))
    assert response_body(ok, "GET") == 5
    assert response_body(ok, "HEAD") == 0
    unchanged = read_response(head("HTTP/1.1 304 Not Modified", "Content-Length: 5"))
    assert response_body(unchanged, "GET") == 0
    assert b"Content-Length: 5\r\n" in forwarded_response(unchanged, 0, "GET")
    assert response_body(read_response(head("HTTP/1.0 200 OK")), "GET") == "until closed"


CHUNKS = {b"0\r\n": 0, b"1f\r\n": 31, b"A ;name=value\r\n": 10}
NOT_CHUNKS = [
    b"\r\n", b"-1\r\n", b"0x1\r\n", b"1\n", b" 1\r\n", b"1;a\nb\r\n", b"1g\r\n",
    b"f" * 16 + b"\r\n", b"1 1\r\n", b"1_0\r\n", b"+1\r\n",
]  # fmt: skip


def test_lengths_of_chunks() -> None:
    assert {line: chunk_length(line) for line in CHUNKS} == CHUNKS
    for line in NOT_CHUNKS:
        with pytest.raises(BadMessage):
            chunk_length(line)


def test_headers_for_the_proxy_go_no_further() -> None:
    request = read_request(
        head(
            "POST http://a.com:8080/x HTTP/1.1",
            "Host: internal.corp",
            "Proxy-Authorization: Basic c2VjcmV0",
            "Proxy-Connection: keep-alive",
            "Connection: keep-alive, X-Hop",
            "X-Hop: 1",
            "Keep-Alive: 5",
            "TE: trailers",
            "Upgrade: websocket",
            "Authorization: Bearer own",
            "Content-Length: 3",
        )
    )
    assert forwarded_request(request, http_target(request), 3) == head(
        "POST /x HTTP/1.1",
        "Host: a.com:8080",
        "Authorization: Bearer own",
        "Content-Length: 3",
        "Via: 1.1 mobox",
        "Connection: close",
    )


def test_headers_for_the_next_hop_are_not_sent_back() -> None:
    response = read_response(
        head(
            "HTTP/1.1 200 Fine",
            "Transfer-Encoding: chunked",
            "Connection: x-hop",
            "X-Hop: 1",
            "Proxy-Authenticate: Basic",
            "Set-Cookie: a",
            "Set-Cookie: b",
        )
    )
    assert forwarded_response(response, "chunked", "GET") == head(
        "HTTP/1.1 200 Fine",
        "Set-Cookie: a",
        "Set-Cookie: b",
        "Transfer-Encoding: chunked",
        "Via: 1.1 mobox",
        "Connection: close",
    )


def test_tokens() -> None:
    def of(value: str) -> str | None:
        return token_of(read_request(head("GET / HTTP/1.1", f"Proxy-Authorization: {value}")))

    assert of("Basic " + base64.b64encode(b"agent:t:1").decode()) == "t:1"
    assert of("bASIC " + base64.b64encode(b"agent:t").decode()) == "t"
    assert of("Bearer t") is None
    assert of("Basic ?") is None
    assert of("Basic YWdlbnQ") is None
    assert of("Basic YWdlbnQ=") == ""
    assert token_of(read_request(head("GET / HTTP/1.1"))) is None
