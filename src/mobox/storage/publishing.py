"""Publishes commits of stores in databases: to readers here, and to other processes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mobox.errors import Fenced
from mobox.storage.append_batch import Appended, NextAttempt
from mobox.storage.chats import BegunTurn
from mobox.storage.following import Following
from mobox.storage.log import RunId
from mobox.storage.notifier import RunNotice

__all__ = ["Publishing"]


class Publishing(Following):
    """Passes committed entries to readers, before the writers' calls return."""

    def _publish_all(self, outcomes: Iterable[object]) -> None:
        committed = list(outcomes)
        for outcome in committed:
            match outcome:
                case Appended() as batch:
                    self._publish(batch.run_id, batch.position, batch.entries, batch.size)
                case NextAttempt(answers=batch):
                    self._publish(batch.run_id, batch.position, batch.entries, batch.size)
                case BegunTurn(run=run):
                    self._chat_watches.ring(run.chat_id)
                case Fenced():
                    self._hand_over(RunId(outcome.run_id))
                case _:
                    pass
        self._notify(_notification_of(committed))


def _notification_of(outcomes: Sequence[object]) -> RunNotice:
    """The notification of a commit for other processes."""
    resumed = [outcome for outcome in outcomes if isinstance(outcome, NextAttempt)]
    started = [outcome.run for outcome in outcomes if isinstance(outcome, BegunTurn)]
    appended = [outcome for outcome in outcomes if isinstance(outcome, Appended)]
    appended += [outcome.answers for outcome in resumed]
    return RunNotice(
        positions={batch.run_id: batch.position for batch in appended},
        chats=tuple(run.chat_id for run in started),
    )
