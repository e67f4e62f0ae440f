"""The errors of a run until it ends: only then is it known which of them was its end."""

from __future__ import annotations

from mobox.events import FAILURES, DoneReason, Error, Status

__all__ = ["HeldErrors"]


class HeldErrors:
    """Those of one run."""

    def __init__(self) -> None:
        self._messages: list[str] = []

    def hold(self, error: Error) -> None:
        """Keep what went wrong."""
        self._messages.append(error.message)

    def told(self, reason: DoneReason) -> tuple[str | None, list[Status]]:
        """What a run that ended so failed of, the last error, and the notices that the rest are."""
        fatal = self._messages.pop() if reason in FAILURES and self._messages else None
        return fatal, [Status(message=message, kind="notice") for message in self._messages]
