"""The runtime that CopilotKit's frontends expect, so that they need no server of their own.

Its threads are chats like any other: they outlive the page, the connection and the server.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from mobox import __version__
from mobox.formatters.bodies import Id
from mobox.server.ag_ui import AGUIRoutes
from mobox.server.services import Services, json_response, owner_of, read_as

__all__ = ["CopilotKitRoutes", "RuntimeInfo", "StopRun"]

DEFAULT: Final = "default"
"""The agent that a frontend asks for where nobody told it a name."""


class AgentInfo(Struct, rename="camel", kw_only=True):
    """An agent as a frontend lists it."""

    name: str
    class_name: str = "Agent"
    description: str = ""


class RuntimeInfo(Struct, rename="camel", kw_only=True):
    """What a frontend asks first."""

    version: str = __version__
    agents: dict[str, AgentInfo]
    mode: str = "sse"
    audio_file_transcription_enabled: bool = False
    telemetry_disabled: bool = True


class StopRun(Struct, rename="camel"):
    """Which request of the thread is to end: a late stop must not end a newer one."""

    run_id: Id | None = None


class CopilotKitRoutes:
    """`/api/copilotkit` and what is below it."""

    def __init__(self, services: Services) -> None:
        self._catalog = services.supervisor.catalog
        self._ag_ui = AGUIRoutes(services)

    async def info(self, _request: Request) -> Response:
        """The agents there are; whoever names none asks `default`."""
        agents = {
            agent.id: AgentInfo(name=agent.name, description=agent.description)
            for agent in self._catalog
        }
        if agents:
            unnamed = AgentInfo(name=DEFAULT, description="The agent of chats that name none.")
            agents = {DEFAULT: unnamed} | agents
        return json_response(RuntimeInfo(agents=agents))

    async def run(self, request: Request) -> ASGIApp:
        """A message, or answers; the response is what the agent says."""
        agent = request.path_params["agent"]
        is_alias = agent == DEFAULT and all(each.id != DEFAULT for each in self._catalog)
        return await self._ag_ui.answer(request, None if is_alias else agent)

    async def connect(self, request: Request) -> ASGIApp:
        """All that was said in a thread, then what is being said."""
        return await self._ag_ui.connect(request)

    async def stop(self, request: Request) -> Response:
        """End a run; whoever reads it sees how it ends."""
        body = await read_as(request, StopRun)
        return await self._ag_ui.end(
            owner_of(request), request.path_params["thread_id"], body.run_id
        )
