"""The tools of every agent in the matrix; what they do is a line in the chat's state folder."""

from __future__ import annotations

import os
import time
from pathlib import Path

FOLDER = Path(os.environ["MOBOX_STATE"])


def _note(line: str) -> None:
    with (FOLDER / "effects.txt").open("a") as file:
        file.write(line + "\n")


def look_up(city: str) -> str:
    """Look up the weather of a city."""
    return f"21 degrees in {city}"


def delete_file(path: str) -> str:
    """Delete a file; a person has to approve it."""
    _note(f"deleted {path}")
    return f"deleted {path}"


def hold(what: str) -> str:
    """Hold something until the file `release` is there."""
    _note(f"held {what}")
    while not (FOLDER / "release").exists():
        time.sleep(0.01)
    return f"released {what}"
