"""Runs with lines that nobody understood: an error if there is nothing else, else a warning."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mobox.capture.catalog import Agent
from mobox.emitter import emit_status
from mobox.events import Done, Error, Raw
from mobox.settings import Settings
from supervisor.functions import Events, lived
from supervisor.stage import (
    IMPATIENT,
    QUIET,
    both_stores,
    error_of,
    reason_of,
    run,
    staged,
    text_of,
    url_of,
    write_agent,
)

pytestmark = pytest.mark.usefixtures("clean")

PART = {"index": 0, "part": {"content": "Hello"}, "event_kind": "part_start"}
CALLBACK = {"event": "on_chat_model_stream", "run_id": "r", "data": {}}
PRINT = f"for _ in range(3): say({json.dumps(PART)!r})\n"
SAY = """
def say(line):
    os.write(int(os.environ["MOBOX_EMIT"].partition(":")[2]), line.encode() + b"\\n")
"""
"""Where the emitter is imported, what is printed goes to stderr."""
SHAPE = "The first line is an object with the keys index, part, event_kind."
NONE_READ = f"None of the 3 lines could be read as claude. {SHAPE}"
NO_PARSER = "It looks like pydantic-ai's events; Mobox has no parser for them yet"


def speaker(tmp_path: Path, code: str, framework: str = "claude") -> Agent:
    return write_agent(tmp_path / "it", SAY + textwrap.dedent(code), f"framework: {framework}")


def told(tmp_path: Path, code: str, framework: str = "claude", store: str = "memory") -> Events:
    """The log of an agent that does this."""
    agent = speaker(tmp_path, code, framework)

    async def scenario() -> Events:
        async with staged(tmp_path, agent, url=url_of(store, tmp_path)) as stage:
            return await stage.until_it_ends(await stage.begin())

    return run(scenario())


def reports(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [text for text in caplog.messages if "could be read" in text or "not be read" in text]


# Nothing was understood


@both_stores
def test_a_process_that_nobody_understands_fails(
    tmp_path: Path, store: str, caplog: pytest.LogCaptureFixture
) -> None:
    events = told(tmp_path, PRINT, store=store)
    error = error_of(events)
    assert error.code == "not_understood"
    assert error.message == f"{NONE_READ} {NO_PARSER}: docs/add-a-framework.md"
    assert events[-2:] == [error, Done(reason="error")]
    assert sum(isinstance(event, Raw) for event in events) == 3
    (report,) = reports(caplog)
    assert error.message in report


def test_its_own_word_that_it_is_done_does_not_change_that(tmp_path: Path) -> None:
    events = told(tmp_path, PRINT + "emit_done()")
    assert (error_of(events).code, reason_of(events)) == ("not_understood", "error")


def test_the_framework_that_it_looks_like_is_named(tmp_path: Path) -> None:
    events = told(tmp_path, f"say({json.dumps(CALLBACK)!r})", "openai")
    assert error_of(events).message.endswith("LangChain's events: set framework: langchain")


def test_words_that_are_not_json_are_no_answer(tmp_path: Path) -> None:
    events = told(tmp_path, "say('Hello'); say('World')", "emitted")
    error = error_of(events)
    assert error.message.endswith("text, not JSON. An agent writes JSON lines to its standard "
                                  "output: docs/agents.md")  # fmt: skip
    assert (error.code, reason_of(events)) == ("not_understood", "error")


@pytest.mark.parametrize("framework", ["claude", "emitted", "openai-agents", "deepagents"])
def test_a_function_that_nobody_understands_fails(tmp_path: Path, framework: str) -> None:
    def speaks() -> Iterator[dict[str, Any]]:
        yield PART
        yield PART

    events = lived(tmp_path, speaks, framework)
    assert (error_of(events).code, reason_of(events)) == ("not_understood", "error")
    assert error_of(events).message.startswith(f"None of the 2 lines could be read as {framework}.")


# What else ends a run


def test_an_agent_that_says_nothing_is_not_misunderstood(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    events = told(tmp_path, "read_turn()")
    assert [event for event in events if isinstance(event, Error)] == []
    assert (reason_of(events), reports(caplog)) == ("truncated", [])


def test_how_it_exited_is_its_error(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    events = told(tmp_path, PRINT + "sys.exit(3)")
    error = error_of(events)
    assert (error.code, error.exit_code, reason_of(events)) == ("crashed", 3, "error")
    (report,) = reports(caplog)
    assert NONE_READ in report


def test_what_a_function_raises_is_its_error(tmp_path: Path) -> None:
    def fails() -> Iterator[dict[str, Any]]:
        yield PART
        raise ValueError("no")

    events = lived(tmp_path, fails, "claude")
    assert (error_of(events).code, reason_of(events)) == ("crashed", "error")


def test_an_error_of_its_own_stays_the_only_one(tmp_path: Path) -> None:
    events = told(tmp_path, PRINT + "emit_error('There is no such city.')")
    assert (error_of(events).message, reason_of(events)) == ("There is no such city.", "error")


async def test_a_run_that_is_stopped_is_cancelled(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    code = PRINT + "(state / 'ready').touch(); wait_for('go')"
    agent = speaker(tmp_path, code)
    async with staged(tmp_path, agent) as stage:
        begun = await stage.begin()
        await stage.told("ready")
        await stage.supervisor.stop("ann", begun.id)
        events = await stage.until_it_ends(begun)
    assert reason_of(events) == "cancelled"
    assert [event for event in events if isinstance(event, Error)] == []
    assert len(reports(caplog)) == 1


# Some of it was


def test_some_lines_among_others_are_one_line_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    events = told(tmp_path, PRINT + "emit_text('Hello'); say('bye'); emit_done()")
    assert (text_of(events), reason_of(events)) == ("Hello", "stop")
    (report,) = reports(caplog)
    assert report.startswith("run ")
    assert report.endswith(f": 4 lines could not be read as claude. {SHAPE}")


def test_a_run_of_which_all_was_understood_leaves_nothing_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    told(tmp_path, "emit_text('Hello'); emit_done()")
    assert reports(caplog) == []


def test_a_status_of_its_own_was_understood(tmp_path: Path) -> None:
    def speaks() -> Iterator[dict[str, Any]]:
        emit_status("Working")
        yield PART

    events = lived(tmp_path, speaks, "claude")
    assert [event for event in events if isinstance(event, Error)] == []


@both_stores
@pytest.mark.parametrize("limits", [QUIET, IMPATIENT], ids=["held", "let go"])
async def test_what_was_understood_before_an_answer_counts(
    tmp_path: Path, store: str, limits: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    code = """
        if not read_turn().resume:
            say('{"before": 1}')
        ask("Sure?", id="r1", resume={"n": 1})
        say('{"after": 1}')
        emit_done()
    """
    asker = speaker(tmp_path, code)
    async with staged(tmp_path, asker, url=url_of(store, tmp_path), limits=limits) as stage:
        begun = await stage.begin()
        await stage.until_it_waits(begun)
        if limits is IMPATIENT:
            await stage.until_nothing_runs()
        events = await stage.answered(begun)
    assert [event for event in events if isinstance(event, Error)] == []
    assert reason_of(events) == "stop"
    (report,) = reports(caplog)
    assert report.endswith("2 lines could not be read as claude. The first line is an object with "
                           "the key before.")  # fmt: skip
