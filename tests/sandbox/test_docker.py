"""The docker sandbox: its command lines, and containers of a real engine where there is one."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from mobox.capture.process import ProcessExecution
from mobox.events.turn import Turn
from mobox.sandbox import Job, Network, NetworkMode, Status, docker, get_sandbox
from mobox.sandbox.bubblewrap import OUTER_USER
from mobox.sandbox.docker import DockerProcess, DockerSandbox, Engine
from mobox.sandbox.kept_process import AGENT_PATH
from mobox.sandbox.mounts import Mount
from mobox.storage.renewals import since_boot
from sandbox.container_image import IMAGE, import_image
from support.waiting import until

DOCKER = Engine(command=("docker",))
PODMAN = Engine(command=("podman",), is_podman=True)
ROOTLESS_PODMAN = Engine(command=("podman",), is_podman=True, is_rootless=True)
ENGINES = ("docker", "podman", "podman --runtime runc")  # crun does not know every cgroup layout
HAS_CGROUP_2 = Path("/sys/fs/cgroup/cgroup.controllers").exists()


def job_of(folder: Path, code: str = "", **more: Any) -> Job:
    agent = folder / "agent"
    agent.mkdir(exist_ok=True)
    more.setdefault("argv", (sys.executable, "-c", code))
    more.setdefault("network", Network("none"))
    return Job(folder=agent, state=folder / "states" / "chat", **more)


def words_of(job: Job, engine: Engine = DOCKER) -> list[str]:
    return list(docker.create(job, engine, Path("/private")))


def values_of(words: list[str], option: str) -> list[str]:
    return [value for name, value in pairwise(words) if name == option]


def test_a_start_that_fails_leaves_no_folder(tmp_path: Path) -> None:
    job = job_of(tmp_path, readable=(tmp_path,))  # with the states of all chats
    with pytest.raises(OSError, match="contain the server's data"):
        docker.start_keeper(job, DOCKER, -1)
    assert list((tmp_path / "states" / ".tmp").iterdir()) == []


# The command line


EXPECTED = {
    "--pull": ["never"],
    "--network": ["none"],
    "--cap-drop": ["ALL"],
    "--log-driver": ["none"],
    "--memory": ["1000000"],
    "--memory-swap": ["1000000"],
    "--pids-limit": ["7"],
    "--cpu-shares": ["512"],
    "--ulimit": ["nofile=100:100", "fsize=2000:2000", "core=0:0"],
}


@pytest.mark.parametrize(("option", "values"), EXPECTED.items())
def test_a_container_is_created_with(tmp_path: Path, option: str, values: list[str]) -> None:
    limits = {
        "memory": 1_000_000, "processes": 7, "cpu": 50, "open_files": 100, "file_size": 2000,
    }  # fmt: skip
    assert values_of(words_of(job_of(tmp_path, limits=limits)), option) == values


def test_a_container_is_closed(tmp_path: Path) -> None:
    words = words_of(job_of(tmp_path))
    assert {"--read-only", "--init", "--interactive"} <= set(words)
    assert "no-new-privileges" in values_of(words, "--security-opt")
    assert "--privileged" not in words
    assert not [word for word in words if "docker.sock" in word]


def test_only_host_is_the_machines_network(tmp_path: Path) -> None:
    modes: list[NetworkMode] = ["none", "model", "hosts", "full", "host"]
    words = [words_of(job_of(tmp_path, network=Network(mode))) for mode in modes]
    assert [values_of(each, "--network") for each in words] == [*[["none"]] * 4, ["host"]]


USERS = [
    (DOCKER, 1000, ["1000:100"], []),
    (DOCKER, 0, [f"{OUTER_USER}:{OUTER_USER}"], []),
    (PODMAN, 1000, ["1000:100"], []),
    (
        Engine(command=("podman",), is_podman=True, is_rootless=True),
        1000,
        ["1000:100"],
        ["keep-id"],
    ),
    (Engine(command=("docker",), is_rootless=True), 1000, ["0:0"], []),
]


@pytest.mark.parametrize(("engine", "uid", "user", "namespace"), USERS)
def test_the_user_in_a_container_is_never_root_outside(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    engine: Engine,
    uid: int,
    user: list[str],
    namespace: list[str],
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    monkeypatch.setattr(os, "getegid", lambda: 100)
    words = words_of(job_of(tmp_path), engine)
    assert values_of(words, "--user") == user
    assert values_of(words, "--userns") == namespace


def test_values_of_variables_are_no_arguments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVER_KEY", "hunter1")
    job = job_of(tmp_path, env={"API_KEY": "hunter2", "SERVER_KEY": None})
    words = words_of(job)
    assert not [word for word in words if "hunter" in word]
    assert {"API_KEY", "SERVER_KEY"} <= set(values_of(words, "--env"))
    env = docker.client_environment(docker.environment_of(job))
    assert (env["API_KEY"], env["SERVER_KEY"]) == ("hunter2", "hunter1")


def test_variables_of_an_agent_do_not_change_the_engines_client(tmp_path: Path) -> None:
    given = {
        "LD_PRELOAD": "/agent/x.so",
        "DOCKER_HOST": "tcp://x",
        "HOME": "/agent",
        "PATH": "/agent",
    }
    job = job_of(tmp_path, env=given)
    ours = {"PATH": "/bin", "HOME": "/home/server", "SECRET": "hunter2"}
    env = docker.client_environment(docker.environment_of(job), ours)
    assert (env["PATH"], env["HOME"]) == ("/bin", "/home/server")
    assert not {"LD_PRELOAD", "DOCKER_HOST", "SECRET"} & set(env)
    passed = values_of(words_of(job), "--env")
    assert {f"{name}={value}" for name, value in given.items()} <= set(passed)


def test_an_image_has_its_own_path_and_certificates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/server/certificates.pem")
    names = {each.partition("=")[0] for each in values_of(words_of(job_of(tmp_path)), "--env")}
    assert not names & {"PATH", "SSL_CERT_FILE", "TMPDIR"}


def test_only_state_and_tmp_can_be_written(tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    packages.mkdir()
    job = job_of(tmp_path, readable=(packages,), ports=(8001,))
    mounts = [dict(field.partition("=")[::2] for field in mount.split(","))
              for mount in values_of(words_of(job), "--mount") if "type=bind" in mount]  # fmt: skip
    assert {mount["target"] for mount in mounts if "readonly" not in mount} == {
        str(job.state), "/tmp",
    }  # fmt: skip
    readable = {mount["target"] for mount in mounts if "readonly" in mount}
    assert {str(job.folder), str(packages), str(AGENT_PATH), docker.INIT_SOCKET} <= readable


def test_a_mount_may_have_commas_and_quotes_in_its_name() -> None:
    assert docker._csv(Mount('/a,"b', "/c")) == 'type=bind,"source=/a,""b",target=/c,readonly'


def test_an_agents_folder_must_not_contain_the_state(tmp_path: Path) -> None:
    job = Job(argv=("true",), folder=tmp_path, state=tmp_path / "states" / "chat")
    with pytest.raises(OSError, match="contain the server's data"):
        words_of(job)


def after_entrypoint(words: list[str]) -> list[str]:
    return words[words.index("--entrypoint") + 1 :]


def test_ports_are_handed_out_by_the_first_program(tmp_path: Path) -> None:
    job = job_of(tmp_path, "work", ports=(8001, 8002))
    program, image, *arguments = after_entrypoint(words_of(job))
    assert program == os.path.realpath(sys.executable)
    assert image == docker.default_image()
    init = [*arguments[:2], arguments[3], *arguments[4:7]]
    assert init == ["-I", "-S", docker.INIT_SOCKET, "port=8001", "port=8002", "--"]
    assert arguments[7:] == [sys.executable, "-c", "work"]


def test_a_named_image_has_its_own_python(tmp_path: Path) -> None:
    job = job_of(tmp_path, "work", image="example/agent:1", ports=(8001,))
    words = words_of(job)
    program, image, *_ = after_entrypoint(words)
    assert (program, image) == ("python3", "example/agent:1")
    assert words[-3:] == ["python3", "-c", "work"]
    assert not [mount for mount in values_of(words, "--mount") if sys.base_prefix in mount]


def test_a_named_image_runs_other_commands_as_they_are(tmp_path: Path) -> None:
    job = job_of(tmp_path, argv=("node", "agent.mjs"), image="example/node")
    assert after_entrypoint(words_of(job)) == ["node", "example/node", "agent.mjs"]


def test_the_default_image_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert docker.default_image().endswith(f":3.{sys.version_info.minor}-slim")
    monkeypatch.setenv(docker.IMAGE, "example/base")
    assert docker.default_image() == "example/base"


def test_there_is_one_container_for_each_state_folder(tmp_path: Path) -> None:
    job = job_of(tmp_path)
    other = Job(argv=job.argv, folder=job.folder, state=tmp_path / "states" / "other")
    assert docker.name_of(job) == docker.name_of(job_of(tmp_path, "other code"))
    assert docker.name_of(job) != docker.name_of(other)


# What an engine tells


INFOS = [
    ({"MemoryLimit": True, "PidsLimit": True}, DOCKER),
    (
        {"MemoryLimit": False, "PidsLimit": True, "SecurityOptions": ["name=rootless"]},
        Engine(command=("docker",), is_rootless=True, lacks=("memory",)),
    ),
    (
        {"host": {"cgroupControllers": ["memory", "pids"], "security": {"rootless": False}}},
        Engine(command=("docker",), is_podman=True),
    ),
    (
        {"host": {"cgroupControllers": [], "security": {"rootless": True}}},
        Engine(
            command=("docker",), is_podman=True, is_rootless=True, lacks=("memory", "processes")
        ),
    ),
]


@pytest.mark.parametrize(("info", "engine"), INFOS)
def test_an_engine_is_known_by_what_it_tells(info: dict[str, Any], engine: Engine) -> None:
    assert docker._engine_of(("docker",), info) == engine


@pytest.fixture
def no_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for programs; there are no others."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(docker.ENGINE, raising=False)
    monkeypatch.delenv(docker.IMAGE, raising=False)
    docker.find_engine.cache_clear()
    yield tmp_path
    docker.find_engine.cache_clear()


def make_program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_without_an_engine_the_probe_says_so(no_engine: Path) -> None:
    assert DockerSandbox().probe().problem == "neither docker nor podman is installed"
    with pytest.raises(OSError, match="neither docker nor podman"):
        DockerSandbox().start(job_of(no_engine))


def test_an_engine_that_was_asked_for_is_not_replaced(
    no_engine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_program(no_engine / "docker", "echo '{}'")
    monkeypatch.setenv(docker.ENGINE, "nerdctl")
    assert DockerSandbox().probe().problem == f"nerdctl ({docker.ENGINE}) is not installed"


def test_a_daemon_that_does_not_answer_is_reported(no_engine: Path) -> None:
    make_program(no_engine / "docker", "echo 'Cannot connect to the daemon' >&2; exit 1")
    problem = DockerSandbox().probe().problem
    assert problem is not None
    assert "docker: Cannot connect to the daemon" in problem
    assert "start its daemon" in problem


def test_podman_is_used_where_docker_does_not_answer(no_engine: Path) -> None:
    make_program(no_engine / "docker", "exit 1")
    make_program(
        no_engine / "podman", """echo '{"host": {"cgroupControllers": ["memory", "pids"]}}'"""
    )
    assert docker.find_engine() == PODMAN


def test_an_engine_without_limits_is_not_used(no_engine: Path) -> None:
    make_program(no_engine / "docker", """echo '{"MemoryLimit": false, "PidsLimit": true}'""")
    problem = DockerSandbox().probe().problem
    assert problem is not None
    assert problem.startswith("docker cannot limit memory here")


def test_a_missing_image_is_named_with_the_command_that_pulls_it(no_engine: Path) -> None:
    told = """{"MemoryLimit": true, "PidsLimit": true}"""
    make_program(no_engine / "docker", f"[ $1 = info ] && echo '{told}'")
    problem = DockerSandbox().probe().problem
    assert problem is not None
    assert f"`docker pull {docker.default_image()}`" in problem


# A real engine


@pytest.fixture(scope="module")
def engine() -> Iterator[list[str]]:
    """The command of an engine that works, with an image."""
    problems = []
    for command in ENGINES:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(docker.ENGINE, command)
            patch.setenv(docker.IMAGE, IMAGE)
            docker.find_engine.cache_clear()
            problem = try_engine(shlex.split(command))
            if not problem:
                yield shlex.split(command)
                docker.find_engine.cache_clear()
                return
            problems.append(f"{command}: {problem}")
    docker.find_engine.cache_clear()
    pytest.skip(f"NOT TESTED WITH A REAL CONTAINER ENGINE: {'; '.join(problems)}")


def try_engine(command: list[str]) -> str:
    if shutil.which(command[0]) is None:
        return "not installed"
    return import_image(command) or DockerSandbox().probe().problem or ""


def containers(engine: list[str], job: Job) -> list[str]:
    """The containers of a job that exist."""
    words = [*engine, "ps", "--all", "--quiet", "--filter", f"name={docker.name_of(job)}"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()


async def output_of(job: Job) -> tuple[str, Status, str]:
    """What a job writes to stdout, how it ends, and what it writes to stderr."""
    child = DockerSandbox().start(job)
    async with ProcessExecution(child) as execution:
        output = b"".join([data async for data in execution.batches()])
        return output.decode(), await child.wait(), execution.stderr_so_far


def test_it_is_registered() -> None:
    assert isinstance(get_sandbox("docker"), DockerSandbox)


LOOK = """
import json, os, socket, sys
def attempt(work):
    try:
        work()
    except OSError as error:
        return type(error).__name__
    return "done"
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status") if ":\\t" in line)
open(os.environ["MOBOX_STATE"] + "/kept", "w").write("kept")
told = {
    "uid": os.getuid(), "cwd": os.getcwd(), "turn": json.loads(sys.stdin.readline())["type"],
    "key": os.environ.get("API_KEY"), "server": os.environ.get("SERVER_SECRET"),
    "capabilities": status["CapEff"].strip(), "no_new": status["NoNewPrivs"].strip(),
    "seccomp": status["Seccomp"].strip(),
    "processes": len([name for name in os.listdir("/proc") if name.isdigit()]),
    "interfaces": [name for _, name in socket.if_nameindex()],
    "tmp": attempt(lambda: open("/tmp/x", "w")),
    "source": attempt(lambda: open("agent.py", "w")),
    "system": attempt(lambda: open("/usr/x", "w")),
    "other": attempt(lambda: os.listdir(sys.argv[1])),
    "neighbour": attempt(lambda: os.listdir(os.environ["MOBOX_STATE"] + "/../other")),
}
print(json.dumps(told))
"""


async def test_an_agent_sees_only_what_is_its_own(
    engine: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVER_SECRET", "hunter2")
    (tmp_path / "secrets").mkdir()
    (tmp_path / "states" / "other").mkdir(parents=True)
    argv = (sys.executable, "-c", LOOK, str(tmp_path / "secrets"))
    job = job_of(tmp_path, argv=argv, env={"API_KEY": "line 1\nline 2"})
    async with ProcessExecution.start(job, Turn(), DockerSandbox()) as execution:
        output = b"".join([data async for data in execution.batches()])
    assert output, execution.stderr_so_far
    told = json.loads(output)
    assert told.pop("uid") == (OUTER_USER if os.geteuid() == 0 else os.geteuid())
    assert told.pop("processes") <= 3  # the engine's own first process, and that of podman
    assert told == {
        "cwd": str(job.folder),
        "turn": "turn",
        "key": "line 1\nline 2",
        "server": None,
        "capabilities": "0000000000000000",
        "no_new": "1",
        "seccomp": "2",
        "interfaces": ["lo"],
        "tmp": "done",
        "source": "OSError",  # a read-only file system
        "system": "OSError",
        "other": "FileNotFoundError",
        "neighbour": "FileNotFoundError",
    }
    assert (job.state / "kept").read_text() == "kept"
    assert containers(engine, job) == []
    assert list((tmp_path / "states" / ".tmp").iterdir()) == []


ASK = """
import socket
for port in (8001, 8002):
    with socket.create_connection(("127.0.0.1", port)) as server:
        print(server.recv(100).decode())
"""


@pytest.mark.usefixtures("engine")
async def test_the_server_answers_on_the_ports_of_a_container(tmp_path: Path) -> None:
    job = job_of(tmp_path, ASK, network=Network("model"), ports=(8001, 8002))
    child = DockerSandbox().start(job)
    loop = asyncio.get_running_loop()
    served: dict[int, asyncio.Task[None]] = {}

    async def answer(port: int, listening: socket.socket) -> None:
        with listening:
            listening.setblocking(False)
            connection, _ = await loop.sock_accept(listening)
            with connection:
                await loop.sock_sendall(connection, f"this is {port}".encode())

    def serve(port: int, listening: socket.socket) -> None:
        served[port] = asyncio.create_task(answer(port, listening))

    child.when_listening(serve)
    async with ProcessExecution(child) as execution:
        output = b"".join([data async for data in execution.batches()])
    assert output.decode().splitlines() == ["this is 8001", "this is 8002"]
    await asyncio.gather(*served.values())


ENDS = [
    ("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)", Status(exit_code=3)),
    ("import os, signal; print('out'); print('err', file=open(2, 'w'), flush=True);"
     " os.kill(os.getpid(), signal.SIGSEGV)", Status(signal=signal.SIGSEGV)),
]  # fmt: skip


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(("code", "status"), ENDS)
async def test_how_an_agent_ended_is_reported(tmp_path: Path, code: str, status: Status) -> None:
    output, ended, errors = await output_of(job_of(tmp_path, f"import sys; {code}"))
    assert ended == status
    assert errors.strip() == "err"
    assert output in ("out\n", "")  # a signal may come before the buffer is written


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        ({"argv": ("no-such-program",)}, 127, "no-such-program"),
        ({"image": "localhost/no-such-image"}, 126, "no-such-image"),
    ],
)
async def test_what_cannot_run_is_explained(
    tmp_path: Path, more: dict[str, Any], code: int, message: str
) -> None:
    _, status, errors = await output_of(job_of(tmp_path, **more))
    assert status == Status(exit_code=code)
    assert message in errors


EAT = "kept = [bytearray(b'x' * 10**7) for _ in range(100)]; print('all of it')"
FILL = """
import os, time
with open(os.environ["MOBOX_STATE"] + "/much", "wb") as file:
    for _ in range(20):
        file.write(os.urandom(10**6))
time.sleep(60)
"""
FORK = """
import os, time
try:
    for _ in range(100):
        if os.fork() == 0:
            time.sleep(60)
except BlockingIOError:
    print("refused")
"""


async def test_memory_is_limited(engine: list[str], tmp_path: Path) -> None:
    output, status, _ = await output_of(job_of(tmp_path, EAT, limits={"memory": 200_000_000}))
    assert (status.signal, output) == (signal.SIGKILL, "")
    if engine[0] == "docker" or HAS_CGROUP_2:
        assert (status.exceeded, status.limit) == ("memory", 200_000_000)
    else:  # podman does not tell it with cgroup v1
        assert status.exceeded in ("memory", None)


@pytest.mark.usefixtures("engine")
async def test_disk_is_limited(tmp_path: Path) -> None:
    _, status, _ = await output_of(job_of(tmp_path, FILL, limits={"disk": 5_000_000}))
    assert (status.exceeded, status.limit) == ("disk", 5_000_000)


async def test_processes_are_limited_and_end_with_the_agent(
    engine: list[str], tmp_path: Path
) -> None:
    job = job_of(tmp_path, FORK, limits={"processes": 20})
    output, status, _ = await output_of(job)
    assert (output, status) == ("refused\n", Status(exit_code=0))
    assert containers(engine, job) == []


WAIT = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(7) if print("term", flush=True) is None else 0)
print("ready", flush=True)
time.sleep(60)
"""


async def until_ready(child: DockerProcess) -> None:
    async def read() -> None:
        seen = b""
        while b"ready" not in seen:
            await asyncio.sleep(0.02)
            try:
                seen += os.read(child.stdout, 100)
            except BlockingIOError:
                continue

    await asyncio.wait_for(read(), 30)


def close(child: DockerProcess) -> None:
    for number in (child.stdin, child.stdout, child.stderr):
        os.close(number)


async def start_waiting(folder: Path) -> tuple[DockerProcess, Job]:
    job = job_of(folder, WAIT)
    child = DockerSandbox().start(job)
    await until_ready(child)
    return child, job


ACTS = """
import os, sys, time
print("ready", flush=True)
with open(os.environ["MOBOX_STATE"] + "/acts", "a", buffering=1) as file:
    while True:
        print(time.clock_gettime(time.CLOCK_BOOTTIME), file=file)
        time.sleep(0.001)
"""


def acts(job: Job) -> list[float]:
    return [float(line) for line in (job.state / "acts").read_text().split("\n")[:-1]]


def is_paused(engine: list[str], job: Job) -> bool:
    command = [
        *engine,
        "ps",
        "--filter",
        "status=paused",
        "--filter",
        f"name={docker.name_of(job)}",
    ]
    return bool(subprocess.check_output([*command, "--quiet"]).strip())


@pytest.mark.parametrize("how", ["renewed", "killed"])
async def test_a_container_is_paused_past_its_lease(
    engine: list[str], tmp_path: Path, how: str
) -> None:
    job = job_of(tmp_path, ACTS)
    child = DockerSandbox().start(job)
    child.run_until(since_boot() + 3600)
    await until_ready(child)
    await until(lambda: acts(job))
    child.run_until(since_boot())
    await until(lambda: is_paused(engine, job))
    before = acts(job)
    renewed_at = since_boot()
    assert max(before) < renewed_at
    if how == "renewed":
        child.run_until(renewed_at + 3600)
        begun = len(before) + 1  # it may have been frozen while it wrote a line
        await until(lambda: len(acts(job)) > begun)
        assert min(acts(job)[begun:]) > renewed_at
    child.kill()
    assert await child.wait() == Status(signal=9)
    assert containers(engine, job) == []
    assert how == "renewed" or acts(job) == before
    close(child)


@pytest.mark.usefixtures("engine")
async def test_term_reaches_the_agent(tmp_path: Path) -> None:
    child, _ = await start_waiting(tmp_path)
    child.terminate()
    assert await child.wait() == Status(exit_code=7)
    close(child)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("end", ["terminate", "kill"])
async def test_a_container_can_be_ended_before_it_has_started(tmp_path: Path, end: str) -> None:
    child = DockerSandbox().start(job_of(tmp_path, "import time; time.sleep(60)"))
    getattr(child, end)()
    status = await asyncio.wait_for(child.wait(), 30)
    assert status.signal in (signal.SIGKILL, signal.SIGTERM)
    close(child)


async def test_kill_removes_the_container(engine: list[str], tmp_path: Path) -> None:
    child, job = await start_waiting(tmp_path)
    child.kill()
    assert await child.wait() == Status(signal=signal.SIGKILL)
    assert containers(engine, job) == []
    close(child)


async def test_the_death_of_a_keeper_removes_the_container(
    engine: list[str], tmp_path: Path
) -> None:
    child, job = await start_waiting(tmp_path)
    os.kill(child.pid, signal.SIGKILL)
    assert await child.wait() == Status()
    assert containers(engine, job) == []
    close(child)


SERVER = """
import asyncio, sys
from pathlib import Path
from sandbox.test_docker import start_waiting

async def main():
    child, job = await start_waiting(Path(sys.argv[1]))
    print(child.pid, flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


def start_server(folder: Path) -> tuple[subprocess.Popen[bytes], int]:
    """A server whose agent runs, and the pid of the keeper."""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(folder)],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
    )
    assert server.stdout is not None
    with server.stdout:
        return server, int(server.stdout.readline())


async def test_the_death_of_the_server_removes_the_container(
    engine: list[str], tmp_path: Path
) -> None:
    server, _ = start_server(tmp_path)
    job = job_of(tmp_path)
    assert len(containers(engine, job)) == 1
    server.kill()
    server.wait()
    await until(lambda: containers(engine, job) == [])


async def test_what_a_killed_server_and_keeper_have_left_is_removed_by_the_next_probe(
    engine: list[str], tmp_path: Path
) -> None:
    server, keeper = start_server(tmp_path)
    job = job_of(tmp_path)
    server.send_signal(signal.SIGSTOP)  # or it would remove the container itself
    os.kill(keeper, signal.SIGKILL)
    server.kill()
    server.wait()
    assert len(containers(engine, job)) == 1
    assert len(list((tmp_path / "states" / ".tmp").iterdir())) == 1
    assert DockerSandbox().probe().problem is None
    assert containers(engine, job) == []
    assert list((tmp_path / "states" / ".tmp").iterdir()) == []


@pytest.mark.usefixtures("engine")
async def test_a_container_that_was_left_behind_does_not_stop_the_next_run(tmp_path: Path) -> None:
    server, keeper = start_server(tmp_path)
    server.send_signal(signal.SIGSTOP)
    os.kill(keeper, signal.SIGKILL)
    server.kill()
    server.wait()
    output, status, errors = await output_of(job_of(tmp_path, "print('next')"))
    assert (output, status, errors) == ("next\n", Status(exit_code=0), "")


async def test_a_running_container_is_not_swept(engine: list[str], tmp_path: Path) -> None:
    child, job = await start_waiting(tmp_path)
    docker.sweep(docker.find_engine())
    assert len(containers(engine, job)) == 1
    child.kill()
    await child.wait()
    close(child)
