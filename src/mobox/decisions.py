"""What a person may decide about an approval.

An agent lists the allowed decisions in its request, as keys of `DECISIONS`. Without a list a person
may approve and reject.
"""

from __future__ import annotations

from typing import Final

from mobox.events import InputRequest

__all__ = ["DECISIONS", "allowed_decisions", "allowed_words"]

DECISIONS: Final = {
    "approve": "approved",
    "edit": "edited",
    "reject": "denied",
    "respond": "answered",
}
"""Decisions by the name that allows them: `edit` approves with a changed input, the answer's value;
`respond` answers in place of the tool."""

_USUAL: Final = ("approve", "reject")
_NOT_APPROVALS: Final = ("approve", "reject", "respond")


def allowed_words(request: InputRequest) -> tuple[str, ...]:
    """The allowed decisions, in the order of the table."""
    if request.kind != "approval":
        return _NOT_APPROVALS
    return tuple(word for word in DECISIONS if word in request.allowed) or _USUAL


def allowed_decisions(request: InputRequest) -> tuple[str, ...]:
    """The decisions that an answer may have; a request with its own form takes `answered`."""
    decisions = [DECISIONS[word] for word in allowed_words(request)]
    if request.schema is not None and "answered" not in decisions:
        decisions.append("answered")
    return (*decisions, "cancelled")
