"""The table of routes: their handlers and their documentation."""

from __future__ import annotations

import re
from typing import Final

from starlette.routing import Route as Served

from mobox.delivery.sse import STREAM
from mobox.formatters.ag_ui.requests import RunInput
from mobox.formatters.ai_sdk import PROFILES
from mobox.formatters.ai_sdk.requests import Body
from mobox.server.ag_ui.copilotkit import CopilotKitRoutes, RuntimeInfo, StopRun
from mobox.server.ag_ui.endpoint import AGUIRoutes, StopThread
from mobox.server.auth.authenticated_route import AuthenticatedRoute, Handler
from mobox.server.auth.tickets import TicketBody, TicketsRoutes, TicketView
from mobox.server.chat.chats import (
    AgentList,
    ChatList,
    ChatRow,
    ChatsRoutes,
    ChatView,
    Messages,
    Rename,
)
from mobox.server.chat.post import AnswerBody, ChatRoutes, RunState, StopBody
from mobox.server.openapi import Parameter, Route
from mobox.server.ops.health import Health, OperationsRoutes
from mobox.server.runs.events import FormatList, RunsRoutes, Stderr
from mobox.server.services import Services

# The rows of AG-UI and CopilotKit in the table of routes.

_KEY: Final = Parameter(
    name="Idempotency-Key", place="header", description="Makes a retry safe; so does `runId`."
)
_INPUT: Final = {
    "threadId": "chat-1",
    "runId": "r1",
    "messages": [{"id": "m1", "role": "user", "content": "tool"}],
}
_RUN: Final = (
    "A message or answers: entries of `resume`, results of frontend tools. The response streams "
    "the agent's output until the run ends or waits. Fields may also be written as `thread_id`.\n\n"
    "Only messages with new ids are added; the last message sent again regenerates its answer. "
    "Clients that send no `protocolVersion` get the events of versions before 1.0."
)
_CONNECT: Final = (
    "The history of the thread, then its active run, live. Only `threadId` and `runId` are used. "
    "A thread that does not exist yet gives an empty stream."
)
_REPLAY: Final = Parameter(
    name="replay",
    place="query",
    description="`1`: replay the last run from its first event instead of a snapshot.",
)
_STOP: Final = "Disconnecting does not stop a run. Without `runId` the active run is stopped."


def _run(path: str, summary: str, tag: str) -> Route:
    return Route(
        method="POST",
        path=path,
        scope="write",
        summary=summary,
        description=_RUN,
        parameters=(_KEY,),
        body=RunInput,
        example=_INPUT,
        responses={200: STREAM},
        tags=(tag,),
    )


def _connect(path: str, tag: str) -> Route:
    return Route(
        method="POST",
        path=path,
        scope="read",
        summary="Read a thread",
        description=_CONNECT,
        parameters=(_REPLAY,),
        body=RunInput,
        example={"threadId": "chat-1", "runId": "r2", "messages": []},
        responses={200: STREAM},
        tags=(tag,),
    )


def _stop(path: str) -> Route:
    return Route(
        method="POST",
        path=path,
        scope="write",
        summary="Stop the agent",
        description=_STOP,
        body=StopThread,
        example={"threadId": "chat-1"},
        responses={200: RunState, 202: RunState},
        tags=("AG-UI",),
    )


_ANY: Final = "Send a message; `forwardedProps.agent` may name the agent"
_ONE: Final = "Send a message to an agent"

AG_UI_ROUTES: Final[dict[str, Route]] = {
    "agui.chat": _run("/api/agui/chat", _ANY, "AG-UI"),
    "agui.connect_chat": _connect("/api/agui/chat/connect", "AG-UI"),
    "agui.stop_chat": _stop("/api/agui/chat/stop"),
    "agui.run": _run("/api/agui/agents/{agent}", _ONE, "AG-UI"),
    "agui.connect": _connect("/api/agui/agents/{agent}/connect", "AG-UI"),
    "agui.stop": _stop("/api/agui/agents/{agent}/stop"),
    "copilotkit.info": Route(
        method="GET",
        path="/api/copilotkit/info",
        scope="read",
        summary="List agents",
        responses={200: RuntimeInfo},
        tags=("CopilotKit",),
    ),
    "copilotkit.run": _run("/api/copilotkit/agent/{agent}/run", _ONE, "CopilotKit"),
    "copilotkit.connect": _connect("/api/copilotkit/agent/{agent}/connect", "CopilotKit"),
    "copilotkit.stop": Route(
        method="POST",
        path="/api/copilotkit/agent/{agent}/stop/{thread_id}",
        scope="write",
        summary="Stop the agent",
        description=_STOP,
        body=StopRun,
        example={},
        responses={200: RunState, 202: RunState},
        tags=("CopilotKit",),
    ),
}
"""By handler, as in `routes.ROUTES`."""


# The rows of the table of routes for runs.

_READING: Final = (
    Parameter(
        name="after",
        description="The cursor: the `id` of the last event that was read, `0` for the start; a "
        "`seq` alone is after all events of that entry.",
    ),
    Parameter(
        name="live",
        description="`sse`: stream until the run ends; `off`: only what is stored now.",
    ),
    Parameter(
        name="Last-Event-ID",
        place="header",
        description="Sent by `EventSource` when it reconnects; takes precedence over `after`.",
    ),
)
_PLACES: Final = (
    "Every event has an `id`, `<seq>.<k>`: the k-th event of entry `seq` of the log. To resume "
    "after it, send it as the cursor.\n\n"
    "An invalid cursor is 400 `bad_cursor`, with the `tail` of the log; a deleted run is 410; 204 "
    "means nothing new, and with `x-mobox-status: done` that there will be nothing more."
)

RUN_ROUTES: Final[dict[str, Route]] = {
    "runs.events": Route(
        method="GET",
        path="/api/runs/{run_id}/events",
        scope="read",
        summary="Read the events of a run, in any format",
        description=_PLACES,
        parameters=(
            Parameter(
                name="format",
                description="One of `/api/formats`; default `canonical`.",
            ),
            Parameter(name="profile", description="Default: the format's first profile."),
            *_READING,
            Parameter(
                name="ticket", description="A ticket of `POST /api/tickets`, instead of a key."
            ),
        ),
        responses={200: STREAM, 204: None},
        tags=("Runs",),
    ),
    "runs.inspect": Route(
        method="GET",
        path="/api/runs/{run_id}/inspect",
        scope="read",
        summary="Inspect a run: raw lines, events and frames",
        description="Each event is one entry of the log: `{seq, id, ts, event, lines, frames}`. "
        "`lines` are the agent's raw lines, `{n, firstSeq, lastSeq, line}`, at the first entry "
        "that was parsed from them; `frames` are the entry's documents, by format.\n\n" + _PLACES,
        parameters=(
            Parameter(
                name="format",
                description="`name` or `name:profile`, separated by commas; default: all.",
            ),
            *_READING,
        ),
        responses={200: STREAM, 204: None},
        tags=("Runs",),
    ),
    "runs.stderr": Route(
        method="GET",
        path="/api/runs/{run_id}/stderr",
        scope="read",
        summary="Read the agent's stderr",
        description="The last 64 KiB of each attempt (`leg`) that has ended and wrote something, "
        "with the values of its secrets removed and control characters escaped.",
        responses={200: Stderr},
        tags=("Runs",),
    ),
    "runs.formats": Route(
        method="GET",
        path="/api/formats",
        scope="read",
        summary="List formats",
        description="The formats that a run can be read in, with their profiles; the first profile "
        "is the default.",
        responses={200: FormatList},
        tags=("Runs",),
    ),
}
"""By handler: a group of routes and its method."""


PROFILE: Final = Parameter(
    name="profile",
    description=f"The client's version: {', '.join(PROFILES)} or document.",
)
LIMIT: Final = Parameter(name="limit", type=int, description="Maximum number of items, 1 to 200.")
BEFORE: Final = Parameter(name="before", description="The `before` cursor of the previous page.")

ROUTES: Final[dict[str, Route]] = {
    "chat.post": Route(
        method="POST",
        path="/api/chat",
        scope="write",
        summary="Send a message",
        description="A message, an edit, a retry, or the answer to an approval: whatever "
        "`useChat` posts. The response streams the agent's output until the run ends or waits.\n\n"
        "A message that is sent twice starts one run. While a run is active, another message gets "
        "409 `run_active` with its `runId`.",
        parameters=(
            PROFILE,
            Parameter(name="Idempotency-Key", place="header", description="Makes retries safe."),
        ),
        body=Body,
        example={
            "id": "chat-1",
            "message": {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "tool"}]},
        },
        responses={200: STREAM},
        tags=("Talking",),
    ),
    "chat.stream": Route(
        method="GET",
        path="/api/chat/{chat_id}/stream",
        scope="read",
        summary="Resume the stream of the active run",
        description="From its start, then live. 204 if there is none.",
        parameters=(
            PROFILE,
            Parameter(name="run", description="The id of a run, which may have ended."),
            Parameter(name="strict", description="1: respond with 204 to a run that just ended."),
        ),
        responses={200: STREAM, 204: None},
        tags=("Talking",),
    ),
    "chat.stop": Route(
        method="POST",
        path="/api/chat/{chat_id}/stop",
        scope="write",
        summary="Stop the agent",
        description=(
            "Disconnecting does not stop a run. Without `runId` the active run is stopped; with"
            " `activeStreamId`, which the AI SDK's guide sends, only if it is still that one."
        ),
        body=StopBody,
        example={},
        responses={200: RunState, 202: RunState},
        tags=("Talking",),
    ),
    "chat.answer": Route(
        method="POST",
        path="/api/chat/{chat_id}/answer",
        scope="write",
        summary="Answer an input request",
        description="The agent's further output is in the stream.",
        body=AnswerBody,
        example={"requestId": "q1", "decision": "answered", "value": "yes"},
        responses={202: RunState},
        tags=("Talking",),
    ),
    "chats.find": Route(
        method="GET",
        path="/api/chats",
        scope="read",
        summary="List chats",
        parameters=(
            Parameter(name="query", description="Search text in titles and messages."),
            BEFORE,
            LIMIT,
        ),
        responses={200: ChatList},
        tags=("Chats",),
    ),
    "chats.get": Route(
        method="GET",
        path="/api/chats/{chat_id}",
        scope="read",
        summary="Read a chat",
        description="Its messages and its active run, read in one snapshot. The message of that "
        "run is not included: read its stream.\n\n"
        "All messages; with `limit` the last ones, and a `before` cursor for earlier ones.",
        parameters=(PROFILE, LIMIT),
        responses={200: ChatView},
        tags=("Chats",),
    ),
    "chats.rename": Route(
        method="PATCH",
        path="/api/chats/{chat_id}",
        scope="write",
        summary="Rename a chat",
        body=Rename,
        example={"title": "The weather in Zürich"},
        responses={200: ChatRow},
        tags=("Chats",),
    ),
    "chats.delete": Route(
        method="DELETE",
        path="/api/chats/{chat_id}",
        scope="write",
        summary="Delete a chat",
        description="With its runs, their logs and its agents' state.",
        responses={204: None},
        tags=("Chats",),
    ),
    "chats.messages": Route(
        method="GET",
        path="/api/chats/{chat_id}/messages",
        scope="read",
        summary="Read a chat's messages page by page",
        description="The last messages, or those before a cursor.",
        parameters=(PROFILE, BEFORE, LIMIT),
        responses={200: Messages},
        tags=("Chats",),
    ),
    "chats.agents": Route(
        method="GET",
        path="/api/agents",
        scope="read",
        summary="List agents",
        responses={200: AgentList},
        tags=("Chats",),
    ),
    **AG_UI_ROUTES,
    "tickets.buy": Route(
        method="POST",
        path="/api/tickets",
        scope="read",
        summary="Get a ticket for a stream",
        description="For `EventSource`, which cannot send a key: `?ticket=` opens "
        "`/api/runs/{run_id}/events` once, within a minute. To reconnect, get another ticket.",
        body=TicketBody,
        example={"runId": "msg_1"},
        responses={201: TicketView},
        tags=("Runs",),
    ),
    "operations.health": Route(
        method="GET",
        path="/healthz",
        scope=None,
        summary="Liveness check",
        responses={200: Health},
        tags=("Operating",),
    ),
    "operations.ready": Route(
        method="GET",
        path="/readyz",
        scope=None,
        summary="Readiness check: can runs be started here?",
        responses={200: Health, 503: Health},
        tags=("Operating",),
    ),
    "operations.metrics": Route(
        method="GET",
        path="/metrics",
        scope="operate",
        summary="Prometheus metrics",
        responses={200: "text/plain"},
        tags=("Operating",),
    ),
    **RUN_ROUTES,
}
"""By handler: a group of routes and its method."""


def served(services: Services) -> list[Served]:
    """The table as Starlette routes, with their handlers."""
    groups = {
        "chat": ChatRoutes(services),
        "chats": ChatsRoutes(services),
        "agui": AGUIRoutes(services),
        "copilotkit": CopilotKitRoutes(services),
        "operations": OperationsRoutes(services),
        "runs": RunsRoutes(services),
        "tickets": TicketsRoutes(services),
    }

    def handler(name: str) -> Handler:
        group, _, method = name.partition(".")
        found: Handler = getattr(groups[group], method)
        return found

    # Chat ids come from clients and may contain slashes, so routes with a fixed suffix go first.
    routes = sorted(ROUTES.items(), key=lambda item: item[1].path.endswith("}"))
    return [
        Served(
            _with_any_id(route.path),
            AuthenticatedRoute(route, handler(name), services.storage),
            methods=[route.method],
        )
        for name, route in routes
    ]


def _with_any_id(path: str) -> str:
    """The path for Starlette, with ids that may contain slashes.

    An agent's id is the name of a folder, which has none.
    """
    return re.sub(r"(?<!\{agent)\}", ":path}", path)
