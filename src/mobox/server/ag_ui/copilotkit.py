"""The runtime API that CopilotKit's frontends expect, so that they need no runtime server.

Its threads are ordinary chats: they survive page reloads, dropped connections and restarts.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from mobox import __version__
from mobox.formatters.bodies import Id
from mobox.server.ag_ui.endpoint import AGUIRoutes
from mobox.server.services import Services, json_response, owner_of, read_as

DEFAULT: Final = "default"
"""The agent name that a frontend uses where none is configured."""


class AgentInfo(Struct, rename="camel", kw_only=True):
    """An agent as a frontend lists it."""

    name: str
    class_name: str = "Agent"
    description: str = ""


class RuntimeInfo(Struct, rename="camel", kw_only=True):
    """The response to a frontend's first request."""

    version: str = __version__
    agents: dict[str, AgentInfo]
    mode: str = "sse"
    audio_file_transcription_enabled: bool = False
    telemetry_disabled: bool = True


class StopRun(Struct, rename="camel"):
    """Which request of the thread to stop: a late stop must not end a newer one."""

    run_id: Id | None = None


class CopilotKitRoutes:
    """`/api/copilotkit` and what is below it."""

    def __init__(self, services: Services) -> None:
        self._catalog = services.supervisor.catalog
        self._ag_ui = AGUIRoutes(services)

    async def info(self, _request: Request) -> Response:
        """List the agents; `default` is the one of requests that name none."""
        agents = {
            agent.id: AgentInfo(name=agent.name, description=agent.description)
            for agent in self._catalog
        }
        if agents:
            unnamed = AgentInfo(name=DEFAULT, description="The default agent.")
            agents = {DEFAULT: unnamed} | agents
        return json_response(RuntimeInfo(agents=agents))

    async def run(self, request: Request) -> ASGIApp:
        """A message or answers; the response streams the agent's output."""
        agent = request.path_params["agent"]
        is_alias = agent == DEFAULT and all(each.id != DEFAULT for each in self._catalog)
        return await self._ag_ui.answer(request, None if is_alias else agent)

    async def connect(self, request: Request) -> ASGIApp:
        """The history of a thread, then its active run."""
        return await self._ag_ui.connect(request)

    async def stop(self, request: Request) -> Response:
        """Stop a run; its readers see how it ends."""
        body = await read_as(request, StopRun)
        return await self._ag_ui.end(
            owner_of(request), request.path_params["thread_id"], body.run_id
        )
