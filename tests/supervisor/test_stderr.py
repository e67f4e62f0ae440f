"""What agents write to stderr is kept for those who look for it, and tells no secrets."""

from __future__ import annotations

import asyncio
import stat
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from mobox.capture.catalog import Agent
from mobox.capture.execution import STDERR_TAIL
from mobox.capture.process import ProcessExecution, job_of
from mobox.errors import LogDeleted
from mobox.events import Done, Start
from mobox.events.turn import Answer, Turn
from mobox.sandbox import get_sandbox
from mobox.storage import Settings, Storage, open_storage
from mobox.storage.log import Run, RunId
from mobox.supervisor.agent_files import Redaction, StderrFolder
from mobox.supervisor.live_stderr import LiveStderr
from mobox.supervisor.pruning import prune
from supervisor.stage import (
    error_of,
    nothing_left,
    reason_of,
    staged,
    submit,
    write_agent,
)
from support.waiting import until

SECRET = "sk-0123456789"


@pytest.fixture(autouse=True)
def clean(tmp_path: Path) -> Iterator[None]:
    with nothing_left(tmp_path):
        yield


def agent_with(**env: str | None) -> Agent:
    return Agent(id="a", name="a", folder=Path(), argv=(), env=env)


def attempt(number: int = 1, run_id: str = "run_1") -> Run:
    return Run(
        id=RunId(run_id),
        chat_id="c",
        owner="ann",
        agent="a",
        framework="emitted",
        leg=number,
        started_at=0,
    )


# Redaction


def test_what_an_agent_is_given_is_called_by_its_name() -> None:
    agent = agent_with(KEY=None, OTHER=None, SHORT=None, LITERAL="sk-literal", SIZE="7", GONE=None)
    ours = {"KEY": SECRET, "OTHER": SECRET + "-2", "SHORT": "1234567", "UNASKED": "unasked-for"}
    redacted = Redaction(agent, ours)
    said = f"{SECRET} {SECRET}-2 1234567 sk-literal 7 unasked-for"
    assert redacted(said) == "[KEY] [OTHER] 1234567 [LITERAL] 7 unasked-for"


def test_what_every_agent_gets_is_no_secret() -> None:
    redacted = Redaction(agent_with(PATH=None), {"PATH": "/usr/local/bin"})
    assert redacted("/usr/local/bin/python") == "/usr/local/bin/python"


def test_tokens_of_gateway_and_proxy_are_redacted() -> None:
    redacted = Redaction(agent_with())
    proxy = "http://agent:mbe_Ab-9_xyz@127.0.0.1:4321"
    assert redacted(f"{proxy} failed") == "http://agent:[network token]@127.0.0.1:4321 failed"
    assert redacted("key mbm_Ab-9_xyz.") == "key [model token]."


def test_a_secret_that_was_cut_off_is_not_told_by_its_end() -> None:
    redacted = Redaction(agent_with(KEY=None), {"KEY": SECRET})
    assert redacted("23456789" + "x" * STDERR_TAIL) == "[KEY]" + "x" * STDERR_TAIL
    assert redacted("23456789 is short, and nothing was cut off").startswith("23456789")


# Files


def test_each_leg_has_its_file(tmp_path: Path) -> None:
    folder = StderrFolder(tmp_path / "logs")
    assert folder.read(attempt(10)) == {}
    folder.keep(attempt(1), "one")
    folder.keep(attempt(10), "ten")
    folder.keep(attempt(2), "two")
    folder.keep(attempt(1, "run_12"), "another's")
    assert list(folder.read(attempt(10)).items()) == [(1, "one"), (2, "two"), (10, "ten")]
    folder.delete(["run_1", "run_3"])
    assert folder.read(attempt(10)) == {}
    assert folder.read(attempt(1, "run_12")) == {1: "another's"}
    StderrFolder(tmp_path / "none").delete(["run_1"])


def test_nobody_else_can_read_them(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir(mode=0o755)
    StderrFolder(tmp_path / "logs").keep(attempt(), "private")
    assert stat.S_IMODE((tmp_path / "logs").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "logs/run_1.1.stderr").stat().st_mode) == 0o600


def test_only_the_end_is_kept(tmp_path: Path) -> None:
    folder = StderrFolder(tmp_path / "logs")
    folder.keep(attempt(), "first" + "\u00e9" * STDERR_TAIL + "last")
    kept = (tmp_path / "logs/run_1.1.stderr").read_bytes()
    assert len(kept) == STDERR_TAIL
    assert folder.read(attempt())[1].endswith("\u00e9last")


def test_no_link_is_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "file").write_text("untouched")
    folder = StderrFolder(tmp_path / "logs")
    folder.keep(attempt(2), "mine")
    (tmp_path / "logs/run_1.1.stderr").symlink_to(elsewhere / "file")
    with pytest.raises(OSError, match="symbolic links"):
        folder.read(attempt(1))
    folder.keep(attempt(1), "instead of the link")
    assert folder.read(attempt(1))[1] == "instead of the link"
    (tmp_path / "logs/run_1.3.stderr.part").symlink_to(elsewhere / "file")
    with pytest.raises(OSError, match="symbolic links"):
        folder.keep(attempt(3), "to be kept")
    (tmp_path / "linked").symlink_to(elsewhere)
    with pytest.raises(OSError, match=r"irectory|symbolic"):
        StderrFolder(tmp_path / "linked").keep(attempt(1), "to be kept")
    assert [each.name for each in elsewhere.iterdir()] == ["file"]
    assert (elsewhere / "file").read_text() == "untouched"
    StderrFolder(tmp_path / "linked").delete(["run_1"])
    folder.delete(["run_1"])
    assert (elsewhere / "file").exists()


# Pruning


@asynccontextmanager
async def old_chats(data: Path, count: int) -> AsyncIterator[Storage]:
    """A store with so many of them, of whose agents each wrote something."""
    storage = await open_storage("memory:", Settings(clock=lambda: 1))
    for n in range(count):
        begun = await storage.begin_turn("ann", submit(chat_id=f"c{n}"), "a", "emitted")
        done = [Start(framework="emitted"), Done(reason="stop")]
        await storage.append(begun.run.id, begun.run.epoch, done, 1)
        StderrFolder(data / "logs").keep(begun.run, f"c{n}")
    try:
        yield storage
    finally:
        await storage.close()


def kept_in(data: Path) -> set[str]:
    """The chats whose agents' words are kept."""
    return {file.read_text() for file in (data / "logs").iterdir()}


async def chats_in(storage: Storage) -> set[str]:
    return {chat.id for chat in (await storage.chats("ann", limit=1000)).chats}


async def test_stderr_goes_with_chats_that_are_pruned_however_many(tmp_path: Path) -> None:
    async with old_chats(tmp_path, 300) as storage:
        pruned = await prune(storage, tmp_path, timedelta(days=1))
        assert (pruned.chats, pruned.runs) == (300, 300)
        assert kept_in(tmp_path) == set()


async def test_no_stderr_is_left_where_pruning_was_interrupted(tmp_path: Path) -> None:
    async with old_chats(tmp_path, 20) as storage:
        pruning = asyncio.create_task(prune(storage, tmp_path, timedelta(days=1)))
        first = await storage.run_after("ann", "c0", None)
        with pytest.raises(LogDeleted):
            await storage.run_after("ann", "c0", first.id)
        pruning.cancel()
        await asyncio.wait([pruning])
        assert pruning.cancelled()
        assert kept_in(tmp_path) == await chats_in(storage) != set()


# In runs


async def test_stderr_is_kept_without_secrets_and_goes_with_the_chat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOBOX_TEST_KEY", SECRET)
    code = """
        print("the key is", os.environ["MOBOX_TEST_KEY"], file=sys.stderr)
        if read_turn().prompt == "fail":
            sys.exit(1)
        emit_done()
    """
    agent = write_agent(tmp_path / "chatty", code, "env: [MOBOX_TEST_KEY]")
    folder = StderrFolder(tmp_path / "logs")
    async with staged(tmp_path, agent) as stage:
        fine, failed = await stage.begin(), await stage.begin(submit("fail", chat_id="other"))
        assert reason_of(await stage.until_it_ends(fine)) == "stop"
        error = error_of(await stage.until_it_ends(failed))
        assert error.stderr_tail == "the key is [MOBOX_TEST_KEY]\n"
        for begun in (fine, failed):
            assert folder.read(begun) == {1: "the key is [MOBOX_TEST_KEY]\n"}
        await stage.supervisor.delete("ann", "chat")
        assert folder.read(fine) == {}
        assert folder.read(failed) != {}


async def test_the_servers_log_tells_no_terminal_what_to_do(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    agent = write_agent(tmp_path / "rude", "sys.exit('it broke \\x1b]0;mine\\x07\\r')")
    async with staged(tmp_path, agent) as stage:
        await stage.until_it_ends(await stage.begin())
        (begun,) = await stage.store.runs("ann", "chat")
    assert caplog.messages == [
        f"run {begun.id} (agent rude) failed: The agent exited with code 1:"
        rf" it broke \x1b]0;mine\x07 (mobox logs {begun.id} --data {tmp_path} --owner=ann)"
    ]


async def test_each_leg_of_a_run_keeps_its_own_and_silent_ones_nothing(tmp_path: Path) -> None:
    code = """
        answers = read_turn().earlier_answers + read_turn().answers
        if len(answers) != 1:
            print(f"leg after {len(answers)}", file=sys.stderr)
        if len(answers) < 2:
            name = f"r{len(answers)}"
            emit_input_request(id=name)
            emit_paused(name)
        else:
            emit_done()
    """
    agent = write_agent(tmp_path / "legs", code)
    async with staged(tmp_path, agent) as stage:
        begun = await stage.begin()
        for name in ("r0", "r1"):
            await stage.until_it_waits(begun)
            await stage.until_nothing_runs()
            answer = Answer(decision="answered", request_id=name)
            await stage.supervisor.answer("ann", begun.id, (answer,))
        await stage.until_it_ends(begun)
        kept = await stage.supervisor.stderr_of("ann", begun.id)
        assert kept == {1: "leg after 0\n", 3: "leg after 2\n"}


async def test_a_folder_that_cannot_be_written_does_not_matter(tmp_path: Path) -> None:
    agent = write_agent(tmp_path / "loud", "print('hm', file=sys.stderr); emit_done()")
    (tmp_path / "logs").write_text("a file in its place")
    async with staged(tmp_path, agent) as stage:
        assert reason_of(await stage.until_it_ends(await stage.begin())) == "stop"


async def test_stderr_is_stored_while_the_agent_works(tmp_path: Path) -> None:
    code = "print('half way', file=sys.stderr, flush=True)\nimport time; time.sleep(600)"
    agent = write_agent(tmp_path / "slow", code)
    async with staged(tmp_path, agent) as stage:
        begun = await stage.begin()
        await until(lambda: StderrFolder(tmp_path / "logs").read(begun) == {1: "half way\n"})
        assert stage.supervisor.running == 1
        await stage.supervisor.stop("ann", begun.id)
        await stage.until_it_ends(begun)


def test_beginning_of_a_secret_is_withheld_until_it_is_complete() -> None:
    redacted = Redaction(agent_with(KEY=SECRET, OTHER="sk-01 and more"))
    assert redacted.so_far(f"the key is {SECRET[:5]}") == "the key is "
    assert redacted.so_far(f"the key is {SECRET}") == "the key is [KEY]"
    assert redacted.so_far("the key is sk-01 and") == "the key is "
    assert redacted.so_far("no key\n") == "no key\n"
    for size in range(len(SECRET)):
        assert SECRET[:1] not in redacted.so_far(f"a {SECRET[:size]}")


async def test_nothing_is_stored_after_the_execution(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stderr that comes during the last write is stored by the attempt, with the end."""
    monkeypatch.setattr("mobox.supervisor.live_stderr.EVERY", 0)
    code = "for line in sys.stdin: print(line, file=sys.stderr, flush=True)"
    agent = write_agent(tmp_path / "echo", code)
    execution = ProcessExecution.start(
        job_of(agent, tmp_path / "state" / "chat"), Turn(), get_sandbox("process")
    )
    begun, may_end = asyncio.Event(), threading.Event()
    loop, stored = asyncio.get_running_loop(), list[str]()

    def keep(text: str) -> None:
        stored.append(text)
        loop.call_soon_threadsafe(begun.set)
        may_end.wait()

    async with execution:
        async with LiveStderr("run_1", execution, keep):
            await begun.wait()
            execution.send("more")
            await until(lambda: "more" in execution.stderr_so_far)
            loop.call_soon(may_end.set)
        is_stored = len(stored)
        for _ in range(100):
            await asyncio.sleep(0.001)
        assert len(stored) == is_stored
