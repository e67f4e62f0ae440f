"""Secrets of API keys and tickets: how they are generated and stored.

Rule 1: a secret is 256 random bits, so its digest needs no salt and does not reveal it.
Rule 2: a secret is shown once, when it is created. Only its digest is stored and compared.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from datetime import timedelta
from typing import Final

from mobox.settings import now_ms
from mobox.storage.keys import ApiKey

KEY: Final = "mbx_"
TICKET: Final = "mbt_"
"""Prefixes by which people and secret scanners recognize one."""

_DURATION: Final = re.compile(r"([1-9][0-9]{0,5})([mhdw])")
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def new_secret(prefix: str = KEY) -> str:
    """A new random secret."""
    return prefix + secrets.token_urlsafe(32)


def digest_of(secret: str) -> str:
    """The digest that is stored."""
    return hashlib.sha256(secret.encode()).hexdigest()


def new_key(
    owner: str, name: str, scopes: tuple[str, ...], expires_at: int | None = None
) -> tuple[ApiKey, str]:
    """A key, and its secret."""
    secret = new_secret()
    key = ApiKey(
        id=f"key_{secrets.token_hex(6)}",
        owner=owner,
        name=name,
        digest=digest_of(secret),
        scopes=scopes,
        created_at=now_ms(),
        expires_at=expires_at,
    )
    return key, secret


def is_live(key: ApiKey, now: int) -> bool:
    """Whether it is neither revoked nor expired."""
    return key.revoked_at is None and (key.expires_at is None or now < key.expires_at)


def read_duration(text: str) -> timedelta:
    """Parse a duration such as `90m`, `12h`, `30d` or `8w`; raises `ValueError`."""
    found = _DURATION.fullmatch(text)
    if found is None:
        raise ValueError("expected a number of minutes, hours, days or weeks: 90m, 12h, 30d, 8w")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


def read_expiry(text: str, now: int) -> int:
    """The time after a duration from `now`, in milliseconds; raises `ValueError`."""
    return now + read_duration(text) // timedelta(milliseconds=1)
