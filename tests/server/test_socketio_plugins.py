"""A format that somebody else wrote, told over a socket."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx

from server.live_server import live_server
from server.scripted_agent import prompt, text
from server.socket_clients import SocketClients

METADATA = "Metadata-Version: 2.1\nName: tally\nVersion: 1.0\n"
ENTRY_POINTS = "[mobox.formatters]\ntally = tally:TallyFormatter\n"
PACKAGE = """
from mobox.events import Done

class TallyFormatter:
    PROFILES = ("strokes",)
    INDEXED = True

    def __init__(self, message_id, profile, first=0):
        self.entries, self.first = 0, first

    @classmethod
    def of_run(cls, run, profile):
        return cls(run.id, profile, run.first_event_index)

    def format(self, entry):
        self.entries += 1
        told = b'{"strokes":%d,"first":%d}' % (self.entries, self.first)
        return [told] if isinstance(entry.event, Done) else []

    def pause(self):
        return []

    def resume(self):
        return []
"""


def test_format_with_own_event_numbers_is_sent_unchanged(
    sockets: SocketClients, tmp_path: Path, agents: Path
) -> None:
    info = tmp_path / "tally-1.0.dist-info"
    info.mkdir()
    (tmp_path / "tally.py").write_text(PACKAGE)
    (info / "METADATA").write_text(METADATA)
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    data = tmp_path / "data"
    with live_server(data, "--agents", agents, PYTHONPATH=str(tmp_path)) as server:
        socket = sockets.open(server)
        socket.join("c", format="tally")
        run_id = socket.say("c", prompt(text("Hi")))["runId"]
        [frame] = socket.read("agent:frame")
        assert frame["runId"] == run_id
        assert frame["data"]["strokes"] > 1
        assert frame["data"]["first"] == 0
        socket.say("c", prompt(text("Hi")))
        _, later = socket.read("agent:frame", 2)
        assert later["data"]["first"] == 1, "the run before wrote one document"
        socket.close()
        path = f"/api/runs/{later['runId']}/inspect?format=tally,agent-event&live=off"
        rows = rows_of(httpx.get(server.url + path).raise_for_status().text)
    [told] = [frame for row in rows for frame in row["frames"]["tally"]]
    assert told == later["data"], "and so in the inspector, beside one that has other numbers"
    assert rows[0]["frames"]["agent-event"][0]["eventIndex"] > 1


def rows_of(body: str) -> list[dict[str, Any]]:
    lines = body.splitlines()
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
