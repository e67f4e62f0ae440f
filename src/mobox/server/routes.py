"""The table of routes: their handlers and their documentation."""

from __future__ import annotations

import re
from typing import Final

from starlette.routing import Route as Served

from mobox.delivery.sse import STREAM
from mobox.formatters.ai_sdk import PROFILES
from mobox.formatters.ai_sdk.request_wire import Body
from mobox.server.ag_ui import AGUIRoutes
from mobox.server.ag_ui_table import AG_UI_ROUTES
from mobox.server.authenticated_route import AuthenticatedRoute, Handler
from mobox.server.chat import AnswerBody, ChatRoutes, RunState, StopBody
from mobox.server.chats import (
    AgentList,
    ChatList,
    ChatRow,
    ChatsRoutes,
    ChatView,
    Messages,
    Rename,
)
from mobox.server.copilotkit import CopilotKitRoutes
from mobox.server.openapi import Parameter, Route
from mobox.server.operations import Health, OperationsRoutes
from mobox.server.run_events import RunsRoutes
from mobox.server.runs_table import RUN_ROUTES
from mobox.server.services import Services
from mobox.server.tickets import TicketBody, TicketsRoutes, TicketView

__all__ = ["ROUTES", "served"]

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
