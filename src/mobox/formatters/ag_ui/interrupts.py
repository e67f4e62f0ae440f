"""Input requests: sent when the response ends, as the interrupts of its outcome."""

from __future__ import annotations

from typing import Final

from mobox.decisions import allowed_words
from mobox.events import JSON, InputRequest, InputResponse
from mobox.formatters.ag_ui.documents import Documents, custom, mobox_metadata
from mobox.formatters.ag_ui.ids import WireIds
from mobox.formatters.ag_ui.profiles import Profile
from mobox.formatters.ag_ui.tools import Tools
from mobox.formatters.fields import known

__all__ = ["Interrupts"]

_REASONS: Final = {
    "approval": "tool_call",
    "question": "input_required",
    "input": "input_required",
    "auth": "auth_required",
    "tool": "tool_call",
}
_PROPERTIES: Final[dict[str, dict[str, JSON]]] = {
    "approve": {"approved": {"type": "boolean"}},
    "edit": {"approved": {"type": "boolean"}, "editedArgs": {}},
    "reject": {"approved": {"type": "boolean"}, "reason": {"type": "string"}},
}
"""Properties of a payload, by the decisions that the agent allows; `editedArgs` is the input."""


class Interrupts:
    """The open requests of one run."""

    def __init__(self, ids: WireIds, tools: Tools, profile: Profile) -> None:
        self._ids = ids
        self._tools = tools
        self._profile = profile
        self._open: dict[str | None, InputRequest] = {}

    def ask(self, request: InputRequest) -> Documents:
        self._open[request.id] = request
        return [custom("mobox.input_request", self._request(request))]

    def answer(self, answered: InputResponse) -> Documents:
        request = self._open.pop(answered.id, None)
        about = self._request(request) if request is not None else {"id": self._ids.of(answered.id)}
        answer = {"decision": answered.decision, "value": answered.value, "reason": answered.reason}
        return [custom("mobox.input_response", about | known(answer))]

    def _request(self, request: InputRequest) -> dict[str, JSON]:
        """All that a page needs to show it; the answer repeats it for clients that joined since."""
        call = request.tool_call_id
        about = {
            "id": self._ids.of(request.id),
            "kind": request.kind,
            "prompt": request.prompt,
            "toolCallId": self._ids.of(call) if call is not None else None,
            "schema": request.schema,
            "options": request.options,
            "allowed": list(request.allowed) or None,
        }
        return known(about)

    def outcome(self) -> dict[str, JSON]:
        """How a response ends where the run waits.

        A tool that the client runs is not an interrupt: it is a call without a result.
        """
        waiting = [each for each in self._open.values() if not self._is_over(each)]
        requests = [each for each in waiting if each.kind != "tool"]
        if requests:
            return {"type": "interrupt", "interrupts": [self._interrupt(each) for each in requests]}
        return self._success(
            [self._ids.of(each.tool_call_id) for each in waiting if each.tool_call_id is not None]
        )

    def success(self) -> dict[str, JSON]:
        """How a run succeeds; its calls without a result are the client's to run."""
        return self._success(self._tools.pending)

    def _success(self, pending: list[str]) -> dict[str, JSON]:
        named = pending if self._profile.pending_calls else []
        return known({"type": "success", "pendingToolCallIds": named or None})

    def _is_over(self, request: InputRequest) -> bool:
        return request.tool_call_id is not None and self._tools.has_result(request.tool_call_id)

    def _interrupt(self, request: InputRequest) -> dict[str, JSON]:
        schema = request.schema or (_form(request) if request.kind == "approval" else None)
        call = request.tool_call_id
        about = {
            "id": self._ids.of(request.id),
            "reason": _REASONS[request.kind],
            "message": request.prompt,
            "toolCallId": self._ids.of(call) if call is not None else None,
            "responseSchema": schema if isinstance(schema, dict) else None,
            "subagentRunId": self._ids.owner(request.scope),
            "metadata": mobox_metadata(
                {
                    "kind": request.kind,
                    "options": request.options,
                    "allowed": list(request.allowed) or None,
                }
            ),
        }
        return known(about)


def _form(request: InputRequest) -> JSON:
    """The form of an approval whose agent has none; a text is used as the tool's result."""
    words = allowed_words(request)
    properties = {name: each for word in words for name, each in _PROPERTIES.get(word, {}).items()}
    decision = {"type": "object", "properties": properties, "required": ["approved"]}
    text: dict[str, JSON] = {"type": "string"}
    forms = [*([decision] if properties else []), *([text] if "respond" in words else [])]
    return forms[0] if len(forms) == 1 else {"anyOf": forms}
