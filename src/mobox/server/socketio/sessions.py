"""Handles the events of Socket.IO clients; docs/socketio.md is the contract.

Rule 1: a session is a chat, which clients of other protocols may use too.
Rule 2: an event is acknowledged with its result or `{"error"}`; without an acknowledgement
        callback, errors are sent as `session:error` events.
Rule 3: joining a session again restarts its stream, from the cursor of the new request.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Any, ClassVar, Final

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection

from mobox.delivery.socketio import Refusal, Socket
from mobox.delivery.socketio_packets import EventPayload, SocketClosed
from mobox.errors import InvalidRequest, MoboxError, NotFoundError, TooManySessions, UnknownProfile
from mobox.events import JSON
from mobox.formatters import profiles_of
from mobox.formatters.ai_sdk.requests import read_request
from mobox.formatters.bodies import convert, expected
from mobox.server.actions import ChatActions, RunState
from mobox.server.auth.authentication import authenticator_of, with_key
from mobox.server.auth.connections import OpenConnection
from mobox.server.auth.principal import principal_of
from mobox.server.errors import OUR_FAULT, explain, explain_status
from mobox.server.files.bodies import ChatBody
from mobox.server.formats import served_format
from mobox.server.metrics import Registry
from mobox.server.readers import Readers
from mobox.server.services import forwarded_headers
from mobox.server.session_index import Format, SessionIndex
from mobox.server.socketio.messages import Answering, Join, Joined, Leave, Stop, Waiting, body_of
from mobox.server.socketio.reader import (
    FramedSession,
    IndexedSession,
    Session,
    SessionBatch,
    SessionReader,
    SessionSources,
)
from mobox.settings import Settings
from mobox.storage import Storage
from mobox.storage.log import Run
from mobox.supervisor.input_requests import input_requests_of

AGENT_EVENTS: Final = "agent-event"
MOST_SESSIONS: Final = 100
"""Maximum number of sessions that one socket may join."""

Handler = Callable[["Sessions", Socket, str, JSON], Awaitable[object]]
"""Gets the socket, the owner of its client, and the payload; returns the acknowledgement."""

logger = logging.getLogger(__name__)
encode = msgspec.json.Encoder().encode


class Sessions:
    """Handles all sockets of a server."""

    def __init__(
        self,
        settings: Settings,
        storage: Storage,
        actions: ChatActions,
        index: SessionIndex,
        readers: Readers,
        metrics: Registry,
    ) -> None:
        self._settings = settings
        self._storage = storage
        self._actions = actions
        self._sources = SessionSources(storage, index, readers)
        self._joined: dict[Socket, dict[str, Subscription]] = {}
        self._connections: dict[Socket, OpenConnection] = {}
        self._handled = metrics.counter(
            "mobox_socket_answers_total", "Socket.IO events handled.", ("event", "outcome")
        )
        metrics.gauge(
            "mobox_sessions", "Sessions joined by Socket.IO clients.", lambda: len(self._active())
        )

    async def connect(self, socket: Socket, auth: JSON) -> Refusal | None:
        """Authenticate a client; while connected, it counts towards its owner's stream limit."""
        authenticator = authenticator_of(HTTPConnection(socket.scope))
        try:
            request = HTTPConnection(with_key(socket.scope, auth))
            principal = await authenticator.authenticate(request)
            connection = authenticator.connections.add(principal)
            await authenticator.connections.check_all_processes(connection)
        except MoboxError as problem:
            return explain(problem, "connect").error
        except HTTPException as refused:  # raised by the app's hook
            return explain_status(refused).error
        except Exception:
            logger.exception("authentication of a socket failed")
            return OUR_FAULT
        authenticator.remember(socket.scope, principal)
        connection.end = socket.hang_up
        self._connections[socket] = connection
        return None

    async def disconnect(self, socket: Socket) -> None:
        """Stop the subscriptions of a client that has disconnected."""
        if (connection := self._connections.pop(socket, None)) is not None:
            authenticator_of(HTTPConnection(socket.scope)).connections.remove(connection)
        for subscription in self._joined.pop(socket, {}).values():
            await subscription.stop()

    async def drain(self) -> None:
        """Wait until every subscription has sent everything that is stored."""
        while waiting := [each for each in self._active() if not each.is_idle]:
            await asyncio.gather(*(each.drain() for each in waiting))

    def _active(self) -> list[Subscription]:
        every = (each for joined in self._joined.values() for each in joined.values())
        return [each for each in every if not each.is_over]

    async def handle(self, socket: Socket, event: str, message: EventPayload) -> object:
        """Handle an event; returns the acknowledgement."""
        answer: object = None
        error: dict[str, Any] | None = None
        try:
            scope, handler = self._handler(event, message)
            principal = principal_of(HTTPConnection(socket.scope))
            principal.check(scope)
            if scope == "write":
                connections = authenticator_of(HTTPConnection(socket.scope)).connections
                await connections.check(principal)
            answer = await handler(self, socket, principal.owner, message.payload)
        except SocketClosed:
            raise
        except MoboxError as problem:
            error = explain(problem, event).error
        except Exception:
            logger.exception("socket event %s failed", event)
            error = OUR_FAULT
        outcome = "ok" if error is None else error["code"]
        self._handled.add(event=event if event in self.HANDLERS else "other", outcome=outcome)
        return answer if error is None else await self._refuse(socket, message, error)

    def _handler(self, event: str, message: EventPayload) -> tuple[str, Handler]:
        if message.problem is not None:
            raise InvalidRequest("", message.problem)
        if event not in self.HANDLERS:
            raise InvalidRequest("event", expected(self.HANDLERS, event))
        return self.HANDLERS[event]

    async def _refuse(self, socket: Socket, message: EventPayload, error: dict[str, Any]) -> object:
        """Report an error (Rule 2)."""
        if message.wants_answer:
            return {"error": error}
        named = message.payload.get("sessionId") if isinstance(message.payload, dict) else None
        about = {"sessionId": named if isinstance(named, str) else None, "error": error}
        await socket.emit("session:error", encode(about))
        return None

    # Reading

    async def _join(self, socket: Socket, owner: str, payload: JSON) -> Joined:
        join = convert("", payload, Join)
        self._check_limit(socket, join.session_id)
        session = Session(owner, join.session_id, _format(join, self._settings))
        is_indexed = session.format.protocol == AGENT_EVENTS
        open_reader = self._open_indexed if is_indexed else self._open_framed
        reader, active = await open_reader(session, join)
        subscription = Subscription(socket, session, reader, self._storage)
        await self._replace(socket, session.id, subscription)
        state = Joined.of(session.id, active)
        await socket.emit("session:joined", encode(state))
        subscription.start()  # sends nothing before this returns: there is no await in between
        return state

    async def _replace(self, socket: Socket, session_id: str, new: Subscription) -> None:
        if not socket.is_open:
            raise SocketClosed
        self._check_limit(socket, session_id)  # again, as other joins may have come in between
        joined = self._joined.setdefault(socket, {})
        old = joined.get(session_id)
        joined[session_id] = new
        if old is not None:
            await old.stop()

    def _check_limit(self, socket: Socket, session_id: str) -> None:
        joined = self._joined.get(socket, {})
        for name in [name for name, each in joined.items() if each.is_over]:
            del joined[name]
        if len(joined) >= MOST_SESSIONS and session_id not in joined:
            raise TooManySessions(MOST_SESSIONS)

    async def _open_indexed(self, session: Session, join: Join) -> tuple[SessionReader, Run | None]:
        if join.after is not None:
            raise InvalidRequest("after", f"{session.format.protocol} resumes with lastEventIndex")
        last = -1 if join.last_event_index is None else join.last_event_index
        reader = IndexedSession(self._sources, session, last)
        return reader, await reader.open()

    async def _open_framed(self, session: Session, join: Join) -> tuple[SessionReader, Run | None]:
        if join.last_event_index is not None:
            raise InvalidRequest("lastEventIndex", f"{session.format.protocol} resumes with after")
        reader, after = FramedSession(self._sources, session), join.after
        run_id, cursor = (after.run_id, after.cursor) if after is not None else (None, "")
        return reader, await reader.open(run_id, cursor)

    async def _leave(self, socket: Socket, _owner: str, payload: JSON) -> dict[str, JSON]:
        session_id = convert("", payload, Leave).session_id
        subscription = self._joined.get(socket, {}).pop(session_id, None)
        if subscription is not None:
            await subscription.stop()
        return {"sessionId": session_id}

    # Messages, answers, stop

    async def _submit(self, socket: Socket, owner: str, payload: JSON) -> dict[str, JSON]:
        connection = HTTPConnection(socket.scope)
        headers = forwarded_headers(connection, self._settings.forwarded_headers)
        body, key = body_of(payload)
        sent = read_request(body, key, headers)
        request = await ChatBody(body).attach(self._storage.files, owner, sent)
        authenticator = authenticator_of(connection)
        continued = await authenticator.rate_limit.submit(
            owner, request, lambda: self._actions.submit(owner, request)
        )
        return {"runId": continued.run.id}

    async def _stop(self, _socket: Socket, owner: str, payload: JSON) -> RunState:
        stop = convert("", payload, Stop)
        return await self._actions.stop(owner, stop.session_id, stop.run_id)

    async def _answer(self, _socket: Socket, owner: str, payload: JSON) -> RunState:
        answer = convert("", payload, Answering)
        return await self._actions.answer(owner, answer.session_id, answer)

    HANDLERS: ClassVar[dict[str, tuple[str, Handler]]] = {
        "session:join": ("read", _join),
        "session:leave": ("read", _leave),
        "chat:message": ("write", _submit),
        "chat:stop": ("write", _stop),
        "chat:answer": ("write", _answer),
    }
    """By event: the scope that a key needs, and the handler."""


def _format(join: Join, settings: Settings) -> Format:
    """The requested format; raises `UnknownProtocol` or `UnknownProfile`."""
    name = join.format or AGENT_EVENTS
    known = profiles_of(name)
    if join.profile is not None and join.profile not in known:
        raise UnknownProfile(join.profile, known)
    return served_format(settings, name, join.profile)


class Subscription:
    """A session that a socket has joined: sends its events to the socket, in a task of its own."""

    def __init__(
        self, socket: Socket, session: Session, reader: SessionReader, storage: Storage
    ) -> None:
        self._socket = socket
        self._session = session
        self._reader = reader
        self._storage = storage
        is_indexed = session.format.protocol == AGENT_EVENTS
        self._send = self._event if is_indexed else self._frame
        self._task: asyncio.Task[None] | None = None
        self.is_over = False
        """Whether it has stopped for good."""

    @property
    def is_idle(self) -> bool:
        """Whether everything that is stored was sent."""
        return self.is_over or self._reader.idle.is_set()

    async def drain(self) -> None:
        """Wait until everything that is stored was sent."""
        if not self.is_over:
            await self._reader.idle.wait()

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
        self._reader.leave()
        if self._task is not None and self._task is not asyncio.current_task():
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _send_all(self) -> None:
        try:
            async with aclosing(self._reader.batches()) as batches:
                async for batch in batches:
                    await self._send_batch(batch)
                    del batch  # the next one may take long
        except SocketClosed:
            pass
        except MoboxError as error:
            if isinstance(error, NotFoundError):  # the chat was deleted
                logger.info("stream of session %s aborted: %s", self._session.id, error)
            await self._abort(explain(error, f"stream of session {self._session.id}").error)
        except Exception:
            session = self._session
            logger.exception("stream of session %r of %r aborted", session.id, session.owner)
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
        if not batch.waits:
            return
        if pending := (await input_requests_of(self._storage, batch.run.id)).pending:
            waiting = Waiting.of(self._session.id, batch.run.id, pending)
            await self._socket.emit("session:waiting", encode(waiting))

    async def _event(self, _about: bytes, _cursor: bytes, document: bytes) -> None:
        await self._socket.emit("agent:event", document)

    async def _frame(self, about: bytes, cursor: bytes, document: bytes) -> None:
        # A document that is not a JSON object, such as `[DONE]`, is sent as a string.
        data = document if document.startswith(b"{") else encode(document.decode())
        frame = b'%b,"cursor":"%b","data":%b}' % (about, cursor, data)
        await self._socket.emit("agent:frame", frame)
