"""Authenticates the readers of a link.

Rule 1: the secret comes in a header, never in a URL of the server: the page has it from the
        fragment of its own address, which browsers neither send nor put into `Referer`.
Rule 2: unknown, expired and revoked links, and those of deleted chats, get the same answer.
Rule 3: a link gives the scope `shared`, which no key has, and no other: its routes are the only
        ones that it opens, and only it opens them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Final

from msgspec.structs import replace
from starlette.requests import HTTPConnection

from mobox.errors import LinkBusy, LinkNotFound, QuotaError
from mobox.server.auth.connections import ConnectionRegistry, OpenConnection
from mobox.server.auth.keys import digest_of
from mobox.server.auth.principal import Principal
from mobox.server.auth.rate_limit import RateLimit
from mobox.server.openapi import SHARED
from mobox.settings import now_ms
from mobox.storage.keys import Keys
from mobox.storage.share_links import OpenedLink

HEADER: Final = "x-mobox-link"
READS_PER_MINUTE: Final = 600
STREAMS: Final = 200
"""The limits of one link, in this process: its readers are not the owner."""

_OPENED: Final = "mobox.opened_link"


class LinkAccess:
    """Authenticates the readers of links; holds their limits and open streams."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._streams = _LinkStreams(keys, STREAMS)
        self._rate_limit = RateLimit(READS_PER_MINUTE)

    async def authenticate(self, connection: HTTPConnection) -> Principal:
        """The reader whose header has the secret of a link; raises `LinkNotFound`."""
        secrets = connection.headers.getlist(HEADER)
        found = await self._keys.find_link(digest_of(secrets[0])) if len(secrets) == 1 else None
        return self.admit(connection, found)

    async def find(self, link_id: str) -> OpenedLink | None:
        """The link of that id, if it exists."""
        return next(iter(await self._keys.links_of((link_id,))), None)

    def admit(self, connection: HTTPConnection, opened: OpenedLink | None) -> Principal:
        """The reader of a link that was found; raises `LinkNotFound` if it is not valid."""
        if opened is None or opened.link.is_over(now_ms()):
            raise LinkNotFound("with this secret")
        link = opened.link
        with _busy():
            self._rate_limit.take(link.id)
        connection.scope[_OPENED] = opened
        return Principal(opened.owner, (SHARED,), link.id, link.expires_at)

    @contextmanager
    def streaming(self, principal: Principal) -> Iterator[OpenConnection]:
        """Count a stream of a link while it is open, and end it with the link."""
        with _busy():
            counted = self._streams.add(replace(principal, owner=str(principal.key_id)))
        try:
            yield counted
        finally:
            self._streams.remove(counted)


class _LinkStreams(ConnectionRegistry):
    """The open streams of links, by the id of the link."""

    async def live(self, ids: Collection[str]) -> set[str]:
        now = now_ms()
        found = await self._keys.links_of(ids)
        return {each.link.id for each in found if not each.link.is_over(now)}


@contextmanager
def _busy() -> Iterator[None]:
    try:
        yield
    except QuotaError:
        raise LinkBusy from None


def opened_link(connection: HTTPConnection) -> OpenedLink:
    """The link of the request's reader."""
    opened: OpenedLink = connection.scope[_OPENED]
    return opened
