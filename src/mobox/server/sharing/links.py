"""The routes of a chat's owner: list, create and revoke its links."""

from __future__ import annotations

from typing import Annotated, Any, Final

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response

from mobox.errors import InvalidRequest
from mobox.events.excerpts import Shows
from mobox.formatters.bodies import Id
from mobox.server.auth.keys import digest_of, new_secret
from mobox.server.auth.principal import owner_of
from mobox.server.services import Services, json_response, read_as
from mobox.settings import now_ms
from mobox.storage.share_links import ShareLink, new_link_id

PREFIX: Final = "mbl_"
"""By which people and secret scanners recognize the secret of a link."""
MOST: Final = 100
"""Links of one chat."""
_DAY: Final = 24 * 60 * 60_000


class NewLink(Struct, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """What a link shows, and how long."""

    shows: Shows = "answer"
    run_id: Id | None = None
    """The only run that it shows; without it, the whole chat."""
    days: Annotated[int, Meta(ge=1, le=3650)] | None = 30
    """Days until it expires; `null` for a link that does not."""


class LinkRow(Struct, rename="camel", kw_only=True):
    """A link, without its secret."""

    id: str
    shows: Shows
    run_id: str | None = None
    created_at: int
    expires_at: int | None = None


class CreatedLink(LinkRow, rename="camel", kw_only=True):
    """A new link; its secret is shown once."""

    secret: str


class LinkList(Struct, kw_only=True):
    """The links of a chat, oldest first, including expired ones."""

    links: list[LinkRow]


async def list_links(request: Request, services: Services) -> Response:
    """The links of a chat."""
    stored = await services.storage.links(owner_of(request), request.path_params["chat_id"])
    return json_response(LinkList(links=[LinkRow(**_fields(each)) for each in stored]))


async def create_link(request: Request, services: Services) -> Response:
    """A new link to a chat."""
    owner, chat_id = owner_of(request), request.path_params["chat_id"]
    wanted, now = await read_as(request, NewLink), now_ms()
    if len(await services.storage.links(owner, chat_id)) >= MOST:
        raise InvalidRequest("", f"a chat has at most {MOST} links: revoke some")
    secret = new_secret(PREFIX)
    link = ShareLink(
        id=new_link_id(),
        digest=digest_of(secret),
        run_id=wanted.run_id,
        shows=wanted.shows,
        created_at=now,
        expires_at=None if wanted.days is None else now + wanted.days * _DAY,
    )
    await services.storage.add_link(owner, chat_id, link)
    return json_response(CreatedLink(**_fields(link), secret=secret), 201)


async def revoke_link(request: Request, services: Services) -> Response:
    """Delete a link."""
    names = request.path_params
    await services.storage.revoke_link(owner_of(request), names["chat_id"], names["link_id"])
    return Response(status_code=204)


def _fields(link: ShareLink) -> dict[str, Any]:
    return {name: getattr(link, name) for name in LinkRow.__struct_fields__}
