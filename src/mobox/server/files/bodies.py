"""Reads the body of a chat request, and moves the files in it to the store.

Rule 1: memory is bounded by `max_body`, whatever `max_chat_body` allows: long strings are written
        to a temporary file without a name in the data folder, and read again only when needed.
Rule 2: only files of the message that is acted on are stored. Those of the history are not read.
Rule 3: what is not a file is put back as it was.
Rule 4: a file that the owner has already is not stored again; it is compared by its hash.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager
from itertools import chain
from pathlib import Path
from typing import IO, Final, NamedTuple

from msgspec.structs import replace
from starlette.requests import Request as HttpRequest

from mobox.errors import (
    BodyTooLarge,
    FileNotFound,
    FileTooLarge,
    InvalidRequest,
    NotJson,
    StorageError,
)
from mobox.events import JSON, json_text
from mobox.events.turn import (
    PromptData,
    PromptFile,
    PromptPart,
    Request,
    UserMessage,
    submission_key,
)
from mobox.server.files.data_urls import PREFIX, decoded, read_header, unescaped
from mobox.server.files.scanner import SHORT, LongStrings, Span
from mobox.settings import Settings
from mobox.storage.files import FileStore, StoredFile, address_of, file_id_in, file_id_of
from mobox.storage.media_types import HEAD, agreed_type, checked_type

FilePlaces = Callable[[JSON], Iterable[str]]
"""The values in a body that may be files: addresses, or bytes in base64."""

_PIECE: Final = 256 * 1024


class Spool:
    """Long strings, in a temporary file that is created when the first one comes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: IO[bytes] | None = None
        self._open = ExitStack()

    async def add(self, data: bytes) -> None:
        try:
            await asyncio.to_thread(self._write, data)
        except OSError as error:
            raise StorageError(f"cannot write to {self._folder}: {error}") from error

    def _write(self, data: bytes) -> None:
        if self._file is None:
            with ExitStack() as stack:
                self._file = stack.enter_context(tempfile.TemporaryFile(dir=self._folder))
                self._open = stack.pop_all()
        self._file.write(data)

    def read(self, span: Span) -> Iterator[bytes]:
        """The bytes of a string, in pieces."""
        assert self._file is not None
        for start in range(span.start, span.end, _PIECE):
            self._file.seek(start)
            yield self._file.read(min(_PIECE, span.end - start))

    def close(self) -> None:
        self._open.close()


class _Source(NamedTuple):
    """The bytes of a file that came in a message."""

    declared: str
    open: Callable[[], Iterator[bytes]]
    """Its bytes, from the start; raises `ValueError` if it is not base64."""


class _Known(NamedTuple):
    """What is known of a file before it is stored."""

    id: str
    head: bytes


class ChatBody:
    """The body of a chat request. `value` has placeholders where files may be."""

    def __init__(
        self, value: JSON, spans: Mapping[str, Span] | None = None, spool: Spool | None = None
    ) -> None:
        self.value = value
        self._spans = spans or {}
        self._spool = spool

    async def attach(self, files: FileStore, owner: str, request: Request) -> Request:
        """The request with the files of its message in the store."""
        if request.message is None:
            return request
        moved = replace(request, message=await self.move_files(files, owner, request.message))
        is_derived = request.idempotency_key == submission_key(request)
        return replace(moved, idempotency_key=submission_key(moved)) if is_derived else moved

    async def move_files(self, files: FileStore, owner: str, message: UserMessage) -> UserMessage:
        """The message with its files in the store; small ones stay in it."""
        attaching = _Attaching(self, files, owner)
        return replace(message, parts=tuple([await attaching.part(part) for part in message.parts]))

    def source_of(self, url: str) -> _Source | None:
        """The bytes of a `data:` URL, unless it is small enough to stay in the message."""
        if url in self._spans:
            return self._spooled_url(url)
        about, comma, payload = url.partition(",")
        is_spooled = payload in self._spans
        is_long = is_spooled or len(url) > SHORT
        if not url.startswith(PREFIX) or not comma or not is_long:
            return None
        header = read_header(about)

        def content() -> Iterator[bytes]:
            inline = [payload.encode(errors="replace")]
            pieces = unescaped(self._read(payload)) if is_spooled else inline
            return decoded(pieces, is_base64=header.is_base64)

        return _Source(header.media_type, content)

    def _spooled_url(self, name: str) -> _Source | None:
        first = next(unescaped(self._read(name)), b"")
        about, comma, _ = first.partition(b",")
        if not about.startswith(PREFIX.encode()) or not comma:
            return None
        header = read_header(about.decode(errors="replace"))

        def content() -> Iterator[bytes]:
            pieces = unescaped(self._read(name))
            rest = next(pieces)[len(about) + 1 :]
            return decoded(chain([rest], pieces), is_base64=header.is_base64)

        return _Source(header.media_type, content)

    def _read(self, name: str) -> Iterator[bytes]:
        assert self._spool is not None
        return self._spool.read(self._spans[name])

    def restored(self, value: JSON) -> JSON:
        """A value of the message that is no file after all."""
        if not self._spans or self._spool is None:
            return value
        return _replaced(value, _Texts(self._spans, self._spool))

    def path_of(self, url: str) -> str:
        """Where a value is in the body, as the client spells it."""
        payload = url.partition(",")[2]
        found = _path_to(self.value, {url, payload} - {""})
        return "file" if found is None else found.removeprefix(".")


class _Attaching:
    """Moves the files of one message."""

    def __init__(self, body: ChatBody, files: FileStore, owner: str) -> None:
        self._body = body
        self._files = files
        self._owner = owner

    async def part(self, part: PromptPart) -> PromptPart:
        if isinstance(part, PromptData):
            return await self._named_by_id(part)
        if not isinstance(part, PromptFile):
            return part
        if (file_id := file_id_in(part.url)) is not None:
            return await self._stored(part, file_id)
        source = self._body.source_of(part.url)
        if source is None:
            return replace(part, url=str(self._body.restored(part.url)))
        file, media_type = await self._move(part, source)
        return _referring(part, file, media_type)

    async def _named_by_id(self, part: PromptData) -> PromptPart:
        """AG-UI names a file of a provider by its id: it may be ours."""
        value = part.value if part.name == "file" and isinstance(part.value, dict) else {}
        name = value.get("id")
        file_id = file_id_in(name) if isinstance(name, str) else None
        if file_id is None:
            return replace(part, value=self._body.restored(part.value))
        file = await self._find(file_id, name)
        return PromptFile(
            media_type=file.media_type, url=address_of(file.id), name=file.name, file_id=file.id
        )

    async def _stored(self, part: PromptFile, file_id: str) -> PromptFile:
        try:
            file = await self._find(file_id, part.url)
        except InvalidRequest:
            if "://" in part.url:
                return part  # another server's
            raise
        named = replace(part, name=part.name or file.name)
        return _referring(named, file, agreed_type(part.media_type, file.media_type))

    async def _find(self, file_id: str, written: JSON) -> StoredFile:
        try:
            return await self._files.find(self._owner, file_id)
        except FileNotFound as error:
            raise InvalidRequest(self._body.path_of(str(written)), str(error)) from None

    async def _move(self, part: PromptFile, source: _Source) -> tuple[StoredFile, str]:
        try:
            known = await asyncio.to_thread(_read_once, source, self._owner, self._files.max_file)
        except ValueError as error:
            problem = f"expected base64 in a data: URL: {error}"
            raise InvalidRequest(self._body.path_of(part.url), problem) from None
        declared = part.media_type or source.declared
        file = await self._files.look_up(known.id)
        if file is None:
            pieces = _in_threads(source.open())
            file = await self._files.add(self._owner, pieces, declared, part.name)
        return file, checked_type(declared, known.head)


def _referring(part: PromptFile, file: StoredFile, media_type: str) -> PromptFile:
    return PromptFile(
        media_type=media_type, url=address_of(file.id), name=part.name, file_id=file.id
    )


def _read_once(source: _Source, owner: str, most: int) -> _Known:
    """Check and hash a file; in a thread."""
    digest, size, head = hashlib.sha256(), 0, b""
    for piece in source.open():
        size += len(piece)
        if size > most:
            raise FileTooLarge(most)
        head += piece[: HEAD - len(head)]
        digest.update(piece)
    return _Known(file_id_of(owner, digest.hexdigest()), head)


async def _in_threads(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
        yield piece


@asynccontextmanager
async def read_chat_body(
    request: HttpRequest, settings: Settings, places: FilePlaces
) -> AsyncIterator[ChatBody]:
    """The JSON body of a chat request, as long as the block lasts; an empty body counts as `{}`."""
    strings = LongStrings(secrets.token_hex(16), settings.max_body)
    spool = Spool(settings.data)
    try:
        async for piece in request.stream():
            if long := strings.feed(piece):
                await spool.add(long)
        value = _decode(bytes(strings.text))
        texts = strings.spans.keys() - set(places(value) if strings.spans else ())
        if texts:
            spans = {name: strings.spans[name] for name in texts}
            value = await asyncio.to_thread(_restored, value, spans, spool, settings.max_body)
        yield ChatBody(value, strings.spans, spool)
    finally:
        spool.close()


def _decode(text: bytes) -> JSON:
    try:
        return json_text.decode_json(text) if text else {}
    except NotJson as problem:
        raise InvalidRequest("", f"expected JSON: {problem}") from None


def _restored(value: JSON, spans: Mapping[str, Span], spool: Spool, most: int) -> JSON:
    """The value with texts instead of their placeholders."""
    if sum(span.end - span.start for span in spans.values()) > most:
        raise BodyTooLarge(most, "max-body", "the body without its files")
    return _replaced(value, _Texts(spans, spool))


class _Texts(NamedTuple):
    """Long strings that are texts."""

    spans: Mapping[str, Span]
    spool: Spool

    def instead_of(self, text: str) -> str:
        """The text that a placeholder stands for; any other text is returned as it is."""
        if text not in self.spans:
            return text
        return str(_decode(b'"%b"' % b"".join(self.spool.read(self.spans[text]))))


def _replaced(value: JSON, texts: _Texts) -> JSON:
    if isinstance(value, str):
        return texts.instead_of(value)
    if isinstance(value, list):
        return [_replaced(each, texts) for each in value]
    if isinstance(value, dict):
        return {texts.instead_of(name): _replaced(each, texts) for name, each in value.items()}
    return value


def _path_to(value: JSON, wanted: set[str]) -> str | None:
    inner: Iterable[tuple[str, JSON]] = ()
    if isinstance(value, dict):
        inner = ((f".{name}", each) for name, each in value.items())
    elif isinstance(value, list):
        inner = ((f"[{index}]", each) for index, each in enumerate(value))
    elif isinstance(value, str) and value in wanted:
        return ""
    for step, each in inner:
        if (rest := _path_to(each, wanted)) is not None:
            return step + rest
    return None
