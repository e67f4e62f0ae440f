"""Installs packages with uv: the only program that makes environments.

Rule 1: uv gets a small environment, without the server's secrets; the variables of uv itself
        (UV_…), which may have the password of a package index, are passed on.
Rule 2: wheels only, unless builds are allowed: building a package runs its code.
Rule 3: hashes are required where the file has any.
Rule 4: uv runs in the sandbox of the agents, if that is one of this machine's files: it sees the
        agent's folder, and writes the environment and its own cache. It needs the network.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import re
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from mobox.agent_path.shared.redaction import without_secrets
from mobox.environments import LOCK, REQUIREMENTS, Source
from mobox.errors import InstallFailed, NotInstalled
from mobox.events.printable import on_one_line
from mobox.sandbox import Job, Network, Sandbox

PASSED_ON: Final = (
    "PATH", "HOME", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "NETRC",
    "XDG_CACHE_HOME", "XDG_CONFIG_DIRS", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "SSL_CLIENT_CERT",
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
    "http_proxy", "https_proxy", "all_proxy", "no_proxy",
)  # fmt: skip
"""Variables of the server that uv needs to find its files and the network."""
OURS: Final = ("UV_PYTHON", "UV_PROJECT_ENVIRONMENT", "UV_WORKING_DIR", "UV_PROJECT")
"""Variables of uv that would put the packages elsewhere."""
LONGEST: Final = 1800.0
"""Seconds that one command may take."""
CACHE: Final = ".cache"
"""The cache of uv in a sandbox, beside the environments."""
LIMITS: Final = {"memory": 4 << 30, "disk": 32 << 30, "files": 4_000_000, "file_size": 8 << 30}
"""Of uv in a sandbox."""
KEPT_LINES: Final = 200
WHY: Final = 1000
"""Characters of uv's error that are kept."""

LONGEST_LINE: Final = 1 << 20
_FILES: Final = ("NETRC", "SSL_CERT_FILE", "SSL_CERT_DIR", "SSL_CLIENT_CERT", "XDG_CONFIG_HOME")
"""Variables that name files for uv."""
_NO_WHEEL: Final = re.compile(r"no usable wheels|no wheels with|Building .* is disabled|--no-build")
_CONCLUSION: Final = ", we can conclude that your requirements are unsatisfiable"
_HASH: Final = re.compile(r"--hash[=\s]", re.MULTILINE)

OnLine = Callable[[str], Awaitable[object]]


class Command(Struct, frozen=True, kw_only=True):
    """A process to run, in the agent's folder."""

    argv: tuple[str, ...]
    folder: Path
    env: Mapping[str, str]


async def install(  # noqa: PLR0913
    folder: Path,
    target: Path,
    on_progress: OnLine,
    *,
    source: Source = REQUIREMENTS,
    allow_builds: bool = False,
    lock: int | None = None,
    sandbox: Sandbox | None = None,
) -> None:
    """Make a venv at `target` with the packages that the file `source` of `folder` lists.

    `on_progress` gets the lines that uv prints. `lock` is a descriptor that uv inherits: even if
    this process is killed, the file stays locked until uv has ended; in a `sandbox`, uv ends with
    this process. Raises `InstallFailed`, and `NotInstalled` if there is no uv.
    """
    for command in commands(folder, target, source, allow_builds=allow_builds):
        if sandbox is None:
            await _run(command, on_progress, lock)
        else:
            await _run_in(sandbox, command, target, on_progress)


def commands(
    folder: Path, target: Path, source: Source, *, allow_builds: bool = False
) -> list[Command]:
    """The commands that make an environment, one after the other."""
    uv, env = find_uv(), environment(target)
    flags = () if allow_builds else ("--no-build",)
    python = str(target / "bin" / "python")
    venv = (uv, "venv", "--quiet", "--no-project", "--python", sys.executable, str(target))
    if source == LOCK:
        fill: tuple[str, ...] = (uv, "sync", "--locked", "--python", sys.executable)
        fill = (*fill, "--no-install-project", "--no-default-groups")
    else:
        fill = (uv, "pip", "install", "--python", python, "--requirement", source)
        if source == REQUIREMENTS and _HASH.search((folder / source).read_text("utf-8", "replace")):
            fill = (*fill, "--require-hashes")
    return [
        Command(argv=argv, folder=folder, env=env)
        for argv in (venv, (*fill, *flags, "--no-progress"), _compiling(target))
    ]


def _compiling(target: Path) -> tuple[str, ...]:
    """The command that compiles the packages.

    Not that of uv: it starts the Python of the environment, which runs what a package has put into
    a `.pth` file. Without `site` no code of a package runs.
    """
    code = "import compileall, sys; compileall.compile_dir(sys.argv[1], quiet=2, workers=0)"
    return (sys.executable, "-I", "-S", "-c", code, str(target / "lib"))


def find_uv() -> str:
    """The path of uv: that of the package, else the one on PATH; raises `NotInstalled`."""
    if importlib.util.find_spec("uv") is not None:
        import uv

        with suppress(FileNotFoundError):
            return str(uv.find_uv_bin())
    if (found := shutil.which("uv")) is not None:
        return found
    raise NotInstalled("installing the packages of agents", "uv", "agents")


def environment(target: Path, ours: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment of uv."""
    own = {name: value for name, value in ours.items() if name.startswith("UV_")}
    index = {"UV_DEFAULT_INDEX": ours["PIP_INDEX_URL"]} if "PIP_INDEX_URL" in ours else {}
    if {"UV_DEFAULT_INDEX", "UV_INDEX_URL"} & own.keys():
        index = {}
    return {
        **{name: ours[name] for name in PASSED_ON if name in ours},
        **{name: value for name, value in own.items() if name not in OURS},
        **index,
        "UV_PROJECT_ENVIRONMENT": str(target),
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_NO_COLOR": "1",
        "NO_COLOR": "1",
    }


async def _run(command: Command, on_line: OnLine, lock: int | None) -> None:
    process = await asyncio.create_subprocess_exec(
        *command.argv,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        cwd=command.folder,
        env=dict(command.env),
        start_new_session=True,
        pass_fds=() if lock is None else (lock,),
        limit=LONGEST_LINE,
    )
    lines: list[str] = []
    try:
        async with asyncio.timeout(LONGEST):
            assert process.stdout is not None
            while line := await process.stdout.readline():
                lines = [*lines[-KEPT_LINES:], line.decode("utf-8", "replace").rstrip()]
                await on_line(lines[-1])
            code = await process.wait()
    except TimeoutError:
        raise InstallFailed(f"it took longer than {LONGEST:g} seconds") from None
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    if code:
        raise InstallFailed(_reason(lines, code))


async def _run_in(sandbox: Sandbox, command: Command, target: Path, on_line: OnLine) -> None:
    """Run a command in a sandbox, as a job whose state folder is the environment."""
    cache = target.parent / CACHE
    cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    job = Job(
        argv=command.argv,
        folder=command.folder,
        state=target,
        env={**command.env, "HOME": str(target), "UV_CACHE_DIR": str(cache)},
        limits=LIMITS,
        readable=tuple(_needed(command)),
        writable=(cache,),
        network=Network("host"),
    )
    try:
        child = sandbox.start(job)
    except OSError as error:
        raise InstallFailed(f"its sandbox cannot be started: {error.strerror or error}") from None
    os.close(child.stdin)
    lines: list[str] = []

    async def read(number: int) -> None:
        nonlocal lines
        async for line in _lines_of(number):
            lines = [*lines[-KEPT_LINES:], line]
            await on_line(line)

    try:
        async with asyncio.timeout(LONGEST):
            await asyncio.gather(read(child.stdout), read(child.stderr))
            status = await child.wait()
    except TimeoutError:
        raise InstallFailed(f"it took longer than {LONGEST:g} seconds") from None
    finally:
        child.kill()
        await child.wait()
    if status.exit_code:
        raise InstallFailed(_reason(lines, status.exit_code))
    if status.exit_code is None or status.exceeded is not None:
        raise InstallFailed(f"uv was ended: {status.exceeded or status.signal}")


async def _lines_of(number: int) -> AsyncIterator[str]:
    """The lines of a pipe, which is closed at its end."""
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader(limit=LONGEST_LINE)
    pipe = os.fdopen(number, "rb", buffering=0)
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    try:
        while line := await reader.readline():
            yield line.decode("utf-8", "replace").rstrip()
    finally:
        transport.close()


def _needed(command: Command) -> Iterator[Path]:
    """The files that uv reads besides the agent's folder: itself, its settings, local packages."""
    yield Path(command.argv[0])
    for name, value in command.env.items():
        if name in _FILES or (name.startswith("UV_") and name not in OURS):
            for word in value.split():
                path = Path(urlsplit(word).path if word.startswith("file:") else word)
                if path.is_absolute() and path.exists():
                    yield path


def _reason(lines: list[str], code: int) -> str:
    """The error that uv printed, on one line; its hints are for users of uv."""
    start = next((i for i, line in enumerate(lines) if line.startswith("error:")), len(lines))
    words = [line.strip() for line in lines[start:]]
    end = next((i for i, line in enumerate(words) if line.startswith("hint:")), len(words))
    text = " ".join(word for word in words[:end] if word).removeprefix("error: ")
    if not text:
        return f"uv exited with code {code}"
    text = re.sub(r" cause: ", ": ", text)
    text = text.replace(_CONCLUSION, "")
    if _NO_WHEEL.search("\n".join(lines[start:])):
        text += " (only wheels are installed; --allow-builds also builds packages from source)"
    return on_one_line(without_secrets(text), WHY)
