"""How many tokens fit into a model's context, by the beginning of the model's name.

Input and output together, as the providers publish it. A model that is not listed has none:
`windows` in models.yaml replaces or adds any of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

WINDOWS: Final[Mapping[str, int]] = {
    "claude-opus-4": 200_000,
    "claude-sonnet-4": 200_000,
    "claude-haiku-4": 200_000,
    "claude-3": 200_000,
    "gpt-4o": 128_000,
    "gpt-4.1": 1_047_576,
    "gpt-5": 400_000,
    "o3": 200_000,
    "o4-mini": 200_000,
    "gemini-2.5": 1_048_576,
}


def window_of(model: str, windows: Mapping[str, int]) -> int | None:
    """The window with the longest matching name; `None` if no name matches."""
    names = [name for name in windows if model.startswith(name)]
    return windows[max(names, key=len)] if names else None
