"""Parses the texts of settings. Each function raises `ValueError` with what it expects."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

ANY: Final = "*"
"""In a list of hosts or headers: all of them."""
LEAST_CONNECTIONS: Final = 3
"""One connection to PostgreSQL writes, one notifies, one reads."""

_HEADER: Final = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]+")


def flag(text: str) -> bool:
    if text.lower() not in _FLAGS:
        raise ValueError(f"expected one of {', '.join(_FLAGS)}")
    return _FLAGS[text.lower()]


_FLAGS: Final = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}


def folder(text: str) -> Path:
    return Path(text).expanduser()


def files(text: str) -> tuple[Path, ...]:
    return tuple(folder(name.strip()) for name in text.split(",") if name.strip())


def port(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or int(text) > 65535:
        raise ValueError("expected a number from 0 to 65535")
    return int(text)


def count(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or int(text) < 1:
        raise ValueError("expected a whole number from 1 upwards")
    return int(text)


def whole_number(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise ValueError("expected a whole number from 0 upwards")
    return int(text)


def seconds(text: str) -> float:
    with suppress(ValueError):
        seconds = float(text)
        if 0 < seconds < math.inf:
            return seconds
    raise ValueError("expected seconds, more than 0")


def seconds_or_none(text: str) -> float:
    return 0.0 if text == "0" else seconds(text)


def auth(text: str) -> str:
    if text not in ("none", "keys"):
        raise ValueError("expected none or keys")
    return text


def one_of(*choices: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text.lower() not in choices:
            raise ValueError(f"expected one of {', '.join(choices)}")
        return text.lower()

    return parse


def redis(text: str) -> str:
    schemes = ("redis://", "rediss://", "unix://")
    if not text.startswith(schemes):
        raise ValueError(f"expected a URL that starts with {', '.join(schemes)}")
    return text


FEATURES: Final = (
    "agents", "demo", "export", "feedback", "language", "panel", "permissions", "protocol", "runs",
    "search", "share", "shortcuts", "starters", "theme", "view",
)  # fmt: skip
"""What the page can hide; web/src/brand.ts has the same names."""


def features(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in names:
        if name not in FEATURES:
            raise ValueError(f"{name!r} cannot be hidden; known: {', '.join(FEATURES)}")
    return names


_COLOUR: Final = re.compile(r"#(?:[0-9a-f]{3}){1,2}")


def colour(text: str) -> str:
    colour = text.strip().lower()
    if not _COLOUR.fullmatch(colour):
        raise ValueError("expected a colour such as #0a7d5a")
    return colour if len(colour) == 7 else "#" + "".join(digit * 2 for digit in colour[1:])


def line_of(most: int) -> Callable[[str], str]:
    def parse(text: str) -> str:
        line = text.strip()
        if not 0 < len(line) <= most or not line.isprintable():
            raise ValueError(f"expected one line of 1 to {most} characters")
        return line

    return parse


def starters(text: str) -> tuple[str, ...]:
    starters = tuple(line_of(200)(line) for line in text.split("|") if line.strip())
    if len(starters) > 8:
        raise ValueError("expected at most 8 messages")
    return starters


def names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def headers(text: str) -> tuple[str, ...]:
    found = tuple(name.lower() for name in names(text))
    for name in found:
        if not _HEADER.fullmatch(name):
            raise ValueError(f"{name!r} is not the name of a header; expected one such as x-tenant")
    return found


def named_headers(text: str) -> tuple[str, ...]:
    found = headers(text)
    if ANY in found:
        raise ValueError("expected the names of headers; * is not possible here")
    return found


def connections(text: str) -> int:
    if (number := count(text)) < LEAST_CONNECTIONS:
        raise ValueError(f"expected a whole number from {LEAST_CONNECTIONS} upwards")
    return number
