"""The payloads of Socket.IO events, in both directions.

Further fields of a message are read like the body of `POST /api/chat`.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import Final, Literal

from msgspec import Struct

from mobox.errors import InvalidRequest
from mobox.events import JSON, InputRequest
from mobox.formatters.bodies import Id, check_storable, convert
from mobox.server.actions import AnswerBody
from mobox.storage.log import Run

Status = Literal["idle", "running", "waiting"]

_OWN_FIELDS: Final = ("sessionId", "idempotencyKey", "userId")


class After(Struct, rename="camel"):
    """A position in a run: after the frame that had this cursor."""

    run_id: Id
    cursor: str


class _Event(Struct, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """The fields of every event. Unknown fields are refused, as they may be misspelled."""

    session_id: Id
    user_id: JSON = None
    """Sent by clients of the contract, and ignored."""


class Join(_Event, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """Which session to read, in which format, and from where."""

    format: str | None = None
    profile: str | None = None
    last_event_index: int | None = None
    after: After | None = None


class Leave(_Event, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """Which session to stop reading."""


class Message(Struct, rename="camel"):
    """A message in a session; its other fields are read with the message."""

    session_id: Id
    idempotency_key: Id | None = None


class Stop(_Event, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """Which run to stop."""

    run_id: Id | None = None


class Answering(AnswerBody, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """The user's answer to an input request."""

    session_id: Id
    user_id: JSON = None


class Joined(Struct, rename="camel", kw_only=True):
    """The state of a session."""

    session_id: str
    run_id: str | None = None
    status: Status = "idle"

    @classmethod
    def of(cls, session_id: str, active: Run | None) -> Joined:
        """The state with the session's active run."""
        if active is None or active.status == "done":
            return cls(session_id=session_id)
        return cls(session_id=session_id, run_id=active.id, status=active.status)


class _Request(Struct, rename="camel", kw_only=True, omit_defaults=True):
    request_id: str | None
    kind: str
    tool_call_id: str | None = None
    prompt: str | None = None
    schema: JSON = None
    options: JSON = None
    allowed: tuple[str, ...] = ()


class Waiting(Struct, rename="camel", kw_only=True):
    """The input requests that a run waits for."""

    session_id: str
    run_id: str
    requests: list[_Request]

    @classmethod
    def of(cls, session_id: str, run_id: str, pending: tuple[InputRequest, ...]) -> Waiting:
        requests = [
            _Request(
                request_id=request.id,
                kind=request.kind,
                tool_call_id=request.tool_call_id,
                prompt=request.prompt,
                schema=request.schema,
                options=request.options,
                allowed=request.allowed,
            )
            for request in pending
        ]
        return cls(session_id=session_id, run_id=run_id, requests=requests)


def body_of(payload: JSON) -> tuple[JSON, str | None]:
    """The payload as the body of `POST /api/chat`, and its idempotency key."""
    check_storable(payload)
    message = convert("", payload, Message)
    assert isinstance(payload, dict)
    body = {name: value for name, value in payload.items() if name not in _OWN_FIELDS}
    body["id"] = message.session_id
    if isinstance(text := body.get("message"), str):
        body["message"] = _message_of(text, message.idempotency_key)
    elif text is None and not body.get("messages") and "trigger" not in body:
        raise InvalidRequest("message", "expected a text or a message, got none")
    return body, message.idempotency_key


def _message_of(text: str, key: str | None) -> JSON:
    """A text as a message; the same idempotency key gives the same message id."""
    name = hashlib.sha256(key.encode()).hexdigest()[:32] if key else secrets.token_hex(16)
    return {"id": f"msg_{name}", "role": "user", "parts": [{"type": "text", "text": text}]}
