"""The routes for what is stored: lists in pages, words that are searched, titles, deletion."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from mobox.events import (
    Done,
    Error,
    InputRequest,
    Paused,
    Start,
    Status,
    StreamEvent,
    SubagentEnd,
    SubagentStart,
    Text,
    TextDelta,
    TextEnd,
    Thinking,
    ThinkingDelta,
    ThinkingEnd,
    TodoCreate,
    TodoItem,
)
from mobox.server.services import Services
from server.app_client import answered, app_client, begin, say

URLS = ["memory:", ""]


def refused(response: httpx.Response) -> tuple[int, str, str]:
    error = response.json()["error"]
    return response.status_code, error["code"], error.get("field", "")


async def pages(client: httpx.AsyncClient, path: str, what: str, **query: str) -> list[list[str]]:
    """The ids on each page, until there is no other."""
    found: list[list[str]] = []
    before: dict[str, str] = {}
    while True:
        page = (await client.get(path, params={**query, **before})).raise_for_status().json()
        found.append([each["id"] for each in page[what]])
        if page["before"] is None:
            return found
        before = {"before": page["before"]}


async def three_chats(services: Services) -> None:
    await answered(services, "c1", "The weather", "Rain in Zürich")
    await answered(services, "c2", "The news", "None")
    await answered(services, "c3", "100%", "A share_of all")


@pytest.mark.parametrize("url", URLS)
async def test_chats_are_listed_page_by_page(tmp_path: Path, url: str) -> None:
    async with app_client(tmp_path, url) as (services, client):
        await three_chats(services)
        whole = (await client.get("/api/chats")).json()
        assert {chat["id"]: chat["title"] for chat in whole["chats"]} == {
            "c1": "The weather", "c2": "The news", "c3": "100%"
        }  # fmt: skip
        ids = [chat["id"] for chat in whole["chats"]]
        assert await pages(client, "/api/chats", "chats", limit="2") == [ids[:2], ids[2:]]


@pytest.mark.parametrize("url", URLS)
async def test_list_shows_which_chats_run_and_which_wait(tmp_path: Path, url: str) -> None:
    async with app_client(tmp_path, url) as (services, client):
        await answered(services, "over", "The weather", "Rain")
        await begin(services, "running", "Go")
        run = await begin(services, "waiting", "Ask")
        await say(services, run, InputRequest(id="r", kind="question"), Paused(request_ids=("r",)))
        chats = (await client.get("/api/chats")).json()["chats"]
        assert {chat["id"]: chat["status"] for chat in chats} == {
            "over": None, "running": "running", "waiting": "waiting"
        }  # fmt: skip
        assert not any(chat["failed"] for chat in chats)


@pytest.mark.parametrize("url", URLS)
async def test_list_shows_which_chats_have_failed(tmp_path: Path, url: str) -> None:
    async with app_client(tmp_path, url) as (services, client):
        await answered(services, "over", "The weather", "Rain")
        run = await begin(services, "failed", "Go")
        await say(services, run, Error(message="No more milk."), Done(reason="error"))
        chats = (await client.get("/api/chats")).json()["chats"]
        assert {chat["id"]: chat["failed"] for chat in chats} == {"over": False, "failed": True}


@pytest.mark.parametrize(
    ("query", "found"),
    [("weather", ["c1"]), ("ZÜRICH", ["c1"]), ("%", ["c3"]), ("_", ["c3"]), ("nothing", [])],
)
@pytest.mark.parametrize("url", URLS)
async def test_chats_are_found_by_their_words(
    tmp_path: Path, url: str, query: str, found: list[str]
) -> None:
    async with app_client(tmp_path, url) as (services, client):
        await three_chats(services)
        chats = (await client.get("/api/chats", params={"query": query})).json()["chats"]
        assert [chat["id"] for chat in chats] == found


@pytest.mark.parametrize(
    ("query", "code", "field"),
    [
        ({"limit": "0"}, "invalid_request", "limit"),
        ({"limit": "201"}, "invalid_request", "limit"),
        ({"limit": "-1"}, "invalid_request", "limit"),
        ({"limit": "many"}, "invalid_request", "limit"),
        ({"limit": "9" * 5000}, "invalid_request", "limit"),
        ({"query": "a" * 60_000}, "invalid_request", "query"),
        ({"before": "x"}, "bad_cursor", ""),
        ({"before": "9" * 5000}, "bad_cursor", ""),
    ],
)
async def test_list_limit_is_bounded(
    tmp_path: Path, query: dict[str, str], code: str, field: str
) -> None:
    async with app_client(tmp_path) as (services, client):
        await answered(services, "c1", "one", "two")
        assert refused(await client.get("/api/chats", params=query)) == (400, code, field)


async def test_messages_are_read_page_by_page_without_the_one_being_written(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (services, client):
        for text in ("one", "two"):
            await answered(services, "c1", text, f"{text}!")
        run = await begin(services, "c1", "three")
        path = "/api/chats/c1/messages"
        last, first = await pages(client, path, "messages", limit="3")
        chat = (await client.get("/api/chats/c1")).json()
        assert first + last == [message["id"] for message in chat["messages"]]
        assert (len(first), len(last), last[-1]) == (2, 3, "c1-three")
        assert run.id not in first + last
        active = {"id": run.id, "status": "running", "agent": "counter"}
        assert (await client.get(path)).json()["activeRun"] == chat["activeRun"] == active


SAID: list[StreamEvent] = [
    Start(framework="emitted"),
    Status(message="Starting agent..."),
    TodoCreate(items=(TodoItem(content="Look"),)),
    Thinking(id="t1", content="Key findings "),
    ThinkingDelta(id="t1", delta="so far..."),
    ThinkingEnd(id="t1"),
    SubagentStart(id="s1", agent="researcher", task="task"),
    SubagentEnd(id="s1", agent="researcher", summary="done"),
    Status(message="Writing"),
    Text(id="a", content="Here is "),
    TextDelta(id="a", delta="the report..."),
    TextEnd(id="a"),
    Done(reason="stop"),
]


def parts_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    """What the event-mapping document's page makes of a stored message."""
    parts: list[dict[str, Any]] = []
    metadata = message.get("metadata") or {}
    processing, thinking = metadata.get("processing"), metadata.get("thinking")
    if processing and len(processing) > 0:
        parts.append({"variant": "processing", "text": "\n".join(processing)})
    if thinking:
        parts.append({"variant": "thinking", "text": thinking})
    if message["content"]:
        parts.append({"type": "text", "text": message["content"]})
    return parts


@pytest.mark.parametrize("path", ["/api/chats/c1", "/api/chats/c1/messages"])
@pytest.mark.parametrize("url", URLS)
async def test_messages_have_the_columns_of_the_document(
    tmp_path: Path, url: str, path: str
) -> None:
    async with app_client(tmp_path, url) as (services, client):
        run = await begin(services, "c1", "Report, please")
        await say(services, run, *SAID)
        asked, told = (await client.get(path)).json()["messages"]
        assert (asked["role"], asked["content"]) == ("user", "Report, please")
        assert parts_of(asked) == [{"type": "text", "text": "Report, please"}]
        lines = ["Starting agent...", "Planned 1 step: Look", "Writing"]
        assert told["metadata"]["processing"] == lines
        assert told["metadata"]["reason"] == "stop", "beside what was there before"
        assert parts_of(told) == [
            {"variant": "processing", "text": "\n".join(lines)},
            {
                "variant": "thinking",
                "text": "Key findings so far...\n\nresearcher started: task"
                "\n\nresearcher finished: done",
            },
            {"type": "text", "text": "Here is the report..."},
        ]


async def test_a_message_without_thoughts_has_its_content_alone(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (services, client):
        run = await begin(services, "c1", "one")
        await say(services, run, Start(framework="emitted"), Done(reason="stop"))
        [_, told] = (await client.get("/api/chats/c1")).json()["messages"]
        assert told["content"] == ""
        assert not {"processing", "thinking"} & told["metadata"].keys()


async def test_a_chat_is_opened_at_its_end_and_read_backwards(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (services, client):
        for text in ("one", "two"):
            await answered(services, "c1", text, f"{text}!")
        run = await begin(services, "c1", "three")
        whole = (await client.get("/api/chats/c1")).json()
        assert (len(whole["messages"]), whole["before"]) == (5, None)
        last = (await client.get("/api/chats/c1", params={"limit": "2"})).json()
        assert last.pop("messages") == whole["messages"][3:]
        assert last["activeRun"]["id"] == run.id
        before = {"before": last["before"]}
        older = (await client.get("/api/chats/c1/messages", params=before)).json()
        assert (older["messages"], older["before"]) == (whole["messages"][:3], None)
        for limit in ("0", "201", "all", ""):
            answer = await client.get("/api/chats/c1", params={"limit": limit})
            assert refused(answer) == (400, "invalid_request", "limit")


async def test_a_chat_gets_another_title(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (services, client):
        await answered(services, "c1", "one", "two")
        renamed = await client.patch("/api/chats/c1", json={"title": "  Zürich "})
        assert (renamed.status_code, renamed.json()["title"]) == (200, "Zürich")
        assert (await client.get("/api/chats/c1")).json()["title"] == "Zürich"
        for wrong in ({"title": ""}, {"title": " "}, {"title": "x" * 201}):
            answer = await client.patch("/api/chats/c1", json=wrong)
            assert refused(answer) == (400, "invalid_request", "title")
        assert refused(await client.patch("/api/chats/none", json={"title": "x"}))[0] == 404


async def test_a_chat_is_pinned_and_unpinned(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (services, client):
        await three_chats(services)
        pinned = (await client.patch("/api/chats/c1", json={"pinned": True})).json()
        assert (pinned["title"], type(pinned["pinnedAt"])) == ("The weather", int)
        page = (await client.get("/api/chats", params={"limit": "1"})).json()
        assert [chat["id"] for chat in page["chats"]] == ["c3"]
        assert [(chat["id"], chat["agent"]) for chat in page["pinned"]] == [("c1", "counter")]
        both = (await client.patch("/api/chats/c1", json={"pinned": False, "title": "Rain"})).json()
        assert (both["title"], both["pinnedAt"]) == ("Rain", None)
        assert (await client.get("/api/chats")).json()["pinned"] == []
        for wrong in ({}, {"pinned": "yes"}, {"pinned": None}, {"colour": "red"}):
            refusal = await client.patch("/api/chats/c1", json=wrong)
            assert refused(refusal)[:2] == (400, "invalid_request")
        assert refused(await client.patch("/api/chats/none", json={"pinned": True}))[0] == 404


async def test_chats_are_listed_by_agent(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (services, client):
        await three_chats(services)
        found = (await client.get("/api/chats", params={"agent": "counter"})).json()
        assert [chat["id"] for chat in found["chats"]] == ["c3", "c2", "c1"]
        assert (await client.get("/api/chats", params={"agent": "other"})).json()["chats"] == []


async def test_a_search_shows_where_it_found_its_text(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (services, client):
        await answered(services, "c1", "The weather", "Rain & <b>wind</b> in Zürich")
        found = (await client.get("/api/chats", params={"query": "WIND"})).json()
        ((chat,), (hit,)) = found["chats"], found["chats"][0]["hits"]
        messages = (await client.get("/api/chats/c1")).json()["messages"]
        assert hit == {
            "messageId": messages[1]["id"],
            "role": "assistant",
            "before": "Rain & <b>",
            "match": "wind",
            "after": "</b> in Zürich",
        }
        assert chat["id"] == "c1"
        assert (await client.get("/api/chats")).json()["chats"][0]["hits"] == []


async def test_a_chat_that_is_deleted_is_gone(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (services, client):
        run = await answered(services, "c1", "one", "two")
        assert (await client.delete("/api/chats/c1")).status_code == 204
        assert refused(await client.delete("/api/chats/c1"))[:2] == (404, "not_found")
        for path in ("/api/chats/c1", "/api/chats/c1/messages"):
            assert refused(await client.get(path))[:2] == (404, "not_found")
        log = await client.get("/api/chat/c1/stream", params={"run": run.id})
        assert refused(log)[:2] == (410, "log_deleted")
        assert (await client.get("/api/chats")).json()["chats"] == []


async def test_chat_names_its_agent_and_its_error(tmp_path: Path) -> None:
    async with app_client(tmp_path, "memory:") as (services, client):
        run = await begin(services, "c1", "Fail")
        await say(services, run, Start(framework="emitted"), Error(message="No more milk."))
        await say(services, run, Done(reason="error"))
        chat = (await client.get("/api/chats/c1")).json()
        assert chat["agent"] == "counter"
        assert chat["messages"][-1]["metadata"]["error"] == "No more milk."
