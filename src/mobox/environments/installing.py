"""Installs environments: one at a time for each agent, in any number of processes.

A run that finds another one installing waits for its lock, so nothing is shared between runs but
the files. The one that was first may be stopped: then the next one starts again.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from mobox.capture.catalog import Agent
from mobox.environments import (
    COMPLETE,
    FAILED,
    Environment,
    environment_of,
    hold,
    in_environment,
    install_command,
    read_note,
    try_lock,
)
from mobox.environments.uv import install
from mobox.errors import InstallFailed, NotInstalled
from mobox.sandbox import Sandbox
from mobox.sandbox.deleting import delete

PAUSE: Final = 60.0
"""Seconds after a failure in which messages do not start another attempt: each one would wait for
the same error. Changed files make another environment, which has not failed."""
POLL: Final = 0.2
"""Seconds between two attempts to get a lock."""

_RESOLVED: Final = re.compile(r"Resolved (\d+) packages? in ")
_SHOWN: Final = re.compile(r"(Downloading|Building) (\S+)(?: \((\d[\d.]*)(\w+)\))?")
_INSTALLED: Final = re.compile(r"Installed (\d+) packages? in ")

Report = Callable[[str], Awaitable[object]]
"""Takes a sentence about the progress, for a person."""


async def install_environment(
    environment: Environment,
    report: Report,
    *,
    allow_builds: bool = False,
    pause: float = 0,
    sandbox: Sandbox | None = None,
) -> None:
    """Install it in a sandbox, unless it is installed, and remove the agent's other ones.

    Raises `InstallFailed`, at once if another attempt has failed within `pause` seconds.
    """
    async with _locked(environment, report) as lock:
        if environment.is_installed():
            return
        if environment.failed_within(pause):
            raise InstallFailed(environment.problem())
        try:
            await _build(environment, Progress(environment, report), allow_builds, lock, sandbox)
        except (InstallFailed, NotInstalled) as error:
            write_note(environment.path / FAILED, {"problem": str(error)})
            raise
        except OSError as error:
            raise _unusable(environment.path, error) from None
        await asyncio.to_thread(_remove_others, environment)


async def _build(
    environment: Environment,
    progress: Progress,
    allow_builds: bool,
    lock: int,
    sandbox: Sandbox | None,
) -> None:
    await asyncio.to_thread(delete, str(environment.path))
    await progress.start()
    await install(
        environment.folder,
        environment.path,
        progress.line,
        source=environment.source,
        allow_builds=allow_builds,
        lock=lock,
        sandbox=sandbox,
    )
    note = {"folder": str(environment.folder), "packages": progress.packages}
    write_note(environment.path / COMPLETE, note)
    await progress.end()


class Progress:
    """Tells people what uv does."""

    def __init__(self, environment: Environment, report: Report) -> None:
        self.packages = 0
        self._name = environment.name
        self._report = report
        self._since = time.monotonic()

    async def start(self) -> None:
        """It begins."""
        await self._report(f"Installing the packages of {self._name}…")

    async def line(self, line: str) -> None:
        """A line of uv."""
        line = line.strip()
        if resolved := _RESOLVED.match(line):
            await self._report(f"Installing {_packages(int(resolved[1]))} for {self._name}…")
        elif installed := _INSTALLED.match(line):
            self.packages = int(installed[1])
            await self._report(f"Compiling {_packages(self.packages)} for {self._name}…")
        elif shown := _SHOWN.match(line):
            size = f" ({shown[3]} {shown[4]})" if shown[3] else ""
            await self._report(f"{shown[1]} {shown[2]}{size}…")

    async def end(self) -> None:
        """All are installed."""
        seconds = max(1, round(time.monotonic() - self._since))
        await self._report(f"Installed {_packages(self.packages)} in {seconds} s")


def _packages(number: int) -> str:
    return "1 package" if number == 1 else f"{number} packages"


def write_note(file: Path, note: dict[str, object]) -> None:
    """Write a file at once: it is complete, or not there."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = file.with_suffix(".new")
    draft.unlink(missing_ok=True)
    with draft.open("x", encoding="utf-8") as new:  # a package may have put a link here
        new.write(json.dumps(note))
    draft.replace(file)


@asynccontextmanager
async def _locked(environment: Environment, report: Report) -> AsyncIterator[int]:
    """Hold the lock of the agent's environments."""
    try:
        environment.lock.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        number = os.open(environment.lock, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise _unusable(environment.lock.parent, error) from None
    try:
        if not try_lock(number):
            await report(f"Waiting for another run that installs {environment.name}…")
            await _wait_for(number)
        yield number
    finally:
        os.close(number)


def _unusable(path: Path, error: OSError) -> InstallFailed:
    return InstallFailed(f"{error.strerror or error}: {path}")


async def _wait_for(lock: int) -> None:
    """Lock it as soon as nobody else has it; polls, as a blocking call could not be cancelled."""
    while True:
        await asyncio.sleep(POLL)
        if try_lock(lock):
            return


# Others of the same agent


def _remove_others(environment: Environment) -> None:
    """Remove the earlier environments of the agent that no process uses."""
    for path in _others(environment):
        try:
            number = os.open(path / COMPLETE, os.O_RDONLY)
        except OSError:  # what is left of an attempt
            delete(str(path))
            continue
        try:
            if try_lock(number):
                (path / COMPLETE).unlink()
                delete(str(path))
        finally:
            os.close(number)


def _others(environment: Environment) -> Iterator[Path]:
    """Those of the same folder, not of another agent with the same id."""
    name = re.compile(re.escape(environment.agent) + r"-[0-9a-f]{12}")
    for path in environment.path.parent.iterdir():
        if name.fullmatch(path.name) and path != environment.path:
            folder = read_note(path / COMPLETE).get("folder")
            if folder is None or folder == str(environment.folder) or not Path(folder).is_dir():
                yield path


# The environments of a server


class Environments:
    """The environments that this process uses, and holds until it ends."""

    def __init__(
        self,
        root: Path,
        *,
        installs: bool = False,
        sandbox: Callable[[], Sandbox | None] = lambda: None,
    ) -> None:
        """With `installs`, a run installs what its agent lacks, in this sandbox."""
        self._root = root
        self._sandbox = sandbox
        self.installs = installs
        self._held: dict[Path, int] = {}

    def of(self, agent: Agent) -> Environment | None:
        """The environment of an agent, if it needs one; reads files."""
        return environment_of(agent, self._root)

    async def prepare(self, agent: Agent, report: Report) -> Agent:
        """The agent as it can be started, after its packages are installed if need be.

        Raises `InstallFailed`. May be cancelled.
        """
        if not agent.is_script:
            return agent
        environment = await asyncio.to_thread(self.of, agent)
        if environment is None:
            return agent
        if not self._hold(environment):
            await self._install(environment, report)
            self._hold(environment)
        return in_environment(agent, environment)

    def prepared(self, agent: Agent) -> Agent | None:
        """The agent as it can be started now; `None` if its packages are not installed."""
        environment = self.of(agent)
        if environment is None:
            return agent
        return in_environment(agent, environment) if self._hold(environment) else None

    def can_start(self, agent: Agent) -> bool:
        """Whether a run would find the agent's packages, or install them."""
        environment = self.of(agent)
        return environment is None or self.installs or environment.is_installed()

    def close(self) -> None:
        """From now on they may be removed."""
        while self._held:
            os.close(self._held.popitem()[1])

    def _hold(self, environment: Environment) -> bool:
        if environment.path in self._held and environment.is_installed():
            return True
        if (number := self._held.pop(environment.path, None)) is not None:
            os.close(number)
        if (number := hold(environment)) is not None:
            self._held[environment.path] = number
        return number is not None

    async def _install(self, environment: Environment, report: Report) -> None:
        name, command = environment.name, install_command(environment)
        if not self.installs:
            raise InstallFailed(f"The packages of {name} are not installed: run {command}")
        try:
            await install_environment(environment, report, pause=PAUSE, sandbox=self._sandbox())
        except (InstallFailed, NotInstalled) as error:
            why = f"The packages of {name} could not be installed: {error}"
            raise InstallFailed(why) from None
