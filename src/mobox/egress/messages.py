"""HTTP/1.1 requests and responses: their heads, and how long their bodies are. No I/O.

Rule 1: what two readers could understand differently is refused, not repaired: both a length and
        chunks, two lengths, folded lines, bare line feeds, spaces before a colon (RFC 9112 §11.2).
Rule 2: a request is passed on in one spelling: the host of its target is its `Host`, and headers
        for the next hop only, as well as the token for the proxy, are left out.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable
from typing import Final, Literal, NamedTuple

from mobox.sandbox.hosts import normal_host, parse_port

Headers = list[tuple[bytes, bytes]]
Body = int | Literal["chunked", "until closed"]
"""Its length in bytes, or what ends it."""

MOST_DIGITS: Final = 18
VIA: Final = (b"Via", b"1.1 mobox")
CLOSE: Final = (b"Connection", b"close")
CHUNKED: Final = (b"Transfer-Encoding", b"chunked")

_TOKEN: Final = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_REQUEST: Final = re.compile(rb"(%s) ([!-~]+) HTTP/1\.([01])" % _TOKEN)
_RESPONSE: Final = re.compile(rb"HTTP/1\.([01]) ([1-5][0-9]{2})(?: ([\t -~\x80-\xff]*))?")
_FIELD: Final = re.compile(rb"(%s):[ \t]*([\t -~\x80-\xff]*?)[ \t]*" % _TOKEN)
_AUTHORITY: Final = re.compile(
    r"(?:\[([0-9A-Fa-f]*:[0-9A-Fa-f:.]*)\]|([0-9A-Za-z._-]+))(?::([0-9]*))?"
)
_URL: Final = re.compile(r"http://([^/?#]*)(/[^?#]*)?(\?[^#]*)?", re.IGNORECASE)
_CHUNK: Final = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[\t -~\x80-\xff]*)?\r\n")

_HOP_BY_HOP: Final = frozenset({
    b"connection", b"content-length", b"keep-alive", b"proxy-authenticate",
    b"proxy-authentication-info", b"proxy-authorization", b"proxy-connection", b"te", b"trailer",
    b"transfer-encoding", b"upgrade",
})  # fmt: skip
"""Lower case. The length of a body is written anew."""


class BadMessage(Exception):
    """It is not valid HTTP/1.1, or ambiguous, for the reason given."""


class Request(NamedTuple):
    """The head of a request."""

    method: str
    target: str
    version: int
    """1 for HTTP/1.1, 0 for HTTP/1.0."""
    headers: Headers


class Response(NamedTuple):
    """The head of a response."""

    version: int
    status: int
    reason: bytes
    headers: Headers


class Target(NamedTuple):
    """Where a request goes."""

    host: str
    """In the spelling of `normal_host`."""
    port: int
    path: str = ""
    """With its query; not for a tunnel."""

    @property
    def authority(self) -> str:
        """The host as URLs have it, with its port unless that is HTTP's."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == 80 else f"{host}:{self.port}"


def read_request(head: bytes) -> Request:
    """The request that ends with an empty line; raises `BadMessage`."""
    first, headers = _read_head(head)
    line = _REQUEST.fullmatch(first)
    if line is None:
        raise BadMessage("the first line is not that of an HTTP/1.1 request")
    return Request(line[1].decode(), line[2].decode(), int(line[3]), headers)


def read_response(head: bytes) -> Response:
    """The same for a response."""
    first, headers = _read_head(head)
    line = _RESPONSE.fullmatch(first)
    if line is None:
        raise BadMessage("the first line is not that of an HTTP/1.1 response")
    return Response(int(line[1]), int(line[2]), line[3] or b"", headers)


def _read_head(head: bytes) -> tuple[bytes, Headers]:
    first, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    fields = [_FIELD.fullmatch(line) for line in lines]
    if None in fields:
        raise BadMessage("a header is not valid")
    return first, [(field[1], field[2]) for field in fields if field]


def tunnel_target(request: Request) -> Target:
    """The target of a CONNECT; raises `BadMessage`."""
    return _target(request.target, default=None)


def http_target(request: Request) -> Target:
    """The target of any other request to a proxy, an absolute URL; raises `BadMessage`."""
    if request.target.lower().startswith("https:"):
        raise BadMessage("for https, a client opens a tunnel by CONNECT")
    url = _URL.fullmatch(request.target)
    if url is None:
        raise BadMessage("this is a proxy: expected a URL such as http://host/path")
    return _target(url[1], default=80)._replace(path=(url[2] or "/") + (url[3] or ""))


def _target(authority: str, default: int | None) -> Target:
    found = _AUTHORITY.fullmatch(authority)
    if found is None:
        raise BadMessage("expected a host and a port, without a user")
    port = found[3] or default
    if port is None:
        raise BadMessage("expected a port after the host")
    try:
        return Target(normal_host(found[1] or found[2]), parse_port(str(port)))
    except ValueError as error:
        raise BadMessage(str(error)) from None


def token_of(request: Request) -> str | None:
    """The password of the request's `Proxy-Authorization`."""
    for value in _values(request.headers, b"proxy-authorization"):
        scheme, _, encoded = value.partition(b" ")
        if scheme.lower() == b"basic":
            try:
                decoded = base64.b64decode(encoded.strip(), validate=True)
            except binascii.Error:
                return None
            return decoded.partition(b":")[2].decode("latin-1")
    return None


def request_body(request: Request) -> Body:
    """How long its body is; raises `BadMessage`."""
    return _framing(request.headers, request.version, default=0)


def response_body(response: Response, method: str) -> Body:
    """The same for the response to a request with this method."""
    if _has_no_body(response, method):
        return 0
    return _framing(response.headers, response.version, default="until closed")


def _framing(headers: Headers, version: int, default: Body) -> Body:
    lengths = _values(headers, b"content-length")
    encodings = _values(headers, b"transfer-encoding")
    if lengths and encodings:
        raise BadMessage("both Content-Length and Transfer-Encoding")
    if encodings:
        if version == 0 or [each.lower() for each in encodings] != [b"chunked"]:
            raise BadMessage("a Transfer-Encoding other than chunked")
        return "chunked"
    if not lengths:
        return default
    if len(lengths) > 1 or not lengths[0].isdigit() or len(lengths[0]) > MOST_DIGITS:
        raise BadMessage("a Content-Length that is not one number")
    return int(lengths[0])


def chunk_length(line: bytes) -> int:
    """The length of the chunk that this line begins; raises `BadMessage`."""
    found = _CHUNK.fullmatch(line)
    if found is None:
        raise BadMessage("a chunk of the body is not valid")
    return int(found[1], 16)


def forwarded_request(request: Request, target: Target, body: Body) -> bytes:
    """The head for the target's server."""
    kept = [
        (name, value) for name, value in _end_to_end(request.headers) if name.lower() != b"host"
    ]
    if body or _values(request.headers, b"content-length"):
        kept += _framed(body)
    line = f"{request.method} {target.path} HTTP/1.1".encode()
    return _head(line, [(b"Host", target.authority.encode()), *kept, VIA, CLOSE])


def forwarded_response(response: Response, body: Body, method: str) -> bytes:
    """The head for the client, which gets this body."""
    headers = _end_to_end(response.headers)
    if _has_no_body(response, method):  # the length is that of the body it would have
        lengths = _values(response.headers, b"content-length")
        headers += [(b"Content-Length", length) for length in lengths[:1]]
    else:
        headers += _framed(body)
    line = b"HTTP/1.1 %d %s" % (response.status, response.reason)
    return _head(line, [*headers, VIA] if response.status < 200 else [*headers, VIA, CLOSE])


def _has_no_body(response: Response, method: str) -> bool:
    return method == "HEAD" or response.status < 200 or response.status in (204, 304)


def _framed(body: Body) -> Headers:
    if body == "until closed":
        return []
    return [CHUNKED] if body == "chunked" else [(b"Content-Length", b"%d" % body)]


def _head(line: bytes, headers: Headers) -> bytes:
    return b"\r\n".join([line, *(b"%s: %s" % header for header in headers), b"", b""])


def _end_to_end(headers: Headers) -> Headers:
    """The headers that are not for the next hop only."""
    named = {each.strip().lower() for each in _split(_values(headers, b"connection"))}
    dropped = _HOP_BY_HOP | named
    return [(name, value) for name, value in headers if name.lower() not in dropped]


def _split(values: Iterable[bytes]) -> list[bytes]:
    return [each for value in values for each in value.split(b",")]


def _values(headers: Headers, wanted: bytes) -> list[bytes]:
    return [value for name, value in headers if name.lower() == wanted]
