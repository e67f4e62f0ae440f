"""How a run ends: `complete` with reason and usage, or `error`."""

from __future__ import annotations

from typing import Final

from mobox.events import JSON, Done, DoneReason, Error, Result, Usage
from mobox.formatters.agent_event.numbering import Documents, Numbering
from mobox.formatters.fields import known
from mobox.formatters.outcomes import failure_of
from mobox.held_errors import HeldErrors
from mobox.usage import UsageTotal

__all__ = ["Ending"]

STOP_REASONS: Final[dict[DoneReason, str]] = {
    "stop": "end_turn",
    "tool": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
    "refusal": "refusal",
    "max_turns": "max_turns",
    "cancelled": "cancelled",
    "truncated": "truncated",
    "interrupted": "interrupted",
    "lost": "lost",
    "error": "error",
}
"""Anthropic's names of reasons, used where the provider has none; others keep our name."""


class Ending:
    """The errors and the usage of a run until its end."""

    def __init__(self, numbering: Numbering) -> None:
        self._numbering = numbering
        self._errors = HeldErrors()
        self._usage = UsageTotal()
        self._service_tier: str | None = None

    def fail(self, event: Error) -> Documents:
        """Hold an error; the last one is the end of the run, if it fails."""
        self._errors.hold(event)
        return []

    def use(self, event: Usage | Result) -> Documents:
        """Take an event about usage."""
        self._usage.add(event)
        if isinstance(event, Usage) and event.service_tier is not None:
            self._service_tier = event.service_tier
        return []

    def end(self, done: Done) -> Documents:
        """The one terminal event of the run."""
        fatal, _ = self._errors.told(done.reason)  # recovered errors are left out
        if failure := failure_of(done.reason, fatal):
            error, code = failure
            return self._numbering.persisted("error", error=error, code=code)
        stop_reason = done.native or STOP_REASONS[done.reason]
        return self._numbering.persisted("complete", stop_reason=stop_reason, usage=self.usage)

    @property
    def usage(self) -> dict[str, JSON]:
        """The known counts, with Anthropic's names; its input excludes cached tokens."""
        totals = self._usage.totals
        if totals is None:
            return {}
        cached = (totals.cache_read or 0) + (totals.cache_write or 0)
        about = {
            "input_tokens": None if totals.input is None else max(0, totals.input - cached),
            "output_tokens": totals.output,
            "cache_creation_input_tokens": totals.cache_write,
            "cache_read_input_tokens": totals.cache_read,
            "service_tier": self._service_tier,
        }
        return known(about)
