"""Spare processes: agents that are started before their turn, so that no run waits for imports.

Rule 1: an agent has spares, as many as its `warm`, after its first use. One that no run uses is
        ended after `spare_seconds`, the oldest one also at `max_spares`.
Rule 2: a spare runs what a new process would run: before it is handed over, the agent, the values
        of its variables and the files of its folder are compared with those that it was started
        with.
Rule 3: a spare has no chat. At the hand-over it gets the folder of the chat: sandbox/lending.py.
        One that cannot get it is not used; the run starts a process as always.
Rule 4: a spare that ends is not replaced until the agent's next run, and after `ATTEMPTS` of them,
        or if the agent has used its state folder too early, not until the agent has changed.
Rule 5: the access of a spare to models is bound to an attempt at the hand-over, too: before, all
        its calls are refused.
Rule 6: whatever happens to a spare, in the end its folder is deleted and the chat's is back.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from msgspec.structs import replace

from mobox.capture.catalog import Agent
from mobox.capture.execution import Outcome, last_words
from mobox.capture.model_access import Caller
from mobox.capture.process import ProcessExecution
from mobox.errors import SandboxUnavailable
from mobox.events.printable import on_one_line
from mobox.sandbox import NotBound, SpareChild, SpareSandbox
from mobox.sandbox.kept_process import PASSED_ON
from mobox.sandbox.lending import (
    SPARES,
    STATE,
    TAKEN,
    Refused,
    is_empty,
    locked,
    make_spare,
    put_back,
)
from mobox.settings import Settings
from mobox.supervisor.agent_files import Redaction, delete_folder
from mobox.supervisor.launching import Access, Launcher
from mobox.supervisor.sandboxes import Chosen, Sandboxes

log = logging.getLogger("mobox.supervisor")

ATTEMPTS: Final = 3
"""Spares of one version of an agent that may end before their turn."""
WHY: Final = 300
"""Characters of a spare's error that the server's log shows."""
STALE: Final = "stale"
MOST_FILES: Final = 10_000
"""Files of an agent's folder that are compared."""
_NOT_WATCHED: Final = frozenset({".git", ".venv", "node_modules", "__pycache__"})
"""Folders that are large, or written by the agent itself."""


class Version(NamedTuple):
    """What a process is started from."""

    agent: Agent
    variables: tuple[tuple[str, str | None], ...]
    files: tuple[tuple[str, int, int], ...]


class Failures(NamedTuple):
    """How many spares of a version ended before their turn, one after the other."""

    version: Version
    number: int


class Spare(NamedTuple):
    """A process that waits for its turn."""

    child: SpareChild
    execution: ProcessExecution
    access: Access
    version: Version
    folder: Path
    expiry: asyncio.TimerHandle

    @property
    def agent(self) -> str:
        """The id of its agent."""
        return self.version.agent.id


class Spares:
    """The spares of one server. `take` one for a run; `prepare` others after its start."""

    def __init__(
        self, states: Path, sandboxes: Sandboxes, launcher: Launcher, settings: Settings
    ) -> None:
        """`states` is the folder of the chats' state folders."""
        self._states = states
        self._launcher = launcher
        self._sandboxes = sandboxes
        self._settings = settings
        self._idle: list[Spare] = []  # the oldest first
        self._used: set[Path] = set()  # the folders of those that have a turn
        self._failures: dict[str, Failures] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closed = False

    def __len__(self) -> int:
        return len(self._idle)

    async def recover(self) -> None:
        """Put back the folders that were lent to processes of servers that were killed."""
        await asyncio.to_thread(_recover, self._states / SPARES)

    async def take(self, agent: Agent, state: Path, caller: Caller) -> ProcessExecution | None:
        """A process for an attempt, with the state folder of its chat; `None` if there is none."""
        if not self._of(agent):
            return None
        version = await asyncio.to_thread(version_of, agent)
        while waiting := self._of(agent):
            spare = waiting[0]
            self._idle.remove(spare)  # so that no other run takes it meanwhile
            answer = await self._bind(spare, state) if spare.version == version else STALE
            if answer == TAKEN:
                self._idle.insert(0, spare)
                return None
            spare.expiry.cancel()
            if answer is None:
                spare.access.bind(caller)
                self._used.add(spare.folder)
                return spare.execution
            spare.execution.kill()
        return None

    def prepare(self, agent: Agent) -> None:
        """Start the spares that this agent lacks, in the background."""
        if agent.warm and not self._is_closed:
            self._keep(asyncio.create_task(self._fill(agent)))

    async def close(self) -> None:
        """End all spares, and wait until all folders are back."""
        self._is_closed = True
        for spare in list(self._idle):
            self._end(spare)
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _failures_of(self, version: Version) -> int:
        last = self._failures.get(version.agent.id)
        return last.number if last is not None and last.version == version else 0

    def _of(self, agent: Agent) -> list[Spare]:
        return [spare for spare in self._idle if spare.agent == agent.id]

    # The hand-over

    async def _bind(self, spare: Spare, state: Path) -> str | None:
        """Give a spare the state folder of a chat; returns why not, `None` if it has it."""
        try:
            await spare.child.bind(state)
        except (NotBound, OSError) as problem:
            if str(problem) != TAKEN and spare.execution.running:
                self._give_up(spare.version, str(problem))
            return str(problem)
        self._failures.pop(spare.agent, None)
        return None

    def _give_up(self, version: Version, why: str) -> None:
        self._failures[version.agent.id] = Failures(version, ATTEMPTS)
        log.warning(
            "agent %s: no more spare processes until it has changed: %s", version.agent.id, why
        )

    # Starting

    async def _fill(self, agent: Agent) -> None:
        with suppress(SandboxUnavailable):  # its runs report it
            chosen = await self._sandboxes.of(agent)
            if isinstance(chosen.sandbox, SpareSandbox):
                await self._fill_in(chosen, chosen.sandbox, agent)

    async def _fill_in(self, chosen: Chosen, sandbox: SpareSandbox, agent: Agent) -> None:
        version = await asyncio.to_thread(version_of, agent)
        for spare in self._of(agent):
            if spare.version != version:
                self._end(spare)
        if self._failures_of(version) >= ATTEMPTS:
            return
        missing = min(agent.warm, self._settings.max_spares) - len(self._of(agent))
        for _ in range(missing):
            if self._is_closed:
                return
            try:
                self._start(chosen, sandbox, version)
            except OSError as error:
                self._give_up(version, f"one cannot be started: {error}")
                return

    def _start(self, chosen: Chosen, sandbox: SpareSandbox, version: Version) -> None:
        if len(self._idle) >= self._settings.max_spares:
            self._end(self._idle[0])
        path, lock = make_spare(str(self._states.absolute()))
        folder = Path(path)
        try:
            child, execution, access = self._launcher.start_spare(
                version.agent, chosen, sandbox, folder / STATE, lock
            )
        except OSError:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        finally:
            os.close(lock)
        loop = asyncio.get_running_loop()
        expiry = loop.call_later(self._settings.spare_seconds, self._expire, folder)
        spare = Spare(child, execution, access, version, folder, expiry)
        self._idle.append(spare)
        self._keep(asyncio.create_task(self._watch(spare)))

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # Ending

    def _remove(self, spare: Spare) -> None:
        spare.expiry.cancel()
        self._idle.remove(spare)

    def _end(self, spare: Spare) -> None:
        if spare in self._idle:
            self._remove(spare)
            spare.execution.kill()

    def _expire(self, folder: Path) -> None:
        for spare in [spare for spare in self._idle if spare.folder == folder]:
            self._end(spare)

    async def _watch(self, spare: Spare) -> None:
        """Wait until the process has ended, as a spare or as a run's, and clean up."""
        outcome = await spare.execution.outcome()
        if spare in self._idle:
            self._remove(spare)
            count = self._failures_of(spare.version) + 1
            self._failures[spare.agent] = Failures(spare.version, count)
            log.warning(
                "agent %s: a spare process ended before it had a turn: %s",
                spare.agent,
                _why(outcome, Redaction(spare.version.agent)),
            )
        if spare.folder not in self._used:  # else its run reads the rest of its output
            await spare.execution.close()
        self._used.discard(spare.folder)
        await asyncio.to_thread(_clean_up, spare.folder)


def _why(outcome: Outcome, redacted: Redaction) -> str:
    """How a process ended, on one line, with its last line on stderr."""
    outcome = replace(outcome, stderr_tail=redacted(outcome.stderr_tail))
    if (problem := outcome.failure()) is not None:
        return on_one_line(problem.message, WHY)
    last = last_words(outcome.stderr_tail)
    return f"The agent exited with code 0: {last}" if last else "The agent exited with code 0."


def _recover(spares: Path) -> None:
    with suppress(FileNotFoundError), locked(str(spares)):
        for folder in sorted(spares.iterdir()):
            _clean_up(folder)


def _clean_up(folder: Path) -> None:
    """Put back what a process that has ended was lent, and delete its own folder."""
    try:
        was_lent = put_back(str(folder))
    except (OSError, Refused) as error:  # another server may be about it
        if folder.exists():
            log.warning("cannot put back the state folder in %s: %s", folder, error)
        return
    if was_lent:
        log.warning("put back the state folder that a killed process had in %s", folder)
    if was_lent is None:
        return
    if is_empty(str(folder)):
        delete_folder(folder)  # with the state of a chat that was deleted meanwhile
    else:
        log.warning("cannot put back the state folder in %s: its chat has another", folder)


def version_of(agent: Agent, ours: Mapping[str, str] = os.environ) -> Version:
    """What a process of this agent would be started from now."""
    wanted = {**dict.fromkeys((*PASSED_ON, "PYTHONPATH")), **agent.env}
    values = {name: ours.get(name) if value is None else value for name, value in wanted.items()}
    files = []
    for number, (path, about) in enumerate(_files_in(agent.folder)):
        if number == MOST_FILES:
            break
        files.append((path, about.st_mtime_ns, about.st_size))
    return Version(agent, tuple(sorted(values.items())), tuple(sorted(files)))


def _files_in(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """The files of an agent, and when packages were installed for it."""
    for installed in folder.glob(".venv/lib/*/site-packages"):
        with suppress(OSError):
            yield str(installed), installed.stat()
    for path, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in _NOT_WATCHED]
        for file in (Path(path, name) for name in files):
            with suppress(OSError):
                yield str(file), file.stat()
