"""Runs agents in sandboxes of Modal: <https://modal.com/docs/guide/sandbox>.

Not run against the service yet: only its types are checked, against modal 1.6.

Rule 1: the image has the agent's folder and packages; nothing else of this machine is there.
Rule 2: a sandbox cannot reach this machine. Agents use models by the public address of the gateway,
        which the operator names; the sandbox can connect to that host and to those of the job.
Rule 3: Modal ends a sandbox after its timeout, also if this server has died. Until then it runs;
        the next run of the same chat ends it.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import AsyncIterable
from pathlib import Path
from typing import TYPE_CHECKING, Final, Required, TypedDict
from urllib.parse import urlsplit

from msgspec.structs import replace

from mobox.sandbox import Job, Network, Probe
from mobox.sandbox.kept_process import AGENT_PATH, environment
from mobox.sandbox.limits import with_defaults
from mobox_modal.remote import Remote, RemoteChild, RemoteProcess

if TYPE_CHECKING:  # it is imported when it is used: `mobox doctor` lists sandboxes without it
    from modal import Image, Sandbox
    from modal.container_process import ContainerProcess

GATEWAY, APP, TIMEOUT = "MOBOX_MODAL_GATEWAY", "MOBOX_MODAL_APP", "MOBOX_MODAL_TIMEOUT"
STATE: Final = "/mobox/state"
"""Where the state folder is in a sandbox."""
LOCAL: Final = re.compile(r"http://(?:127\.0\.0\.1|localhost)(?::\d+)?")
PASSED_ON_HERE: Final = ("PATH", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR")
"""Variables that name folders of this machine."""


class ModalSandbox:
    """Runs jobs in sandboxes of Modal."""

    isolates = True
    own_network = False  # nothing can be handed out of a sandbox: it has no ports

    def probe(self) -> Probe:
        """Ask the service for the app, which needs a valid token."""
        try:
            import modal

            modal.App.lookup(_app(), create_if_missing=True)
        except Exception as error:  # of a package, a configuration, a network or a service
            return Probe(problem=f"Modal does not answer ({error}): run `modal token new`")
        notes = [f"Modal ends every sandbox after {_timeout()} seconds"]
        if not os.environ.get(GATEWAY):
            notes.append(f"agents cannot use models: {GATEWAY} names no address")
        return Probe(limits={"memory": "Modal", "disk": "measured at the end"}, notes=tuple(notes))

    def start(self, job: Job) -> RemoteChild:
        """Create a sandbox for a job; raises `OSError` for one that cannot run there."""
        options = sandbox_options(job, os.environ.get(GATEWAY))

        async def create() -> Remote:
            return await _create(job, options)

        return RemoteChild(on_modal(job), create, STATE)


def on_modal(job: Job) -> Job:
    """The job with the Python of the image: an environment of this machine is not there."""
    program, *arguments = job.argv
    is_python = program == sys.executable or Path(program).name.startswith("python")
    return replace(job, argv=("python" if is_python else program, *arguments))


class Options(TypedDict, total=False):
    """Arguments of `modal.Sandbox.create`."""

    name: Required[str]
    env: dict[str, str | None]
    workdir: str
    timeout: int
    memory: tuple[int, int]
    cpu: float
    block_network: bool
    outbound_domain_allowlist: list[str]


def sandbox_options(job: Job, gateway: str | None) -> Options:
    """The arguments for a job."""
    memory = with_defaults(job.limits)["memory"] >> 20
    options: Options = {
        "name": hashlib.sha256(os.fsencode(job.state.absolute())).hexdigest()[:32],
        "env": environment_of(job, gateway),
        "workdir": str(job.folder.absolute()),
        "timeout": _timeout(),
        "memory": (min(256, memory), memory),  # what is reserved, and the limit
        "cpu": with_defaults(job.limits)["cpu"] / 100,
    }
    if (hosts := hosts_of(job.network, gateway)) is not None:
        options["outbound_domain_allowlist"] = hosts
    if job.network.mode == "none":
        options["block_network"] = True
    return options


def hosts_of(network: Network, gateway: str | None) -> list[str] | None:
    """The hosts that a job may connect to; `None` if there is no such list."""
    if network.mode == "host":
        raise OSError("`network: host` is this machine's network, which Modal cannot reach")
    if network.mode in ("none", "full"):
        return None
    models = urlsplit(gateway or "").hostname
    if network.mode == "model" and models is None:
        raise OSError(f"agents on Modal reach models by a public address: set {GATEWAY} to it")
    return [*([models] if models else ()), *network.hosts]


def environment_of(job: Job, gateway: str | None) -> dict[str, str | None]:
    """The variables of a job, with the gateway's public address in the place of the local one."""
    found: dict[str, str | None] = {}
    for name, value in environment(job).items():
        if name in PASSED_ON_HERE and name not in job.env:
            continue
        if LOCAL.match(value) and (gateway is None or name.lower().endswith("_proxy")):
            continue  # Modal has its own list of hosts, and needs no proxy of ours
        found[name] = LOCAL.sub((gateway or "").rstrip("/"), value)
    return {**found, "MOBOX_STATE": STATE, "HOME": STATE}


async def _create(job: Job, options: Options) -> Remote:
    import modal

    app = await modal.App.lookup.aio(_app(), create_if_missing=True)
    create, image = modal.Sandbox.create.aio, _image(job)
    try:
        sandbox = await create("sleep", "infinity", app=app, image=image, **options)
    except modal.exception.AlreadyExistsError:  # of a server that has died
        left = await modal.Sandbox.from_name.aio(_app(), options["name"])
        await left.terminate.aio(wait=True)
        sandbox = await create("sleep", "infinity", app=app, image=image, **options)
    return _Modal(sandbox)


def _image(job: Job) -> Image:
    import modal

    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    if job.image:
        image = modal.Image.from_registry(job.image)
    else:
        image = modal.Image.debian_slim(version)
        requirements = job.folder / "requirements.txt"
        if requirements.is_file():
            image = image.pip_install_from_requirements(str(requirements))
    for folder in (job.folder.absolute(), AGENT_PATH):
        image = image.add_local_dir(folder, str(folder))
    return image


class _Modal:
    """A sandbox of Modal."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    async def run(self, *words: str) -> RemoteProcess:
        return _ModalProcess(await self._sandbox.exec.aio(*words, text=False))

    async def end(self) -> None:
        await self._sandbox.terminate.aio()


class _ModalProcess:
    """A command in a sandbox of Modal."""

    def __init__(self, process: ContainerProcess[bytes]) -> None:
        self._process = process
        self.stdout: AsyncIterable[bytes] = process.stdout
        self.stderr: AsyncIterable[bytes] = process.stderr

    async def write(self, data: bytes) -> None:
        if data:
            self._process.stdin.write(data)
        else:
            self._process.stdin.write_eof()
        await self._process.stdin.drain.aio()

    async def wait(self) -> int:
        code: int = await self._process.wait.aio()
        return code


def _app() -> str:
    return os.environ.get(APP, "mobox")


def _timeout() -> int:
    return int(os.environ.get(TIMEOUT, "3600"))
