"""The table of routes: for each its handler, the scope that a key needs, and its documentation."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount
from starlette.routing import Route as StarletteRoute
from starlette.types import Receive, Scope, Send

from mobox import __version__
from mobox.delivery import socketio
from mobox.delivery.sse import STREAM
from mobox.formatters.ag_ui.requests import RunInput
from mobox.formatters.ai_sdk.requests import Body
from mobox.server import about, ag_ui, agents, ai_sdk, chats, copilotkit, health
from mobox.server.actions import AnswerBody, LateAnswer, RunState, StopBody
from mobox.server.answers import ANSWERS
from mobox.server.auth import tickets
from mobox.server.auth.authentication import AUTHENTICATOR, Authenticator
from mobox.server.auth.links import LinkAccess
from mobox.server.endpoint import SIGNATURE_OF_FILE, TICKET, Endpoint, Handler, Route
from mobox.server.files import made, transfers
from mobox.server.openapi import Parameter, document
from mobox.server.parameters import BEFORE, CURSORS, LIMIT, PROFILE, READING
from mobox.server.recordings.table import RECORDINGS
from mobox.server.run_routes import RUN_ROUTES
from mobox.server.runs import events
from mobox.server.services import Services
from mobox.server.sharing.table import SHARING

_PLAIN_ERRORS: Final = (
    "\n\nAn error is one sentence of plain text, as `useChat` shows the body, with its code in "
    "`x-mobox-error`; with `Accept: application/json` it is JSON."
)

_TALKING: Final = (
    Route(
        method="POST",
        path="/api/chat",
        handler=ai_sdk.post_message,
        scope="write",
        summary="Send a message",
        description="A message, an edit, a retry, or the answer to an approval: whatever "
        "`useChat` posts. The response streams the agent's output until the run ends or waits.\n\n"
        "A message that is sent twice starts one run. While a run is active, `whenRunning` decides "
        "about another message: `interrupt` stops the run, `reject` is 409 `run_active` with its "
        "`runId`, `auto` interrupts a run that its clients have left." + _PLAIN_ERRORS,
        parameters=(
            PROFILE,
            Parameter("Idempotency-Key", "Makes retries safe.", place="header"),
        ),
        body=Body,
        limit="max_chat_body",
        example={
            "id": "chat-1",
            "message": {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "tool"}]},
        },
        responses={200: STREAM},
        tag="Talking",
        has_plain_errors=True,
    ),
    Route(
        method="GET",
        path="/api/chat/{chat_id}/stream",
        handler=ai_sdk.resume_stream,
        scope="read",
        summary="Resume the stream of the active run",
        description="From its start, then live. 204 if there is none. `chat_id` may also be the id "
        "of a run, `x-resumable-stream-id` of a response." + _PLAIN_ERRORS,
        parameters=(
            PROFILE,
            Parameter("run", "The id of a run, which may have ended."),
            Parameter("strict", "1: respond with 204 to a run that just ended."),
        ),
        responses={200: STREAM, 204: None},
        tag="Talking",
        has_plain_errors=True,
    ),
    Route(
        method="POST",
        path="/api/chat/{chat_id}/stop",
        handler=ai_sdk.stop_run,
        scope="write",
        summary="Stop the agent",
        description=(
            "Disconnecting does not stop a run. Without `runId` the active run is stopped; with"
            " `activeStreamId`, which the AI SDK's guide sends, only if it is still that one."
        ),
        body=StopBody,
        example={},
        responses={200: RunState, 202: RunState},
        tag="Talking",
    ),
    Route(
        method="POST",
        path="/api/chat/{chat_id}/answer",
        handler=ai_sdk.answer_run,
        scope="write",
        summary="Answer an input request",
        description="The agent's further output is in the stream. If the request was answered "
        "before, nothing changes: 200, with the answer that counted.\n\n"
        "An approval with the scope `chat` is also for later calls of the tool in this chat, with "
        "`chat_input` for those with the same input: the agent's next request is then answered "
        "automatically.",
        body=AnswerBody,
        example={"requestId": "q1", "decision": "answered", "value": "yes"},
        responses={200: LateAnswer, 202: RunState},
        tag="Talking",
    ),
)

_CHATS: Final = (
    Route(
        method="GET",
        path="/api/chats",
        handler=chats.list_chats,
        scope="read",
        summary="List chats",
        description="The first page also has all `pinned` chats. With `query`, a chat has `hits`: "
        "up to three messages that contain the text, with what is around it.",
        parameters=(
            Parameter("query", "Search text in titles and messages."),
            Parameter("agent", "Only chats whose last run is this agent's."),
            BEFORE,
            LIMIT,
        ),
        responses={200: chats.ChatList},
        tag="Chats",
    ),
    Route(
        method="GET",
        path="/api/chats/{chat_id}",
        handler=chats.read_chat,
        scope="read",
        summary="Read a chat",
        description="Its messages and its active run, read in one snapshot. The message of that "
        "run is not included: read its stream.\n\n"
        "All messages, up to about 16 MiB; with `limit` the last ones; and a `before` cursor for "
        "earlier ones.",
        parameters=(PROFILE, LIMIT),
        responses={200: chats.ChatView},
        tag="Chats",
    ),
    Route(
        method="PATCH",
        path="/api/chats/{chat_id}",
        handler=chats.change_chat,
        scope="write",
        summary="Rename or pin a chat",
        body=chats.ChatChange,
        example={"title": "The weather in Zürich"},
        responses={200: chats.ChatRow},
        tag="Chats",
    ),
    Route(
        method="DELETE",
        path="/api/chats/{chat_id}",
        handler=chats.delete_chat,
        scope="write",
        summary="Delete a chat",
        description="With its runs, their logs and its agents' state.",
        responses={204: None},
        tag="Chats",
    ),
    Route(
        method="GET",
        path="/api/chats/{chat_id}/messages",
        handler=chats.read_messages,
        scope="read",
        summary="Read a chat's messages page by page",
        description="The last messages, or those before a cursor.",
        parameters=(PROFILE, BEFORE, LIMIT),
        responses={200: chats.Messages},
        tag="Chats",
    ),
    Route(
        method="GET",
        path="/api/chats/{chat_id}/permissions",
        handler=chats.list_permissions,
        scope="read",
        summary="List what agents may do in a chat without asking",
        description="A permission is created by an answer with the scope `chat` or `chat_input`.",
        responses={200: chats.PermissionList},
        tag="Chats",
    ),
    Route(
        method="DELETE",
        path="/api/chats/{chat_id}/permissions/{permission_id}",
        handler=chats.revoke_permission,
        scope="write",
        summary="Revoke a permission",
        description="The agent asks again at its next call. Calls that were allowed before stay.",
        responses={204: None},
        tag="Chats",
    ),
    Route(
        method="GET",
        path="/api/agents",
        handler=agents.list_agents,
        scope="read",
        summary="List agents",
        responses={200: agents.AgentList},
        tag="Chats",
    ),
)


# AG-UI and CopilotKit have the same operations at several paths.

_ANY_AGENT: Final = "Send a message; `forwardedProps.agent` may name the agent"
_ONE_AGENT: Final = "Send a message to an agent"
_STOP: Final = "Disconnecting does not stop a run. Without `runId` the active run is stopped."


def _run_route(path: str, handler: Handler, summary: str, tag: str) -> Route:
    return Route(
        method="POST",
        path=path,
        handler=handler,
        scope="write",
        summary=summary,
        description="A message or answers: entries of `resume`, results of frontend tools. The "
        "response streams the agent's output until the run ends or waits. Fields may also be "
        "written as `thread_id`.\n\n"
        "Only messages with new ids are added; the last message sent again regenerates its "
        "answer. Clients that send no `protocolVersion` get the events of versions before 1.0.",
        parameters=(
            Parameter("Idempotency-Key", "Makes a retry safe; so does `runId`.", place="header"),
        ),
        body=RunInput,
        limit="max_chat_body",
        example={
            "threadId": "chat-1",
            "runId": "r1",
            "messages": [{"id": "m1", "role": "user", "content": "tool"}],
        },
        responses={200: STREAM},
        tag=tag,
    )


def _connect_route(path: str, tag: str) -> Route:
    return Route(
        method="POST",
        path=path,
        handler=ag_ui.connect,
        scope="read",
        summary="Read a thread",
        description="The history of the thread, then its active run, live. Only `threadId` and "
        "`runId` are used. A thread that does not exist yet gives an empty stream.",
        parameters=(
            Parameter(
                "replay", "`1`: replay the last run from its first event instead of a snapshot."
            ),
        ),
        body=RunInput,
        limit="max_chat_body",
        example={"threadId": "chat-1", "runId": "r2", "messages": []},
        responses={200: STREAM},
        tag=tag,
    )


def _stop_route(path: str) -> Route:
    return Route(
        method="POST",
        path=path,
        handler=ag_ui.stop,
        scope="write",
        summary="Stop the agent",
        description=_STOP,
        body=ag_ui.StopThread,
        example={"threadId": "chat-1"},
        responses={200: RunState, 202: RunState},
        tag="AG-UI",
    )


_AG_UI: Final = (
    _run_route("/api/agui/chat", ag_ui.run, _ANY_AGENT, "AG-UI"),
    _connect_route("/api/agui/chat/connect", "AG-UI"),
    _stop_route("/api/agui/chat/stop"),
    _run_route("/api/agui/agents/{agent}", ag_ui.run, _ONE_AGENT, "AG-UI"),
    _connect_route("/api/agui/agents/{agent}/connect", "AG-UI"),
    _stop_route("/api/agui/agents/{agent}/stop"),
    Route(
        method="GET",
        path="/api/copilotkit/info",
        handler=copilotkit.info,
        scope="read",
        summary="List agents",
        responses={200: copilotkit.RuntimeInfo},
        tag="CopilotKit",
    ),
    _run_route("/api/copilotkit/agent/{agent}/run", copilotkit.run, _ONE_AGENT, "CopilotKit"),
    _connect_route("/api/copilotkit/agent/{agent}/connect", "CopilotKit"),
    Route(
        method="POST",
        path="/api/copilotkit/agent/{agent}/stop/{thread_id}",
        handler=copilotkit.stop,
        scope="write",
        summary="Stop the agent",
        description=_STOP,
        body=copilotkit.StopRun,
        example={},
        responses={200: RunState, 202: RunState},
        tag="CopilotKit",
    ),
    Route(
        method="POST",
        path="/api/copilotkit",
        handler=copilotkit.single,
        scope="read",
        summary="All of these, with the method in the body",
        description="`method` is `info`, `agent/run`, `agent/connect` or `agent/stop`; `params` "
        "has `agentId` and `threadId`; `body` is the body of that route. Running and stopping need "
        "the scope `write`.",
        body=copilotkit.Call,
        limit="max_chat_body",
        example={"method": "info"},
        responses={200: (STREAM, copilotkit.RuntimeInfo, RunState), 202: RunState},
        tag="CopilotKit",
    ),
)

_RUNS: Final = (
    Route(
        method="POST",
        path="/api/tickets",
        handler=tickets.create_ticket,
        scope="read",
        summary="Get a ticket for a stream",
        description="For `EventSource`, which cannot send a key: `?ticket=` opens "
        "`/api/runs/{run_id}/events` once, within a minute. To reconnect, get another ticket.",
        body=tickets.TicketBody,
        example={"runId": "msg_1"},
        responses={201: tickets.TicketView},
        tag="Runs",
    ),
    Route(
        method="GET",
        path="/api/runs/{run_id}/events",
        handler=events.stream_events,
        scope="read",
        summary="Read the events of a run, in any format",
        description=CURSORS,
        parameters=(
            Parameter("format", "One of `/api/formats`; default `canonical`."),
            Parameter("profile", "Default: the format's first profile."),
            *READING,
            TICKET,
        ),
        responses={200: STREAM, 204: None},
        tag="Runs",
    ),
    Route(
        method="GET",
        path="/api/runs/{run_id}/inspect",
        handler=events.inspect_run,
        scope="read",
        summary="Inspect a run: raw lines, events and frames",
        description="Each event is one entry of the log: `{seq, id, ts, event, lines, frames}`. "
        "`lines` are the agent's raw lines, `{n, firstSeq, lastSeq, line}`, at the first entry "
        "that was parsed from them; `frames` are the entry's documents, by format. Without the "
        "details of errors (`error_details`) `lines` requires the scope `operate`.\n\n" + CURSORS,
        parameters=(
            Parameter("format", "`name` or `name:profile`, separated by commas; default: all."),
            *READING,
        ),
        responses={200: STREAM, 204: None},
        tag="Runs",
    ),
    Route(
        method="GET",
        path="/api/runs/{run_id}/stderr",
        handler=events.read_stderr,
        scope="read",
        summary="Read the agent's stderr",
        description="The last 64 KiB so far of each attempt (`leg`) that wrote something, "
        "with the values of its secrets removed and control characters escaped. Without the "
        "details of errors (`error_details`) it requires the scope `operate`.",
        responses={200: events.Stderr},
        tag="Runs",
    ),
    Route(
        method="GET",
        path="/api/formats",
        handler=events.list_formats,
        scope="read",
        summary="List formats",
        description="The formats that a run can be read in, with their profiles; the first profile "
        "is the default.",
        responses={200: events.FormatList},
        tag="Runs",
    ),
)

_BINARY: Final = {"type": "string", "format": "binary"}

_FILES: Final = (
    Route(
        method="POST",
        path="/api/files",
        handler=transfers.upload_file,
        scope="write",
        summary="Upload a file",
        description="A form with one file, or the file itself as the body, with its type as the "
        "content type. The response is a `file` part for a message of `useChat`.\n\n"
        "The same bytes are stored once. A file that no message names is deleted after a day.",
        parameters=(Parameter("name", "The file's name, if the body is not a form."),),
        forms={
            "multipart/form-data": {
                "type": "object",
                "properties": {"file": _BINARY},
                "required": ["file"],
            },
            "application/octet-stream": _BINARY,
        },
        limit="max_file",
        responses={201: transfers.FileView},
        tag="Files",
    ),
    Route(
        method="GET",
        path="/api/files/{file_id}",
        handler=transfers.download_file,
        scope="read",
        summary="Download a file",
        description="Pictures, sound, video and plain text with their type, all else as a "
        "download. Supports ranges.",
        parameters=(SIGNATURE_OF_FILE, Parameter("Range", "Some of the bytes.", place="header")),
        responses={200: "*/*", 206: "*/*", 304: None, 416: None},
        tag="Files",
    ),
    Route(
        method="DELETE",
        path="/api/files/{file_id}",
        handler=transfers.delete_file,
        scope="write",
        summary="Delete a file",
        description="If no chat names it: else it is deleted with the last of these chats.",
        responses={204: None},
        tag="Files",
    ),
    Route(
        method="GET",
        path="/api/chats/{chat_id}/files",
        handler=made.list_made_files,
        scope="read",
        summary="List the files that agents made in a chat",
        description="Those in the chat's state folder, the 500 newest. `available` is false where "
        "workers on other machines have them.",
        parameters=(
            Parameter("hidden", "`1`: also hidden files, and those of frameworks and programs."),
        ),
        responses={200: made.MadeFileList},
        tag="Files",
    ),
    Route(
        method="GET",
        path="/api/chats/{chat_id}/file",
        handler=made.read_made_file,
        scope="read",
        summary="Download a file that an agent made",
        description="Pictures, sound, video and plain text with their type, all else as a "
        "download.",
        parameters=(Parameter("path", "Its path in the list."),),
        responses={200: "*/*", 304: None},
        tag="Files",
    ),
)

_OPERATING: Final = (
    Route(
        method="GET",
        path="/api/server",
        handler=about.read_server,
        scope="read",
        summary="Read the server's version and limits, and where its agents run",
        description="`sandbox` is that of agents that ask for no other; `null` where workers "
        "execute them. Without the details of errors (`error_details`) only its `name` and "
        "`isolates` are there, unless the key has the scope `operate`.",
        responses={200: about.ServerView},
        tag="Operating",
    ),
    Route(
        method="GET",
        path="/healthz",
        handler=health.alive,
        scope=None,
        summary="Liveness check",
        responses={200: health.Health},
        tag="Operating",
    ),
    Route(
        method="GET",
        path="/readyz",
        handler=health.ready,
        scope=None,
        summary="Readiness check: can runs be started here?",
        responses={200: health.Health, 503: health.Health},
        tag="Operating",
    ),
    Route(
        method="GET",
        path="/metrics",
        handler=health.metrics,
        scope="operate",
        summary="Prometheus metrics",
        responses={200: "text/plain"},
        tag="Operating",
    ),
)

ROUTES: Final = (
    *_TALKING, *_CHATS, *ANSWERS, *_AG_UI, *_RUNS, *RUN_ROUTES, *RECORDINGS, *_FILES, *SHARING,
    *_OPERATING,
)  # fmt: skip


def starlette_routes(services: Services, authenticator: Authenticator) -> list[BaseRoute]:
    """Everything that is served: the table, sockets, the OpenAPI document and the page."""
    website, links = services.website, LinkAccess(services.storage)

    async def sockets(scope: Scope, receive: Receive, send: Send) -> None:
        """Sockets are authenticated when they connect, which is later."""
        await services.sockets({**scope, AUTHENTICATOR: authenticator}, receive, send)

    # Chat ids come from clients and may contain slashes, so routes with a fixed suffix go first,
    # and those with more ids before those with fewer.
    rows = sorted(ROUTES, key=lambda route: (route.path.endswith("}"), -route.path.count("{")))
    return [
        *(
            StarletteRoute(
                _with_any_id(row.path),
                Endpoint(row, services, authenticator, links),
                methods=[row.method],
            )
            for row in rows
        ),
        Mount(socketio.PATH, sockets),
        StarletteRoute("/openapi.json", _openapi),
        StarletteRoute("/", website.page),
        StarletteRoute("/chat", website.page),
        StarletteRoute("/chat/{chat_id:path}", website.page),
        StarletteRoute("/embed", website.embedded),
        StarletteRoute("/embed/chat/{chat_id:path}", website.embedded),
        StarletteRoute("/embed.js", website.embed_script),
        StarletteRoute("/shared", website.unlisted_page),
        StarletteRoute("/view", website.page),
        StarletteRoute("/runs", website.page),
        StarletteRoute("/runs/{run_ids:path}", website.page),
        StarletteRoute("/favicon.ico", website.icon),
        StarletteRoute("/assets/{name:path}", website.asset),
        StarletteRoute("/{name}", website.file),
    ]


def _with_any_id(path: str) -> str:
    """The path for Starlette, with ids that may contain slashes.

    An agent's id is the name of a folder, which has none.
    """
    return re.sub(r"(?<!\{agent)\}", ":path}", path)


async def _openapi(_request: Request) -> Response:
    return Response(_openapi_document(), media_type="application/json")


@cache
def _openapi_document() -> bytes:
    return msgspec.json.encode(document(ROUTES, __version__))
