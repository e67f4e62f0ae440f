"""The text of a response: the parts of its messages, and its thoughts.

Rule 1: text that was not streamed is emitted when its item is done; streamed text is not repeated.
Rule 2: a thought ends when the next of its item starts, or with its item, whose encrypted form
        comes only then.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Iterator
from functools import partial
from typing import Any

from msgspec import Struct, convert

from mobox.errors import UnrecognizedLine
from mobox.events import (
    JSON,
    Events,
    File,
    Scope,
    Source,
    StreamEvent,
    Text,
    TextDelta,
    TextEnd,
    Thinking,
    ThinkingDelta,
    ThinkingEnd,
    ToolKind,
    ToolResult,
    ToolUseStart,
)
from mobox.events.names import tool_use_end
from mobox.parsers.openai import wire
from mobox.parsers.openai.token_usage import VENDOR
from mobox.parsers.openai.wire import Names
from mobox.parsers.tool_kinds import runs_python
from mobox.parsers.values import first_text, objects_in, parse_or_raw, split_data_url

_LOCATION = ("start_index", "end_index", "index", "container_id", "file_citation", "page")
_BYTES = "data:"


def cite(block: str | None, scope: Scope, annotation: dict[str, JSON]) -> Source | None:
    """An annotation of a text: a page, or a file; some providers nest it under its own type."""
    nested = annotation.get(str(annotation.get("type")))
    fields = nested if isinstance(nested, dict) else annotation
    url, name = first_text(fields, "url"), first_text(fields, "filename")
    file = first_text(fields, "file_id")
    title = first_text(fields, "title") or name
    if url is None and file is None and title is None:
        return None
    location = {key: fields[key] for key in _LOCATION if fields.get(key) is not None}
    return Source(
        id=block,
        scope=scope,
        url=url,
        document=name,
        file=file,
        title=title,
        cited_text=first_text(fields, "content", "quote"),
        location=location or None,
    )


def page_of(name: str | None, scope: Scope, page: JSON) -> Source | None:
    """A page or a document that was found; a bare address too."""
    if isinstance(page, str):
        return Source(id=name, scope=scope, url=page) if page else None
    if not isinstance(page, dict):
        return None
    url = first_text(page, "url", "link")
    file, title = first_text(page, "file_id"), first_text(page, "title", "filename")
    if url is None and file is None:
        return None
    score = page.get("score")
    return Source(
        id=name,
        scope=scope,
        url=url,
        file=file,
        title=title,
        cited_text=first_text(page, "text", "content"),
        score=score if isinstance(score, int | float) and not isinstance(score, bool) else None,
    )


def file_of(name: str | None, scope: Scope, url: str) -> File:
    """A file by its address, which may be the file itself."""
    if (inline := split_data_url(url)) is not None:
        media_type, data = inline
        return File(id=name, scope=scope, media_type=media_type or "image/png", base64=data)
    return File(id=name, scope=scope, media_type="image/*", url=url)


def without_images(name: str | None, scope: Scope, output: JSON) -> tuple[JSON, list[File]]:
    """A tool's output with its images taken out, and those."""
    parts: list[Any] = output if isinstance(output, list) else [output]
    kept, files = [], []
    for part in parts:
        address = part.get("image_url", part.get("url")) if isinstance(part, dict) else None
        if isinstance(address, str) and address.startswith(_BYTES):
            file = file_of(name, scope, address)
            files.append(file)
            kept.append({"type": part.get("type"), "media_type": file.media_type})
        else:
            kept.append(part)
    return (kept if isinstance(output, list) else kept[0]), files


Object = dict[str, JSON]
Place = tuple[str, int]
"""The key of an item's part: text, refusal, summary, reasoning or sound, and its number."""

_ABOUT: dict[str, dict[str, str]] = {
    "summary": {"source": "summary"},
    "refusal": {"kind": "refusal"},
}
_THOUGHTS = ("summary", "reasoning")
_UNMARKED = ("summary", "text")


class Part(Struct):
    """A block of an item."""

    id: str
    opening: Any
    has_text: bool = False  # some of its text was emitted
    ended: bool = False
    cited: int = 0  # number of emitted annotations


class Item(Struct):
    """One item of the current response."""

    id: str
    kind: str
    given_id: str | None
    raw: Object = {}  # as it was added; empty if that event is missing
    phase: str | None = None
    parts: dict[Place, Part] = {}
    call: str = ""
    silent: bool = False  # this call is in the log already
    streamed: bool = False  # some of its input was emitted
    runs: dict[int, dict[str, str]] = {}  # printed output of commands so far

    def __post_init__(self) -> None:
        self.call = self.call or self.id


class Parts:
    """The text and thoughts of one agent."""

    def __init__(self, scope: tuple[str, ...]) -> None:
        self.block_ids: list[str] = []
        """The ids of the blocks and calls of this response, in order."""
        self.refused = False
        """The model has refused to answer."""
        self._scope = scope

    def begin(self) -> None:
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
        part = item.parts.get(place)
        if part is not None:
            part.cited += 1
        source = cite(part.id if part is not None else item.id, self._scope, annotation)
        return [source] if source is not None else []

    # Whole items

    def end_message(self, item: Item, raw: Object) -> Events:
        events: Events = []
        for number, each in enumerate(objects_in(raw.get("content"))):
            events += parse_or_raw(partial(self._end_part, item, number, each), each, self._scope)
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
                events += parse_or_raw(end, each, self._scope)
        state = {"item_id": raw.get("id"), "encrypted_content": raw.get("encrypted_content")}
        provider = {VENDOR: {name: value for name, value in state.items() if value is not None}}
        if item.parts:
            return events + self.end_thoughts(item, provider)
        self.block_ids.append(item.id)
        thought = Thinking(id=item.id, scope=self._scope, redacted=True)
        return [*events, thought, ThinkingEnd(id=item.id, scope=self._scope, provider=provider)]

    def _end_thought(self, item: Item, place: Place, raw: Object) -> Events:
        return self.end(item, place, convert(raw, wire.Part).text)


# Extras of providers in a chat completion: sources, images, sound, their own tools.

SOUND = "audio/pcm"
"""Streamed sound is always raw samples: no other format can be played before its end."""

_KINDS: dict[str, ToolKind] = {"search": "search", "browser_search": "search"}
_REFERENCES = {"tool_reference", "reference", "document_url"}


class Extras:
    def __init__(self, names: Names) -> None:
        self._names = names
        self._cited: set[tuple[str | None, str]] = set()
        self._executed: dict[tuple[str | None, int], str] = {}
        self._sound: list[str] = []

    def annotations(self, annotations: list[dict[str, JSON]], block: str | None) -> Events:
        """Citations of an answer."""
        return [source for each in annotations if (source := cite(block, (), each)) is not None]

    def pages(self, chunk: wire.Chunk, block: str | None) -> Events:
        """The pages of a search, which some providers repeat on every chunk."""
        lists = chunk.search_results, chunk.web_search, chunk.citations
        found = [page for pages in lists if isinstance(pages, list) for page in pages]
        new: dict[tuple[str | None, str], StreamEvent] = {}
        for page in found:
            if (source := page_of(block, (), page)) is not None:
                new.setdefault((block, source.url or source.title or ""), source)
        events = [source for key, source in new.items() if key not in self._cited]
        self._cited |= new.keys()
        return events

    def part(self, part: dict[str, JSON], block: str | None) -> Events:
        """A content part that is neither text nor a thought."""
        if str(part.get("type")) in _REFERENCES:
            source = page_of(block, (), part)
            location = {k: v for k, v in part.items() if k not in ("title", "url")}
            return [source or Source(id=block, location=location)]
        images = self.images([part], block)
        if not images:
            raise UnrecognizedLine(f"a part of content of type {part.get('type')!r:.40}")
        return images

    def images(self, images: list[dict[str, JSON]], message: str | None) -> Events:
        """Images, by their URLs."""
        found = (image.get("image_url", image.get("url")) for image in images)
        urls = (each.get("url") if isinstance(each, dict) else each for each in found)
        return [file_of(message, (), url) for url in urls if isinstance(url, str)]

    def audio(self, audio: dict[str, JSON]) -> str | None:
        """A delta of sound; return its transcript, if it has one."""
        piece = convert(audio, wire.Audio)
        if piece.data:
            self._sound.append(piece.data)
        return piece.transcript

    def end_audio(self, message: str | None) -> Events:
        """The whole sound, if there was one."""
        pieces, self._sound = self._sound, []
        if not pieces:
            return []
        return [File(id=message, media_type=SOUND, base64=joined_sound(pieces))]

    def executed(self, raw: dict[str, JSON], message: str | None) -> Iterator[StreamEvent]:
        """A tool that the provider runs: sent when it starts, and again with its output."""
        tool = convert(raw, wire.ExecutedTool)
        place, named = (message, tool.index or 0), tool.type or "tool"
        name = self._executed.get(place)
        if name is None:
            name = self._executed[place] = self._names.fresh("call")
            is_python = runs_python(named) or runs_python(tool.name or "")
            kind = "code" if is_python else _KINDS.get(named, "custom")
            yield ToolUseStart(id=name, name=tool.name or named, kind=kind, server=True)
            yield tool_use_end(name, tool.arguments)
        if tool.output is not None:
            yield ToolResult(id=name, output=tool.output)
            found = tool.search_results
            pages = found.get("results") if isinstance(found, dict) else found
            for page in pages if isinstance(pages, list) else ():
                if (source := page_of(name, (), page)) is not None:
                    yield source


def joined_sound(pieces: list[str]) -> str:
    """Join base64 pieces that were encoded one by one."""
    try:
        return b64encode(b"".join(b64decode(piece, validate=True) for piece in pieces)).decode()
    except (NotBase64, ValueError):
        return "".join(pieces)
