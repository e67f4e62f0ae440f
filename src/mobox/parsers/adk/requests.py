"""Input requests of an ADK agent: confirmations, input, credentials, and long-running tools.

Rule 1: a request is a call that ADK generates, answered by a result of that call; here it is not a
        tool call. A long-running tool is one, and its first result is only partial.
Rule 2: the run waits (PAUSED) when it emits its last event and a request is still open.
Rule 3: a run that ends after it has paused was answered, even if the stream has no answer.
Rule 4: a user event may have the result of a call: of a tool that somebody else has run, or the
        answer to a request of an earlier stream, which is in the log already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from msgspec import convert

from mobox.events import JSON, Events, InputRequest, InputResponse, Paused, Scope, ToolResult
from mobox.parsers.adk import wire
from mobox.parsers.gemini.wire import FunctionCall, FunctionResponse

_ADKS_HINT: Final = "Please approve or reject the tool call"
"""The first words of what ADK says if the tool says nothing: how to answer its API."""


class Requests:
    """The requests of a run without an answer."""

    def __init__(self) -> None:
        self.waiting: dict[str, InputRequest] = {}
        self._paused = False  # since the last request or answer

    def knows(self, call: FunctionCall) -> bool:
        """Whether this call is a request."""
        return call.name in _REQUESTS and bool(call.id)

    def is_result(self, response: FunctionResponse) -> bool:
        """Whether a response is the result of a call that is no request."""
        return bool(response.id) and response.name not in _REQUESTS

    def ask(self, call: FunctionCall, scope: Scope) -> Events:
        """A request as an event; for input the run waits at once, as nothing else precedes it."""
        request = _REQUESTS[call.name or ""](call, scope)
        self._add(request)
        return [request, self._pause()] if request.kind == "input" else [request]

    def take_long(self, call: str, name: str | None, scope: Scope) -> Events:
        """A long-running tool, whose final result comes from outside."""
        if call in self.waiting:
            return []
        request = InputRequest(
            id=call, scope=scope, kind="tool", tool_call_id=call, resume={"name": name}
        )
        self._add(request)
        return [request]

    def is_placeholder(self, response: FunctionResponse, actions: wire.Actions) -> bool:
        """Whether a result is only a placeholder until the request is answered."""
        requested = actions.requested_tool_confirmations, actions.requested_auth_configs
        return any(response.id in calls for calls in requested if calls)

    def returned(self, call: str | None) -> bool:
        """A call has a result: whether it is only the ticket of a long-running tool."""
        request = self.waiting.get(call or "")
        if request is not None and request.kind == "tool":
            return not self._paused
        for name, waiting in list(self.waiting.items()):
            if waiting.tool_call_id == call and call is not None:
                del self.waiting[name]
        return False

    def answer(self, responses: Iterable[FunctionResponse]) -> Events:
        """The answers of a person."""
        pause = Paused(request_ids=tuple(self.waiting))
        events: Events = []
        for response in responses:
            request = self.waiting.pop(response.id or "", None)
            if request is not None:
                events += _answered(request, response)
        if not events:
            return []
        has_paused, self._paused = self._paused, False
        return events if has_paused else [pause, *events]

    def last_word(self) -> Events:
        """The agent emitted its last event."""
        if self._paused:
            self.waiting.clear()
            self._paused = False
        return [self._pause()] if self.waiting else []

    def close(self) -> Events:
        """The source ended while a request is open."""
        return [self._pause()]

    def _add(self, request: InputRequest) -> None:
        self.waiting[request.id or ""] = request
        self._paused = False

    def _pause(self) -> Paused:
        self._paused = True
        return Paused(request_ids=tuple(self.waiting))


def _confirmation(call: FunctionCall, scope: Scope) -> InputRequest:
    args = convert(call.args or {}, wire.AskConfirmation)
    confirmation = args.tool_confirmation or wire.Confirmation()
    hint = confirmation.hint or ""
    return InputRequest(
        id=call.id,
        scope=scope,
        kind="approval",
        tool_call_id=(args.original_function_call or wire.OriginalCall()).id,
        prompt=None if hint.startswith(_ADKS_HINT) else confirmation.hint,
        schema=confirmation.payload,
        resume={"name": call.name},
    )


def _credential(call: FunctionCall, scope: Scope) -> InputRequest:
    args = convert(call.args or {}, wire.AskCredential)
    return InputRequest(
        id=call.id,
        scope=scope,
        kind="auth",
        tool_call_id=args.function_call_id,
        options=args.auth_config,
        resume={"name": call.name},
    )


def _input(call: FunctionCall, scope: Scope) -> InputRequest:
    args = convert(call.args or {}, wire.AskInput)
    return InputRequest(
        id=call.id,
        scope=scope,
        kind="input",
        prompt=args.message,
        schema=args.response_schema,
        options=args.payload,
        resume={"name": call.name},
    )


_REQUESTS: Final[dict[str | None, Callable[[FunctionCall, Scope], InputRequest]]] = {
    "adk_request_confirmation": _confirmation,
    "adk_request_credential": _credential,
    "adk_request_input": _input,
}


def _answered(request: InputRequest, response: FunctionResponse) -> Events:
    value: JSON = response.response
    if request.kind == "approval":
        confirmed = isinstance(value, dict) and value.get("confirmed") is True
        decision: Any = "approved" if confirmed else "denied"
        return [InputResponse(id=request.id, decision=decision, value=value)]
    answer = InputResponse(id=request.id, decision="answered", value=value)
    if request.kind != "tool":
        return [answer]
    return [answer, ToolResult(id=request.tool_call_id, scope=request.scope, output=value)]
