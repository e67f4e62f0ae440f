"""The open step of a message, and the parts that a `reset-step` would remove."""

from __future__ import annotations

from collections.abc import Collection

import msgspec
from msgspec import Struct, field

from mobox.formatters.ai_sdk.chunks import chunk

__all__ = ["Steps"]

Chunks = list[bytes]


class _Chunk(Struct):
    type: str
    id: str | None = None
    call: str | None = field(default=None, name="toolCallId")
    transient: bool = False


_decode = msgspec.json.Decoder(_Chunk).decode
_BLOCKS = {"text-start", "reasoning-start", "tool-input-start"}
_OTHERS = {"source-url", "source-document", "file"}
_ADDING = tuple(f'{{"type":"{kind}'.encode() for kind in (*_BLOCKS, *_OTHERS, "data-"))
"""Prefixes of chunks that may add a part: the type comes first."""


class Steps:
    """Turns of the root agent, one open at a time."""

    def __init__(self) -> None:
        self.open = False
        self._added: set[str | None] = {None}  # before the first step nothing can be retracted
        self._data: set[tuple[str, str]] = set()

    def start(self) -> Chunks:
        """Start another turn and end the one before it. An empty turn continues instead."""
        if self.open and not self._added:
            return []
        chunks = [*self.finish(), chunk("start-step")]
        self.open = True
        self._added = set()
        return chunks

    def finish(self) -> Chunks:
        """The turn ends, if one is open."""
        if not self.open:
            return []
        self.open = False
        return [chunk("finish-step")]

    def reset(self) -> Chunks:
        """Retract the parts of this step."""
        self._added = set()
        return [chunk("reset-step")]

    def is_made_of(self, blocks: Collection[str]) -> bool:
        """Whether these blocks are all that the step has added, so that it can be reset."""
        return bool(self._added) and self._added <= set(blocks)

    def saw(self, chunks: Chunks) -> None:
        """Remember the parts that these chunks add at the client: blocks by id."""
        for document in chunks:
            if not document.startswith(_ADDING):
                continue
            added = _decode(document)
            if added.type in _BLOCKS:
                self._added.add(added.call or added.id)
            elif added.type in _OTHERS or self._is_new_data(added):
                self._added.add(None)

    def _is_new_data(self, added: _Chunk) -> bool:
        if not added.type.startswith("data-") or added.transient:
            return False
        key = (added.type, added.id or "")
        is_new = added.id is None or key not in self._data
        self._data.add(key)
        return is_new
