"""Lists of an owner's runs over all chats: the values.

Rule 1: a page continues after the last row of the one before, by numbers that do not change: a run
        that starts or ends meanwhile moves no other.
Rule 2: `slowest` has only ended runs, as the others get slower while they are listed.
Rule 3: tokens and cost are those of the stored message, which a store makes before it lists runs.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

from msgspec import Struct

from mobox.storage.log import Run

RunOrder = Literal["newest", "slowest", "dearest"]
RunOutcome = Literal["running", "waiting", "done", "failed", "stopped"]
ORDERS: Final[tuple[RunOrder, ...]] = get_args(RunOrder)
OUTCOMES: Final[tuple[RunOutcome, ...]] = get_args(RunOutcome)

FAILED: Final = ("error", "lost", "truncated")
STOPPED: Final = ("cancelled", "interrupted")
"""The reasons of runs that failed, and of those that were stopped; all others are done."""


class RunFilter(Struct, frozen=True, kw_only=True):
    """Which runs are listed, and in which order."""

    order: RunOrder = "newest"
    outcome: RunOutcome | None = None
    agent: str | None = None


class ListedRun(Struct, frozen=True, kw_only=True):
    """A run in a list; what is not known is `None`."""

    run: Run
    title: str
    """Of its chat."""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None


class RunPage(Struct, frozen=True, kw_only=True):
    """Some of an owner's runs."""

    runs: tuple[ListedRun, ...]
    before: str | None = None
    """The cursor of the runs after these; `None` if there are none."""


def outcome_of(run: Run) -> RunOutcome:
    """What became of a run."""
    if run.status != "done":
        return run.status
    return "failed" if run.reason in FAILED else "stopped" if run.reason in STOPPED else "done"
