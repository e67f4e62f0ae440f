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
from mobox.server.ag_ui import endpoint
from mobox.server.auth.principal import owner_of
from mobox.server.services import Services, json_response, read_as

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


async def info(_request: Request, services: Services) -> Response:
    """List the agents; `default` is the one of requests that name none."""
    agents = {
        agent.id: AgentInfo(name=agent.name, description=agent.description)
        for agent in services.supervisor.catalog
    }
    if agents:
        unnamed = AgentInfo(name=DEFAULT, description="The default agent.")
        agents = {DEFAULT: unnamed} | agents
    return json_response(RuntimeInfo(agents=agents))


async def run(request: Request, services: Services) -> ASGIApp:
    """A message or answers; the response streams the agent's output."""
    agent, catalog = request.path_params["agent"], services.supervisor.catalog
    is_alias = agent == DEFAULT and all(each.id != DEFAULT for each in catalog)
    return await endpoint.answer(request, services, None if is_alias else agent)


async def stop(request: Request, services: Services) -> Response:
    """Stop a run; its readers see how it ends."""
    body = await read_as(request, StopRun)
    thread_id = request.path_params["thread_id"]
    return await endpoint.stop_thread(services, owner_of(request), thread_id, body.run_id)
