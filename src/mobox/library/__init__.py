"""Mobox as a library, inside your program; docs/library.md is the guide.

Rule 1: no settings are read from the environment, whose variables belong to the program.
Rule 2: every request has an owner, given by the caller or by the `principal` hook.
Rule 3: responses come from the server's own routes, with their checks, limits and errors.
"""

from __future__ import annotations

import hashlib
import inspect
import secrets
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, Self, TypedDict, Unpack

from starlette.applications import Starlette
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from mobox.capture.catalog import Agent, Catalog
from mobox.errors import InvalidSetting, NotOpen, UnknownProtocol
from mobox.events import LogEntry
from mobox.events.turn import Action, Answer, PromptText, UserMessage
from mobox.events.turn import Request as TurnRequest
from mobox.formatters import StoredRun, formatter_of_run, is_indexed
from mobox.library.forwarding import Forwarded, Target, forwarded_owner, scope_of
from mobox.models.config import load_config
from mobox.server.app import create_app, open_services
from mobox.server.auth.authentication import Found, Hook
from mobox.server.eventstream import frames
from mobox.server.formats import served_format
from mobox.server.guard import WITHIN
from mobox.server.services import Services
from mobox.server.session_index import Format
from mobox.settings import ANY, RUNS_PER_OWNER, Settings, parse_setting, setting_text
from mobox.storage import Storage
from mobox.storage.log import Run, pages
from mobox.supervisor import Supervisor
from mobox.supervisor.pruning import Pruned, prune

# The options of `Mobox` and `mount`.


class BrandOptions(TypedDict, total=False):
    """What the page shows of the app around it."""

    name: str
    logo: str | Path
    """An SVG, PNG, JPEG or WebP file."""
    accent: str
    """A colour, `#rrggbb`; it is made darker or lighter where it would not be readable."""
    welcome: str
    """The heading of an empty chat."""
    starters: Sequence[str]
    """Messages to begin with, for agents that have none of their own."""
    hidden: Sequence[str]
    """What the page does not show: names of `mobox.settings.FEATURES`."""


class Options(TypedDict, total=False):
    """The agents, and those settings of a server that apply inside another program."""

    agents: Iterable[Agent | str | Path]
    """Function agents, and folders of agents."""
    agent: str
    """The default agent."""
    data: str | Path
    environments: str | Path
    """The folder of the packages of agents in folders; `mobox agents install` fills it."""
    sandbox: str
    """How agents in folders run; a function is part of the app, and always runs in it."""
    database_url: str
    database_connections: int
    """The most connections of a process to PostgreSQL."""
    redis_url: str
    redis_prefix: str
    allowed_hosts: Sequence[str]
    """Further host names of the app besides loopback; `"*"` allows any."""
    allowed_origins: Sequence[str]
    """Origins of pages that may use it (CORS)."""
    allowed_headers: Sequence[str]
    """Further headers that those pages may send; `"*"` allows any."""
    allow_credentials: bool
    """Whether those pages may send cookies."""
    forwarded_headers: Sequence[str]
    """Request headers that agents get in `turn.frontend`."""
    static_tools: str
    max_body: int
    max_chat_body: int
    files: str
    max_file: int
    max_files_per_owner: int
    max_runs: int
    max_runs_per_owner: int
    max_runs_per_minute: int
    max_streams: int
    when_running: Literal["auto", "interrupt", "reject"]
    max_spares: int
    error_details: Literal["full", "brief"]
    """What clients see of errors; by default brief."""
    hold: float
    lease: float
    models: str | Path
    """The file of upstreams, budgets and prices of models."""
    record_models: bool
    brand: BrandOptions
    """Name, logo, colours and texts of the page."""
    page_modules: Sequence[str | Path]
    """JavaScript modules that the page loads, such as views of your tools."""
    embed_origins: Sequence[str]
    """Origins of pages that may embed the chat in a frame."""


_KNOWN: Final = tuple(Options.__annotations__)
_UNDECORATED: Final = "not an agent: decorate the function with @mobox.agent"


def settings_of(options: Options) -> Settings:
    """The options as a server's settings, by the same rules; runs are limited per owner."""
    given: dict[str, Any] = {"max_runs_per_owner": RUNS_PER_OWNER, "error_details": "brief"}
    for name, value in options.items():
        if name not in _KNOWN:
            raise InvalidSetting(name, str(value), f"unknown option; known: {', '.join(_KNOWN)}")
        if name == "brand":
            given |= _brand_settings(options["brand"])
        elif name != "agents" and (text := setting_text(value)):
            is_any = (name, text) == ("allowed_hosts", ANY)
            given[name] = (ANY,) if is_any else parse_setting(name, text)
    return Settings(**given)


_BRAND: Final = {name: f"brand_{name}" for name in BrandOptions.__annotations__}
_BRAND["hidden"] = "hidden"


def _brand_settings(brand: BrandOptions) -> dict[str, Any]:
    given = {}
    for name, value in brand.items():
        if name not in _BRAND:
            known = ", ".join(_BRAND)
            raise InvalidSetting(f"brand[{name!r}]", str(value), f"unknown; known: {known}")
        is_list = name == "starters" and not isinstance(value, str)
        text = "|".join(brand["starters"]) if is_list else setting_text(value)
        if text:
            given[_BRAND[name]] = parse_setting(_BRAND[name], text, f"brand[{name!r}]")
    return given


def catalog_of(options: Options) -> Catalog:
    """The agents; an invalid one raises, as a program may not show warnings."""
    catalog = Catalog(models=load_config(settings_of(options)).providers)
    agents: Iterable[object] = options.get("agents", ())
    for agent in agents:
        if isinstance(agent, Agent):
            catalog.add(agent)
        elif isinstance(agent, str | Path) and Path(agent).is_dir():
            catalog.add_folder(Path(agent))
        else:
            why = _UNDECORATED if callable(agent) else "no such folder"
            raise InvalidSetting("agents", getattr(agent, "__name__", str(agent)), why)
    for problem in catalog.problems:
        raise problem
    if "agent" in options:
        catalog.get(options["agent"])
    return catalog


_CHATS: Final = {
    "ag-ui": ("/api/agui/chat", "/api/agui/agents/{}"),
    "ai-sdk": ("/api/chat", "/api/chat"),
}
"""The routes of a protocol's clients: for the default agent, and for a named one."""
_FILES: Final = "/api/files"
_CONNECT: Final = "/api/agui/chat/connect"


class Mobox:
    """An embedded server, opened by `async with` or by the app that it is mounted in.

    It is also an ASGI application.
    """

    def __init__(self, principal: Hook | None = None, **options: Unpack[Options]) -> None:
        self._principal = principal
        self._settings = settings_of(options)
        self._catalog = catalog_of(options)
        self._mounted_at = ""
        self._opened = AsyncExitStack()
        self._services: Services | None = None
        self._app: ASGIApp | None = None

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as opened:  # closed again unless everything succeeds
            opening = open_services(self._settings, self._catalog)
            services = await opened.enter_async_context(opening)
            self._app = create_app(services, self._who)
            self._services, self._opened = services, opened.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            await self._opened.aclose()
        finally:
            self._services = self._app = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._app is None:
            raise NotOpen
        await self._app({**scope, WITHIN: True}, receive, send)

    async def _who(self, connection: HTTPConnection) -> Found:
        """The owner that a forwarded request was made for, else the principal of the app's hook."""
        owner = forwarded_owner(connection)
        if owner is not None or self._principal is None:
            return owner
        found = self._principal(connection)
        return await found if inspect.isawaitable(found) else found

    # In a route of your own

    async def respond(
        self,
        request: Request,
        *,
        owner: str | None = None,
        agent: str | None = None,
        protocol: str = "ai-sdk",
    ) -> Response:
        """The response to a chat request of the AI SDK's `useChat` or of an AG-UI client.

        Disconnecting does not stop the run; `resume`, `connect` and `stream` continue reading it.
        """
        if protocol not in _CHATS:
            raise UnknownProtocol(protocol, _CHATS)
        path = _CHATS[protocol][agent is not None].format(agent)
        return self._forward(request, Target("POST", path, owner, agent))

    def resume(self, request: Request, chat_id: str, *, owner: str | None = None) -> Response:
        """The message of a chat's active run, for a `useChat` that reconnects."""
        return self._forward(request, Target("GET", f"/api/chat/{chat_id}/stream", owner))

    def connect(self, request: Request, *, owner: str | None = None) -> Response:
        """The history of a thread, then its active run, for an AG-UI client."""
        return self._forward(request, Target("POST", _CONNECT, owner))

    def stream(
        self,
        request: Request,
        run_id: str,
        *,
        owner: str | None = None,
        protocol: str | None = None,
        profile: str | None = None,
    ) -> Response:
        """A run in any protocol (by default its log), from `Last-Event-ID`, then live."""
        path, query = f"/api/runs/{run_id}/events", {"format": protocol, "profile": profile}
        return self._forward(request, Target("GET", path, owner, query=query))

    def upload(self, request: Request, *, owner: str | None = None) -> Response:
        """Store a file that a page uploads, for its next message."""
        return self._forward(request, Target("POST", _FILES, owner))

    def file(self, request: Request, file_id: str, *, owner: str | None = None) -> Response:
        """A file of a message. Serve it at `/api/files/{file_id}`, if Mobox is not mounted."""
        return self._forward(request, Target("GET", f"{_FILES}/{file_id}", owner))

    def _forward(self, request: Request, target: Target) -> Response:
        scope = scope_of(request, target, self._mounted_at)
        return Forwarded(self, scope, request if target.method == "POST" else None)

    # Without a request

    async def begin(
        self,
        owner: str,
        prompt: str,
        *,
        agent: str | None = None,
        chat_id: str | None = None,
        key: str | None = None,
    ) -> Run:
        """Send a prompt to an agent, in a chat or a new one; the same `key` gives the same run."""
        name = secrets.token_hex(8) if key is None else _name_of(owner, key)
        message = UserMessage(id=f"m_{name}", parts=(PromptText(text=prompt),))
        request = TurnRequest(
            chat_id=chat_id or f"chat_{name}",
            action=Action.SUBMIT,
            agent=agent,
            message=message,
            idempotency_key=key,
        )
        return (await self.supervisor.begin(owner, request)).run

    async def log(
        self, owner: str, run_id: str, after: int = 0, *, live: bool = True
    ) -> AsyncIterator[LogEntry]:
        """The log entries of a run; with `live` also those that come until it ends."""
        run = await self.storage.run(owner, run_id)
        batches = self.storage.follow if live else partial(pages, self.storage)
        with self._open.readers.reading(run) if live else nullcontext():
            async for batch in batches(run.id, after):
                for entry in batch:
                    yield entry

    async def frames(
        self, owner: str, run_id: str, protocol: str = "ai-sdk", profile: str | None = None
    ) -> AsyncIterator[bytes]:
        """A run as Server-Sent Events of a protocol, until it ends or waits."""
        run = await self.storage.run(owner, run_id)
        fmt = served_format(self._settings, protocol, profile)
        index = await self._first_index(run, fmt) if is_indexed(protocol) else 0
        stored = StoredRun(id=run.id, chat_id=run.chat_id, owner=owner, first_event_index=index)
        formatter = formatter_of_run(protocol, stored, fmt.profile)
        with self._open.readers.reading(run):
            async for batch in frames(self.storage, run.id, formatter):
                yield batch

    async def _first_index(self, run: Run, fmt: Format) -> int:
        """Wait for the run's first entry: by then a waiting run before it has ended."""
        await self.storage.beyond(run.id, 0)
        return await self._open.index.first_of(run, fmt)

    async def answer(self, owner: str, run_id: str, *answers: Answer) -> Run:
        """Answer a waiting run, which then continues."""
        return (await self.supervisor.answer(owner, run_id, answers)).run

    async def stop(self, owner: str, run_id: str) -> Run:
        """Stop a run."""
        return await self.supervisor.stop(owner, run_id)

    async def prune(self, older_than: timedelta) -> Pruned:
        """Delete chats without activity for this long."""
        return await prune(self.storage, self._settings.data, older_than)

    @property
    def storage(self) -> Storage:
        """Chats, runs and their logs."""
        return self._open.storage

    @property
    def supervisor(self) -> Supervisor:
        """Executes the runs."""
        return self._open.supervisor

    @property
    def _open(self) -> Services:
        if self._services is None:
            raise NotOpen
        return self._services


def _name_of(owner: str, key: str) -> str:
    """A name for an owner's key: chat ids are global, and owners may use the same keys."""
    return hashlib.sha256(f"{len(owner)}:{owner}{key}".encode()).hexdigest()


def mount(
    app: Starlette, path: str = "/mobox", *, principal: Hook, **options: Unpack[Options]
) -> Mobox:
    """Serve all of Mobox below `path` of a FastAPI or Starlette app, during the app's lifespan.

    `principal` authenticates each request: it returns an owner's name, a `Principal`, or `None`.
    """
    box = Mobox(principal, **options)
    app.mount(path, box, name="mobox")
    box._mounted_at = path.rstrip("/")
    theirs = app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(running: Any) -> AsyncIterator[Any]:
        async with box, theirs(running) as state:
            try:
                yield state
            finally:  # before the app closes resources that function agents may use
                await box.supervisor.close()

    app.router.lifespan_context = lifespan
    return box
