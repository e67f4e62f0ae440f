"""Plans what a request changes in a stored chat; every store executes the plan."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Struct

from mobox.errors import InvalidRequest, KeyReused
from mobox.events import DoneReason
from mobox.events.turn import (
    Action,
    Cut,
    HistoryMessage,
    Place,
    Request,
    TurnKind,
    UserMessage,
)
from mobox.storage.log import ClientRequest, RunId

_FAILED: Final = ("error", "lost", "interrupted", "truncated")
"""How an answer ended that is made again because it is not whole."""


class TurnPlan(Struct, frozen=True):
    """How many messages are kept, the one that is added, and why the agent is called."""

    kept: int
    added: UserMessage | None
    kind: TurnKind = "message"
    back_to: str | None = None


def plan_turn(live: Sequence[HistoryMessage], request: Request) -> TurnPlan:
    """The plan for a chat whose messages, without superseded ones, are `live`."""
    if request.action is Action.CONTINUE:
        raise InvalidRequest("action", "resuming a run is not a new turn")
    kept = _kept(live, request)
    stored = {message.id for message in live[:kept]}
    if request.action is Action.REGENERATE:
        return _regeneration(live[:kept], request, stored)
    if request.message is None:
        raise InvalidRequest("message", "expected a message")
    if request.message.id in stored:
        raise InvalidRequest("message.id", f"the chat already has a message {request.message.id!r}")
    if request.action is Action.EDIT and kept < len(live):
        return TurnPlan(kept, request.message, "edit", live[kept].id)
    return TurnPlan(kept, request.message)


def _kept(live: Sequence[HistoryMessage], request: Request) -> int:
    """A cut at an unknown message cuts after the request's user message, if that is stored."""
    kept = request.cut.kept(live) if request.cut is not None else len(live)
    if request.action is Action.EDIT and kept is not None and live[kept].role != "user":
        raise InvalidRequest("messageId", "only user messages can be edited")
    if kept is None and request.action is Action.REGENERATE and request.message is not None:
        kept = Cut(Place.AFTER, request.message.id).kept(live)
    return len(live) if kept is None else kept


def _regeneration(kept: Sequence[HistoryMessage], request: Request, stored: set[str]) -> TurnPlan:
    """The stored user message wins; the request's is used if a failed POST did not store it."""
    if kept and kept[-1].role == "user":
        return TurnPlan(len(kept), None, "regenerate", kept[-1].id)
    if request.message is None or request.message.id in stored:
        raise InvalidRequest("messages", "there is no message to regenerate an answer for")
    return TurnPlan(len(kept), request.message)


def kind_of(plan: TurnPlan, replaced: DoneReason | None) -> TurnKind:
    """Why the agent is called, if the answer that is made again ended with this reason."""
    return "retry" if plan.kind == "regenerate" and replaced in _FAILED else plan.kind


def client_request(request: Request) -> ClientRequest | None:
    """The request's name and frontend data; `None` if it has neither."""
    if request.name is None and request.frontend is None:
        return None
    return ClientRequest(name=request.name, frontend=request.frontend)


def fingerprint(request: Request) -> bytes:
    """A digest that must be equal when an idempotency key is repeated."""
    message = request.message
    content = [message.id, message.parts] if message is not None else None
    fields = [request.chat_id, request.action, content, request.cut]
    return hashlib.sha256(_canonical(fields)).digest()


def check_repeated(key: str, stored: bytes, request: Request) -> None:
    """Raise `KeyReused` unless a stored fingerprint is that of the same request."""
    if stored != fingerprint(request):
        raise KeyReused(key)


_canonical = msgspec.json.Encoder(order="sorted").encode


def new_run_id(now: int) -> RunId:
    """An unguessable id that sorts by its creation time in milliseconds."""
    return RunId(f"run_{now:012x}{secrets.token_hex(10)}")
