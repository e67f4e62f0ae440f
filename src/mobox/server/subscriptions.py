"""A session that a socket has joined: sends its events to the socket, with backpressure."""

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
from mobox.server.session_reader import Session, SessionBatch, SessionReader
from mobox.storage.log import RunId

__all__ = ["Subscription"]

PendingInputs = Callable[[RunId], Awaitable[tuple[InputRequest, ...]]]

logger = logging.getLogger(__name__)
encode = msgspec.json.Encoder().encode


class Subscription:
    """One socket's reading of one session, in a task of its own."""

    def __init__(
        self,
        socket: Socket,
        session: Session,
        reading: SessionReader,
        pending_inputs: PendingInputs,
        indexed: bool,
    ) -> None:
        self._socket = socket
        self._session = session
        self._reading = reading
        self._pending_inputs = pending_inputs
        self._send = self._event if indexed else self._frame
        self._task: asyncio.Task[None] | None = None
        self.is_over = False
        """Whether it has stopped for good."""

    @property
    def is_quiet(self) -> bool:
        """Whether everything that is stored was sent."""
        return self.is_over or self._reading.is_quiet

    async def quiet(self) -> None:
        """Wait for that."""
        if not self.is_over:
            await self._reading.quiet()

    def start(self) -> None:
        """Start sending, unless it was stopped before."""
        if not self.is_over:
            self._task = asyncio.create_task(self._send_all())

    async def stop(self) -> None:
        """Stop sending.

        This task itself may find that the socket is closed, and be the caller: it then ends by
        itself.
        """
        self.is_over = True
        if self._task is not None and self._task is not asyncio.current_task():
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _send_all(self) -> None:
        try:
            async with aclosing(self._reading.told()) as batches:
                async for batch in batches:
                    await self._send_batch(batch)
                    del batch  # the next one may take long
        except SocketClosed:
            pass
        except MoboxError as error:
            if isinstance(error, NotFound):  # the chat was deleted
                logger.info("stream of session %s aborted: %s", self._session.id, error)
            await self._abort(explain(error, f"stream of session {self._session.id}").error)
        except Exception:
            logger.exception("stream of session %s aborted", self._session.id)
            await self._abort(OUR_FAULT)
        finally:
            self.is_over = True

    async def _abort(self, error: dict[str, Any]) -> None:
        with suppress(SocketClosed):
            about = {"sessionId": self._session.id, "error": error}
            await self._socket.emit("session:error", encode(about))

    async def _send_batch(self, batch: SessionBatch) -> None:
        about = encode({"sessionId": self._session.id, "runId": batch.run.id})[:-1]
        for cursor, document in batch.documents:
            await self._send(about, cursor, document)
        if batch.waits and (requests := await self._pending_inputs(batch.run.id)):
            waiting = Waiting.of(self._session.id, batch.run.id, requests)
            await self._socket.emit("session:waiting", encode(waiting))

    async def _event(self, _about: bytes, _cursor: bytes, document: bytes) -> None:
        await self._socket.emit("agent:event", document)

    async def _frame(self, about: bytes, cursor: bytes, document: bytes) -> None:
        # A document that is not a JSON object, such as `[DONE]`, is sent as a string.
        data = document if document.startswith(b"{") else encode(document.decode())
        frame = b'%b,"cursor":"%b","data":%b}' % (about, cursor, data)
        await self._socket.emit("agent:frame", frame)
