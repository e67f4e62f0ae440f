"""The route about the server itself: its version, its limits, and where its agents run."""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from mobox import __version__
from mobox.server.auth.principal import sees_details
from mobox.server.services import Services, json_response
from mobox.supervisor.sandboxes import Chosen

WORKERS: Final = "Workers execute the agents: each has a sandbox of its own."


class SandboxView(Struct, kw_only=True):
    """The sandbox of agents that ask for no other."""

    name: str
    isolates: bool
    """Whether an agent can reach neither the server nor other agents' files and processes."""
    reason: str | None = None
    """Why `auto` chose none that isolates. This and the next two are for those who see the details
    of errors."""
    limits: dict[str, str] = {}
    """How each limit is enforced."""
    notes: list[str] = []


class UploadLimits(Struct, rename="camel", kw_only=True):
    """What may be uploaded, in bytes."""

    max_file: int
    """The largest file."""
    max_files_per_owner: int
    """All files of an owner together."""


class ServerView(Struct, kw_only=True):
    """A server."""

    version: str
    executes: bool
    """Whether it executes agents; else workers do."""
    uploads: UploadLimits
    sandbox: SandboxView | None = None
    """`null` where workers execute the agents."""
    notice: str = ""
    """Why there is no `sandbox`, as a sentence."""


async def read_server(request: Request, services: Services) -> Response:
    """What a client may know of this server."""
    supervisor, settings = services.supervisor, services.settings
    uploads = UploadLimits(
        max_file=settings.max_file, max_files_per_owner=settings.max_files_per_owner
    )
    about = ServerView(version=__version__, executes=supervisor.executes, uploads=uploads)
    if not supervisor.executes:
        return json_response(replace(about, notice=WORKERS))
    view = _view(supervisor.sandboxes.default, sees_details(request, settings))
    return json_response(replace(about, sandbox=view))


def _view(chosen: Chosen, with_details: bool) -> SandboxView:
    name, isolates = chosen.name, chosen.sandbox.isolates
    if not with_details:
        return SandboxView(name=name, isolates=isolates)
    return SandboxView(
        name=name,
        isolates=isolates,
        reason=chosen.reason,
        limits=dict(chosen.probe.limits.items()),
        notes=list(chosen.probe.notes),
    )
