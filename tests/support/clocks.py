"""A clock for tests."""

from __future__ import annotations


class Clock:
    """It stands still until a test says that it is later."""

    def __init__(self, now: int = 1_000_000) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now
