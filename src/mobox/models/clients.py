"""How a function agent reaches models: `mobox.models.client("anthropic")` in its run.

A function has no environment of its own, so the address and the token of its run are in a context
variable. Threads that Mobox starts for it have that context, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import Any, Final, NamedTuple

from mobox.errors import NoModelAccess


class Connection(NamedTuple):
    """What any SDK needs to use the gateway in this run."""

    base_url: str
    api_key: str
    """The token of this run; it is of no use after it."""


_active: ContextVar[Mapping[str, Connection]] = ContextVar("mobox_models")


@contextmanager
def reachable(connections: Mapping[str, Connection]) -> Iterator[None]:
    """What is started in this context finds these connections."""
    before = _active.set(connections)
    try:
        yield
    finally:
        _active.reset(before)


def connection(name: str) -> Connection:
    """The connection to a provider, or to an upstream of the server's settings.

    Raises `NoModelAccess` outside of a run, or if the agent does not name it in `models`.
    """
    connections = _active.get({})
    if name not in connections:
        raise NoModelAccess(name, connections)
    return connections[name]


def client(name: str) -> Any:
    """The async client of the provider's own SDK, which has to be installed.

    `anthropic.AsyncAnthropic`, `google.genai.Client`; `openai.AsyncOpenAI` for all others.
    """
    return _CLIENTS.get(name, _openai)(connection(name))


def _openai(given: Connection) -> Any:
    return import_module("openai").AsyncOpenAI(base_url=given.base_url, api_key=given.api_key)


def _anthropic(given: Connection) -> Any:
    return import_module("anthropic").AsyncAnthropic(
        base_url=given.base_url, api_key=given.api_key, auth_token=None
    )


def _gemini(given: Connection) -> Any:
    options = {"base_url": given.base_url}
    return import_module("google.genai").Client(api_key=given.api_key, http_options=options)


_CLIENTS: Final[Mapping[str, Callable[[Connection], Any]]] = {
    "anthropic": _anthropic,
    "gemini": _gemini,
}
