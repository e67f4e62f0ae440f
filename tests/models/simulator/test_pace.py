"""When the simulated model waits: between the pieces of a stream, and where a script says so."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from mobox.models.simulator import Fail, Script, Stall, Text, Wait, simulator
from mobox.models.simulator.answer import pieces as pieces_of
from mobox.models.simulator.app import FIRST, PACE, Simulator
from mobox.models.simulator.request import tokens_in
from models.simulator.asking import WIRES, Wire

each_wire = pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
TEXT = "One two extraordinarily long words."
SCRIPT = Script(
    {
        "text": [[Text(TEXT)]],
        "wait": [[Text("One"), Wait(3), Text(" two.")]],
        "slow": [[Wait(2), Fail(429)]],
        "stall": [[Text("One"), Stall(7)]],
        "ever": [[Text("One"), Stall()]],
    }
)


async def waits_of(
    wire: Wire, name: str, *, stream: bool = True, pace: float = 0
) -> list[float | None]:
    """The seconds that a request of a scenario waits, in order, without waiting them."""
    waits, _ = await exchange(wire, name, stream=stream, pace=pace)
    return waits


async def exchange(
    wire: Wire, name: str, *, stream: bool, pace: float
) -> tuple[list[float | None], int]:
    """The waits of a request, and the status of its response, which may break off."""
    waits: list[float | None] = []
    sent: list[Any] = []
    body = json.dumps(wire.body(f"[[{name}]] Go.", stream=stream)).encode()
    received = [{"type": "http.request", "body": body}]

    async def sleep(_client: asyncio.Future[Any], seconds: float | None) -> bool:
        waits.append(seconds)
        return False

    async def receive() -> dict[str, Any]:
        return received.pop() if received else await asyncio.Future()

    async def send(message: Any) -> None:
        sent.append(message)

    path, _, query = ((stream and wire.stream_path) or wire.path).partition("?")
    scope: dict[str, Any] = {"type": "http", "method": "POST", "path": path, "headers": []}
    scope["query_string"] = query.encode()
    await Simulator(SCRIPT, pace, sleep)(scope, receive, send)
    return waits, sent[0]["status"]


@each_wire
async def test_each_piece_takes_the_time_of_its_tokens(wire: Wire) -> None:
    first, *pieces = await waits_of(wire, "text", pace=10)
    assert first == FIRST / 10
    assert pieces == [tokens_in(piece) / 10 for piece in pieces_of(TEXT)]


@each_wire
async def test_no_pace_means_no_wait(wire: Wire) -> None:
    assert await waits_of(wire, "text") == []


@each_wire
async def test_wait_is_between_the_pieces_or_before_the_whole(wire: Wire) -> None:
    assert await waits_of(wire, "wait") == [3]
    one, two = 1 / PACE, tokens_in(" two.") / PACE
    assert await waits_of(wire, "wait", pace=PACE) == [FIRST / PACE, one, 3, two]
    assert await waits_of(wire, "wait", stream=False, pace=PACE) == [3]


@each_wire
async def test_stall_waits_as_long_as_it_says(wire: Wire) -> None:
    assert await waits_of(wire, "stall") == [7]
    assert await waits_of(wire, "ever") == [None]


@each_wire
@pytest.mark.parametrize("stream", [True, False])
async def test_error_after_a_wait_is_still_the_response(wire: Wire, stream: bool) -> None:
    assert await exchange(wire, "slow", stream=stream, pace=PACE) == ([2], 429)


@pytest.mark.parametrize(
    ("of_script", "given", "pace"), [(None, None, PACE), (5, None, 5), (5, 0, 0), (None, 9, 9)]
)
def test_pace_is_the_callers_else_the_scripts(
    of_script: float | None, given: float | None, pace: float
) -> None:
    app = simulator(Script(pace=of_script), pace=given)
    assert isinstance(app, Simulator)
    assert app.pace == pace
