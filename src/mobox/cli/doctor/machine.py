"""Checks of this machine: Python, packages, the data folder and the port."""

from __future__ import annotations

import asyncio
import errno
import http.client
import json
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import closing, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from mobox import __version__
from mobox.cli.doctor.context import Context
from mobox.cli.doctor.findings import Finding
from mobox.errors import NotInstalled
from mobox.settings import Settings

OLDEST: Final = (3, 11)
LITTLE_SPACE: Final = 1 << 30
NO_SPACE: Final = 100 << 20

EXTRAS: Final = {
    "server": ("httptools", "httpx2", "socketio", "starlette", "uvicorn", "wsproto", "yaml"),
    "agents": ("uv",),
    "postgres": ("asyncpg",),
    "redis": ("redis",),
}
"""The modules of each extra."""


async def check_python(_: Context) -> AsyncIterator[Finding]:
    """The interpreter."""
    text = f"{platform.python_version()} ({sys.executable})"
    if sys.version_info < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        yield Finding("fail", "python", text, f"install Python {oldest} or newer")
    else:
        yield Finding("ok", "python", text)


async def check_packages(context: Context) -> AsyncIterator[Finding]:
    """The extras that are installed, and those that the settings need."""
    missing = {
        extra: [name for name in names if find_spec(name) is None]
        for extra, names in EXTRAS.items()
    }
    there = [extra for extra, names in missing.items() if not names]
    yield Finding("ok", "mobox", f"{__version__}, with the extras {', '.join(there) or 'none'}")
    for extra, reason in _needed(context.settings).items():
        if names := missing[extra]:
            advice = f"pip install 'mobox-stream[{extra}]'"
            yield Finding("fail", "packages", f"{', '.join(names)} missing: {reason}", advice)


def _needed(settings: Settings) -> dict[str, str]:
    needed = {"server": "needed by mobox serve and mobox run"}
    if settings.database.startswith(("postgresql:", "postgres:")):
        needed["postgres"] = "DATABASE_URL is of PostgreSQL"
    if settings.redis_url:
        needed["redis"] = "REDIS_URL is set"
    return needed


async def check_uv(_: Context) -> AsyncIterator[Finding]:
    """The program that installs the packages of agents."""
    from mobox.environments.uv import find_uv

    try:
        path = find_uv()
    except NotInstalled:
        why = "not found; agents that list packages cannot be installed"
        yield Finding("warn", "uv", why, "pip install 'mobox-stream[agents]'")
        return
    shown = await asyncio.to_thread(
        subprocess.run, [path, "--version"], capture_output=True, text=True, check=False
    )
    version = shown.stdout.strip().removeprefix("uv ")
    if shown.returncode:
        yield Finding("fail", "uv", f"{path} does not run: {shown.stderr.strip()}")
    else:
        yield Finding("ok", "uv", f"{version.partition(' ')[0]} ({path})")


async def check_data(context: Context) -> AsyncIterator[Finding]:
    """Whether the data folder can be written, and the space there."""
    data = context.settings.data
    folder = next(each for each in (data.absolute(), *data.absolute().parents) if each.exists())
    will_be = "" if folder == data.absolute() else ", will be created"
    try:
        with tempfile.TemporaryFile(dir=folder) as file:  # which never has a name there
            file.write(b"mobox")
            file.flush()
    except OSError as error:
        advice = "choose another folder with --data or MOBOX_DATA, or change its permissions"
        yield Finding("fail", "data", f"{data}: cannot write to {folder}: {error.strerror}", advice)
        return
    free = shutil.disk_usage(folder).free
    text = f"{data}{will_be}: can be written, {free / 1e9:.1f} GB free"
    advice = "free some space: mobox prune --older-than 30d deletes old chats"
    if free < NO_SPACE:
        yield Finding("fail", "data", text, advice)
    elif free < LITTLE_SPACE:
        yield Finding("warn", "data", text, advice)
    else:
        yield Finding("ok", "data", text)


async def check_port(context: Context) -> AsyncIterator[Finding]:
    """Whether the port is free, or who has it."""
    host, port = context.settings.host, context.settings.port
    where = f"{host}:{port}"
    try:
        _listen(host, port)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            advice = "choose another address with --host or HOST, or another port"
            yield Finding("fail", "port", f"{where}: {error.strerror}", advice)
            return
        if await asyncio.to_thread(is_mobox, host, port):
            yield Finding("ok", "port", f"{where}: a Mobox server answers there")
        else:
            advice = "choose another port with --port or PORT"
            yield Finding("fail", "port", f"{where} is used by another program", advice)
    else:
        yield Finding("ok", "port", f"{where} is free" if port else "any free port")


def _listen(host: str, port: int) -> None:
    host = "127.0.0.1" if host == "localhost" else host
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    socket.create_server((host, port), family=family).close()


def is_mobox(host: str, port: int) -> bool:
    """Whether a Mobox server answers at an address, by the title of its API."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    with (
        suppress(OSError, http.client.HTTPException, ValueError, KeyError, TypeError),
        closing(http.client.HTTPConnection(shown, port, timeout=3)) as connection,
    ):
        connection.request("GET", "/openapi.json", headers={"host": "127.0.0.1"})
        document = json.loads(connection.getresponse().read(4 << 20))
        return bool(document["info"]["title"] == "Mobox")
    return False


def shown_path(path: Path) -> str:
    """A path as a person writes it: relative, if it is below the current folder."""
    absolute = path.absolute()
    below = absolute.is_relative_to(Path.cwd())
    return str(absolute.relative_to(Path.cwd()) if below else absolute)
