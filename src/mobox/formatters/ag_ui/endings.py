"""How a response ends: RUN_FINISHED with its outcome, usage and interrupts, or RUN_ERROR."""

from __future__ import annotations

from typing import Any, Final

from mobox.events import JSON, DoneReason, InputRequest, InputResponse, Result, Status, Usage
from mobox.events.transcript import HeldErrors
from mobox.events.turn import allowed_words
from mobox.events.usage import Totals, UsageTotal
from mobox.formatters.ag_ui.documents import (
    Documents,
    Profile,
    WireIds,
    custom,
    event,
    mobox_metadata,
)
from mobox.formatters.ag_ui.tools import Tools
from mobox.formatters.values import run_failure, without_none

UsageList = list[dict[str, JSON]] | None


class Ending:
    """The errors of a run until its end, then that end."""

    def __init__(self, run: dict[str, str], profile: Profile) -> None:
        self._run = run
        self._profile = profile
        self._began: int | None = None
        self._is_simulated = False
        self.errors = HeldErrors()
        self.documents: Documents = []
        """The final document of a run that has ended."""

    def begin(self, ts: int | None, is_simulated: bool) -> None:
        """The run starts."""
        self._began, self._is_simulated = ts, is_simulated

    def duration(self, ts: int | None) -> Documents:
        """The duration of the run."""
        if ts is None or self._began is None:
            return []
        return [custom("mobox.duration", {"durationMs": ts - self._began})]

    def end(self, reason: DoneReason, success: dict[str, JSON], usage: UsageList) -> list[Status]:
        """The run ends; return the errors that it recovered from."""
        fatal, notices = self.errors.release(reason)
        if failure := run_failure(reason, fatal):
            error, code = failure
            why = self._metadata(reason)
            failed = event("RUN_ERROR", message=error, code=code, usage=usage, metadata=why)
            self.documents = [failed]
        elif reason == "cancelled":
            outcome = {"type": "cancelled"} if self._profile.cancelled else None
            self.documents = [self.finished(outcome, usage, reason)]
        else:
            self.documents = [self.finished(success, usage, reason)]
        return notices

    def waiting(self, outcome: dict[str, JSON], usage: UsageList) -> bytes:
        """The end of a response where the run waits, and does not end."""
        about = mobox_metadata({"waiting": True})
        return event("RUN_FINISHED", **self._run, outcome=outcome, usage=usage, metadata=about)

    def finished(
        self, outcome: dict[str, JSON] | None, usage: UsageList, reason: DoneReason
    ) -> bytes:
        """The end of a run; a reason other than the agent's own is metadata."""
        why = self._metadata(reason if reason != "stop" else None)
        return event("RUN_FINISHED", **self._run, outcome=outcome, usage=usage, metadata=why)

    def _metadata(self, reason: DoneReason | None) -> dict[str, Any] | None:
        return mobox_metadata({"reason": reason, "simulated": self._is_simulated or None})


_MOST: Final = 2**53 - 1
"""The largest count: a client that gets a larger one ends the run."""


class ModelUsage:
    """Adds up USAGE and RESULT, for the run and as a TokenUsage for each model."""

    def __init__(self) -> None:
        self._total = UsageTotal()
        self._models: dict[str | None, UsageTotal] = {}

    def add(self, event: Usage | Result) -> None:
        """Take an event about usage."""
        self._total.add(event)
        if isinstance(event, Usage):
            self._models.setdefault(event.model, UsageTotal()).add(event)

    @property
    def so_far(self) -> dict[str, JSON] | None:
        """All known counts, for a page that shows them during the run."""
        totals = self._total.totals
        if totals is None:
            return None
        about = {
            "costUsd": totals.cost_usd,
            "isTotal": totals.is_total,
            "durationMs": totals.duration_ms,
            "numTurns": totals.num_turns,
        }
        return _tokens(totals) | without_none(about)

    @property
    def by_model(self) -> list[dict[str, JSON]] | None:
        """The usage by model, if the run reports no total of its own; `None` if there is none."""
        totals = self._total.totals
        named = [model for model in self._models if model is not None]
        if totals is not None and totals.is_total:
            entries = [_entry(totals, named[0] if len(named) == 1 else None)]
        else:
            entries = [_entry(total.totals, model) for model, total in self._models.items()]
        return [entry for entry in entries if entry] or None


def _entry(totals: Totals | None, model: str | None) -> dict[str, JSON]:
    tokens = _tokens(totals) if totals is not None else {}
    return without_none({"model": model, **tokens}) if tokens else {}


def _tokens(totals: Totals) -> dict[str, JSON]:
    """Cached and reasoning tokens are included in the totals, in AG-UI's usage as in ours."""
    about = {
        "inputTokens": totals.input,
        "outputTokens": totals.output,
        "totalTokens": totals.total,
        "reasoningTokens": totals.reasoning,
        "cachedInputTokens": totals.cache_read,
        "cacheWriteInputTokens": totals.cache_write,
    }
    return {name: min(count, _MOST) for name, count in about.items() if count is not None}


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
    """The open input requests of one run: where a response ends, they are its interrupts."""

    def __init__(self, ids: WireIds, tools: Tools, profile: Profile) -> None:
        self._ids = ids
        self._tools = tools
        self._profile = profile
        self._open: dict[str | None, InputRequest] = {}

    def request(self, request: InputRequest) -> Documents:
        self._open[request.id] = request
        return [custom("mobox.input_request", self._request(request))]

    def answer(self, answered: InputResponse) -> Documents:
        request = self._open.pop(answered.id, None)
        about = self._request(request) if request is not None else {"id": self._ids.of(answered.id)}
        answer = {
            "decision": answered.decision,
            "value": answered.value,
            "reason": answered.reason,
            "automatic": answered.automatic or None,
            "permission": answered.permission,
        }
        return [custom("mobox.input_response", about | without_none(answer))]

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
        return without_none(about)

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
        return without_none({"type": "success", "pendingToolCallIds": named or None})

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
        return without_none(about)


def _form(request: InputRequest) -> JSON:
    """The form of an approval whose agent has none; a text is used as the tool's result."""
    words = allowed_words(request)
    properties = {name: each for word in words for name, each in _PROPERTIES.get(word, {}).items()}
    decision = {"type": "object", "properties": properties, "required": ["approved"]}
    text: dict[str, JSON] = {"type": "string"}
    forms = [*([decision] if properties else []), *([text] if "respond" in words else [])]
    return forms[0] if len(forms) == 1 else {"anyOf": forms}
