"""Nothing is lost and nothing comes twice, however often a socket's connection breaks.

The readers are the real client's, all in one Node process. They read one run of two hundred events
while it goes on: it stops again and again, so that each reader comes to its end, waits there, is
told more, and comes back to what was said while it was away.
"""

from __future__ import annotations

from typing import Any

import pytest

from server.live_server import LiveServer
from server.scripted_agent import Gate, Step, a_day_of_work, prompt
from server.server_probe import ServerProbe
from server.socket_clients import Json, SocketClients

TURNS = {"agent-event": 7, "ai-sdk": 3}
EVERY = [1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 199]
"""After how many events, again and again, a connection breaks."""


def script(gate: Gate, turns: int) -> list[Step]:
    """Some turns of work, and before each a gate."""
    work = a_day_of_work(turns)
    length = len(work) // turns
    days = [work[at : at + length] for at in range(0, len(work), length)]
    return [step for day in days for step in (gate.step, *day)]


def cursor_and_data(frame: Json) -> tuple[str, Any]:
    return frame["cursor"], frame["data"]


@pytest.mark.parametrize("transport", ["websocket", "polling"])
@pytest.mark.parametrize("name", ["agent-event", "ai-sdk"])
def test_a_connection_that_breaks_after_every_so_many_events_loses_none(
    sockets: SocketClients,
    server: LiveServer,
    server_probe: ServerProbe,
    chat_id: str,
    gate: Gate,
    name: str,
    transport: str,
) -> None:
    turns = TURNS[name]
    with_gates = script(gate, turns)
    rehearsal = f"{chat_id}-rehearsal"
    speaker = sockets.open(server)
    without = [step for step in with_gates if step != gate.step]
    length = len(server_probe.told(speaker.say(rehearsal, prompt(*without))["runId"], name))
    assert 200 <= length < 300

    run_id = speaker.say(chat_id, prompt(*with_gates))["runId"]
    readers = [{"every": every, "transport": transport} for every in EVERY]
    watch = sockets.watch(server, readers, {"sessionId": chat_id, "format": name}, length)
    for _ in range(turns):
        gate.wait()
        watch.has_read(len(server_probe.told(run_id, name, live="off")))
        gate.open()
    reports = watch.reports()
    whole = server_probe.told(run_id, name)
    for every, report in zip(EVERY, reports, strict=True):
        assert report["failure"] is None
        told = report["told"]
        if name == "agent-event":
            assert told == [event for _, event in whole], every
        else:
            assert [cursor_and_data(frame) for frame in told] == whole, every
        assert report["drops"] == (length - 1) // every
