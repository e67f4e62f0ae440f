"""What became of each line: the line, its events, and their frames."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from mobox.events import Done, InputResponse, Start, Text, TextEnd
from mobox.formatters import StoredRun, formatter_of_run, get_formatter, protocols
from mobox.server.app import create_app, open_services
from mobox.settings import Settings
from mobox.storage.log import RawLine, Run
from server.app_client import app_client, begin
from server.live_server import AGENTS
from server.serving import client_of
from server.stored_runs import RECORDINGS, append, log_of, recorded, told_in

Row = dict[str, Any]
RECORDING = "openai/responses_hosted"
URLS = pytest.mark.parametrize("url", ["memory:", ""])


async def rows(client: httpx.AsyncClient, run: Run, **query: str) -> list[Row]:
    path = f"/api/runs/{run.id}/inspect"
    response = await client.get(path, params={"live": "off", **query})
    assert response.status_code == 200, response.text
    told = told_in(response.text)
    found = [msgspec.json.decode(each.data) for each in told]
    assert [each.id for each in told] == [f"{row['seq']}.1" for row in found]
    return found


@URLS
async def test_every_line_stands_at_the_first_entry_that_it_made(tmp_path: Path, url: str) -> None:
    async with app_client(tmp_path, url) as (services, client):
        run = await recorded(services, RECORDING)
        found = await rows(client, run)
        log = await log_of(services, run)
        assert [row["event"] for row in found] == [entry.event.as_json() for entry in log]
        assert [(row["seq"], row["id"], row["ts"]) for row in found] == [
            (entry.seq, entry.id, entry.ts) for entry in log
        ]
        lines = [line for row in found for line in row["lines"]]
        written = (RECORDINGS / f"{RECORDING}.jsonl").read_text("utf-8").splitlines()
        assert [line["line"] for line in lines] == written
        assert [line["n"] for line in lines] == list(range(1, len(lines) + 1))
        assert all(line["firstSeq"] == row["seq"] for row in found for line in row["lines"])
        assert {line["lastSeq"] - line["firstSeq"] for line in lines} >= {-1, 0, 1}


async def test_row_shows_whether_its_line_was_parsed(tmp_path: Path) -> None:
    async with app_client(tmp_path, "memory:") as (services, client):
        run = await recorded(services, "openai/responses_rare")
        unread = [row["event"] for row in await rows(client, run) if row["unread"]]
        assert {event["type"] for event in unread} == {"raw"}
        kinds = [event["raw"].get("type") for event in unread]
        assert "response.output_item.added" in kinds


async def test_a_line_that_is_only_not_shown_was_understood(tmp_path: Path) -> None:
    async with app_client(tmp_path, "memory:") as (services, client):
        run = await recorded(services, "claude/agent_interrupt")
        shown = await rows(client, run)
        assert "raw" in {row["event"]["type"] for row in shown}
        assert not any(row["unread"] for row in shown)


async def test_row_has_frames_in_every_requested_format(tmp_path: Path) -> None:
    async with app_client(tmp_path, "memory:") as (services, client):
        run = await recorded(services, RECORDING)
        log = await log_of(services, run)
        found = await rows(client, run, format="ai-sdk:v7,panes,panes")
        assert {tuple(row["frames"]) for row in found} == {("ai-sdk:v7", "panes")}
        for name, profile in (("ai-sdk:v7", "v7"), ("panes", None)):
            formatter = get_formatter(name.partition(":")[0], run.id, profile)
            frames = [[as_shown(document) for document in formatter.format(e)] for e in log]
            assert [row["frames"][name] for row in found] == frames
        assert found[-1]["frames"]["ai-sdk:v7"][-1] == "[DONE]"
        assert set((await rows(client, run))[0]["frames"]) == set(protocols())


def as_shown(document: bytes) -> Any:
    return msgspec.json.decode(document) if document != b"[DONE]" else "[DONE]"


async def test_rows_are_read_from_any_place_on(tmp_path: Path) -> None:
    async with app_client(tmp_path, "memory:") as (services, client):
        run = await recorded(services, "claude/codeexec")
        whole = await rows(client, run, format="panes")
        for row in whole[:-1]:
            rest = await rows(client, run, format="panes", after=f"{row['seq']}.1")
            assert rest == whole[row["seq"] :]
        last = await client.get(f"/api/runs/{run.id}/inspect?after={whole[-1]['seq']}.1")
        assert (last.status_code, last.headers["x-mobox-status"]) == (204, "done")


@URLS
async def test_rows_come_while_the_agent_writes(tmp_path: Path, url: str) -> None:
    settings = Settings(data=tmp_path, agents=AGENTS, database_url=url)
    async with (
        open_services(settings) as services,
        client_of(create_app(services)) as client,
    ):
        run = await begin(services, "c1", "Go")
        await append(services, run, [Start(framework="test")], [RawLine(b"one", 0, 1)])
        path = f"/api/runs/{run.id}/inspect?format=canonical"
        async with client.stream("GET", path) as response:
            pieces = response.aiter_lines()

            async def next_row() -> Row:
                while not (line := await anext(pieces)).startswith("data: "):
                    pass
                row: Row = msgspec.json.decode(line.removeprefix("data: "))
                return row

            assert [line["line"] for line in (await next_row())["lines"]] == ["one"]
            await append(services, run, [], [RawLine(b"nothing", 0, 0)])
            said = [Text(id="t", content="Hi"), TextEnd(id="t")]
            await append(services, run, said, [RawLine(b"\xff two", 0, 2)])
            row = await next_row()
            assert [line["line"] for line in row["lines"]] == ["nothing", "\ufffd two"]
            assert (row["lines"][1]["firstSeq"], row["lines"][1]["lastSeq"]) == (2, 3)
            assert (await next_row())["lines"] == []
            await append(services, run, [Done(reason="stop")])
            assert (await next_row())["event"] == {"type": "done", "reason": "stop"}


async def test_waiting_run_is_sent_up_to_its_pause(tmp_path: Path) -> None:
    async with app_client(tmp_path, "memory:") as (services, client):
        run = await recorded(services, "langchain/parts_hitl")
        assert run.status == "waiting"
        found = await rows(client, run)
        assert [row["seq"] for row in found] == list(range(1, run.tail_seq + 1))
        query = {"live": "off", "after": f"{run.tail_seq}.1"}
        nothing = await client.get(f"/api/runs/{run.id}/inspect", params=query)
        assert (nothing.status_code, nothing.headers["x-mobox-status"]) == (204, "waiting")
        beyond = await client.get(
            f"/api/runs/{run.id}/inspect", params=query | {"after": f"{run.tail_seq}.2"}
        )
        assert (beyond.status_code, beyond.json()["error"]["tail"]) == (400, run.tail_seq)


async def test_end_of_a_response_is_where_the_run_starts_to_wait(tmp_path: Path) -> None:
    async with app_client(tmp_path, "memory:") as (services, client):
        run = await recorded(services, "langchain/parts_hitl")
        stored = StoredRun(id=run.id, chat_id=run.chat_id, owner=run.owner)
        log = await log_of(services, run)
        found = await rows(client, run, format="ai-sdk:v7,ag-ui,panes")
        [paused] = [row for row in found if row["event"]["type"] == "paused"]
        for name in ("ai-sdk:v7", "ag-ui", "panes"):
            protocol, _, profile = name.partition(":")
            formatter = formatter_of_run(protocol, stored, profile or None)
            frames = [[as_shown(document) for document in formatter.format(e)] for e in log]
            assert [row["frames"][name] for row in found] == frames
            assert paused["endings"].get(name, []) == [*map(as_shown, formatter.pause())]
        asked, *_, last = paused["endings"]["ai-sdk:v7"]
        assert (asked["type"], last) == ("tool-approval-request", "[DONE]")
        assert set(paused["endings"]) == {"ai-sdk:v7", "ag-ui"}
        assert all(row["endings"] == {} for row in found if row is not paused)
        assert [row["waits"] for row in found] == [row["seq"] >= paused["seq"] for row in found]


async def test_response_continued_after_a_pause_is_one_response(tmp_path: Path) -> None:
    async with app_client(tmp_path, "memory:") as (services, client):
        run = await recorded(services, "langchain/parts_hitl")
        answer = InputResponse(id="any", decision="cancelled")
        await append(services, run, [answer, Done(reason="stop")])
        log = await log_of(services, run)
        found = await rows(client, run, format="ai-sdk:v7")
        formatter = get_formatter("ai-sdk", run.id, "v7")
        assert [row["frames"]["ai-sdk:v7"] for row in found] == [
            [as_shown(document) for document in formatter.format(e)] for e in log
        ]
        assert [row["waits"] for row in found][-3:] == [True, False, False]


async def test_lines_that_were_dropped_leave_the_rows(tmp_path: Path) -> None:
    async with app_client(tmp_path, "memory:") as (services, client):
        run = await recorded(services, "claude/codeexec")
        before = await rows(client, run, format="panes")
        assert await services.storage.drop_raw(2**60) > 0
        after = await rows(client, run, format="panes")
        assert after == [{**row, "lines": []} for row in before]


async def test_a_format_that_is_not_known_is_refused(tmp_path: Path) -> None:
    async with app_client(tmp_path, "memory:") as (services, client):
        run = await recorded(services, "claude/hello")
        for format_, code in [
            ("morse", "unknown_protocol"),
            ("panes:morse", "unknown_profile"),
            ("panes,", "unknown_protocol"),
            (":", "unknown_protocol"),
        ]:
            response = await client.get(f"/api/runs/{run.id}/inspect", params={"format": format_})
            error = response.json()["error"]
            assert (response.status_code, error["code"]) == (400, code)
            assert error["known"]
