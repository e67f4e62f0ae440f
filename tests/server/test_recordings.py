"""Recordings that somebody looks at: read in memory, shown as a run, and stored on request."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from mobox.events import Done, Text, TextEnd, ToolResult, encode
from mobox.events.turn import UserMessage
from mobox.models.cassettes import Recorded
from mobox.server.recordings.keeping import MOMENTS, batches_of
from mobox.server.recordings.kinds import open_recording
from mobox.server.recordings.logs import steps_of
from server.app_client import answered, app_client
from server.server_with_keys import bearer, give_key, keyed_app

RECORDINGS = sorted((Path(__file__).parent.parent / "recordings").glob("*/*.jsonl"))
CLAUDE = Path(__file__).parent.parent / "recordings" / "claude"

CALL = b'{"provider": "a", "method": "POST", "path": "/", "status": 200, "chunks": [{%b}]}'


async def view(
    client: httpx.AsyncClient, data: bytes, **params: str
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """How a recording is read, and its rows."""
    got = await client.post("/api/recordings", content=data, params=params)
    assert got.status_code == 200, got.text
    about, *rows = [
        json.loads(line.removeprefix("data: "))
        for line in got.text.splitlines()
        if line.startswith("data: ")
    ]
    return about["recording"], rows


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_recording_is_recognized(path: Path) -> None:
    recording = open_recording(path.read_bytes())
    assert (recording.kind, recording.framework) == ("output", path.parent.name)
    steps = list(steps_of(recording))
    entries = [entry for step in steps for entry in step.entries]
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    lines = [line for step in steps for line in step.lines]
    assert [line.n for line in lines] == list(range(1, len(lines) + 1))
    times = [entry.ts for entry in entries if entry.ts is not None]
    assert times == sorted(times)


@pytest.mark.parametrize("written", ["1e300", "9" * 40, "-5", '"0001-01-01T00:00:00+00:00"'])
def test_impossible_times_are_left_out(written: str) -> None:
    line = f'{{"type": "text", "content": "hello", "ts": {written}}}\n'
    good = '{"type": "text", "content": "hello", "ts": 1700000000}\n'
    entry = f'{{"seq": 1, "id": 1, "ts": {"9" * 18}, "event": {{"type": "text", "id": "t"}}}}\n'
    for recording in (line + good, entry):
        steps = steps_of(open_recording(recording.encode()))
        times = {each.ts for step in steps for each in step.entries}
        assert times <= {None, 1_700_000_000_000}


async def test_a_recording_has_lines_events_and_frames(tmp_path: Path) -> None:
    data = (CLAUDE / "agent_sub_async_all.jsonl").read_bytes()
    async with app_client(tmp_path) as (services, client):
        about, rows = await view(client, data, format="ai-sdk:page,ag-ui")
        assert about["framework"] == "claude"
        assert about["detected"]["name"] == "Claude Code's stream-json lines"
        assert {"claude", "langchain"} <= set(about["frameworks"])
        assert all(row["frames"].keys() >= {"ai-sdk:page", "ag-ui"} for row in rows)
        shown = [line["line"] for row in rows for line in row["lines"]]
        assert shown == data.decode().splitlines()
        assert rows[-1]["event"]["type"] == "done"
        assert any(row["ts"] for row in rows), "the recording has times"
        assert (await services.storage.chats("local")).chats == ()


async def test_the_framework_can_be_chosen(tmp_path: Path) -> None:
    data = (CLAUDE / "agent_sub_async_all.jsonl").read_bytes()
    async with app_client(tmp_path) as (_, client):
        about, rows = await view(client, data, framework="langchain", format="canonical")
        assert about["framework"] == "langchain"
        assert about["detected"]["framework"] == "claude"
        assert rows[-2]["event"]["code"] == "not_understood"
        refused = await client.post("/api/recordings", content=data, params={"framework": "x"})
        assert refused.json()["error"]["code"] == "unknown_framework"


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "the file is empty"),
        (b" \n\n", "the file is empty"),
        (b"\x89PNG\r\n\x1a\n\0\0\0", "expected text"),
        (
            b'{"provider": "a", "method": "POST", "path": "/", "status": "no"}',
            "line 1 of the cassette",
        ),
        *((CALL % chunk, "line 1 of the cassette") for chunk in (b'"base64": "abc"', b'"x": "y"')),
    ],
)
async def test_what_is_no_recording_is_refused(data: bytes, sentence: str, tmp_path: Path) -> None:
    async with app_client(tmp_path) as (_, client):
        refused = await client.post("/api/recordings", content=data)
        assert refused.status_code == 400
        assert sentence in refused.json()["error"]["message"]


DEEP = b"[" * 5000 + b"]" * 5000
TYPE = b'"response_headers": {"content-type": "application/json"}'


@pytest.mark.parametrize(
    "data",
    [
        b'{"type": "text", "content": "x", "ts": 5, "a": %b}' % DEEP,
        b'{"seq": 1, "id": 1, "ts": 1, "event": {"type": "custom", "value": %b}}' % DEEP,
        CALL.replace(b"{%b}", b'"%b"').replace(b'"chunks"', TYPE + b', "chunks"') % DEEP,
    ],
    ids=["output", "log", "cassette"],
)
async def test_values_that_are_nested_too_deeply_are_shown(data: bytes, tmp_path: Path) -> None:
    async with app_client(tmp_path) as (_, client):
        _, rows = await view(client, data, format="canonical")
        assert rows[-1]["event"]["type"] == "done"


async def test_unknown_lines_are_named(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (_, client):
        about, rows = await view(client, b"hello\nworld\n", format="canonical")
        assert about["detected"] is None
        assert "could be read" in rows[-2]["event"]["message"]
        ag_ui = b'{"type": "RUN_STARTED", "threadId": "t", "runId": "r"}\n'
        about, _ = await view(client, ag_ui, format="canonical")
        assert about["detected"] == {
            "name": "AG-UI's events",
            "framework": None,
            "confidence": 1.0,
        }


async def test_a_body_is_limited(tmp_path: Path) -> None:
    async with app_client(tmp_path, max_file=1000) as (_, client):
        large = b'{"type": "text", "text": "x"}\n' * 5000
        assert (await client.post("/api/recordings", content=large)).status_code == 413


async def test_reading_takes_a_limited_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mobox.server.recordings.routes.SECONDS", -1.0)
    async with app_client(tmp_path) as (_, client):
        data = (CLAUDE / "agent_sub_async_all.jsonl").read_bytes()
        _, rows = await view(client, data, format="canonical")
        assert rows == [{"error": "Only the beginning is shown: reading it took longer than -1 s."}]


async def test_a_downloaded_log_is_the_same_run(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (services, client):
        run = await answered(services, "c1", "one", "two")
        log = b"\n".join(encode(entry) for entry in await services.storage.read(run.id))
        about, rows = await view(client, log, format="ai-sdk:page")
        assert (about["kind"], about["framework"]) == ("log", "log")
        stored = [entry.event.type for entry in await services.storage.read(run.id)]
        assert [row["event"]["type"] for row in rows][-len(stored) :] == stored
        assert rows[-1]["ts"] == 1000
        cut = log.split(b"\n")[0] + b"\nnot an entry\n"
        _, rows = await view(client, cut, format="ai-sdk:page")
        assert [row["event"]["type"] for row in rows][-1] == "done"


def _sse(*events: dict[str, Any]) -> str:
    return "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events)


def _message(*blocks: dict[str, Any], stop: str) -> str:
    """A response of Anthropic's API with these blocks."""
    start = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []}
    events: list[dict[str, Any]] = [
        {
            "type": "message_start",
            "message": {**start, "usage": {"input_tokens": 1, "output_tokens": 1}},
        }
    ]
    for index, block in enumerate(blocks):
        empty = {**block["start"]}
        events.append({"type": "content_block_start", "index": index, "content_block": empty})
        events.append({"type": "content_block_delta", "index": index, "delta": block["delta"]})
        events.append({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": stop, "stop_sequence": None}
    events.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 5}})
    return _sse(*events, {"type": "message_stop"})


START = 1_000_000_000_000


def _call(request: dict[str, Any], response: str, at: int) -> dict[str, Any]:
    return {
        "provider": "anthropic", "method": "POST", "path": "/v1/messages", "request": request,
        "status": 200, "response_headers": {"content-type": "text/event-stream"},
        "chunks": [response[:50], response[50:]], "started_at": at, "duration_ms": 1000,
    }  # fmt: skip


def cassette() -> bytes:
    """Two calls: the model calls a tool, gets its result, and answers."""
    asked = {"role": "user", "content": "How warm is it?"}
    used = {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "21 degrees"}
    history = [
        asked,
        {"role": "assistant", "content": [used]},
        {"role": "user", "content": [result]},
    ]
    delta = {"type": "input_json_delta", "partial_json": '{"city": "Bern"}'}
    words = {
        "start": {"type": "text", "text": ""},
        "delta": {"type": "text_delta", "text": "Warm."},
    }
    calls = [
        _call(
            {"messages": [asked]}, _message({"start": used, "delta": delta}, stop="tool_use"), START
        ),
        _call({"messages": history}, _message(words, stop="end_turn"), START + 3000),
    ]
    return b"".join(json.dumps(call).encode() + b"\n" for call in calls)


async def test_a_cassette_is_one_run_with_the_results_of_its_tools(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (_, client):
        about, rows = await view(client, cassette(), format="ai-sdk:page")
        assert (about["kind"], about["framework"]) == ("cassette", "claude")
        assert about["prompt"] == "How warm is it?"
        events = [row["event"] for row in rows]
        (result,) = [event for event in events if event["type"] == "tool_result"]
        assert (result["id"], result["output"]) == ("toolu_1", "21 degrees")
        kinds = [event["type"] for event in events]
        assert kinds.index("tool_use_start") < kinds.index("tool_result") < kinds.index("text")
        assert [event for event in events if event["type"] == "done"] == [events[-1]]
        assert events[-1]["reason"] == "stop"
        times = [row["ts"] for row in rows]
        assert (times[0], times[-1]) == (1_000_000_000_000, 1_000_000_004_000)
        assert times == sorted(times)


def test_results_in_the_first_request_are_history() -> None:
    calls = cassette().splitlines()
    recording = open_recording(calls[1])
    events = [entry.event for step in steps_of(recording) for entry in step.entries]
    assert not [event for event in events if isinstance(event, ToolResult)]
    assert isinstance(events[-1], Done)
    assert {type(event) for event in events} >= {Text, TextEnd}
    assert all(isinstance(call, Recorded) for call in recording.calls)


# Kept as chats


async def keep(client: httpx.AsyncClient, data: bytes, **params: str) -> httpx.Response:
    return await client.post("/api/recordings/chats", content=data, params=params)


async def inspected(client: httpx.AsyncClient, run_id: str) -> list[dict[str, Any]]:
    """The rows of a stored run."""
    got = await client.get(f"/api/runs/{run_id}/inspect", params={"format": "ai-sdk:page"})
    lines = got.text.splitlines()
    return [json.loads(line[6:]) for line in lines if line.startswith("data: {")]


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_log_of_every_recording_can_be_stored(path: Path) -> None:
    recording = open_recording(path.read_bytes())
    entries = [entry for step in steps_of(recording) for entry in step.entries]
    batches = batches_of(recording)
    events = [event for batch in batches for event in batch.events]
    assert events[: len(entries)] == [entry.event for entry in entries]
    assert [index for index, event in enumerate(events) if isinstance(event, Done)] == [
        len(events) - 1
    ]
    lines = [line for step in steps_of(recording) for line in step.lines]
    assert [line.line for batch in batches for line in batch.lines] == [each.line for each in lines]
    assert len(batches) <= MOMENTS + 3


async def test_a_recording_is_kept_as_a_chat_with_its_lines_and_times(tmp_path: Path) -> None:
    data = (CLAUDE / "agent_sub_async_all.jsonl").read_bytes()
    async with app_client(tmp_path) as (services, client):
        _, rows = await view(client, data, format="ai-sdk:page")
        kept = await keep(client, data, name="run\n1.jsonl")
        assert kept.status_code == 201, kept.text
        chat_id, run_id = kept.json()["chatId"], kept.json()["runId"]
        history = await services.storage.history("local", chat_id)
        assert history.chat.title == "run1.jsonl"
        assert history.active is None
        assert [message.role for message in history.messages] == ["user", "assistant"]
        stored = await inspected(client, run_id)
        assert [row["event"] for row in stored] == [row["event"] for row in rows]
        assert [row["lines"] for row in stored] == [row["lines"] for row in rows]
        times = [(row["ts"], old["ts"]) for row, old in zip(stored, rows, strict=True)]
        assert all((ts is None) == (old is None) for ts, old in times)
        assert max(abs(ts - old) for ts, old in times if ts is not None) < 1000
        again = await keep(client, data)
        assert again.json()["chatId"] != chat_id


async def test_a_kept_cassette_has_its_prompt(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (services, client):
        about, _ = await view(client, cassette())
        kept = await keep(client, cassette(), name="calls.jsonl")
        history = await services.storage.history("local", kept.json()["chatId"])
        [asked, _] = history.messages
        assert isinstance(asked.body, UserMessage)
        assert asked.body.text == about["prompt"]


async def test_a_recording_that_waits_is_kept_as_interrupted(tmp_path: Path) -> None:
    data = (CLAUDE.parent / "openai-agents" / "approval_1.jsonl").read_bytes()
    async with app_client(tmp_path) as (services, client):
        kept = await keep(client, data)
        run = await services.storage.run("local", kept.json()["runId"])
        assert (run.status, run.reason) == ("done", "interrupted")


async def test_a_log_that_is_too_long_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mobox.server.recordings.keeping.MOST", 10)
    data = (CLAUDE / "agent_sub_async_all.jsonl").read_bytes()
    async with app_client(tmp_path) as (services, client):
        refused = await keep(client, data)
        assert refused.json()["error"]["message"].endswith("it has more than 10 events")
        assert (await services.storage.chats("local")).chats == ()


async def test_keeping_counts_as_starting_a_run(tmp_path: Path) -> None:
    data = b'{"type": "text", "text": "hello"}'
    async with keyed_app(tmp_path, max_runs_per_minute=1) as (services, client):
        _, secret = await give_key(services.storage, "ann")
        client.headers.update(bearer(secret))
        assert (await keep(client, data)).status_code == 201
        assert (await keep(client, data)).status_code == 429
