"""Approvals that count for the rest of a chat: who creates them, and what they answer.

Rule 1: only a person's answer creates a permission. An agent can ask, and nothing more.
Rule 2: a covered request is answered in the append that pauses the run for it. So no reader sees
        the run waiting, and nobody is asked. The log has PAUSED all the same: the agent has paused,
        and what it needs to resume is in that event.
Rule 3: an answer that creates a permission also answers the other open requests that it covers.
Rule 4: after MOST automatic answers a person is asked again, once. An agent that repeats its
        request whatever the answer must not run forever without anybody noticing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from mobox.errors import InvalidRequest
from mobox.events import UNKNOWN_TOOL, InputRequest, InputResponse
from mobox.events.turn import Answer, allowed_words
from mobox.storage.log import Run
from mobox.storage.permissions import Permission, new_permission_id
from mobox.supervisor.input_requests import InputRequests, Reply, ToolCall

MOST: Final = 100
"""Automatic answers of a run after one another."""


def create_permissions(
    requests: InputRequests,
    replies: Sequence[Reply],
    run: Run,
    known: Iterable[Permission],
    now: int,
) -> tuple[list[Reply], list[Permission]]:
    """The replies with the ids of their permissions, and those permissions that are new."""
    chat, created = list(known), list[Permission]()
    named: list[Reply] = []
    for reply in replies:
        if reply.scope == "once":
            named.append(reply)
            continue
        wanted = _permission(requests, reply, run, now)
        found = next((each for each in chat if _is_like(each, wanted)), None)
        if found is None:
            chat.append(wanted)
            created.append(wanted)
        permission = found or wanted
        named.append(reply._replace(event=replace(reply.event, permission=permission.id)))
    return named, created


def _permission(requests: InputRequests, reply: Reply, run: Run, now: int) -> Permission:
    request = requests.open_request(reply.event.id or "")
    call = requests.call_of(request)
    if reply.event.decision != "approved":
        raise InvalidRequest(
            "scope", f"only an approval can be lasting, got {reply.event.decision!r}"
        )
    if request.kind != "approval" or call is None or call.name == UNKNOWN_TOOL:
        raise InvalidRequest("scope", "the request is not about a tool call: expected 'once'")
    if reply.scope == "chat_input" and (not call.is_valid or call.input is None):
        raise InvalidRequest(
            "scope", "the input of the call is not known, or not JSON: expected 'once' or 'chat'"
        )
    return Permission(
        id=new_permission_id(),
        agent=run.agent,
        tool=call.name,
        input=call.input if reply.scope == "chat_input" else UNSET,
        created_at=now,
    )


def _is_like(one: Permission, other: Permission) -> bool:
    return (one.agent, one.tool, one.digest) == (other.agent, other.tool, other.digest)


def automatic_replies(
    requests: InputRequests, run: Run, permissions: Sequence[Permission]
) -> list[Reply]:
    """The answers to the requests that the run waits for and that a permission covers."""
    replies = []
    for request in requests.waited_for if permissions else ():
        call = requests.call_of(request)
        permission = _covering(request, call, run, permissions) if call is not None else None
        if permission is not None:
            replies.append(_automatic(request, permission))
    return replies[: max(0, MOST - requests.automatic)]


def _covering(
    request: InputRequest, call: ToolCall, run: Run, permissions: Iterable[Permission]
) -> Permission | None:
    if request.kind != "approval" or "approve" not in allowed_words(request):
        return None
    covering = (
        each
        for each in permissions
        if each.covers(run.agent, call.name, call.input) and (call.is_valid or each.input is UNSET)
    )
    return next(covering, None)


def _automatic(request: InputRequest, permission: Permission) -> Reply:
    event = InputResponse(
        id=request.id, decision="approved", permission=permission.id, automatic=True
    )
    answer = Answer(decision="approved", request_id=request.id, tool_call_id=request.tool_call_id)
    return Reply(event, answer)
