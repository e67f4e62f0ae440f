"""Separators between the thoughts of one block.

Rule 1: the model's reasoning without an id may come token by token, as text does: it is joined
        without a separator.
Rule 2: a whole thought (of a think tool, a plan, a block with an id) and a note on a subagent are
        paragraphs, with a separator before and after each.
"""

from __future__ import annotations

from typing import Any

from mobox.events import StreamEvent, Text, TextDelta, Thinking, ThinkingDelta
from mobox.events.blocks import BETWEEN_THOUGHTS


class Thoughts:
    """Remembers whether a block ends with a whole thought."""

    def __init__(self) -> None:
        self._whole: str | None = None  # the block that ends with one

    def before(self, event: StreamEvent, block: str) -> str:
        """The separator before the text of `event`, the next in `block`."""
        match event:
            case Text() | TextDelta():
                return ""
            case Thinking(content="") | ThinkingDelta(delta=""):
                return ""
            case Thinking(id=None, source="model") | ThinkingDelta():
                is_whole = False
            case _:
                is_whole = True
        follows_whole = self._whole == block
        self._whole = block if is_whole else None
        return BETWEEN_THOUGHTS if is_whole or follows_whole else ""

    def continued(
        self, event: Text | Thinking | TextDelta | ThinkingDelta, block: str
    ) -> TextDelta | ThinkingDelta:
        """An event without an id as a delta of `block`."""
        words = event.content if isinstance(event, Text | Thinking) else event.delta
        delta = TextDelta if isinstance(event, Text | TextDelta) else ThinkingDelta
        about: dict[str, Any] = {"id": block, "scope": event.scope, "provider": event.provider}
        return delta(delta=self.before(event, block) + words, **about)
