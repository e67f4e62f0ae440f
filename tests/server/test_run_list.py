"""The list of an owner's runs over all chats."""

from __future__ import annotations

from pathlib import Path

from mobox.events import Done, Usage
from server.app_client import answered, app_client, begin, say


async def test_runs_of_all_chats_are_listed_with_their_figures(tmp_path: Path) -> None:
    async with app_client(tmp_path, "memory:") as (services, client):
        done = await answered(services, "c1", "First question", "Yes")
        failed = await begin(services, "c2", "Second question")
        usage = Usage(id="u", input=10, output=2, cost_usd=0.5)
        await say(services, failed, usage, Done(reason="error"))
        told = (await client.get("/api/runs")).json()
        assert told["before"] is None
        newest, oldest = told["runs"]
        assert (newest["id"], newest["outcome"], newest["reason"]) == (failed.id, "failed", "error")
        assert (newest["title"], newest["agent"]) == ("Second question", "counter")
        assert (newest["inputTokens"], newest["outputTokens"], newest["costUsd"]) == (10, 2, 0.5)
        assert newest["endedAt"] >= newest["startedAt"]
        assert (oldest["id"], oldest["outcome"], oldest["costUsd"]) == (done.id, "done", None)


async def test_runs_are_filtered_sorted_and_paged(tmp_path: Path) -> None:
    async with app_client(tmp_path, "memory:") as (services, client):
        for number in range(3):
            await answered(services, f"c{number}", "Go", "Yes")
        live = await begin(services, "c9", "Go")

        async def ids(**query: str) -> list[str]:
            found = (await client.get("/api/runs", params=query)).json()["runs"]
            return [row["chatId"] for row in found]

        assert await ids(outcome="running") == [live.chat_id]
        assert await ids(outcome="failed") == []
        assert await ids(agent="nobody") == []
        assert len(await ids(agent="counter", outcome="", order="dearest")) == 4
        assert len(await ids(order="slowest")) == 3
        first = (await client.get("/api/runs", params={"limit": 3})).json()
        rest = (
            await client.get("/api/runs", params={"limit": 3, "before": first["before"]})
        ).json()
        assert [row["chatId"] for row in first["runs"] + rest["runs"]] == ["c9", "c2", "c1", "c0"]
        assert rest["before"] is None


async def test_wrong_parameters_are_refused(tmp_path: Path) -> None:
    async with app_client(tmp_path, "memory:") as (_, client):
        for query in ({"order": "best"}, {"outcome": "good"}, {"limit": "0"}, {"before": "x"}):
            assert (await client.get("/api/runs", params=query)).status_code == 400
