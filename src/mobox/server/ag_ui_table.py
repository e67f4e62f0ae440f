"""The rows of AG-UI and CopilotKit in the table of routes."""

from __future__ import annotations

from typing import Final

from mobox.delivery.sse import STREAM
from mobox.formatters.ag_ui.request_wire import RunInput
from mobox.server.ag_ui import StopThread
from mobox.server.chat import RunState
from mobox.server.copilotkit import RuntimeInfo, StopRun
from mobox.server.openapi import Parameter, Route

__all__ = ["AG_UI_ROUTES"]

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
