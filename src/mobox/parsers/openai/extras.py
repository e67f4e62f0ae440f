"""Extras of providers in a chat completion: sources, images, sound, their own tools."""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Iterator

from msgspec import convert

from mobox.errors import NotUnderstood
from mobox.events import JSON, Events, File, Source, StreamEvent, ToolKind, ToolResult, ToolUseStart
from mobox.inputs import input_of
from mobox.parsers.kinds import runs_python
from mobox.parsers.openai import wire
from mobox.parsers.openai.names import Names
from mobox.parsers.openai.search_results import cite, file_of, page_of

__all__ = ["SOUND", "Extras", "joined_sound"]

SOUND = "audio/pcm"
"""Streamed sound is always raw samples: no other format can be played before its end."""

_KINDS: dict[str, ToolKind] = {"search": "search", "browser_search": "search"}
_REFERENCES = {"tool_reference", "reference", "document_url"}


class Extras:
    """The extras of one run."""

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
        sources = [source for page in found if (source := page_of(block, (), page)) is not None]
        return [source for source in sources if self._is_new(source)]

    def _is_new(self, source: Source) -> bool:
        page = (source.id, source.url or source.title or "")
        if page in self._cited:
            return False
        self._cited.add(page)
        return True

    def part(self, part: dict[str, JSON], block: str | None) -> Events:
        """A content part that is neither text nor a thought."""
        if str(part.get("type")) in _REFERENCES:
            source = page_of(block, (), part)
            location = {k: v for k, v in part.items() if k not in ("title", "url")}
            return [source or Source(id=block, location=location)]
        images = self.images([part], block)
        if not images:
            raise NotUnderstood(f"a part of content of type {part.get('type')!r:.40}")
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
            yield input_of(name, tool.arguments)
        if tool.output is not None:
            yield ToolResult(id=name, output=tool.output)
            found = tool.search_results
            pages = found.get("results") if isinstance(found, dict) else found
            for page in pages if isinstance(pages, list) else ():
                source = page_of(name, (), page)
                if source is not None:
                    yield source


def joined_sound(pieces: list[str]) -> str:
    """Join base64 pieces that were encoded one by one."""
    try:
        return b64encode(b"".join(b64decode(piece, validate=True) for piece in pieces)).decode()
    except (NotBase64, ValueError):
        return "".join(pieces)
