"""Holds the errors of a run until it ends: only then is it known which of them was fatal."""

from __future__ import annotations

from mobox.events import FAILURES, DoneReason, Error, Status

__all__ = ["HeldErrors"]


class HeldErrors:
    """The errors of one run."""

    def __init__(self) -> None:
        self._errors: list[Error] = []

    def hold(self, error: Error) -> None:
        """Keep an error."""
        self._errors.append(error)

    def told(self, reason: DoneReason) -> tuple[Error | None, list[Status]]:
        """The fatal error of a run that ended so, which is the last, and the others as notices."""
        fatal = self._errors.pop() if reason in FAILURES and self._errors else None
        return fatal, [Status(message=error.message, kind="notice") for error in self._errors]
