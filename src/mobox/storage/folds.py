"""Messages that databases keep although they are folds of logs: made anew where they are behind."""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec
from msgspec import Struct

from mobox.message import Message

__all__ = ["Fold", "Told", "kept_fold"]

T = TypeVar("T")


class Fold(Struct, frozen=True):
    """A message made of a log's first `seq` entries; `message` is its row's number."""

    message: int
    seq: int
    folded: Message


class Told(Struct, Generic[T], frozen=True):
    """What was read, and the folds that had to be made for it."""

    value: T
    folds: list[Fold]


_decode = msgspec.json.Decoder(Message).decode


def kept_fold(body: bytes | str | None) -> Message | None:
    """The kept fold, unless another version made it in another shape."""
    try:
        return _decode(body) if body is not None else None
    except msgspec.ValidationError:
        return None
