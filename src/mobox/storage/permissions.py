"""What people have allowed agents to do in a chat: the values.

Rule 1: a permission belongs to a chat, and is deleted with it.
Rule 2: it covers the calls of one tool by one agent; if it has an input, only calls with exactly
        that input, compared as canonical JSON.
Rule 3: it is stored with the answer that creates it, in one transaction.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import Final

import msgspec
from msgspec import UNSET, Struct

from mobox.events import JSON

_canonical: Final = msgspec.json.Encoder(order="sorted").encode
_decode: Final = msgspec.json.Decoder().decode


class Permission(Struct, frozen=True, kw_only=True):
    """A person's approval of all further calls of a tool in a chat."""

    id: str
    agent: str
    tool: str
    input: JSON = UNSET
    """The only input that it covers; unset if it covers any."""
    created_at: int

    def covers(self, agent: str, tool: str, tool_input: JSON) -> bool:
        """Whether a call of the tool by the agent, with this input, is allowed."""
        if (self.agent, self.tool) != (agent, tool):
            return False
        return self.input is UNSET or _canonical(self.input) == _canonical(tool_input)

    @property
    def text(self) -> bytes | None:
        """The input as canonical JSON."""
        return None if self.input is UNSET else _canonical(self.input)

    @property
    def digest(self) -> bytes:
        """Equal for equal inputs; empty if it covers any. Databases cannot index long texts."""
        return b"" if (text := self.text) is None else hashlib.sha256(text).digest()


def input_of(text: bytes | str | None) -> JSON:
    """The input of a stored permission."""
    return UNSET if text is None else _decode(text)


def new_permission_id() -> str:
    """An unguessable id."""
    return f"perm_{secrets.token_hex(12)}"
