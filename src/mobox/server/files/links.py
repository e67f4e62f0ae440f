"""The addresses of files, as clients get them in messages.

Rule 1: without authentication, and for pages of this server, an address is only a path.
Rule 2: else it is signed: a page cannot send a key with `<img src>`. A signature is for one file of
        one owner, and is valid for one to two days. It stays the same for a day, so that browsers
        can cache the file. It is valid even after the key that got it was revoked.
Rule 3: a request with a signature is authenticated by it alone.
Rule 4: a file of a shared chat has a signature for its link, which must still be valid.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace
from starlette.requests import HTTPConnection

from mobox.events.turn import PromptFile, PromptPart, UserMessage
from mobox.server.auth.authentication import authenticator_of
from mobox.server.auth.principal import Principal, owner_of
from mobox.settings import now_ms, parse_origin
from mobox.storage.chats import StoredMessage
from mobox.storage.files import FileStore, address_of, files_of

SIGNATURE: Final = "signature"
"""The name of the query parameter."""
LINK: Final = "link"
"""The name of the query parameter with the id of the link of a shared chat."""
BASE: Final = "mobox.files_base"
"""The key of an ASGI scope with the address before `/api/files`, where a request was forwarded."""

_DAY: Final = 24 * 60 * 60_000
_WRITTEN: Final = re.compile(r"([0-9]{1,15})\.([0-9a-f]{64})")


class Links(Struct, frozen=True):
    """Makes addresses for one client."""

    owner: str
    base: str
    """What is before the path: nothing, a mount's path, or a whole origin."""
    secret: bytes | None = None
    """The key of signatures; `None` if they are not needed."""
    until: int = 0

    def url(self, file_id: str) -> str:
        """The address of a file."""
        path = self.base + address_of(file_id)
        if self.secret is None:
            return path
        signed = _sign(self.secret, self.owner, file_id, self.until)
        return f"{path}?{SIGNATURE}={self.until}.{signed}"

    def in_message(self, message: StoredMessage) -> StoredMessage:
        """A message with the addresses of its files."""
        body = message.body
        if not isinstance(body, UserMessage):
            return message
        parts = tuple(map(self._in_part, body.parts))
        return replace(message, body=replace(body, parts=parts))

    def _in_part(self, part: PromptPart) -> PromptPart:
        if not isinstance(part, PromptFile) or part.file_id is None:
            return part
        return replace(part, url=self.url(part.file_id))


async def links_for(request: HTTPConnection, files: FileStore) -> Links:
    """The links for the client of a request."""
    base, owner = base_of(request), owner_of(request)
    if authenticator_of(request).is_open and "://" not in base:
        return Links(owner, base)
    until = (now_ms() // _DAY + 2) * _DAY
    return Links(owner, base, await files.secret(), until)


async def linked(
    request: HTTPConnection, files: FileStore, messages: Iterable[StoredMessage]
) -> list[StoredMessage]:
    """Messages with the addresses of their files for the client of a request."""
    history = list(messages)
    if not any(_has_files(message) for message in history):
        return history
    links = await links_for(request, files)
    return list(map(links.in_message, history))


def _has_files(message: StoredMessage) -> bool:
    return isinstance(message.body, UserMessage) and bool(files_of(message.body))


def base_of(request: HTTPConnection) -> str:
    """What is before the path: pages of other origins need a whole address."""
    forwarded: str | None = request.scope.get(BASE)
    if forwarded is not None:
        return forwarded
    root = quote(request.scope.get("root_path", "").rstrip("/"))
    own = f"{request.scope['scheme']}://{request.headers.get('host', '')}"
    origin = request.headers.get("origin")
    is_here = origin is None or parse_origin(origin) == parse_origin(own)
    return root if is_here else own + root


async def redeem_signature(files: FileStore, file_id: str, written: str) -> Principal | None:
    """The owner of the file, with the scope `read`; `None` if the signature is not valid."""
    match = _WRITTEN.fullmatch(written)
    file = await files.look_up(file_id)
    if match is None or file is None or int(match[1]) <= now_ms():
        return None
    signed = _sign(await files.secret(), file.owner, file_id, int(match[1]))
    return Principal(file.owner, ("read",)) if hmac.compare_digest(signed, match[2]) else None


# Files of a shared chat: for the readers of one link, as long as that is valid.


async def shared_url(files: FileStore, base: str, file_id: str, link_id: str) -> str:
    """The address of a file for the readers of a link."""
    until = (now_ms() // _DAY + 2) * _DAY
    signed = _sign(await files.secret(), _reader_of(link_id), file_id, until)
    path = f"{base}/api/shared/files/{quote(file_id, safe='')}"
    return f"{path}?{LINK}={link_id}&{SIGNATURE}={until}.{signed}"


async def is_shared_signature(files: FileStore, file_id: str, link_id: str, written: str) -> bool:
    """Whether this is the signature of a file for the readers of a link."""
    match = _WRITTEN.fullmatch(written)
    if match is None or int(match[1]) <= now_ms():
        return False
    signed = _sign(await files.secret(), _reader_of(link_id), file_id, int(match[1]))
    return hmac.compare_digest(signed, match[2])


def _reader_of(link_id: str) -> str:
    """In place of the owner's name, and different from any."""
    return f"\0{link_id}"


def _sign(secret: bytes, owner: str, file_id: str, until: int) -> str:
    text = f"{file_id} {until} {owner}".encode(errors="surrogatepass")
    return hmac.new(secret, text, hashlib.sha256).hexdigest()
