"""What may happen to a run, as functions from one `Run` to the next: every store's grammar.

======== =========================== ============================================
status   goes on to                  by
======== =========================== ============================================
running  waiting                     PAUSED, which gives up the lease
running  done                        DONE
running  running, in a new epoch     `taken_over`, once the lease has run out
waiting  running, in a new leg       `in_next_leg`, with the answers
waiting  running, in the same leg    whatever the process that waits still says
waiting  done                        DONE, when somebody cancels it
======== =========================== ============================================
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from mobox.errors import Fenced, ProtocolError
from mobox.events import Done, StreamEvent
from mobox.storage.log import Run, Status, status_after

__all__ = ["Lease", "after_events", "in_next_leg", "released", "taken_over"]


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
        raise ProtocolError("a leg begins with the answers it was waiting for")
    started = replace(_owned(run, lease), status="running", leg=run.leg + 1)
    return after_events(started, started.epoch, events, lease, now)


def taken_over(run: Run, epoch: int, lease: Lease, now: int) -> Run:
    """The run when somebody else has it."""
    is_expired = run.status == "running" and (run.lease_until or 0) <= now
    if run.epoch != epoch or not is_expired:
        raise Fenced(run.id, epoch)
    return _owned(run, lease)


def _owned(run: Run, lease: Lease) -> Run:
    return replace(run, epoch=run.epoch + 1, lease_owner=lease.owner, lease_until=lease.until)


def released(run: Run, epoch: int) -> Run:
    """The run when nobody has it."""
    if run.epoch != epoch or run.status != "running":
        raise Fenced(run.id, epoch)
    return replace(run, lease_owner=None, lease_until=None)
