"""Parses host names and web origins."""

from __future__ import annotations

import re
from typing import Final, TypeAlias
from urllib.parse import urlsplit

__all__ = [
    "HOST",
    "WITHIN",
    "Origin",
    "listed_host",
    "listed_origin",
    "parse_origin",
    "written_origin",
]

WITHIN: Final = "mobox.within"
"""Set in the ASGI scope of requests that came through an app around Mobox."""

Origin: TypeAlias = tuple[str, str, int]

HOST: Final = r"\[[0-9a-f:.]+\]|[a-z0-9._-]+"
"""A name or an address, in lower case, without a port."""

_LISTED: Final = re.compile(rf"{HOST}|[0-9a-f:.]+")
_PORTS: Final = {"http": 80, "https": 443}


def parse_origin(text: str) -> Origin | None:
    """Scheme, host and port; None for "null" and for anything that is not an origin."""
    try:
        parts = urlsplit(text.lower())
        port = parts.port or _PORTS[parts.scheme]
    except (ValueError, KeyError):
        return None
    is_bare = parts.hostname and not (parts.path or parts.query or parts.fragment or parts.username)
    return (parts.scheme, parts.hostname or "", port) if is_bare else None


def listed_origin(text: str) -> Origin:
    """Parse an origin of a setting; raises `ValueError`."""
    if origin := parse_origin(text.rstrip("/")):
        return origin
    raise ValueError(f"{text!r} is not an origin; expected one such as https://chat.example")


def written_origin(origin: Origin) -> str:
    """An origin exactly as browsers write it."""
    scheme, host, port = origin
    address = f"[{host}]" if ":" in host else host
    return f"{scheme}://{address}" + (f":{port}" if port != _PORTS[scheme] else "")


def listed_host(text: str) -> str:
    """A host of a setting, normalized for comparison; raises `ValueError`."""
    host = text.lower()
    if _LISTED.fullmatch(host) and host.count(":") != 1:
        return host.strip("[]")
    raise ValueError(f"{text!r} is not a host; expected a name without a port: chat.example")
