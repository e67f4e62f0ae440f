"""The runtime API that CopilotKit's frontends expect around AG-UI's routes.

They need no runtime server of their own. They use several routes, or one route with the method in
the body; without a setting they try the several first, and then the one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from msgspec import Struct, field
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.types import ASGIApp

from mobox import __version__
from mobox.errors import InvalidRequest
from mobox.events import JSON
from mobox.formatters.ag_ui.files import file_places
from mobox.formatters.bodies import Id, convert, expected
from mobox.server.ag_ui import connect_thread, respond, stop_thread
from mobox.server.auth.principal import owner_of, principal_of
from mobox.server.files.bodies import read_chat_body
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


class Params(Struct, rename="camel"):
    """What the other routes have in their path."""

    agent_id: Id | None = None
    thread_id: Id | None = None


class Call(Struct):
    """A request to the single route."""

    method: str
    params: Params = field(default_factory=Params)
    body: JSON = None


async def info(_request: HttpRequest, services: Services) -> Response:
    """List the agents; `default` is the one of requests that name none."""
    agents = {
        agent.id: AgentInfo(name=agent.name, description=agent.description)
        for agent in services.supervisor.catalog
    }
    if agents:
        unnamed = AgentInfo(name=DEFAULT, description="The default agent.")
        agents = {DEFAULT: unnamed} | agents
    return json_response(RuntimeInfo(agents=agents))


async def run(request: HttpRequest, services: Services) -> ASGIApp:
    """A message or answers; the response streams the agent's output."""
    agent = _agent(services, request.path_params["agent"])
    async with read_chat_body(request, services.settings, file_places) as posted:
        return await respond(request, services, agent, posted)


async def stop(request: HttpRequest, services: Services) -> Response:
    """Stop a run; its readers see how it ends."""
    body = await read_as(request, StopRun)
    thread_id = request.path_params["thread_id"]
    return await stop_thread(services, owner_of(request), thread_id, body.run_id)


async def single(request: HttpRequest, services: Services) -> ASGIApp:
    """The route that names its method in the body."""
    async with read_chat_body(request, services.settings, _file_places) as posted:
        call = convert("", posted.value, Call)
        if call.method not in _METHODS:
            raise InvalidRequest("method", expected(_METHODS, call.method))
        scope, handler = _METHODS[call.method]
        principal_of(request).check(scope)
        if handler is not None:
            return await handler(request, services, call)
        agent = _agent(services, call.params.agent_id)
        return await respond(request, services, agent, posted, lambda value: value.get("body"))


def _file_places(value: JSON) -> Iterable[str]:
    return file_places(value.get("body") if isinstance(value, dict) else None)


async def _single_info(request: HttpRequest, services: Services, _call: Call) -> ASGIApp:
    return await info(request, services)


async def _single_connect(request: HttpRequest, services: Services, call: Call) -> ASGIApp:
    return await connect_thread(request, services, call.body)


async def _single_stop(request: HttpRequest, services: Services, call: Call) -> ASGIApp:
    if call.params.thread_id is None:
        raise InvalidRequest("params.threadId", "expected a value, got none")
    body = convert("body", {} if call.body is None else call.body, StopRun)
    return await stop_thread(services, owner_of(request), call.params.thread_id, body.run_id)


_METHODS: Final[
    dict[str, tuple[str, Callable[[HttpRequest, Services, Call], Awaitable[ASGIApp]] | None]]
] = {
    "info": ("read", _single_info),
    "agent/run": ("write", None),
    "agent/connect": ("read", _single_connect),
    "agent/stop": ("write", _single_stop),
}
"""By method: the scope that a key needs, and the handler; a run needs the files of the body too."""


def _agent(services: Services, name: str | None) -> str | None:
    """The agent of a request; `None`, the default, if it names none and none is called so."""
    is_alias = name == DEFAULT and all(each.id != DEFAULT for each in services.supervisor.catalog)
    return None if is_alias else name
