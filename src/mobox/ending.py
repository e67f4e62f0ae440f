"""How a run ends by its agent's own account: what was proposed, and whether an error came last."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from mobox.events import Done, DoneReason, EventType, StreamEvent, ToolResult

__all__ = ["AGENTS_OWN_REASONS", "GOES_ON", "Ending", "failed_after"]

AGENTS_OWN_REASONS: Final[frozenset[DoneReason]] = frozenset(
    {"stop", "tool", "length", "content_filter", "refusal", "max_turns"}
)
"""The ends that an agent, or its model, comes to by itself."""
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
"""The work of an agent. What only closes or counts what was there before, such as the end of a
step or its usage, leaves an error the last word."""


def failed_after(failed: bool, event: StreamEvent) -> bool:
    """Whether a run has failed after `event`, given whether it had before."""
    if event.type is EventType.ERROR:
        return True
    if isinstance(event, ToolResult) and event.status == "interrupted":
        return failed  # made up for a call that has no result
    return failed and event.type not in GOES_ON


class Ending:
    """The end of one run, as far as it is known."""

    def __init__(self) -> None:
        self.failed = False
        """An error came, and no work since."""
        self._proposal: Done | None = None
        self._explains = False  # the proposal came after the error

    def see(self, event: StreamEvent) -> None:
        """Note an event that may be an error, or go on after one."""
        self.failed = failed_after(self.failed, event)
        self._explains = self._explains and event.type is not EventType.ERROR

    def propose(self, done: Done) -> None:
        """The agent names its end."""
        self._proposal, self._explains = done, self.failed

    def withdraw(self) -> None:
        """The agent begins another turn, whose end is not known."""
        self._proposal = None

    def fall_back_on(self, done: Done) -> None:
        """The source has ended, and its last message ended like this, before an error or after."""
        if not (self.failed and self._explains):
            self._proposal = done

    @property
    def done(self) -> Done:
        """The end. An error that is the last word outweighs what was proposed before it."""
        if self._proposal is None:
            return Done(reason="error" if self.failed else "truncated")
        gives_way = _SUCCESSES if self._explains else AGENTS_OWN_REASONS
        if self.failed and self._proposal.reason in gives_way:
            return replace(self._proposal, reason="error")
        return self._proposal
