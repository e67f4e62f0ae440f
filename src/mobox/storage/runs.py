"""The state transitions of a run, as functions from one `Run` to the next, for every store.

======== =========================== ============================================
status   next                        by
======== =========================== ============================================
running  waiting                     PAUSED, which releases the lease
running  done                        DONE
running  running, without a lease    `queued`, by the owner of the lease
running  running, without a lease    `requeued`, once the lease has expired before the hand-over
running  running, with an agent      `handed_over`, by the owner of the lease
running  running, in a new epoch     `claimed`, while it is queued
running  running, in a new epoch     `taken_over`, once the lease has expired
waiting  running, in a new attempt   `in_next_attempt`, with the answers, with or without a lease
waiting  running, in the same one    any output of the waiting process
waiting  done                        DONE, when it is cancelled
======== =========================== ============================================

A run is queued while it is running, has no lease owner, and can still be claimed. That is no status
of its own: readers need not know which process executes it, or whether one does already.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from mobox.errors import Fenced, ProtocolError
from mobox.events import Done, StreamEvent
from mobox.storage.log import Run, Status, status_after

MOST_REQUEUES: Final = 5
"""How often a run is queued again: one that ends every process that reads it must end, too."""


class Lease(Struct, frozen=True):
    """The owner of a run, and until when; without an owner, until when it can be claimed."""

    owner: str | None
    until: int


def after_events(
    run: Run, epoch: int, events: Sequence[StreamEvent], lease: Lease, now: int
) -> Run:
    """The run after its writer appended `events`."""
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


def in_next_attempt(
    run: Run, epoch: int, events: Sequence[StreamEvent], lease: Lease, now: int
) -> Run:
    """The run resumed with its answers."""
    if run.epoch != epoch or run.status != "waiting":
        raise Fenced(run.id, epoch)
    if not events:
        raise ProtocolError("a new attempt starts with the answers to its input requests")
    started = replace(_unstarted(run, lease), status="running", leg=run.leg + 1)
    return after_events(started, started.epoch, events, lease, now)


def taken_over(run: Run, epoch: int, lease: Lease, now: int) -> Run:
    """The run taken over by another process."""
    is_free = run.lease_owner is None or (run.lease_until or 0) <= now
    if run.epoch != epoch or run.status != "running" or not is_free:
        raise Fenced(run.id, epoch)
    return _owned(run, lease)


def is_queued(run: Run, now: int) -> bool:
    """Whether it can be claimed."""
    is_free = run.status == "running" and run.lease_owner is None
    return is_free and (run.lease_until or 0) > now


def queued(run: Run, epoch: int, until: int) -> Run:
    """The run queued for any process to claim."""
    if run.epoch != epoch or run.status != "running":
        raise Fenced(run.id, epoch)
    return replace(run, lease_owner=None, lease_until=until)


def handed_over(run: Run, epoch: int) -> Run:
    """The run of which the agent gets its turn."""
    if run.epoch != epoch or run.status != "running":
        raise Fenced(run.id, epoch)
    return replace(run, unstarted=0)


def can_be_requeued(run: Run) -> bool:
    """Whether its attempt has done nothing yet, so that another process can start it."""
    return run.unstarted == run.epoch and run.requeued < MOST_REQUEUES


def requeued(run: Run, epoch: int, until: int, now: int) -> Run:
    """The run queued again. It has a new epoch: the process that had it may only be slow."""
    is_expired = run.lease_owner is not None and (run.lease_until or 0) <= now
    if run.status != "running" or not is_expired or not can_be_requeued(run):
        raise Fenced(run.id, epoch)
    longer = replace(run, epoch=run.epoch + 1, requeued=run.requeued + 1)
    return queued(longer, epoch + 1, until)


def claimed(run: Run, lease: Lease, now: int) -> Run:
    """The run claimed by the owner of `lease`."""
    if not is_queued(run, now):
        raise Fenced(run.id, run.epoch)
    return _unstarted(run, lease)


def _unstarted(run: Run, lease: Lease) -> Run:
    owned = _owned(run, lease)
    return replace(owned, unstarted=owned.epoch)


def _owned(run: Run, lease: Lease) -> Run:
    return replace(run, epoch=run.epoch + 1, lease_owner=lease.owner, lease_until=lease.until)


def stop_requested(run: Run, now: int) -> Run:
    """The run with the time of its first stop request; the same run if that changes nothing."""
    if run.status == "done" or run.stop_requested_at is not None:
        return run
    return replace(run, stop_requested_at=now)
