"""The browser that the tests, the benches and the pictures use: the machine's own."""

from __future__ import annotations

import shutil
from typing import Final

__all__ = ["ARGUMENTS", "find_chromium"]

ARGUMENTS: Final = [
    "--no-sandbox",  # as root there is none; the pages are our own
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def find_chromium() -> str | None:
    """The first there is."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next(filter(None, map(shutil.which, names)), None)
