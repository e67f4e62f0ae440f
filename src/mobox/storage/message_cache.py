"""Messages cached in databases: folds of logs, made again where the log has grown."""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec
from msgspec import Struct

from mobox.events.message import Message

T = TypeVar("T")


class Fold(Struct, frozen=True):
    """A message made of a log's first `seq` entries; `message` is its row's number."""

    message: int
    seq: int
    folded: Message


class ReadResult(Struct, Generic[T], frozen=True):
    """A read result, and the folds that were made for it."""

    value: T
    folds: list[Fold]


_decode = msgspec.json.Decoder(Message).decode


def cached_message(body: bytes | str | None) -> Message | None:
    """The stored fold, unless another version stored it in another shape."""
    try:
        return _decode(body) if body is not None else None
    except msgspec.ValidationError:
        return None
