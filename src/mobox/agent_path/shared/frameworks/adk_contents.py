"""The conversation of a turn as contents of google-genai."""

from __future__ import annotations

import sys
from typing import Any

from google.genai import types

from ..conversation import render
from .gemini import native_content

__all__ = ["contents_of", "message_of"]


def contents_of(history: list[dict[str, Any]], prompt: list[dict[str, Any]]) -> list[Any]:
    """The contents, with calls, their results and files; a line on stderr names what is missing."""
    written, note = render(history, prompt, "gemini")
    if note:
        sys.stderr.write(f"mobox: {note}\n")
    return [types.Content.model_validate(native_content(each)) for each in written]


def message_of(prompt: list[dict[str, Any]]) -> Any:
    """A person's new message."""
    parts = [part for content in contents_of([], prompt) for part in content.parts]
    return types.Content(role="user", parts=parts or [types.Part(text="")])
