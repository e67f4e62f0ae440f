"""What sockets cost."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from mobox.delivery import socketio
from mobox.delivery.socketio import OwnRooms, Socket, Sockets
from mobox.delivery.socketio_packets import EventPayload
from mobox.events import JSON


class Uncopied(dict[Any, Any]):
    """Rooms that nobody looks through."""

    def copy(self) -> dict[Any, Any]:
        raise AssertionError("all rooms were looked at")


class Nobody:
    async def connect(self, socket: Socket, auth: JSON) -> socketio.Refusal | None:
        return None

    async def handle(self, socket: Socket, event: str, said: EventPayload) -> object:
        return None

    async def disconnect(self, socket: Socket) -> None:
        pass

    async def drain(self) -> None:
        pass


async def test_leaving_client_is_looked_up_at_its_process() -> None:
    sockets = Sockets(Nobody(), max_bytes=1000)
    manager = sockets._server.manager
    assert isinstance(manager, OwnRooms)
    manager.rooms["/"] = Uncopied()
    names = [await manager.connect(f"engine-{n}", "/") for n in range(3)]
    first, second, third = names
    await manager.disconnect(second, "/", ignore_queue=True)
    assert [manager.is_connected(name, "/") for name in names] == [True, False, True]
    assert manager.rooms["/"].keys() == {None, first, third}
    assert manager.eio_sid_from_sid(third, "/") == "engine-2"
    for name in (third, second, first):
        await manager.disconnect(name, "/", ignore_queue=True)
    assert not manager.rooms


def test_no_packet_is_written_to_a_log(caplog: pytest.LogCaptureFixture) -> None:
    sockets = Sockets(Nobody(), max_bytes=1000)
    for logger in (sockets._server.logger, sockets._engine.logger):
        assert not logger.isEnabledFor(logging.WARNING)
        logger.error("a client said something odd")
        assert not caplog.records
        logger.exception("what breaks is told", exc_info=ValueError())
        assert len(caplog.records) == 1
        caplog.clear()
