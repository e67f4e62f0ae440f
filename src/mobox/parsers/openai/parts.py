"""The text of a response: the parts of its messages, and its thoughts.

Rule 1: text that was not streamed is emitted when its item is done; streamed text is not repeated.
Rule 2: a thought ends when the next of its item starts, or with its item, whose encrypted form
        comes only then.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from msgspec import convert

from mobox.events import (
    JSON,
    Events,
    Source,
    Text,
    TextDelta,
    TextEnd,
    Thinking,
    ThinkingDelta,
    ThinkingEnd,
)
from mobox.parsers.json_values import objects_in
from mobox.parsers.kept import or_raw
from mobox.parsers.openai import wire
from mobox.parsers.openai.search_results import cite
from mobox.parsers.openai.token_usage import VENDOR

__all__ = ["Item", "Part", "Parts", "Place"]

Object = dict[str, JSON]
Place = tuple[str, int]
"""The key of an item's part: text, refusal, summary, reasoning or sound, and its number."""

_ABOUT: dict[str, dict[str, str]] = {
    "summary": {"source": "summary"},
    "refusal": {"kind": "refusal"},
}
_THOUGHTS = ("summary", "reasoning")
_UNMARKED = ("summary", "text")


class Part:
    """A block of an item."""

    __slots__ = ("cited", "ended", "has_text", "id", "opening")

    def __init__(self, name: str, opening: Any) -> None:
        self.id = name
        self.opening = opening
        self.has_text = False  # some of its text was emitted
        self.ended = False
        self.cited = 0  # number of emitted annotations


class Item:
    """One item of the current response."""

    __slots__ = (
        "call",
        "given_id",
        "id",
        "kind",
        "parts",
        "phase",
        "raw",
        "runs",
        "silent",
        "streamed",
    )

    def __init__(
        self, name: str, kind: str, given_id: str | None, raw: Object | None = None
    ) -> None:
        self.id = name
        self.kind = kind
        self.given_id = given_id
        self.raw = raw or {}  # as it was added; empty if that event is missing
        self.phase: str | None = None
        self.parts: dict[Place, Part] = {}
        self.call = name
        self.silent = False  # this call is in the log already
        self.streamed = False  # some of its input was emitted
        self.runs: dict[int, dict[str, str]] = {}  # printed output of commands so far


class Parts:
    """The text and thoughts of one agent."""

    def __init__(self, scope: tuple[str, ...]) -> None:
        self.block_ids: list[str] = []
        """The ids of the blocks and calls of this response, in order."""
        self.refused = False
        """The model has refused to answer."""
        self._scope = scope

    def begin(self) -> None:
        """Another response."""
        self.block_ids = []
        self.refused = False

    def open(self, item: Item, place: Place, content: str = "") -> Events:
        """Open the part with this key, unless it is open."""
        if place in item.parts:
            return []
        field, number = place
        opening: Any = Thinking if field in _THOUGHTS else Text
        ends = self.end_thoughts(item) if opening is Thinking else []
        mark = "" if field in _UNMARKED else f"{field}_"
        part = item.parts[place] = Part(f"{item.id}:{mark}{number}", opening)
        part.has_text = bool(content)
        self.block_ids.append(part.id)
        self.refused = self.refused or field == "refusal"
        more = _ABOUT.get(field, {})
        if field == "text" and item.phase == "commentary":
            more = {"kind": "commentary"}
        return [*ends, opening(id=part.id, scope=self._scope, content=content, **more)]

    def say(self, item: Item, place: Place, words: str) -> Events:
        """A delta of a part."""
        opened = self.open(item, place)
        part = item.parts[place]
        part.has_text = True
        delta: Any = TextDelta if part.opening is Text else ThinkingDelta
        return [*opened, delta(id=part.id, scope=self._scope, delta=words)]

    def end(self, item: Item, place: Place, whole: str | None) -> Events:
        """A part is complete; emit its text, if it was not streamed."""
        part = item.parts.get(place)
        if part is not None and part.ended:
            return []
        has_text = part is not None and part.has_text
        events = self.say(item, place, whole) if whole and not has_text else []
        part = item.parts.get(place)
        if part is None:
            return events
        if part.opening is Thinking:  # an item without an added event gets no done event
            return events if item.raw else events + self.end_thoughts(item)
        part.ended = True
        return [*events, TextEnd(id=part.id, scope=self._scope)]

    def end_thoughts(self, item: Item, provider: Object | None = None) -> Events:
        """End the thoughts of an item that are open; the last of them carries its vendor state."""
        thoughts = [p for p in item.parts.values() if p.opening is Thinking and not p.ended]
        for part in thoughts:
            part.ended = True
        bags = [*[None] * (len(thoughts) - 1), provider]
        return [
            ThinkingEnd(id=part.id, scope=self._scope, provider=bag)
            for part, bag in zip(thoughts, bags, strict=False)
        ]

    def leave(self, item: Item, *, interrupted: bool) -> Events:
        """The response ended: end the open parts of this item."""
        ends = self.end_thoughts(item)
        for part in item.parts.values():
            if not part.ended:
                part.ended = True
                ends.append(TextEnd(id=part.id, scope=self._scope, interrupted=interrupted))
        return ends

    def cite(self, item: Item, place: Place, annotation: Object) -> list[Source]:
        """A part cites a source."""
        part = item.parts.get(place)
        if part is not None:
            part.cited += 1
        source = cite(part.id if part is not None else item.id, self._scope, annotation)
        return [source] if source is not None else []

    # Whole items

    def end_message(self, item: Item, raw: Object) -> Events:
        """A message is done."""
        events: Events = []
        for number, each in enumerate(objects_in(raw.get("content"))):
            events += or_raw(partial(self._end_part, item, number, each), each, self._scope)
        return events + self.leave(item, interrupted=False)

    def _end_part(self, item: Item, number: int, raw: Object) -> Events:
        part = convert(raw, wire.Part)
        field = "refusal" if part.type == "refusal" else "text"
        whole = part.refusal if field == "refusal" else part.text
        return self.end_whole(item, (field, number), whole, objects_in(part.annotations))

    def end_whole(
        self, item: Item, place: Place, whole: str | None, annotations: list[Object]
    ) -> Events:
        """A part of a message is complete, with all that it cites."""
        before = self.say(item, place, whole) if whole and place not in item.parts else []
        known = item.parts.get(place)
        new = annotations[known.cited if known is not None else 0 :]
        cited = [source for each in new for source in self.cite(item, place, each)]
        return [*before, *cited, *self.end(item, place, whole)]

    def end_reasoning(self, item: Item, raw: Object) -> Events:
        """A reasoning item is done; one without text is a redacted thought."""
        events: Events = []
        for field, name in (("summary", "summary"), ("reasoning", "content")):
            for number, each in enumerate(objects_in(raw.get(name))):
                end = partial(self._end_thought, item, (field, number), each)
                events += or_raw(end, each, self._scope)
        state = {"item_id": raw.get("id"), "encrypted_content": raw.get("encrypted_content")}
        provider = {VENDOR: {name: value for name, value in state.items() if value is not None}}
        if item.parts:
            return events + self.end_thoughts(item, provider)
        self.block_ids.append(item.id)
        thought = Thinking(id=item.id, scope=self._scope, redacted=True)
        return [*events, thought, ThinkingEnd(id=item.id, scope=self._scope, provider=provider)]

    def _end_thought(self, item: Item, place: Place, raw: Object) -> Events:
        return self.end(item, place, convert(raw, wire.Part).text)
