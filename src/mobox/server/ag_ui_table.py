"""The rows of the table of routes that are AG-UI's and CopilotKit's."""

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
    "A message, or answers: entries of `resume`, results of the page's tools. The response is what "
    "the agent says, until it ends or waits. Names may also be written `thread_id`.\n\n"
    "Messages whose ids are stored are known; words that come again ask for another answer. "
    "Clients that tell no `protocolVersion` are written to as before 1.0."
)
_CONNECT: Final = (
    "All that was said in the thread, then what is being said, as it comes. Only `threadId` and "
    "`runId` count. A thread that does not exist yet is an empty stream."
)
_REPLAY: Final = Parameter(
    name="replay",
    place="query",
    description="`1`: the last run from its first event instead, as it was told while it went on.",
)
_STOP: Final = "Leaving the response does not. Without `runId` it is the active run."


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


_ANY: Final = "Say something; `forwardedProps.agent` may name who is asked"
_ONE: Final = "Say something to an agent"

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
        summary="Say who can be asked",
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
"""By who answers, as in `routes.ROUTES`."""
