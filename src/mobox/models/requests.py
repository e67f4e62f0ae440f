"""Checks the requests of agents before anything is done with them.

Rule 1: the target is a plain path: no other host, no dots, no encoded separators, so that the path
        that was checked is the path that the provider sees.
Rule 2: the token is found in any place where an SDK puts a key, and goes no further.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple
from urllib.parse import unquote_to_bytes

from starlette.types import Scope

from mobox.models.providers import Provider
from mobox.models.refusals import FORBIDDEN, INVALID, NO_TOKEN, NOT_SERVED, Refused
from mobox.models.tokens import Pass, Tokens
from mobox.settings import LOOPBACK_NAMES

ONLY: Final = "mobox.only"
"""The key of a scope's state with the pass of the sandbox that the request comes from."""
TARGET: Final = "mobox.target"
"""The key of an ASGI scope with the target as it was sent; the listener adds it."""

Headers = list[tuple[bytes, bytes]]

_PATH: Final = re.compile(rb"(?:/[A-Za-z0-9._~:@!$&'()*+,;=%-]+)+")
_TRICKS: Final = re.compile(rb"/\.\.?(?:/|$)|%(?:2[ef]|5c|00|25)|%(?![0-9a-f]{2})", re.IGNORECASE)
_HOST: Final = re.compile(rb"(\[[0-9a-f:]+\]|[a-z0-9.-]+)(?::[0-9]{1,5})?", re.IGNORECASE)
_QUERY: Final = re.compile(rb"[!-~]*")

_CREDENTIALS: Final = frozenset({
    b"authorization", b"x-api-key", b"x-goog-api-key", b"api-key", b"cookie",
    b"proxy-authorization",
})  # fmt: skip
_HOP_BY_HOP: Final = frozenset({
    b"connection", b"keep-alive", b"proxy-connection", b"proxy-authenticate", b"te", b"trailer",
    b"transfer-encoding", b"upgrade",
})  # fmt: skip
_NOT_SENT: Final = _CREDENTIALS | _HOP_BY_HOP | {b"host", b"expect"}
_NOT_RETURNED: Final = _HOP_BY_HOP | {b"set-cookie"}
_READABLE: Final = (b"gzip", b"deflate", b"identity")


class Target(NamedTuple):
    """Where a request goes."""

    provider: Provider
    path: str
    """Below the provider's address."""
    query: bytes
    """Without a key."""
    address: str = ""
    key: str | None = None


def plain_path(scope: Scope) -> bytes:
    """The path of a request that is what it seems; raises `Refused`."""
    headers = dict(scope["headers"])
    host = _HOST.fullmatch(headers.get(b"host", b""))
    if host is None or host[1].decode().lower().strip("[]") not in LOOPBACK_NAMES:
        raise Refused(INVALID, "the Host header is not the gateway's")
    path: bytes = scope["raw_path"]
    is_target = scope.get(TARGET, path).partition(b"?")[0] == path  # no host, and no fragment
    if not is_target or not _PATH.fullmatch(path) or _TRICKS.search(path):
        raise Refused(INVALID, "the request's target is not a plain path")
    if not _QUERY.fullmatch(scope["query_string"]):
        raise Refused(INVALID, "the request's query is not valid")
    return path


def provider_of(path: bytes, providers: Mapping[str, Provider]) -> tuple[Provider, str]:
    """The provider whose mount the path begins with, and the rest; raises `Refused`."""
    text = path.decode("ascii")
    for provider in providers.values():
        if text.startswith(f"{provider.mount}/"):
            return provider, text.removeprefix(provider.mount)
    mounts = ", ".join(provider.mount for provider in providers.values())
    raise Refused(NOT_SERVED, f"no model is served at this path; there are {mounts}")


def allowed_pass(scope: Scope, tokens: Tokens, provider: Provider) -> Pass:
    """What the request's token allows, bound to an attempt; raises `Refused`."""
    found = next(filter(None, map(tokens.find, _candidates(scope))), None)
    if found is None:
        raise Refused(NO_TOKEN, "the token is unknown, or its run has ended")
    only = scope.get("state", {}).get(ONLY)
    if only is not None and found is not only:
        raise Refused(NO_TOKEN, "the token belongs to another sandbox")
    if found.caller is None:
        raise Refused(FORBIDDEN, "the agent has no turn yet, and may not use models before")
    if provider.name not in found.providers:
        raise Refused(FORBIDDEN, f"agent.yaml does not name {provider.name} in `models`")
    return found


def _candidates(scope: Scope) -> Iterator[str]:
    for name, value in scope["headers"]:
        if name in (b"x-api-key", b"x-goog-api-key", b"api-key"):
            yield value.decode("latin-1").strip()
        elif name == b"authorization" and value[:7].lower() == b"bearer ":
            yield value[7:].decode("latin-1").strip()
    for part in _parts(scope["query_string"]):
        if _is_key(part):
            yield unquote_to_bytes(part.partition(b"=")[2]).decode("latin-1")


def query_without_key(query: bytes) -> bytes:
    """The query, as it is but for `key=…`."""
    return b"&".join(part for part in _parts(query) if not _is_key(part))


def _parts(query: bytes) -> list[bytes]:
    return query.split(b"&") if query else []


def _is_key(part: bytes) -> bool:
    return unquote_to_bytes(part.partition(b"=")[0]) == b"key"


def request_headers(given: Iterable[tuple[bytes, bytes]]) -> Headers:
    """The headers to send to a provider, still without its key."""
    named = _named_by_connection(given := list(given))
    headers = [(name, value) for name, value in given if name not in _NOT_SENT | named]
    return [_readable(name, value) for name, value in headers]


def response_headers(given: Iterable[tuple[bytes, bytes]]) -> Headers:
    """The headers to send back to an agent."""
    lower = [(name.lower(), value) for name, value in given]
    named = _named_by_connection(lower)
    return [(name, value) for name, value in lower if name not in _NOT_RETURNED | named]


def _named_by_connection(headers: Headers) -> frozenset[bytes]:
    """The hop-by-hop headers that a message declares itself."""
    values = (value for name, value in headers if name == b"connection")
    return frozenset(each.strip().lower() for value in values for each in value.split(b","))


def _readable(name: bytes, value: bytes) -> tuple[bytes, bytes]:
    """Only encodings that the reader of usage can decode; clients accept each of them."""
    if name != b"accept-encoding":
        return name, value
    wanted = [each.strip() for each in value.split(b",")]
    kept = [each for each in wanted if each.partition(b";")[0].lower() in _READABLE]
    return name, b", ".join(kept) or b"identity"
