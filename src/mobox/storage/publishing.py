"""What stores in databases tell of a commit: to those who read here, and to other processes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mobox.errors import Fenced
from mobox.storage.batches import Appended, NextLeg
from mobox.storage.chats import BegunTurn
from mobox.storage.following import Following
from mobox.storage.log import RunId
from mobox.storage.wake_ups import News

__all__ = ["Publishing"]


class Publishing(Following):
    """Tells readers, before writers, what was committed."""

    def _publish_all(self, outcomes: Iterable[object]) -> None:
        committed = list(outcomes)
        for outcome in committed:
            match outcome:
                case Appended() as told:
                    self._publish(told.run_id, told.position, told.entries, told.size)
                case NextLeg(answers=told):
                    self._publish(told.run_id, told.position, told.entries, told.size)
                case BegunTurn(run=run):
                    self._beginnings.ring(run.chat_id)
                case Fenced():
                    self._hand_over(RunId(outcome.run_id))
                case _:
                    pass
        self._tell(_news_of(committed))


def _news_of(outcomes: Sequence[object]) -> News:
    """What others are to know of a commit."""
    legs = [outcome for outcome in outcomes if isinstance(outcome, NextLeg)]
    begun = [outcome.run for outcome in outcomes if isinstance(outcome, BegunTurn)]
    appended = [outcome for outcome in outcomes if isinstance(outcome, Appended)]
    appended += [leg.answers for leg in legs]
    return News(
        positions={told.run_id: told.position for told in appended},
        chats=tuple(run.chat_id for run in begun),
    )
