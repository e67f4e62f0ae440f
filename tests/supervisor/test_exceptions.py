"""Agents that end with an exception: the run's error is what the exception says."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from mobox.capture.catalog import Catalog
from mobox.events import Error, LogEntry, Status
from mobox.events.transcript import build_message
from supervisor.functions import Events, lived
from supervisor.stage import reason_of, run, staged, text_of, write_agent

OVERLOADED = """
class OverloadedError(Exception):
    status_code = 529
    body = {"error": {"type": "overloaded_error", "message": "Overloaded, sk-a1b2c3d4e5"}}
"""


def last_error(events: Events) -> Error:
    """The error that readers are shown."""
    return [event for event in events if isinstance(event, Error)][-1]


def told(tmp_path: Path, code: str, framework: str = "emitted") -> Events:
    """The log of a process that does this."""
    agent = write_agent(tmp_path / "it", textwrap.dedent(code), f"framework: {framework}")

    async def scenario() -> Events:
        async with staged(tmp_path, agent) as stage:
            return await stage.until_it_ends(await stage.begin())

    return run(scenario())


@pytest.mark.parametrize("framework", ["emitted", "claude", "openai", "gemini", "langchain"])
def test_failure_of_a_provider_ends_a_process_with_its_code(tmp_path: Path, framework: str) -> None:
    events = told(tmp_path, f"{OVERLOADED}\nemit_text('Hm')\nraise OverloadedError", framework)
    (error,) = [event for event in events if isinstance(event, Error)]
    assert (error.code, error.retryable) == ("overloaded", True)
    assert error.message == "Overloaded, [key]"
    assert "OverloadedError" in (error.stderr_tail or "")
    assert (text_of(events), reason_of(events)) == ("Hm", "error")


def test_crash_says_which_exception_it_was(tmp_path: Path) -> None:
    events = told(tmp_path, "{}['city']")
    error = last_error(events)
    assert (error.code, error.message) == ("crashed", "KeyError: 'city'")
    message = build_message([LogEntry(n, n, n, event) for n, event in enumerate(events)], "run")
    assert message.error == "KeyError: 'city'"
    assert message.metadata == {}, "it is not shown as a notice too"


def test_an_exception_that_the_agent_handled_is_not_its_end(tmp_path: Path) -> None:
    code = "emit_object(ConnectionError('x'))\nemit_text('Well.')\nsys.exit(1)"
    error = last_error(
        told(tmp_path, "from shared.emitter import emit_object\nimport sys\n" + code)
    )
    assert (error.code, error.message) == ("crashed", "The agent exited with code 1.")


def test_forked_process_does_not_report_its_exception(tmp_path: Path) -> None:
    events = told(
        tmp_path,
        """
        import os
        if os.fork() == 0:
            raise ValueError("the child's")
        os.wait()
        emit_text("fine")
        emit_done()
        """,
    )
    assert (text_of(events), reason_of(events)) == ("fine", "stop")
    assert not any(isinstance(event, Error) for event in events)


def test_stop_is_not_a_crash(tmp_path: Path) -> None:
    events = told(tmp_path, "raise KeyboardInterrupt")
    assert last_error(events).code == "crashed"


class RateLimitError(Exception):
    status_code = 429


def test_failure_of_a_provider_ends_a_function_with_its_code(tmp_path: Path) -> None:
    def fails() -> None:
        raise RateLimitError("https://ann:secret@example.com said no")

    events = lived(tmp_path, fails)
    error = last_error(events)
    assert (error.code, error.retryable) == ("rate_limited", True)
    assert error.message == "https://example.com said no"
    assert not any(isinstance(event, Status) for event in events)


IMPORTS_NOTHING = """
import os, signal, sys
{code}
"""


def ended(tmp_path: Path, code: str, yaml: str = "framework: emitted") -> Error:
    """The error of a process that imports nothing of Mobox and does this."""
    folder = tmp_path / "bare"
    folder.mkdir()
    (folder / "agent.yaml").write_text(f"name: Bare\n{yaml}\n")
    (folder / "run_agent.py").write_text(IMPORTS_NOTHING.format(code=textwrap.dedent(code)))
    agent = Catalog.load(tmp_path).get("bare")

    async def scenario() -> Events:
        async with staged(tmp_path, agent) as stage:
            return await stage.until_it_ends(await stage.begin())

    return last_error(run(scenario()))


NOTED = """
error = ValueError("bad")
error.__notes__ = ["During a task"]
raise error
"""


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", "The agent was ended by SIGSEGV."),
        (
            "print('out of paper', file=sys.stderr)\nsys.exit(3)",
            "The agent exited with code 3: out of paper",
        ),
        ("sys.exit('no paper')", "The agent exited with code 1: no paper"),
        (
            "import nowhere_at_all",
            "The agent exited with code 1: ModuleNotFoundError: No module named 'nowhere_at_all'",
        ),
        (NOTED, "The agent exited with code 1: ValueError: bad (During a task)"),
    ],
    ids=["segfault", "exit", "message", "import", "note"],
)
def test_crash_carries_the_last_line_of_stderr(tmp_path: Path, code: str, message: str) -> None:
    error = ended(tmp_path, code)
    assert (error.code, error.message) == ("crashed", message)


def test_crash_of_a_shell_agent_carries_its_last_line(tmp_path: Path) -> None:
    yaml = "framework: emitted\nentry: [sh, -c, 'echo paper jam >&2; exit 4']"
    error = ended(tmp_path, "", yaml)
    assert (error.code, error.message) == ("crashed", "The agent exited with code 4: paper jam")


def test_class_of_the_exception_on_stderr_gives_the_code(tmp_path: Path) -> None:
    error = ended(tmp_path, "class RateLimitError(Exception): ...\nraise RateLimitError('slow')")
    assert (error.code, error.retryable) == ("rate_limited", True)
