"""News on its way: gathered while it cannot go out, written as JSON, and read with suspicion.

Rule 1: of each log only the farthest place is told, of each chat that something changed there.
Rule 2: what would be too much is told as one word: look at everything.
Rule 3: a channel is open to others. What cannot be read is nothing; what can is still only a hint.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Struct

from mobox.storage.log import Position, RunId
from mobox.storage.wake_ups import News

__all__ = ["MOST_BYTES", "Letter", "Outbox", "read_letter", "write_letter"]

MOST_BYTES: Final = 256 * 1024
"""How long a letter may be; a longer one is none of ours."""

_MOST_NAMES: Final = 2000


class Letter(Struct, frozen=True):
    """News, and who tells it: whoever hears their own need not look."""

    sender: str
    news: News


_encode = msgspec.json.Encoder().encode
_decoder = msgspec.json.Decoder(Letter)


def write_letter(letter: Letter, most_bytes: int = MOST_BYTES) -> bytes:
    """The letter as it is sent."""
    data = _encode(letter)
    if len(data) > most_bytes:  # a chat's name is its client's, and may be of any length
        data = _encode(Letter(letter.sender, News(everything=True, work=letter.news.work)))
    return data


def read_letter(data: bytes) -> Letter | None:
    """The letter that was sent; nothing, if that is not what came."""
    if len(data) > MOST_BYTES:
        return None
    try:
        return _decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


class Outbox:
    """What is still to be told, in no more room than one letter has."""

    def __init__(self, most_names: int = _MOST_NAMES) -> None:
        self._most_names = most_names
        self._positions: dict[RunId, Position] = {}
        self._chats: dict[str, None] = {}  # a set that keeps its order
        self._work = False
        self._everything = False

    def __bool__(self) -> bool:
        return bool(self._positions or self._chats or self._work or self._everything)

    def add(self, news: News) -> None:
        """Tell that too; what comes late, or twice, changes nothing."""
        self._work |= news.work
        self._everything |= news.everything
        for run_id, position in news.positions.items():
            known = self._positions.get(run_id)
            if known is None or known.tail < position.tail:
                self._positions[run_id] = position
        self._chats |= dict.fromkeys(news.chats)
        if self._everything or len(self._positions) + len(self._chats) > self._most_names:
            self._everything = True
            self._positions, self._chats = {}, {}

    def take(self) -> News:
        """All of it, which is told by whoever has it now."""
        news = News(
            positions=self._positions,
            chats=tuple(self._chats),
            work=self._work,
            everything=self._everything,
        )
        self._positions, self._chats = {}, {}
        self._work = self._everything = False
        return news
