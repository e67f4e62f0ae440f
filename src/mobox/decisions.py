"""What a person may decide about an approval.

An agent lists it in its request, in the words of `DECISIONS`. Where it lists none of them, a person
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
"""By the word that allows it: `edit` approves with another input, which is the answer's value;
`respond` answers in the tool's place."""

_USUAL: Final = ("approve", "reject")
_NOT_APPROVALS: Final = ("approve", "reject", "respond")


def allowed_words(request: InputRequest) -> tuple[str, ...]:
    """What a person may do, in the order of the table."""
    if request.kind != "approval":
        return _NOT_APPROVALS
    return tuple(word for word in DECISIONS if word in request.allowed) or _USUAL


def allowed_decisions(request: InputRequest) -> tuple[str, ...]:
    """The decisions that an answer may have; an agent that has a form of its own is answered."""
    decisions = [DECISIONS[word] for word in allowed_words(request)]
    if request.schema is not None and "answered" not in decisions:
        decisions.append("answered")
    return (*decisions, "cancelled")
