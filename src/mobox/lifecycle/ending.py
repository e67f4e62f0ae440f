"""How a run ends: the DONE that its agent proposed, and whether an error came last."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from mobox.events import Done, DoneReason, EventType, StreamEvent, ToolResult

AGENTS_OWN_REASONS: Final[frozenset[DoneReason]] = frozenset(
    {"stop", "tool", "length", "content_filter", "refusal", "max_turns"}
)
"""Reasons that come from the agent or its model, not from the server."""
_SUCCESSES: Final[frozenset[DoneReason]] = frozenset({"stop", "tool"})
GOES_ON: Final = {
    EventType.TEXT,
    EventType.TEXT_DELTA,
    EventType.THINKING,
    EventType.THINKING_DELTA,
    EventType.TOOL_USE_START,
    EventType.TOOL_USE_DELTA,
    EventType.TOOL_RESULT,
    EventType.STEP_START,
    EventType.SUBAGENT_START,
    EventType.TODO_CREATE,
    EventType.TODO_UPDATE,
    EventType.TODO_DONE,
    EventType.FILE,
    EventType.INPUT_REQUEST,
}
"""Events that count as work. Events that only close or count earlier work, such as the end of a
step or its usage, do not supersede an error."""


def failed_after(failed: bool, event: StreamEvent) -> bool:
    """Whether a run has failed after `event`, given whether it had before."""
    if event.type is EventType.ERROR:
        return True
    if isinstance(event, ToolResult) and event.status == "interrupted":
        return failed  # added for a call without a result
    return failed and event.type not in GOES_ON


class Ending:
    """The end of one run, as far as it is known."""

    def __init__(self) -> None:
        self.failed = False
        """An error came, and no work after it."""
        self._proposal: Done | None = None
        self._explains = False  # the proposal came after the error

    def see(self, event: StreamEvent) -> None:
        """Take an event that may be an error, or work after one."""
        self.failed = failed_after(self.failed, event)
        self._explains = self._explains and event.type is not EventType.ERROR

    def propose(self, done: Done) -> None:
        """The agent proposes its end."""
        self._proposal, self._explains = done, self.failed

    def withdraw(self) -> None:
        """The agent starts another turn, so the proposed end no longer counts."""
        self._proposal = None

    def fall_back_on(self, done: Done) -> None:
        """The source ended, and its last message ended like this, before or after an error."""
        if not (self.failed and self._explains):
            self._proposal = done

    @property
    def is_proposed(self) -> bool:
        """Whether the agent has proposed an end, and not continued since."""
        return self._proposal is not None

    @property
    def done(self) -> Done:
        """The end. A final error overrides what was proposed before it."""
        if self._proposal is None:
            return Done(reason="error" if self.failed else "truncated")
        gives_way = _SUCCESSES if self._explains else AGENTS_OWN_REASONS
        if self.failed and self._proposal.reason in gives_way:
            return replace(self._proposal, reason="error")
        return self._proposal
