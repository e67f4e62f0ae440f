"""The session of a chat: where in it a turn starts, and what must be added to it.

Rule 1: every event has the run that it belongs to in its metadata, `mobox_run`. So the end of a run
        is found after kill -9, and in any session service.
Rule 2: a turn starts at the end of the last run of its history that the session has. What the
        session has after that is rewound, as for an edit and for another answer.
Rule 3: messages of the history that the session has not are added from the chat's log: another
        agent answered them, or they are of another branch.
Rule 4: calls that have no result get one before the next message: the model has to know that they
        were under way, and must not make them again by itself.
"""

from __future__ import annotations

import uuid
from typing import Any, NamedTuple

from google.adk.events.event import Event
from google.genai import types

from ..conversation.said import Text, conversation
from .adk_contents import contents_of

__all__ = ["CONFIRMATION", "RUN", "Memory"]

RUN = "mobox_run"
CONFIRMATION = "adk_request_confirmation"
REQUESTS = (CONFIRMATION, "adk_request_credential", "adk_request_input")
"""Calls that ADK makes to ask somebody."""
UNKNOWN = (
    "Interrupted: this call was under way when the agent was stopped. "
    "It is not known whether it took effect, and it was not repeated."
)
NOT_MADE = "Not carried out: the user sent another message instead of a decision about this call."

Message = dict[str, Any]


class Memory:
    """The session of a turn."""

    def __init__(self, runner: Any, turn: Any) -> None:
        self._runner, self._turn = runner, turn
        self.user: str = turn.owner or "user"
        self.session: str = turn.chat_id or "chat"

    async def events(self) -> list[Any]:
        """The events of the session, without what was rewound."""
        return live((await self._stored()).events)

    async def go_to_start(self) -> None:
        """Bring the session to what was said before this turn."""
        events, history = await self.events(), self._turn.history
        start = find_start(events, history)
        kept, rest = events[: start.events], events[start.events :]
        if rest:
            await self._runner.rewind_async(
                user_id=self.user,
                session_id=self.session,
                rewind_before_invocation_id=rest[0].invocation_id,
            )
        agent = self._runner.agent.name
        missing = [*_results(kept), *_rest_of_answer(kept, history[: start.messages], agent)]
        await self.add([*missing, *_from_log(history[start.messages :], agent)])

    async def add(self, events: list[Any]) -> None:
        """Append events to the session."""
        session = await self._stored() if events else None
        for event in events:
            await self._runner.session_service.append_event(session, event)

    async def _stored(self) -> Any:
        service = self._runner.session_service
        names = {"app_name": self._runner.app_name, "user_id": self.user}
        found = await service.get_session(**names, session_id=self.session)
        return found or await service.create_session(**names, session_id=self.session)


# Where a turn starts


def live(events: list[Any]) -> list[Any]:
    """The events that no rewind has removed: it removes all since an invocation has started."""
    kept: list[Any] = []
    for event in events:
        before = event.actions.rewind_before_invocation_id
        if not before:
            kept.append(event)
            continue
        invocations = [each.invocation_id for each in kept]
        if before in invocations:
            del kept[invocations.index(before) :]
    return kept


class Start(NamedTuple):
    """Where a turn starts."""

    events: int = 0
    """How many events of the session are before it."""
    messages: int = 0
    """How many messages of the history these are."""


def find_start(events: list[Any], history: list[Message]) -> Start:
    """The end of the last run of the history that the session has, and can go back to."""
    ends = _ends(events)
    for number, message in reversed(list(enumerate(history, 1))):
        end = ends.get(message["id"]) if message["role"] == "assistant" else None
        if end is not None and _is_between_invocations(events, end):
            return Start(end, number)
    return Start()


def _ends(events: list[Any]) -> dict[str, int]:
    """How many events there are until the end of each run."""
    ends, run = {}, ""
    for number, event in enumerate(events, 1):
        run = (event.custom_metadata or {}).get(RUN, run)
        ends[run] = number
    return ends


def _is_between_invocations(events: list[Any], end: int) -> bool:
    """Whether a rewind can go there: an agent with a task goes on in an earlier invocation."""
    before = {event.invocation_id for event in events[:end]}
    return end == len(events) or events[end].invocation_id not in before


# Calls without a result


class _Open(NamedTuple):
    event: Any
    call: Any
    why: str = UNKNOWN


def _results(events: list[Any]) -> list[Any]:
    """Events with results for the calls that have none."""
    found: dict[str, _Open] = {}
    asked: dict[str, str] = {}  # calls by the request to confirm them
    for event in events:
        for call in event.get_function_calls():
            if call.name == CONFIRMATION:
                asked[call.id] = original_of(call)
            elif call.name not in REQUESTS:
                found[call.id] = _Open(event, call)
        for response in event.get_function_responses():
            _see(response, event.actions, found, asked)
    return [_result(each) for each in found.values()]


def _see(response: Any, actions: Any, found: dict[str, _Open], asked: dict[str, str]) -> None:
    """A call has a result, or waits for somebody, or was confirmed."""
    waiting = {*actions.requested_tool_confirmations, *actions.requested_auth_configs}
    call = asked.get(response.id, response.id)
    if call not in found:
        return
    if response.id in asked:
        found[call] = found[call]._replace(why=UNKNOWN)
    elif call in waiting:
        found[call] = found[call]._replace(why=NOT_MADE)
    else:
        del found[call]


def original_of(request: Any) -> str:
    """The call that a request wants to be confirmed."""
    return str(((request.args or {}).get("originalFunctionCall") or {}).get("id") or "")


def _result(made: _Open) -> Any:
    response = {"id": made.call.id, "name": made.call.name, "response": {"error": made.why}}
    return response_event(made.event, types.FunctionResponse(**response), made.event.author)


def response_event(call: Any, response: Any, author: str) -> Any:
    """An event with the response to a call, for the agent whose event the call is in."""
    same = ("branch", "custom_metadata", "invocation_id", "isolation_scope")
    fields = {name: getattr(call, name) for name in same}
    content = types.Content(role="user", parts=[types.Part(function_response=response)])
    return Event(author=author, content=content, **fields)


# What the session has not


def _rest_of_answer(events: list[Any], history: list[Message], agent: str) -> list[Any]:
    """What the agent was saying when it was stopped: the session has only whole messages."""
    text = _last_text(history)
    if not text.strip() or not events or _ends_with_text(events):
        return []
    content = types.Content(role="model", parts=[types.Part(text=text)])
    same = {name: getattr(events[-1], name) for name in ("custom_metadata", "invocation_id")}
    return [Event(author=agent, content=content, **same)]


def _last_text(history: list[Message]) -> str:
    """The text with which the history ends, if that is an answer."""
    said = conversation(history, [])[-1:]
    if not said or said[0].role == "user" or said[0].calls:
        return ""
    return "".join(item.text for item in said[0].items if isinstance(item, Text))


def _ends_with_text(events: list[Any]) -> bool:
    last = [event for event in events if event.content and event.content.parts][-1:]
    is_call = any(each.get_function_calls() or each.get_function_responses() for each in last)
    return bool(last) and last[0].author != "user" and not is_call


def _from_log(history: list[Message], agent: str) -> list[Any]:
    """Messages of the chat's log as events, an invocation for each answer."""
    events, asked = [], []
    for message in history:
        asked.append(message)
        if message["role"] == "assistant" or message is history[-1]:
            same = {"invocation_id": f"e-{uuid.uuid4()}", "custom_metadata": {RUN: message["id"]}}
            contents = contents_of(asked, [])
            events += [
                Event(author=_author(each, agent), content=each, **same) for each in contents
            ]
            asked = []
    return events


def _author(content: Any, agent: str) -> str:
    is_result = any(part.function_response for part in content.parts)
    return "user" if content.role == "user" and not is_result else agent
