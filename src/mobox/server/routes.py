"""The table of routes: who answers, and what the documentation says of it."""

from __future__ import annotations

import re
from typing import Final

from starlette.routing import Route as Served

from mobox.delivery.sse import STREAM
from mobox.formatters.ai_sdk import PROFILES
from mobox.formatters.ai_sdk.request_wire import Body
from mobox.server.ag_ui import AGUIRoutes
from mobox.server.ag_ui_table import AG_UI_ROUTES
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
from mobox.server.entrance import Entrance, Handler
from mobox.server.openapi import Parameter, Route
from mobox.server.operations import Health, OperationsRoutes
from mobox.server.run_events import RunsRoutes
from mobox.server.runs_table import RUN_ROUTES
from mobox.server.services import Services
from mobox.server.tickets import TicketBody, TicketsRoutes, TicketView

__all__ = ["ROUTES", "served"]

PROFILE: Final = Parameter(
    name="profile",
    description=f"The generation of the client that reads: {', '.join(PROFILES)} or document.",
)
LIMIT: Final = Parameter(name="limit", type=int, description="How many at most, 1 to 200.")
BEFORE: Final = Parameter(name="before", description="The cursor that the page after it gave.")

ROUTES: Final[dict[str, Route]] = {
    "chat.post": Route(
        method="POST",
        path="/api/chat",
        scope="write",
        summary="Say something",
        description="A message, an edit, another try, or the answer to an approval: whatever "
        "`useChat` posts. The response is what the agent says, until it ends or waits.\n\n"
        "Sent twice, a message is one run. While a run goes on, another message is answered by "
        "409 `run_active`, which names it.",
        parameters=(
            PROFILE,
            Parameter(name="Idempotency-Key", place="header", description="Makes a retry safe."),
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
        summary="Read the message that is being written",
        description="From its beginning, then as it comes. 204 if there is none.",
        parameters=(
            PROFILE,
            Parameter(name="run", description="This run, even if it has ended."),
            Parameter(name="strict", description="1: a run that has ended is 204."),
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
            "Leaving the response does not. Without `runId` it is the active run; with"
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
        summary="Answer what the agent asked",
        description="Read the stream for what it says to that.",
        body=AnswerBody,
        example={"requestId": "q1", "decision": "answered", "value": "yes"},
        responses={202: RunState},
        tags=("Talking",),
    ),
    "chats.find": Route(
        method="GET",
        path="/api/chats",
        scope="read",
        summary="List the chats",
        parameters=(
            Parameter(name="query", description="Words of the title or of a message."),
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
        description="Its messages and, read at the same moment, the run that is going on. The "
        "message of that run is left out: read its stream.\n\n"
        "All messages; with `limit` the last ones, and `before`, by which the page before them is "
        "asked for.",
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
        description="With its runs, their logs, and what its agents kept.",
        responses={204: None},
        tags=("Chats",),
    ),
    "chats.messages": Route(
        method="GET",
        path="/api/chats/{chat_id}/messages",
        scope="read",
        summary="Read a chat page by page",
        description="The last messages, or those before a cursor.",
        parameters=(PROFILE, BEFORE, LIMIT),
        responses={200: Messages},
        tags=("Chats",),
    ),
    "chats.agents": Route(
        method="GET",
        path="/api/agents",
        scope="read",
        summary="List the agents",
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
        "`/api/runs/{run_id}/events` once, within a minute. Where that stream breaks, get another.",
        body=TicketBody,
        example={"runId": "msg_1"},
        responses={201: TicketView},
        tags=("Runs",),
    ),
    "operations.health": Route(
        method="GET",
        path="/healthz",
        scope=None,
        summary="Is it alive?",
        responses={200: Health},
        tags=("Operating",),
    ),
    "operations.ready": Route(
        method="GET",
        path="/readyz",
        scope=None,
        summary="Can runs be begun here?",
        responses={200: Health, 503: Health},
        tags=("Operating",),
    ),
    "operations.metrics": Route(
        method="GET",
        path="/metrics",
        scope="operate",
        summary="Numbers for Prometheus",
        responses={200: "text/plain"},
        tags=("Operating",),
    ),
    **RUN_ROUTES,
}
"""By who answers: a group of routes and its method."""


def served(services: Services) -> list[Served]:
    """The routes of the table, answered."""
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

    # A chat's id is its client's word, and may have a slash in it; so what has a name comes first.
    routes = sorted(ROUTES.items(), key=lambda item: item[1].path.endswith("}"))
    return [
        Served(
            _with_any_id(route.path),
            Entrance(route, handler(name), services.storage),
            methods=[route.method],
        )
        for name, route in routes
    ]


def _with_any_id(path: str) -> str:
    """The path for Starlette, to which an id is otherwise a word without slashes.

    An agent's is the name of a folder, which has none.
    """
    return re.sub(r"(?<!\{agent)\}", ":path}", path)
