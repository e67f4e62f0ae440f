"""What may happen to a run, as functions from one `Run` to the next: every store's grammar.

======== =========================== ============================================
status   goes on to                  by
======== =========================== ============================================
running  waiting                     PAUSED, which gives up the lease
running  done                        DONE
running  running, and nobody's       `queued`, by who had the lease
running  running, in a new epoch     `claimed`, while it is queued
running  running, in a new epoch     `taken_over`, once nobody has it any more
waiting  running, in a new leg       `in_next_leg`, with the answers
waiting  running, in the same leg    whatever the process that waits still says
waiting  done                        DONE, when somebody cancels it
======== =========================== ============================================

A run is queued while it is running, nobody has it, and somebody may still claim it. That is no
status of its own: its readers need not know who executes it, or whether somebody does already.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from mobox.errors import Fenced, ProtocolError
from mobox.events import Done, StreamEvent
from mobox.storage.log import Run, Status, status_after

__all__ = [
    "Lease",
    "after_events",
    "claimed",
    "in_next_leg",
    "is_queued",
    "queued",
    "taken_over",
]


class Lease(Struct, frozen=True):
    """Who has a run, and until when."""

    owner: str
    until: int


def after_events(
    run: Run, epoch: int, events: Sequence[StreamEvent], lease: Lease, now: int
) -> Run:
    """The run when its writer has said `events`."""
    if run.epoch != epoch or run.status == "done":
        raise Fenced(run.id, epoch)
    longer = replace(run, tail_seq=run.tail_seq + len(events))
    status = status_after(run.status, events)
    return longer if status == run.status else _become(longer, status, events, lease, now)


def _become(run: Run, status: Status, events: Sequence[StreamEvent], lease: Lease, now: int) -> Run:
    if status == "running":
        return replace(run, status=status, lease_owner=lease.owner, lease_until=lease.until)
    run = replace(run, status=status, lease_owner=None, lease_until=None)
    last = events[-1]
    return replace(run, reason=last.reason, ended_at=now) if isinstance(last, Done) else run


def in_next_leg(run: Run, epoch: int, events: Sequence[StreamEvent], lease: Lease, now: int) -> Run:
    """The run when it has got its answers."""
    if run.epoch != epoch or run.status != "waiting":
        raise Fenced(run.id, epoch)
    if not events:
        raise ProtocolError("a new attempt starts with the answers to its input requests")
    started = replace(_owned(run, lease), status="running", leg=run.leg + 1)
    return after_events(started, started.epoch, events, lease, now)


def taken_over(run: Run, epoch: int, lease: Lease, now: int) -> Run:
    """The run when somebody else has it."""
    is_nobodys = run.lease_owner is None or (run.lease_until or 0) <= now
    if run.epoch != epoch or run.status != "running" or not is_nobodys:
        raise Fenced(run.id, epoch)
    return _owned(run, lease)


def is_queued(run: Run, now: int) -> bool:
    """Whether somebody is to claim it."""
    is_nobodys = run.status == "running" and run.lease_owner is None
    return is_nobodys and (run.lease_until or 0) > now


def queued(run: Run, epoch: int, until: int) -> Run:
    """The run when whoever claims it first may have it."""
    if run.epoch != epoch or run.status != "running":
        raise Fenced(run.id, epoch)
    return replace(run, lease_owner=None, lease_until=until)


def claimed(run: Run, lease: Lease, now: int) -> Run:
    """The run when somebody has claimed it."""
    if not is_queued(run, now):
        raise Fenced(run.id, run.epoch)
    return _owned(run, lease)


def _owned(run: Run, lease: Lease) -> Run:
    return replace(run, epoch=run.epoch + 1, lease_owner=lease.owner, lease_until=lease.until)
