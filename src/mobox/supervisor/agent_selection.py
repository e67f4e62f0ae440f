"""Selects the agent that answers a request."""

from __future__ import annotations

from contextlib import suppress

from mobox.capture.catalog import Agent, Catalog
from mobox.errors import ChatNotFound, UnknownAgent
from mobox.events.turn import Request
from mobox.storage import Storage


class AgentSelection:
    """The requested agent, else the chat's last, else the default, else the first."""

    def __init__(self, storage: Storage, catalog: Catalog, default: str | None) -> None:
        self._storage = storage
        self._catalog = catalog
        self._default = default

    async def agent_for(self, owner: str, request: Request) -> Agent:
        """Raises `UnknownAgent`."""
        if request.agent is not None:
            return self._catalog.get(request.agent)
        with suppress(ChatNotFound):
            runs = await self._storage.runs(owner, request.chat_id)
            if runs:
                return self._catalog.get(runs[-1].agent)
        if self._default is not None:
            return self._catalog.get(self._default)
        for agent in self._catalog:
            return agent
        raise UnknownAgent("default", ())
