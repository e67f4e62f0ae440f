"""How a response ends: RUN_FINISHED with its outcome, or RUN_ERROR."""

from __future__ import annotations

from mobox.events import JSON, DoneReason, Status
from mobox.formatters.ag_ui.documents import Documents, custom, event, mobox_metadata
from mobox.formatters.ag_ui.profiles import Profile
from mobox.formatters.outcomes import failure_of
from mobox.held_errors import HeldErrors

__all__ = ["Ending"]

Usage = list[dict[str, JSON]] | None


class Ending:
    """The errors of a run until its end, then that end."""

    def __init__(self, run: dict[str, str], profile: Profile) -> None:
        self._run = run
        self._profile = profile
        self._began: int | None = None
        self.errors = HeldErrors()
        self.documents: Documents = []
        """The final document of a run that has ended."""

    def begin(self, ts: int | None) -> None:
        """The run starts."""
        self._began = ts

    def duration(self, ts: int | None) -> Documents:
        """The duration of the run."""
        if ts is None or self._began is None:
            return []
        return [custom("mobox.duration", {"durationMs": ts - self._began})]

    def end(self, reason: DoneReason, success: dict[str, JSON], usage: Usage) -> list[Status]:
        """The run ends; return the errors that it recovered from."""
        fatal, notices = self.errors.told(reason)
        if failure := failure_of(reason, fatal):
            error, code = failure
            why = mobox_metadata({"reason": reason})
            failed = event("RUN_ERROR", message=error, code=code, usage=usage, metadata=why)
            self.documents = [failed]
        elif reason == "cancelled":
            outcome = {"type": "cancelled"} if self._profile.cancelled else None
            self.documents = [self.finished(outcome, usage, reason)]
        else:
            self.documents = [self.finished(success, usage, reason)]
        return notices

    def waiting(self, outcome: dict[str, JSON], usage: Usage) -> bytes:
        """The end of a response where the run waits, and does not end."""
        about = mobox_metadata({"waiting": True})
        return event("RUN_FINISHED", **self._run, outcome=outcome, usage=usage, metadata=about)

    def finished(self, outcome: dict[str, JSON] | None, usage: Usage, reason: DoneReason) -> bytes:
        """The end of a run; a reason other than the agent's own is metadata."""
        why = mobox_metadata({"reason": reason if reason != "stop" else None})
        return event("RUN_FINISHED", **self._run, outcome=outcome, usage=usage, metadata=why)
