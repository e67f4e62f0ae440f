"""The state of a server as HTTP shows it, for tests of something else."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import quote

import httpx

from server.live_server import LiveServer, message
from server.stored_runs import told_in

Json = dict[str, Any]


class ServerProbe:
    """The server as HTTP shows it."""

    def __init__(self, http: httpx.Client, server: LiveServer) -> None:
        self._http = http
        self._url = server.url

    def told(self, run_id: str, name: str, **query: str) -> list[tuple[str, Any]]:
        """A run, to its end: each document with its cursor."""
        path = f"{self._url}/api/runs/{run_id}/events"
        body = self._http.get(path, params={"format": name, **query}).raise_for_status().text
        return [(told.id or "", _document(told.data)) for told in told_in(body)]

    def events(self, *run_ids: str) -> list[Json]:
        """The events of the contract."""
        return [event for run_id in run_ids for _, event in self.told(run_id, "agent-event")]

    def say(self, chat_id: str, words: str) -> None:
        """A turn of the AI SDK, to its end."""
        self._http.post(f"{self._url}/api/chat", json=message(chat_id, words)).raise_for_status()

    def delete(self, chat_id: str) -> None:
        path = f"{self._url}/api/chats/{quote(chat_id, safe='')}"
        self._http.delete(path).raise_for_status()

    def metric(self, name: str) -> float:
        body = self._http.get(f"{self._url}/metrics").text
        found = re.search(rf"^{re.escape(name)} (\S+)$", body, re.MULTILINE)
        return float(found[1]) if found else 0.0


def _document(data: str) -> Any:
    return json.loads(data) if data.startswith("{") else data
