"""What the styles share: notes about what they cannot say, and ids and names providers accept."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from typing import TYPE_CHECKING, Any

from .said import MOST_DATA, Call, File, Item, Message, Text, as_text

if TYPE_CHECKING:
    Notes = Counter[str]
else:
    Notes = Counter

STARTS = "(The conversation starts with the assistant's message.)"
"""The first words of a conversation that a person did not start, for providers that need some."""
UNSIGNED = "a thought without its provider's signature"

_NO_ID = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_ID = 40
_LONGEST_NAME = 64


class Ids:
    """Ids of calls: of characters that every provider accepts, and unique in a conversation.

    A framework without ids of its own may use `call_1` in every run.
    """

    def __init__(self) -> None:
        self._used: set[str] = set()

    def take(self, call_id: str) -> str:
        """The id of the next call."""
        name = wanted = _short(_NO_ID.sub("_", call_id) or "call", call_id)
        number = 1
        while name in self._used:
            number += 1
            name = f"{wanted[: _LONGEST_ID - len(str(number)) - 1]}_{number}"
        self._used.add(name)
        return name


def _short(name: str, whole: str) -> str:
    if len(name) <= _LONGEST_ID:
        return name
    return f"{name[:31]}_{zlib.crc32(whole.encode('utf-8', 'replace')):08x}"


def tool_name(name: str) -> str:
    """A tool's name as every provider accepts it."""
    name = _NO_ID.sub("_", name)[:_LONGEST_NAME] or "unknown"
    return name if name[0].isalpha() or name[0] == "_" else f"_{name[: _LONGEST_NAME - 1]}"


def label(file: File, notes: Notes) -> str:
    """The short text for a file that cannot be sent."""
    notes[file.label[1:-1]] += 1
    return file.label


def served(call: Call, notes: Notes) -> str:
    """The short text for a call that a provider made itself, and that cannot be sent."""
    notes[f"the call of the provider's tool {call.name}"] += 1
    result = call.status if call.output is None else as_text(call.output)
    told = f"called {call.name} {as_text(call.input)}: {result}"
    return f"[{told if len(told) <= MOST_DATA else told[:MOST_DATA] + '…'}]"


def thought(notes: Notes) -> None:
    """A thought is left out: its provider would not accept it, and another has no use for it."""
    notes[UNSIGNED] += 1


def from_person(messages: list[Message]) -> list[Message]:
    """The messages, starting with a person's, as some providers require."""
    starts_with_answer = messages and messages[0].role == "assistant"
    return [Message("user", [Text(STARTS)]), *messages] if starts_with_answer else messages


def merged(messages: list[dict[str, Any]], content: str) -> list[dict[str, Any]]:
    """The messages with those of the same role joined, whose content is a list of that name."""
    joined: list[dict[str, Any]] = []
    for message in messages:
        if joined and joined[-1]["role"] == message["role"]:
            joined[-1][content].extend(message[content])
        elif message[content]:
            joined.append(message)
    return joined


def signature_of(item: Item, vendors: tuple[str, ...], *names: str) -> str | None:
    """The first of these values in the vendor state of an item."""
    states = [(item.provider or {}).get(vendor) for vendor in vendors]
    values = [state.get(name) for state in states if isinstance(state, dict) for name in names]
    return next((value for value in values if isinstance(value, str) and value), None)
