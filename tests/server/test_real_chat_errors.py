"""What `useChat` shows as `error.message`: one sentence, with the code where a program reads it."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from server.chat_clients import Frontend, Report
from server.live_server import live_server, loading_first
from server.scripted_agent import Gate, prompt, text
from server.server_with_keys import bearer, give_key_at
from server.test_database_outage import SOON

pytestmark = pytest.mark.parametrize("frontend", ["ai-v5 v5", "ai-v6 v6", "ai v7"], indirect=True)

SENTENCE = re.compile(r"[A-Z][^\n{}]+\.")
HI = prompt(text("Hi"))


def assert_told(report: Report, code: str, sentence: str, *, run: str | None = None) -> None:
    """The page shows this sentence, and a program can read this code."""
    last = report.requests[-1]
    assert (report.error, report.status) == (sentence, "error")
    assert SENTENCE.fullmatch(sentence)
    assert code not in sentence
    assert (last["code"], last["run"]) == (code, run)


def test_message_while_another_page_reads_an_answer(
    frontend: Frontend, chat_id: str, gate: Gate
) -> None:
    first = frontend.open(chat_id)
    first.begin("sendMessage", {"text": prompt(text("Well"), gate.step)})
    gate.wait()
    first.read(1)
    report = frontend.open(chat_id).send(HI)
    run = frontend.chat(chat_id)["activeRun"]["id"]
    assert report.requests[-1]["status"] == 409
    assert_told(
        report, "run_active", "Another answer is still being written in this chat.", run=run
    )
    gate.open()
    assert first.settle().error is None


def test_unknown_agent(frontend: Frontend, chat_id: str) -> None:
    page = frontend.open(chat_id)
    page.begin("sendMessage", {"text": HI}, {"body": {"agent": "nobody"}})
    assert_told(page.settle(), "unknown_agent", "There is no agent called 'nobody'.")


def test_invalid_body(frontend: Frontend, chat_id: str) -> None:
    page = frontend.open(chat_id)
    page.begin("sendMessage", {"text": HI}, {"body": {"agent": 7}})
    sentence = "The request is not valid: agent: expected `str | null`, got `int`."
    assert_told(page.settle(), "invalid_request", sentence)


def test_answer_that_no_agent_waits_for(frontend: Frontend, chat_id: str) -> None:
    said = frontend.open(chat_id).send(HI).messages
    part = {
        "type": "dynamic-tool",
        "toolName": "delete",
        "toolCallId": "call_1",
        "state": "approval-responded",
        "input": {},
        "approval": {"id": "nothing", "approved": True},
    }
    page = frontend.open(chat_id, messages=[said[0], {**said[1], "parts": [part]}])
    page.begin("sendMessage")
    sentence = "The agent is not waiting for this answer."
    assert_told(page.settle(), "not_waiting", sentence, run=said[1]["id"])


def test_unknown_run_of_a_stream(frontend: Frontend, chat_id: str) -> None:
    frontend.open(chat_id).send(HI)
    report = frontend.open(chat_id, run="msg_nothing").resume()
    assert_told(report, "not_found", "There is no such run.")


@contextmanager
def limited(frontend: Frontend, agents: Path, data: Path) -> Iterator[tuple[Frontend, str]]:
    """A server with keys that accepts little, and a key of it."""
    flags = ("--auth", "keys", "--max-body", "3000", "--max-runs", "1", "--agents", agents)
    with live_server(data, *flags) as server:
        _, secret = asyncio.run(give_key_at(data, "ann"))
        yield frontend.at(server), secret


def test_limits_of_a_server_with_keys(
    frontend: Frontend, chat_id: str, agents: Path, tmp_path: Path, gate: Gate
) -> None:
    with limited(frontend, agents, tmp_path / "data") as (there, secret):
        page = there.open(chat_id)
        page.begin("sendMessage", {"text": HI}, {"headers": bearer("mbx_wrong")})
        sentence = "The API key is missing, invalid, revoked or expired."
        assert_told(page.settle(), "unauthenticated", sentence)

        page = there.open(chat_id)
        page.begin("sendMessage", {"text": "x" * 4000}, {"headers": bearer(secret)})
        sentence = "The message is too large: this server accepts at most 3,000 bytes."
        assert_told(page.settle(), "body_too_large", sentence)

        first = there.open("first")
        working = {"text": prompt(text("Well"), gate.step)}
        first.begin("sendMessage", working, {"headers": bearer(secret)})
        gate.wait()
        page = there.open(chat_id)
        page.begin("sendMessage", {"text": HI}, {"headers": bearer(secret)})
        sentence = (
            "Too many answers are being written at once: try again when one of them is finished."
        )
        assert_told(page.settle(), "too_many_runs", sentence)
        gate.open()
        first.settle()


def test_database_that_is_locked(
    frontend: Frontend, chat_id: str, agents: Path, tmp_path: Path
) -> None:
    path, data = loading_first(tmp_path, SOON), tmp_path / "data"
    with live_server(data, "--agents", agents, PYTHONPATH=path) as server:
        other = sqlite3.connect(data / "mobox.db", isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        report = frontend.at(server).open(chat_id).send(HI)
        other.close()
    sentence = "The server cannot use its database at the moment: try again in a few seconds."
    assert_told(report, "storage_unavailable", sentence)
