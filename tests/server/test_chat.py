"""The routes that talk to a run: which one is meant, and how it stands afterwards."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from mobox.events import InputRequest, InputResponse, Paused
from server.app_client import answered, app_client, begin, say


async def test_answering_client_learns_whether_the_run_continues(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (services, client):
        run = await begin(services, "c1", "one")
        requests = (InputRequest(id=name, kind="question") for name in ("r1", "r2"))
        await say(services, run, *requests, Paused(request_ids=("r1", "r2")))
        told = await client.post("/api/chat/c1/answer", json={"requestId": "r1"})
        assert (told.status_code, told.json()) == (202, {"runId": run.id, "status": "waiting"})
        again = await client.post("/api/chat/c1/answer", json={"requestId": "r1"})
        counted = {"late": True, "decision": "answered"}
        assert again.status_code == 200
        assert again.json() == {"runId": run.id, "status": "waiting", **counted}
        stopped = await client.post("/api/chat/c1/stop", json={"runId": run.id})
        assert (stopped.status_code, stopped.json()["status"]) == (202, "done")
        late = await client.post("/api/chat/c1/answer", json={"requestId": "r2"})
        assert (late.status_code, late.json()["decision"]) == (200, "cancelled")
        unknown = await client.post("/api/chat/c1/answer", json={"requestId": "r3"})
        assert (unknown.status_code, unknown.json()["error"]["code"]) == (409, "not_waiting")


async def test_the_active_run_is_the_one_that_goes_on_though_a_later_one_waits(
    tmp_path: Path,
) -> None:
    async with app_client(tmp_path) as (services, client):
        runs = []
        for text in ("one", "two"):
            runs.append(await begin(services, "c1", text))
            await say(services, runs[-1], InputRequest(id="r"), Paused(request_ids=("r",)))
        answer = InputResponse(id="r", decision="answered")
        await services.storage.next_attempt(runs[0].id, runs[0].epoch, [answer], None)
        shown = (await client.get("/api/chats/c1")).json()["activeRun"]["id"]
        stopped = (await client.post("/api/chat/c1/stop", json={})).json()["runId"]
        assert shown == stopped == runs[0].id


async def test_run_that_ended_long_ago_is_read_only_by_its_id(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (services, client):
        run = await answered(services, "c1", "one", "two")
        path = "/api/chat/c1/stream"
        just_ended = await client.get(path)
        assert just_ended.text.endswith("data: [DONE]\n\n")
        with sqlite3.connect(tmp_path / "mobox.db") as connection:
            connection.execute("UPDATE run SET ended_at = ended_at - 30000")
        connection.close()
        assert (await client.get(path)).status_code == 204
        assert (await client.get(path, params={"run": run.id})).text == just_ended.text


async def test_run_is_also_resumed_by_its_id_in_place_of_the_chats(tmp_path: Path) -> None:
    """As assistant-ui does, with the stream's id in a response's header."""
    async with app_client(tmp_path) as (services, client):
        run = await answered(services, "c1", "one", "two")
        by_chat = await client.get("/api/chat/c1/stream")
        assert by_chat.headers["x-resumable-stream-id"] == run.id
        by_run = await client.get(f"/api/chat/{run.id}/stream")
        assert by_run.text == by_chat.text
        assert (await client.get("/api/chat/run_unknown/stream")).status_code == 204
