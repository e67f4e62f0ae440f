"""Tickets: open one stream, once, within a minute, for clients that cannot send headers.

A browser's `EventSource` is one: the page gets a ticket with its key and puts it into the URL.

Rule 1: a ticket is for one run of its owner, and is used up by the first request, even if it fails.
Rule 2: a stream opened by a ticket ends when the key that got it is revoked or expires.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from mobox.formatters.bodies import Id
from mobox.server.auth.keys import TICKET, digest_of, is_live, new_secret
from mobox.server.auth.principal import Principal, principal_of
from mobox.server.services import Services, json_response, read_as
from mobox.settings import now_ms
from mobox.storage.keys import Keys, Ticket

LASTS: Final = 60_000
"""Milliseconds."""


class TicketBody(Struct, rename="camel", forbid_unknown_fields=True):
    """Which run is to be read."""

    run_id: Id


class TicketView(Struct, rename="camel", kw_only=True):
    """A ticket, which is shown once."""

    ticket: str
    expires_at: int


async def create_ticket(request: Request, services: Services) -> Response:
    """Create a ticket for one run of the client's owner."""
    principal, storage = principal_of(request), services.storage
    run = await storage.run(principal.owner, (await read_as(request, TicketBody)).run_id)
    secret = new_secret(TICKET)
    if principal.expires_at is not None:  # in the secret, which its digest covers completely
        secret += f".{principal.expires_at}"
    expires_at = now_ms() + LASTS
    ticket = Ticket(
        digest=digest_of(secret),
        key_id=principal.key_id,
        owner=principal.owner,
        run_id=run.id,
        expires_at=expires_at,
    )
    await storage.add_ticket(ticket)
    return json_response(TicketView(ticket=secret, expires_at=expires_at), 201)


async def redeem_ticket(keys: Keys, secret: str, run_id: str) -> Principal | None:
    """The principal of a ticket, with scope `read`; `None` if it is not valid for this run."""
    ticket = await keys.take_ticket(digest_of(secret))
    if ticket is None or ticket.run_id != run_id or not await _is_good(keys, ticket.key_id):
        return None
    until = secret.partition(".")[2]
    return Principal(ticket.owner, ("read",), ticket.key_id, int(until) if until else None)


async def _is_good(keys: Keys, key_id: str | None) -> bool:
    """Whether the key that got the ticket is still valid."""
    if key_id is None:
        return True
    now = now_ms()
    return any(is_live(key, now) for key in await keys.keys_of((key_id,)))
