"""What runs, agents and owners have used of models: a line per call, in a file per day.

Rule 1: the file is the only count. Each process appends its calls to it and reads those of all
        others, so that processes that share a data folder share their budgets.
Rule 2: a call is counted when it begins, its tokens and its cost when it has ended. Calls that run
        at the same time can together exceed a budget of tokens, by what they use themselves.
Rule 3: days are those of UTC; files of earlier days than yesterday are deleted.
"""

from __future__ import annotations

import logging
import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from mobox.capture.model_access import Caller

log = logging.getLogger("mobox.models")


class Line(Struct, frozen=True, omit_defaults=True):
    """An entry: a call that began, or what one has used."""

    run: str
    agent: str
    owner: str
    calls: int = 0
    tokens: int = 0
    cost_usd: float = 0


class Totals(Struct):
    """The sums of entries."""

    calls: int = 0
    tokens: int = 0
    cost_usd: float = 0

    def add(self, line: Line) -> None:
        """Add an entry."""
        self.calls += line.calls
        self.tokens += line.tokens
        self.cost_usd += line.cost_usd


_DECODER: Final = msgspec.json.Decoder(Line)


def _today() -> date:
    return datetime.now(UTC).date()


class Ledger:
    """The usage of a data folder's runs."""

    def __init__(self, folder: Path, today: Callable[[], date] = _today) -> None:
        self._folder = folder
        self._today = today
        self._day: date | None = None
        self._number: int | None = None
        """The open file of the day: opening it for each call would take longer than all else."""
        self._place = 0
        self._runs: dict[str, Totals] = {}
        self._earlier_runs: dict[str, Totals] = {}
        self._agents: defaultdict[str, Totals] = defaultdict(Totals)
        self._owners: defaultdict[str, Totals] = defaultdict(Totals)

    def add(self, caller: Caller, calls: int = 0, tokens: int = 0, cost_usd: float = 0) -> None:
        """Count a call, or what it has used."""
        line = Line(caller.run_id, caller.agent, caller.owner, calls, tokens, cost_usd)
        self._begin_day()
        try:
            os.write(self._opened(os.O_CREAT), msgspec.json.encode(line) + b"\n")
        except OSError as error:
            log.warning("cannot store the usage of models, budgets may be exceeded: %s", error)
            self._count(line)

    def of_run(self, run_id: str) -> Totals:
        """What a run has used, in all its attempts."""
        self.refresh()
        earlier = self._earlier_runs.get(run_id, Totals())
        now = self._runs.get(run_id, Totals())
        return Totals(
            earlier.calls + now.calls,
            earlier.tokens + now.tokens,
            earlier.cost_usd + now.cost_usd,
        )

    def of_agent(self, agent: str) -> Totals:
        """What an agent has used today."""
        self.refresh()
        return self._agents.get(agent, Totals())

    def of_owner(self, owner: str) -> Totals:
        """What an owner has used today."""
        self.refresh()
        return self._owners.get(owner, Totals())

    def refresh(self) -> None:
        """Read what was added since, here and by other processes."""
        self._begin_day()
        try:
            number = self._opened()
            about = os.fstat(number)
            if about.st_nlink == 0:  # deleted by a person: the next one begins empty
                self.close()
                self._place = 0
            elif about.st_size > self._place:
                data = os.pread(number, about.st_size - self._place, self._place)
                self._place += data.rfind(b"\n") + 1
                for line in _lines(data):
                    self._count(line)
        except OSError:
            pass  # nothing was added yet

    def _begin_day(self) -> None:
        """Start a new day, if it is one. Runs of yesterday may still be running."""
        today = self._today()
        if today == self._day:
            return
        self.close()
        yesterday = today - timedelta(days=1)
        self._earlier_runs, self._runs = {}, {}
        with suppress(OSError):
            for line in _lines(self._file(yesterday).read_bytes()):
                self._earlier_runs.setdefault(line.run, Totals()).add(line)
        self._agents.clear()
        self._owners.clear()
        self._day, self._place = today, 0
        self._delete_before(yesterday)

    def _opened(self, flags: int = 0) -> int:
        """The file of the day; raises `OSError`."""
        if self._number is None:
            assert self._day is not None
            if flags & os.O_CREAT:
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            flags |= os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW
            self._number = os.open(self._file(self._day), flags, 0o600)
        return self._number

    def close(self) -> None:
        """Close the file; it is opened again when it is needed."""
        if self._number is not None:
            os.close(self._number)
        self._number = None

    def _count(self, line: Line) -> None:
        self._runs.setdefault(line.run, Totals()).add(line)
        self._agents[line.agent].add(line)
        self._owners[line.owner].add(line)

    def _file(self, day: date) -> Path:
        return self._folder / f"usage-{day.isoformat()}.jsonl"

    def _delete_before(self, day: date) -> None:
        oldest = self._file(day).name
        with suppress(OSError):
            for file in self._folder.glob("usage-*.jsonl"):
                if file.name < oldest:
                    file.unlink(missing_ok=True)


def _lines(data: bytes) -> Iterator[Line]:
    """The complete entries."""
    for line in data[: data.rfind(b"\n") + 1].splitlines():
        with suppress(msgspec.DecodeError):  # a full disk cuts lines
            yield _DECODER.decode(line)
