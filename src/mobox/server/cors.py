"""CORS: which pages of other origins may read responses, and what they may send.

Pure functions of a policy and of request headers. The guard applies them to every response,
including its own refusals.

Rule 1: a listed origin is repeated in the response; `*` is never sent.
Rule 2: an origin that is not listed gets no CORS header at all.
Rule 3: `<img>` sends no `Origin`: there the page is known by the origin of its `Referer`, which a
        page can leave out, but not forge.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from msgspec import Struct
from starlette.datastructures import Headers

from mobox.settings import ANY, Origin, parse_origin, written_origin

RawHeaders = list[tuple[bytes, bytes]]

METHODS: Final = ("GET", "HEAD", "POST", "PATCH", "DELETE")
REQUEST_HEADERS: Final = (
    "accept",
    "authorization",
    "content-type",
    "idempotency-key",
    "last-event-id",
    "user-agent",  # the AI SDK's client sets it, and some browsers send that
    "x-requested-with",
)
"""What pages may always send."""
RESPONSE_HEADERS: Final = (
    "content-disposition",
    "etag",
    "retry-after",
    "www-authenticate",
    "x-mobox-error",
    "x-mobox-run",
    "x-mobox-status",
    "x-resumable-stream-id",
    "x-vercel-ai-ui-message-stream",
)
"""What pages may read, besides those that every page may."""
_MAX_AGE: Final = b"600"
"""Seconds for which a browser need not ask again."""
_ASKED: Final = "access-control-request-headers"


class CorsPolicy(Struct, frozen=True, kw_only=True):
    """The listed origins, and what their pages may send."""

    origins: Collection[Origin] = ()
    headers: Collection[str] = ()
    """Further request headers, in lower case; `*` allows any."""
    credentials: bool = False
    """Whether browsers may send cookies."""


def page_origins(headers: Headers, method: str) -> list[str]:
    """The origin of the page that sends a request, as it writes it: one, or none if unknown.

    More than one if the request has several `Origin` headers, which no browser sends.
    """
    if stated := headers.getlist("origin"):
        return stated
    is_embedded = method in ("GET", "HEAD") and headers.get("sec-fetch-mode") == "no-cors"
    referer = headers.get("referer", "") if is_embedded else ""
    scheme, _, rest = referer.partition("://")
    origin = parse_origin(f"{scheme}://{rest.partition('/')[0]}") if rest else None
    return [written_origin(origin)] if origin else []


def listed(policy: CorsPolicy, origins: list[str]) -> str | None:
    """The page's origin, exactly as its browser writes it, if it is listed."""
    origin = parse_origin(origins[0]) if len(origins) == 1 else None
    return origins[0] if origin and origin in policy.origins else None


def is_preflight(headers: Headers, method: str) -> bool:
    """Whether a browser asks what a page may send, before it sends that."""
    return method == "OPTIONS" and "access-control-request-method" in headers


def preflight_headers(policy: CorsPolicy, headers: Headers) -> RawHeaders:
    """The response headers to a preflight of a listed origin, besides `response_headers`."""
    allowed = ", ".join(sorted({*REQUEST_HEADERS, *policy.headers} - {ANY}))
    if ANY in policy.headers:
        allowed = headers.get(_ASKED, allowed)
    return [
        (b"access-control-allow-methods", ", ".join(METHODS).encode()),
        (b"access-control-allow-headers", allowed.encode("latin-1")),
        (b"access-control-max-age", _MAX_AGE),
    ]


def response_headers(policy: CorsPolicy, origin: str) -> RawHeaders:
    """The headers of every response to a page of a listed origin."""
    headers = [
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-expose-headers", ", ".join(RESPONSE_HEADERS).encode()),
        # Without it `<img>` could not show files: that is not governed by CORS.
        (b"cross-origin-resource-policy", b"cross-origin"),
    ]
    allows = [(b"access-control-allow-credentials", b"true")] if policy.credentials else []
    return headers + allows


def varying(headers: RawHeaders) -> RawHeaders:
    """Headers that tell caches that the response depends on the origin."""
    names = [value for name, value in headers if name == b"vary"]
    others = [pair for pair in headers if pair[0] != b"vary"]
    known = {each.strip().lower() for value in names for each in value.split(b",")}
    more = [] if known & {b"origin", b"*"} else [b"Origin"]
    return [*others, (b"vary", b", ".join([*names, *more]))]
