"""A session that a socket has joined: what is told there goes to the socket, at its pace."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Any

import msgspec

from mobox.delivery.socketio import Socket, SocketClosed
from mobox.errors import MoboxError, NotFound
from mobox.events import InputRequest
from mobox.server.errors import OUR_FAULT, explain
from mobox.server.session_messages import Waiting
from mobox.server.session_reading import Session, SessionReading, Told
from mobox.storage.log import RunId

__all__ = ["Subscription"]

Asked = Callable[[RunId], Awaitable[tuple[InputRequest, ...]]]

logger = logging.getLogger(__name__)
encode = msgspec.json.Encoder().encode


class Subscription:
    """One socket's reading of one session, in a task of its own."""

    def __init__(
        self, socket: Socket, session: Session, reading: SessionReading, asked: Asked, indexed: bool
    ) -> None:
        self._socket = socket
        self._session = session
        self._reading = reading
        self._asked = asked
        self._send = self._event if indexed else self._frame
        self._task: asyncio.Task[None] | None = None
        self.is_over = False
        """Whether nothing more is told, whatever comes."""

    @property
    def is_quiet(self) -> bool:
        """Whether all was told that there is."""
        return self.is_over or self._reading.is_quiet

    async def quiet(self) -> None:
        """Wait for that."""
        if not self.is_over:
            await self._reading.quiet()

    def start(self) -> None:
        """Begin to tell, unless it was stopped before."""
        if not self.is_over:
            self._task = asyncio.create_task(self._tell_all())

    async def stop(self) -> None:
        """Tell nothing more.

        A socket may turn out to be gone when something is said to it: then it is this task that
        stops, which ends by itself as there is nobody to talk to.
        """
        self.is_over = True
        if self._task is not None and self._task is not asyncio.current_task():
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _tell_all(self) -> None:
        try:
            async with aclosing(self._reading.told()) as told:
                async for each in told:
                    await self._tell(each)
                    del each  # it may be long until there is another
        except SocketClosed:
            pass
        except MoboxError as error:
            if isinstance(error, NotFound):  # somebody deleted the chat
                logger.info("a session broke off: %s", error)
            await self._break_off(explain(error, "a session").error)
        except Exception:
            logger.exception("a session broke off")
            await self._break_off(OUR_FAULT)
        finally:
            self.is_over = True

    async def _break_off(self, error: dict[str, Any]) -> None:
        with suppress(SocketClosed):
            about = {"sessionId": self._session.id, "error": error}
            await self._socket.emit("session:error", encode(about))

    async def _tell(self, told: Told) -> None:
        about = encode({"sessionId": self._session.id, "runId": told.run.id})[:-1]
        for cursor, document in told.documents:
            await self._send(about, cursor, document)
        if told.waits and (requests := await self._asked(told.run.id)):
            waiting = Waiting.of(self._session.id, told.run.id, requests)
            await self._socket.emit("session:waiting", encode(waiting))

    async def _event(self, _about: bytes, _cursor: bytes, document: bytes) -> None:
        await self._socket.emit("agent:event", document)

    async def _frame(self, about: bytes, cursor: bytes, document: bytes) -> None:
        # A document that is no object, as the last one of a response may be, is told as text.
        data = document if document.startswith(b"{") else encode(document.decode())
        frame = b'%b,"cursor":"%b","data":%b}' % (about, cursor, data)
        await self._socket.emit("agent:frame", frame)
