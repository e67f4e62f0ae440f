"""The routes for links, and for their readers."""

from __future__ import annotations

from typing import Final

from mobox.delivery.sse import STREAM
from mobox.server import chats
from mobox.server.auth.links import HEADER
from mobox.server.endpoint import SIGNATURE_OF_FILE, Route
from mobox.server.openapi import SHARED, Parameter
from mobox.server.parameters import BEFORE, CURSORS, LIMIT, PROFILE, READING
from mobox.server.runs import events
from mobox.server.sharing import links, reading

_LINK: Final = Parameter(HEADER, "The secret of the link.", place="header")
_ALL: Final = "Only for links that show `everything`."

SHARING: Final = (
    Route(
        method="GET",
        path="/api/chats/{chat_id}/links",
        handler=links.list_links,
        scope="read",
        summary="List the links by which a chat is shared",
        responses={200: links.LinkList},
        tag="Sharing",
    ),
    Route(
        method="POST",
        path="/api/chats/{chat_id}/links",
        handler=links.create_link,
        scope="write",
        summary="Share a chat, or one run of it, by a link",
        description="Whoever has the link can read it without a key: see `Sharing`. `secret` is "
        "shown once; the link is the page's address `shared#` and the secret.",
        body=links.NewLink,
        example={"shows": "tools", "days": 30},
        responses={201: links.CreatedLink},
        tag="Sharing",
    ),
    Route(
        method="DELETE",
        path="/api/chats/{chat_id}/links/{link_id}",
        handler=links.revoke_link,
        scope="write",
        summary="Revoke a link",
        description="Open streams of its readers end within 5 seconds.",
        responses={204: None},
        tag="Sharing",
    ),
    Route(
        method="GET",
        path="/api/shared",
        handler=reading.read_shared,
        scope=SHARED,
        summary="Read a shared chat",
        description="As much of it as the link shows. 404 if the link is not valid.",
        parameters=(_LINK, PROFILE, LIMIT),
        responses={200: reading.SharedView},
        tag="Sharing",
    ),
    Route(
        method="GET",
        path="/api/shared/messages",
        handler=reading.read_messages,
        scope=SHARED,
        summary="Read earlier messages of a shared chat",
        parameters=(_LINK, PROFILE, BEFORE, LIMIT),
        responses={200: chats.Messages},
        tag="Sharing",
    ),
    Route(
        method="GET",
        path="/api/shared/state",
        handler=reading.read_state,
        scope=SHARED,
        summary="Read whether a shared chat has changed",
        parameters=(_LINK,),
        responses={200: reading.SharedState},
        tag="Sharing",
    ),
    Route(
        method="GET",
        path="/api/shared/stream",
        handler=reading.stream_active,
        scope=SHARED,
        summary="Read the stream of the active run of a shared chat",
        description="From its start, then live. 204 if there is none.",
        parameters=(_LINK, PROFILE),
        responses={200: STREAM, 204: None},
        tag="Sharing",
    ),
    Route(
        method="GET",
        path="/api/shared/formats",
        handler=reading.list_formats,
        scope=SHARED,
        summary="List the formats for the runs of a shared chat",
        description=_ALL,
        parameters=(_LINK,),
        responses={200: events.FormatList},
        tag="Sharing",
    ),
    Route(
        method="GET",
        path="/api/shared/runs/{run_id}/events",
        handler=reading.stream_events,
        scope=SHARED,
        summary="Read the events of a run of a shared chat",
        description=f"{_ALL}\n\n{CURSORS}",
        parameters=(
            _LINK,
            Parameter("format", "One of `/api/formats`; default `canonical`."),
            Parameter("profile", "Default: the format's first profile."),
            *READING,
        ),
        responses={200: STREAM, 204: None},
        tag="Sharing",
    ),
    Route(
        method="GET",
        path="/api/shared/runs/{run_id}/inspect",
        handler=reading.inspect_run,
        scope=SHARED,
        summary="Inspect a run of a shared chat",
        description=f"{_ALL} Without raw lines.\n\n{CURSORS}",
        parameters=(
            _LINK,
            Parameter("format", "`name` or `name:profile`, separated by commas; default: all."),
            *READING,
        ),
        responses={200: STREAM, 204: None},
        tag="Sharing",
    ),
    Route(
        method="GET",
        path="/api/shared/files/{file_id}",
        handler=reading.download_file,
        scope=SHARED,
        summary="Download a file of a message of a shared chat",
        description=f"{_ALL} By its address in the message.",
        parameters=(
            SIGNATURE_OF_FILE,
            Parameter("link", "The id of the link."),
            Parameter("Range", "Some of the bytes.", place="header"),
        ),
        responses={200: "*/*", 206: "*/*", 304: None, 416: None},
        tag="Sharing",
    ),
)
