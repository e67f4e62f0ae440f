"""What people think of answers: the values.

Rule 1: a person has one opinion of an answer, which they may change or take back.
Rule 2: it belongs to the answer's chat, and is deleted with it.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from mobox.storage.log import RunId

Opinion = Literal["up", "down"]


class Feedback(Struct, frozen=True, kw_only=True):
    """A person's opinion of an answer."""

    run_id: RunId
    value: Opinion
    comment: str = ""
    created_at: int
    updated_at: int
