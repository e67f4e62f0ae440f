"""How a response ends: RUN_FINISHED with its outcome, or RUN_ERROR."""

from __future__ import annotations

from mobox.events import JSON, DoneReason, Error, Status
from mobox.formatters.ag_ui.documents import Documents, custom, event, mobox_metadata
from mobox.formatters.ag_ui.profiles import Profile
from mobox.formatters.outcomes import error_of

__all__ = ["Ending"]

Usage = list[dict[str, JSON]] | None


class Ending:
    """The errors of a run until its end, then that end."""

    def __init__(self, run: dict[str, str], profile: Profile) -> None:
        self._run = run
        self._profile = profile
        self._began: int | None = None
        self._fatal: Error | None = None
        self.errors: list[Error] = []
        self.documents: Documents = []
        """The last word of a run that is over."""

    def begin(self, ts: int | None) -> None:
        """The run began."""
        self._began = ts

    def notices(self, *, failed: bool) -> list[Status]:
        """The errors that the run got over; the last of one that failed is its end."""
        self._fatal = self.errors.pop() if failed and self.errors else None
        return [Status(message=error.message, kind="notice") for error in self.errors]

    def duration(self, ts: int | None) -> Documents:
        """How long the run took."""
        if ts is None or self._began is None:
            return []
        return [custom("mobox.duration", {"durationMs": ts - self._began})]

    def end(self, reason: DoneReason, success: dict[str, JSON], usage: Usage) -> None:
        """The run is over."""
        fatal = self._fatal
        error = error_of(reason, fatal.message if fatal is not None else None)
        if error is not None:
            code = (fatal.code if fatal is not None else None) or reason
            why = mobox_metadata({"reason": reason})
            failed = event("RUN_ERROR", message=error, code=code, usage=usage, metadata=why)
            self.documents = [failed]
        elif reason == "cancelled":
            outcome = {"type": "cancelled"} if self._profile.cancelled else None
            self.documents = [self.finished(outcome, usage, reason)]
        else:
            self.documents = [self.finished(success, usage, reason)]

    def waiting(self, outcome: dict[str, JSON], usage: Usage) -> bytes:
        """The end of a response where the run only waits, and does not end."""
        about = mobox_metadata({"waiting": True})
        return event("RUN_FINISHED", **self._run, outcome=outcome, usage=usage, metadata=about)

    def finished(self, outcome: dict[str, JSON] | None, usage: Usage, reason: DoneReason) -> bytes:
        """The end of a run; why it ended, where not by its own word, is metadata."""
        why = mobox_metadata({"reason": reason if reason != "stop" else None})
        return event("RUN_FINISHED", **self._run, outcome=outcome, usage=usage, metadata=why)
