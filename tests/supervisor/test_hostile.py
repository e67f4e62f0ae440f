"""Agents that do what they should not: each run has one end, with the right reason, and no rest."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import NamedTuple

import pytest

from mobox.capture.process import StopTimeouts
from mobox.events import Raw
from mobox.storage.log import Run
from supervisor.stage import (
    LIMIT,
    Stage,
    error_of,
    peak_memory,
    processes_under,
    reason_of,
    staged,
    submit,
    text_of,
    write_agent,
)
from support.waiting import until

MEGABYTE = 1_000_000


pytestmark = pytest.mark.usefixtures("clean")


class Hostile(NamedTuple):
    """What an agent does, and how its run ends."""

    code: str
    reason: str
    text: str = ""
    yaml: str = ""
    error: str | None = None
    growth: int = 24 * MEGABYTE
    """How much larger this process may have been at any time."""


TEXT = b'{"type": "text", "data": {"content": "ok"}}\n'
DONE = b'{"type": "done", "data": {}}\n'

AGENTS = {
    "noise between the lines": Hostile(
        f"os.write(1, b'Loading\\n' + {TEXT!r} + b'100%\\r\\n\\n\\x1b[31m!\\n' + {DONE!r})",
        "stop",
        "ok",
    ),
    "lines in pieces": Hostile(
        f"for byte in {TEXT + DONE!r}: os.write(1, bytes([byte]))", "stop", "ok"
    ),
    "a last line without an end": Hostile(f"os.write(1, {(TEXT + DONE)[:-1]!r})", "stop", "ok"),
    "half a line": Hostile(f"os.write(1, {TEXT + DONE[:9]!r})", "truncated", "ok"),
    "not UTF-8": Hostile(f"os.write(1, b'\\xff\\xfe\\n' + {TEXT + DONE!r})", "stop", "ok"),
    "not an event": Hostile(
        f"os.write(1, b'[]\\n0\\nnull\\n{{}}\\n' + {TEXT + DONE!r})", "stop", "ok"
    ),
    "a line of 100 MB": Hostile(
        f"""
        for _ in range(1600):
            os.write(1, b"x" * 65536)
        os.write(1, b"\\n" + {TEXT + DONE!r})
        """,
        "stop",
        "ok",
        growth=48 * MEGABYTE,
    ),
    "endless output": Hostile(
        """
        while True:
            os.write(1, b'{"type": "status", "data": {"message": "' + b"x" * 4000 + b'"}}\\n')
        """,
        "error",
        yaml="limits: {output: 24M}",
        error="output_limit",
        growth=20 * MEGABYTE,
    ),
    "an endless line": Hostile(
        """
        while True:
            os.write(1, b"x" * 65536)
        """,
        "error",
        yaml="limits: {output: 24M}",
        error="output_limit",
        growth=48 * MEGABYTE,
    ),
    "deaf to TERM, and endless": Hostile(
        """
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        while True:
            os.write(1, (b"n" * 200 + b"\\n") * 100)
        """,
        "error",
        yaml="limits: {output: 1M}",
        error="output_limit",
    ),
    "a grandchild that holds stdout": Hostile(
        f"os.write(1, {TEXT + DONE!r}); subprocess.Popen(['sleep', '1000'])", "stop", "ok"
    ),
    "daemons in sessions of their own": Hostile(
        f"""
        for _ in range(3):
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    signal.signal(signal.SIGTERM, signal.SIG_IGN)
                    time.sleep(1000)
                os._exit(0)
        os.write(1, {TEXT + DONE!r})
        """,
        "stop",
        "ok",
    ),
    "closes stdout and lives": Hostile(
        f"os.write(1, {TEXT!r}); os.close(1); wait_for('nothing')",
        "error",
        "ok",
        "timeouts: {idle: 3}",
        "idle_timeout",
    ),
    "closes stdin": Hostile(f"os.close(0); os.write(1, {TEXT + DONE!r})", "stop", "ok"),
    "closes everything": Hostile(
        "os.closerange(0, 100); wait_for('nothing')",
        "error",
        "",
        "timeouts: {idle: 0.3}",
        "idle_timeout",
    ),
    "says nothing": Hostile("", "truncated"),
    "no last word": Hostile(f"os.write(1, {TEXT!r})", "truncated", "ok"),
    "stderr only, and much of it": Hostile(
        """
        for _ in range(2000):
            os.write(2, b"x" * 10000)
        """,
        "truncated",
        growth=8 * MEGABYTE,
    ),
    "done, several times, and then more": Hostile(
        f"os.write(1, {(TEXT + DONE) * 3 + TEXT!r})", "stop", "ok"
    ),
    "done, and then it fails": Hostile(f"os.write(1, {TEXT + DONE!r}); sys.exit(3)", "stop", "ok"),
    "done, and then it stays": Hostile(
        f"os.write(1, {TEXT + DONE!r}); wait_for('nothing')", "stop", "ok", "timeouts: {idle: 3}"
    ),
    "kills its keeper": Hostile(
        f"""
        os.write(1, {TEXT!r})
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(1000)
        """,
        "error",
        "ok",
        error="crashed",
    ),
    "too much memory": Hostile(
        "x = b'x' * (1 << 30)", "error", yaml="limits: {memory: 512M}", error="memory_limit"
    ),
    "removes its own state": Hostile(
        f"import shutil; shutil.rmtree(state); os.write(1, {TEXT + DONE!r})", "stop", "ok"
    ),
    "asks and pauses without a word what for": Hostile(
        """
        os.write(1, b'{"type": "paused", "data": {"request_ids": []}}\\n')
        sys.exit(1)
        """,
        "error",
        error="crashed",
    ),
}


@pytest.mark.parametrize("name", AGENTS)
async def test_whatever_an_agent_does_its_run_ends(tmp_path: Path, name: str) -> None:
    hostile = AGENTS[name]
    # stdin and stdout as they come: the emitter would keep what is printed away from the lines
    agent = write_agent(tmp_path / "hostile", hostile.code, hostile.yaml, emitter=False)
    calm = write_agent(tmp_path / "calm", f"os.write(1, {TEXT + DONE!r})", emitter=False)
    async with staged(tmp_path, agent, calm) as stage:
        await played(stage, "calm")  # whatever is needed once
        before = peak_memory(reset=True)
        begun = await played(stage, "hostile")
        assert peak_memory() - before < hostile.growth
        events = await stage.until_it_ends(begun)
        assert (reason_of(events), text_of(events)) == (hostile.reason, hostile.text)
        if hostile.error is not None:
            assert error_of(events).code == hostile.error
        # One whose keeper is gone is killed by the kernel, when it comes to that.
        await until(lambda: processes_under(tmp_path) == [])


async def played(stage: Stage, agent: str) -> Run:
    """A run that is over; nobody here has read its log."""
    begun = await stage.begin(submit(chat_id=agent, agent=agent))
    await stage.until_nothing_runs()
    return begun


async def test_what_is_no_event_is_kept_in_its_place(tmp_path: Path) -> None:
    code = f"os.write(1, b'one\\n' + {TEXT!r} + b'\\xff\\n')"
    agent = write_agent(tmp_path / "noisy", code, emitter=False)
    async with staged(tmp_path, agent) as stage:
        begun = await stage.begin()
        events = await stage.until_it_ends(begun)
        raws = [event.raw for event in events if isinstance(event, Raw)]
        assert raws[0] == "one"
        assert len(raws) == 2
        kept = [raw.line for raw in await stage.store.raw_lines(begun.id)]
        assert kept == [b"one", TEXT.strip(), b"\xff"]


SIGNALS = (
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "USR1", "SEGV", "USR2", "PIPE",
    "ALRM", "TERM", "KILL", "XCPU",
)  # fmt: skip


async def test_a_signal_is_an_error_that_names_it(tmp_path: Path) -> None:
    code = """
        number = getattr(signal, "SIG" + turn_words())
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        time.sleep(1000)
    """
    words = """
        import json
        def turn_words():
            return json.loads(sys.stdin.readline())["data"]["prompt"][0]["text"]
    """
    agent = write_agent(tmp_path / "dying", words + code, emitter=False)
    async with staged(tmp_path, agent) as stage:

        async def death(name: str) -> tuple[str, str | None, str]:
            begun = await stage.begin(submit(name, chat_id=name))
            events = await stage.until_it_ends(begun)
            error = error_of(events)
            return reason_of(events), error.signal, error.message

        deaths = await asyncio.gather(*map(death, SIGNALS))
        assert deaths == [
            ("error", f"SIG{name}", f"The agent was ended by SIG{name}.") for name in SIGNALS
        ]
        await stage.until_nothing_runs()


async def test_who_ignores_every_word_is_killed_when_stopped(tmp_path: Path) -> None:
    code = """
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        (state / "ready").touch()
        while True:
            time.sleep(1)
    """
    agent = write_agent(tmp_path / "deaf", code, emitter=False)
    async with staged(tmp_path, agent) as stage:
        begun = await stage.begin()
        await stage.told("ready")
        await stage.supervisor.stop("ann", begun.id)
        assert reason_of(await stage.until_it_ends(begun)) == "cancelled"


async def test_what_an_agent_says_while_it_is_stopped_counts(tmp_path: Path) -> None:
    code = """
        try:
            read_turn()
            (state / "ready").touch()
            time.sleep(1000)
        except KeyboardInterrupt:
            emit_text("I had only begun.")
            emit_done()
    """
    agent = write_agent(tmp_path / "polite", code)
    async with staged(tmp_path, agent, patience=StopTimeouts(message=LIMIT)) as stage:
        begun = await stage.begin()
        await stage.told("ready")
        await stage.supervisor.stop("ann", begun.id)
        events = await stage.until_it_ends(begun)
        assert (reason_of(events), text_of(events)) == ("cancelled", "I had only begun.")
