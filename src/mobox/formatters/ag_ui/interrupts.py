"""What a person is asked: told when the response ends, as the interrupts of its outcome."""

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
_SAID_WITH: Final[dict[str, dict[str, JSON]]] = {
    "approve": {"approved": {"type": "boolean"}},
    "edit": {"approved": {"type": "boolean"}, "editedArgs": {}},
    "reject": {"approved": {"type": "boolean"}, "reason": {"type": "string"}},
}
"""What a payload has, by what the agent allows; `editedArgs` is the changed input."""


class Interrupts:
    """The requests of one run that are open."""

    def __init__(self, ids: WireIds, tools: Tools, profile: Profile) -> None:
        self._ids = ids
        self._tools = tools
        self._profile = profile
        self._open: dict[str | None, InputRequest] = {}

    def ask(self, asked: InputRequest) -> Documents:
        self._open[asked.id] = asked
        return [custom("mobox.input_request", self._request(asked))]

    def answer(self, answered: InputResponse) -> Documents:
        asked = self._open.pop(answered.id, None)
        about = self._request(asked) if asked is not None else {"id": self._ids.of(answered.id)}
        answer = {"decision": answered.decision, "value": answered.value, "reason": answered.reason}
        return [custom("mobox.input_response", about | known(answer))]

    def _request(self, asked: InputRequest) -> dict[str, JSON]:
        """All that a page needs to ask it now; the answer has it again, for who joined since."""
        call = asked.tool_call_id
        about = {
            "id": self._ids.of(asked.id),
            "kind": asked.kind,
            "prompt": asked.prompt,
            "toolCallId": self._ids.of(call) if call is not None else None,
            "schema": asked.schema,
            "options": asked.options,
            "allowed": list(asked.allowed) or None,
        }
        return known(about)

    def outcome(self) -> dict[str, JSON]:
        """How a response ends where the run waits.

        A tool that is the client's own to run is no interrupt: it is a call without a result.
        """
        waiting = [asked for asked in self._open.values() if not self._is_over(asked)]
        asked = [each for each in waiting if each.kind != "tool"]
        if asked:
            return {"type": "interrupt", "interrupts": [self._interrupt(each) for each in asked]}
        return self._success(
            [self._ids.of(each.tool_call_id) for each in waiting if each.tool_call_id is not None]
        )

    def success(self) -> dict[str, JSON]:
        """How a run ends well; the calls that have no result then are the client's."""
        return self._success(self._tools.pending)

    def _success(self, pending: list[str]) -> dict[str, JSON]:
        named = pending if self._profile.pending_calls else []
        return known({"type": "success", "pendingToolCallIds": named or None})

    def _is_over(self, asked: InputRequest) -> bool:
        return asked.tool_call_id is not None and self._tools.has_result(asked.tool_call_id)

    def _interrupt(self, asked: InputRequest) -> dict[str, JSON]:
        schema = asked.schema or (_form(asked) if asked.kind == "approval" else None)
        call = asked.tool_call_id
        about = {
            "id": self._ids.of(asked.id),
            "reason": _REASONS[asked.kind],
            "message": asked.prompt,
            "toolCallId": self._ids.of(call) if call is not None else None,
            "responseSchema": schema if isinstance(schema, dict) else None,
            "subagentRunId": self._ids.owner(asked.scope),
            "metadata": mobox_metadata(
                {
                    "kind": asked.kind,
                    "options": asked.options,
                    "allowed": list(asked.allowed) or None,
                }
            ),
        }
        return known(about)


def _form(asked: InputRequest) -> JSON:
    """What is answered to an approval whose agent has no form; a text is the tool's result."""
    words = allowed_words(asked)
    properties = {name: each for word in words for name, each in _SAID_WITH.get(word, {}).items()}
    decision = {"type": "object", "properties": properties, "required": ["approved"]}
    text: dict[str, JSON] = {"type": "string"}
    forms = [*([decision] if properties else []), *([text] if "respond" in words else [])]
    return forms[0] if len(forms) == 1 else {"anyOf": forms}
