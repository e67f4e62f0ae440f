"""Shared chats: what readers of a link see, and that it is all they see."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec.structs import replace

from mobox.events import (
    Custom,
    Done,
    Error,
    File,
    InputRequest,
    InputResponse,
    Paused,
    Raw,
    Result,
    Source,
    Start,
    State,
    Status,
    StreamEvent,
    SubagentEnd,
    SubagentStart,
    Text,
    TextDelta,
    TextEnd,
    Thinking,
    ThinkingEnd,
    TodoCreate,
    TodoItem,
    ToolResult,
    ToolUseEnd,
    ToolUseStart,
    Usage,
)
from mobox.server.auth.links import HEADER
from mobox.server.services import Services
from mobox.storage.log import RawLine, Run
from server.app_client import answered, app_client, begin, say
from server.live_server import message
from server.server_with_keys import bearer, give_key, keyed_app
from support.waiting import until

OWNER = "local"

ANSWER = {"ANSWER", "CITED", "PICTURE", "PROMPT", "report.pdf"}
WORK = {
    "STATUS", "TOOLINPUT", "TOOLOUTPUT", "FOUND", "PLAN", "QUESTION", "REPLY", "SUBTASK",
    "SUBWORDS", "SUBRESULT", "CUSTOMVALUE",
}  # fmt: skip
REST = {"THOUGHT", "SHAREDSTATE", "VENDORSTATE"}
NEVER = {"SESSION", "RESUMESTATE", "TRACEBACK", "RAWLINE", "RAWEVENT"}

TURN: list[StreamEvent] = [
    Start(framework="emitted", agent="counter", session_id="SESSION"),
    Status(message="STATUS"),
    Thinking(id="th", content="THOUGHT"),
    ThinkingEnd(id="th", provider={"vendor": "VENDORSTATE"}),
    ToolUseStart(id="c1", name="search", provider={"vendor": "VENDORSTATE"}),
    ToolUseEnd(id="c1", input={"query": "TOOLINPUT"}),
    ToolResult(id="c1", output="TOOLOUTPUT"),
    Source(id="c1", url="https://example.org/FOUND", title="FOUND"),
    TodoCreate(items=(TodoItem(content="PLAN"),)),
    ToolUseStart(id="c2", name="task", kind="agent"),
    ToolUseEnd(id="c2", input={}),
    SubagentStart(id="c2", agent="helper", task="SUBTASK"),
    Text(id="st", scope=("c2",), content="SUBWORDS"),
    TextEnd(id="st", scope=("c2",)),
    SubagentEnd(id="c2", agent="helper", summary="SUBRESULT"),
    ToolResult(id="c2", output="SUBRESULT"),
    InputRequest(id="q1", kind="question", prompt="QUESTION", resume={"at": "RESUMESTATE"}),
    Paused(request_ids=("q1",), resume={"at": "RESUMESTATE"}),
    InputResponse(id="q1", decision="answered", value="REPLY"),
    Custom(name="chart", value="CUSTOMVALUE"),
    State(mode="snapshot", value={"all": "SHAREDSTATE"}),
    Raw(raw="RAWEVENT", source="not recognized"),
    Error(message="TRACEBACK", code="model_error", stderr_tail="TRACEBACK"),
    Text(id="t", content="ANS"),
    TextDelta(id="t", delta="WER"),
    Source(id="t", url="https://example.org/CITED", title="CITED"),
    TextEnd(id="t", provider={"vendor": "VENDORSTATE"}),
    File(id="f", media_type="image/png", url="https://example.org/PICTURE.png"),
    Usage(id="u", input=4711, output=1),
    Result(text="ANSWER", num_turns=1, session_id="SESSION"),
]
DONE = Done(reason="stop")
SEEN = {"answer": ANSWER, "tools": ANSWER | WORK, "everything": ANSWER | WORK | REST}
EACH = pytest.mark.parametrize("shows", SEEN)


async def a_turn(services: Services, chat_id: str = "c1") -> Run:
    """A run that has emitted one event of each kind, and has not ended."""
    run = await begin(services, chat_id, "PROMPT")
    for event in TURN:
        raw = [RawLine(b"RAWLINE", 1)] if event is TURN[0] else []
        await services.storage.append(run.id, run.epoch, [event], 1000, raw)
    return run


async def share(client: httpx.AsyncClient, chat_id: str = "c1", **body: Any) -> dict[str, Any]:
    made = await client.post(f"/api/chats/{chat_id}/links", json=body)
    assert made.status_code == 201, made.text
    answer: dict[str, Any] = made.json()
    return answer


async def reading(
    services: Services, client: httpx.AsyncClient, link: dict[str, Any]
) -> asyncio.Task[httpx.Response]:
    """The stream of the active run, once it is open."""
    task = asyncio.create_task(client.get("/api/shared/stream", headers=by(link)))
    await until(lambda: services.heartbeats.open_streams)
    return task


def by(link: dict[str, Any]) -> dict[str, str]:
    return {HEADER: link["secret"]}


def seen_in(text: str) -> set[str]:
    """The words of the turn in a response; a streamed word may be in two deltas."""
    words = ANSWER | WORK | REST | NEVER
    found = {word for word in words if word in text}
    return found | {"ANSWER"} if '"ANS"' in text and '"WER"' in text else found


def data_of(text: str) -> list[Any]:
    lines = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line.startswith("{")]


@EACH
async def test_only_what_is_shared_is_sent(shows: str, tmp_path: Path) -> None:
    async with app_client(tmp_path) as (services, client):
        await a_turn(services)
        link = await share(client, shows=shows)
        live = await reading(services, client, link)
        run = (await services.storage.runs(OWNER, "c1"))[-1]
        await say(services, run, DONE)
        streamed = (await live).text
        stored = await client.get("/api/shared", headers=by(link), params={"profile": "page"})
        view = stored.json()
        in_stream = SEEN[shows] - {"PROMPT", "report.pdf", "VENDORSTATE"}
        assert seen_in(streamed) == in_stream
        assert seen_in(stored.text) <= SEEN[shows]
        assert ANSWER - {"report.pdf"} <= seen_in(stored.text)
        assert ("TOOLOUTPUT" in stored.text) == (shows != "answer")
        assert ("THOUGHT" in stored.text) == (shows == "everything")
        assert ("4711" in stored.text) == (shows == "everything")
        assert (view["shows"], view["title"], view["activeRun"]) == (shows, "PROMPT", None)
        assert [each["role"] for each in view["messages"]] == ["user", "assistant"]
        assert not seen_in(streamed + stored.text) & NEVER


@EACH
async def test_the_stream_and_the_stored_message_have_the_same_text(
    shows: str, tmp_path: Path
) -> None:
    async with app_client(tmp_path) as (services, client):
        run = await a_turn(services)
        link = await share(client, shows=shows)
        await say(services, run, DONE)
        owned = (await client.get("/api/chats/c1", params={"profile": "page"})).json()
        shared = await client.get("/api/shared", headers=by(link), params={"profile": "page"})
        (_, own), (_, read) = owned["messages"], shared.json()["messages"]
        assert own["content"] == read["content"] == "ANSWER"
        kinds = [part["type"] for part in own["parts"]]
        left = [part["type"] for part in read["parts"]]
        if shows == "everything":
            assert left == kinds
        else:
            assert "text" in left and len(left) < len(kinds)


@EACH
async def test_runs_are_inspected_only_where_everything_is_shared(
    shows: str, tmp_path: Path
) -> None:
    async with app_client(tmp_path) as (services, client):
        run = await a_turn(services)
        await say(services, run, DONE)
        link = await share(client, shows=shows)
        for path in ("inspect", "events", "events?format=panes"):
            got = await client.get(f"/api/shared/runs/{run.id}/{path}", headers=by(link))
            assert got.status_code == (200 if shows == "everything" else 404), path
            assert not seen_in(got.text) & NEVER
        formats = await client.get("/api/shared/formats", headers=by(link))
        assert formats.status_code == (200 if shows == "everything" else 404)
        if shows == "everything":
            rows = await client.get(f"/api/shared/runs/{run.id}/inspect", headers=by(link))
            entries = data_of(rows.text)
            assert [each["seq"] for each in entries] == list(range(1, len(TURN) + 2))
            assert not any(each["lines"] for each in entries)
            later = {**by(link), "last-event-id": f"{len(TURN)}.1"}
            rest = await client.get(f"/api/shared/runs/{run.id}/inspect", headers=later)
            assert [each["event"]["type"] for each in data_of(rest.text)] == ["done"]


async def test_a_link_opens_no_other_chat_and_no_other_run(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (services, client):
        first = await answered(services, "c1", "one", "1")
        other = await answered(services, "other", "two", "2")
        link = await share(client, shows="everything")
        for path in (f"runs/{other.id}/inspect", f"runs/{other.id}/events", "runs/x/events"):
            assert (await client.get(f"/api/shared/{path}", headers=by(link))).status_code == 404
        only = await share(client, "other", shows="everything", runId=other.id)
        got = await client.get(f"/api/shared/runs/{first.id}/events", headers=by(only))
        assert got.status_code == 404
        # Names of chats and runs in the request change nothing.
        params = {"run": other.id, "chat": "other", "chat_id": "other"}
        got = await client.get("/api/shared", headers=by(link), params=params)
        assert got.json()["title"] == "one"


async def test_a_link_to_a_run_shows_its_turn(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (services, client):
        first = await answered(services, "c1", "one", "answer one")
        second = await begin(services, "c1", "two")
        await say(services, second, Text(id="t", content="answer two"), TextEnd(id="t"))
        link = await share(client, shows="answer", runId=first.id)
        view = (await client.get("/api/shared", headers=by(link))).json()
        assert [each["content"] for each in view["messages"]] == ["one", "answer one"]
        assert (view["activeRun"], view["runId"], view["before"]) == (None, first.id, None)
        assert (await client.get("/api/shared/stream", headers=by(link))).status_code == 204
        live = await share(client, runId=second.id)
        view = (await client.get("/api/shared", headers=by(live))).json()
        assert [each["content"] for each in view["messages"]] == ["two"]
        assert view["activeRun"]["id"] == second.id
        refused = await client.post("/api/chats/c1/links", json={"runId": "no-such-run"})
        assert refused.status_code == 404


async def test_a_link_to_a_run_shows_no_title_of_another_message(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (services, client):
        await answered(services, "c1", "PRIVATE words", "1")
        second = await answered(services, "c1", "what is the weather", "2")
        link = await share(client, runId=second.id)
        for path in ("/api/shared", "/api/shared/state", "/api/shared/messages"):
            got = await client.get(path, headers=by(link))
            assert got.status_code == 200
            assert "PRIVATE" not in got.text, path
        state = (await client.get("/api/shared/state", headers=by(link))).json()
        assert state["title"] == "what is the weather"


async def test_a_link_to_a_run_shows_its_answer_after_it_was_replaced(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (services, client):
        old = await answered(services, "c1", "one", "OLDANSWER")
        link = await share(client, runId=old.id)
        again = {"id": "c1", "trigger": "regenerate-message", "messageId": old.id}
        async with client.stream("POST", "/api/chat", json=again) as response:
            async for _ in response.aiter_bytes():
                pass
        view = (await client.get("/api/shared", headers=by(link))).json()
        assert [each["content"] for each in view["messages"]] == ["OLDANSWER"]


async def test_the_link_shows_the_chosen_branch(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (services, client):
        old = await answered(services, "c1", "one", "OLDANSWER")
        link = await share(client, shows="everything")
        again = {"id": "c1", "trigger": "regenerate-message", "messageId": old.id}
        async with client.stream("POST", "/api/chat", json=again) as response:
            async for _ in response.aiter_bytes():
                pass
        view = await client.get("/api/shared", headers=by(link))
        assert "OLDANSWER" not in view.text
        assert len(view.json()["messages"]) == 2
        got = await client.get(f"/api/shared/runs/{old.id}/events", headers=by(link))
        assert got.status_code == 404


async def test_a_reader_follows_later_turns(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (services, client):
        await answered(services, "c1", "one", "1")
        link = await share(client)
        state = (await client.get("/api/shared/state", headers=by(link))).json()
        assert (state["title"], state["activeRun"]) == ("one", None)
        run = await begin(services, "c1", "two")
        state = (await client.get("/api/shared/state", headers=by(link))).json()
        assert state["activeRun"] == {"id": run.id, "status": "running", "agent": "counter"}


async def test_earlier_messages_are_paged(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (services, client):
        for number in range(3):
            await answered(services, "c1", f"question {number}", f"answer {number}")
        link = await share(client)
        view = (await client.get("/api/shared", headers=by(link), params={"limit": 2})).json()
        assert [each["content"] for each in view["messages"]] == ["question 2", "answer 2"]
        params = {"limit": 200, "before": view["before"]}
        page = (await client.get("/api/shared/messages", headers=by(link), params=params)).json()
        assert [each["content"] for each in page["messages"]][-1] == "answer 1"
        assert page["before"] is None


async def test_a_revoked_expired_or_deleted_link_is_not_found(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (services, client):
        await answered(services, "c1", "one", "1")
        await answered(services, "gone", "two", "2")
        revoked, expired = await share(client), await share(client, days=1)
        deleted = await share(client, "gone", days=None)
        assert (deleted["expiresAt"], expired["expiresAt"]) == (
            None,
            expired["createdAt"] + 86_400_000,
        )
        await client.delete(f"/api/chats/c1/links/{revoked['id']}")
        await client.delete("/api/chats/gone")
        await _expire(services, expired["id"])
        unknown = await client.get("/api/shared", headers={HEADER: "mbl_unknown"})
        assert unknown.status_code == 404
        assert unknown.json()["error"]["code"] == "not_found"
        for link in (revoked, expired, deleted):
            got = await client.get("/api/shared", headers=by(link))
            assert (got.status_code, got.text) == (404, unknown.text)
        listed = (await client.get("/api/chats/c1/links")).json()["links"]
        assert [each["id"] for each in listed] == [expired["id"]]
        assert "secret" not in listed[0] and "digest" not in listed[0]


async def _expire(services: Services, link_id: str) -> None:
    (found,) = await services.storage.links_of([link_id])
    await services.storage.revoke_link(found.owner, found.chat_id, link_id)
    over = replace(found.link, expires_at=1000)
    await services.storage.add_link(found.owner, found.chat_id, over)


async def test_secrets_are_long_and_stored_as_digests(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (services, client):
        await answered(services, "c1", "one", "1")
        links = [await share(client) for _ in range(3)]
        secrets = {each["secret"] for each in links}
        assert len(secrets) == 3
        assert all(len(secret) >= len("mbl_") + 43 for secret in secrets)  # 256 bits
        stored = await services.storage.links(OWNER, "c1")
        assert not {each.digest for each in stored} & secrets
        for each in links:  # neither an id nor a digest opens it
            for guess in (each["id"], stored[0].digest, each["secret"][:-1], ""):
                got = await client.get("/api/shared", headers={HEADER: guess})
                assert got.status_code == 404


async def test_a_chat_has_a_limited_number_of_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mobox.server.sharing.links.MOST", 2)
    async with app_client(tmp_path) as (services, client):
        await answered(services, "c1", "one", "1")
        await share(client)
        await share(client)
        assert (await client.post("/api/chats/c1/links", json={})).status_code == 400
    bad = [{"shows": "nothing"}, {"days": 0}, {"days": 4000}, {"secret": "x"}, {"runId": 7}]
    async with app_client(tmp_path) as (_, client):
        for body in bad:
            assert (await client.post("/api/chats/c1/links", json=body)).status_code == 400, body


async def test_reads_of_a_link_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mobox.server.auth.links.READS_PER_MINUTE", 2)
    async with app_client(tmp_path) as (services, client):
        await answered(services, "c1", "one", "1")
        link, other = await share(client), await share(client)
        for _ in range(2):
            assert (await client.get("/api/shared/state", headers=by(link))).status_code == 200
        busy = await client.get("/api/shared/state", headers=by(link))
        assert (busy.status_code, busy.json()["error"]["code"]) == (429, "link_busy")
        assert (await client.get("/api/shared/state", headers=by(other))).status_code == 200
        assert (await client.get("/api/chats/c1")).status_code == 200


async def test_readers_need_no_key_and_no_principal(tmp_path: Path) -> None:
    async with keyed_app(tmp_path) as (services, client):
        _, secret = await give_key(services.storage, "ann")
        client.headers.update(bearer(secret))
        async with client.stream("POST", "/api/chat", json=message("c1", "1")) as response:
            async for _ in response.aiter_bytes():
                pass
        link = await share(client)
        del client.headers["authorization"]
        assert (await client.get("/api/shared", headers=by(link))).status_code == 200
        assert (await client.get("/api/chats/c1", headers=by(link))).status_code == 401
    async with keyed_app(tmp_path, hook=lambda _: None) as (_, client):
        got = await client.get("/api/shared", headers={HEADER: "mbl_x"})
        assert got.status_code == 404  # not 401: the app is not asked


async def test_shared_pages_are_neither_indexed_nor_referred_to(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (services, client):
        await answered(services, "c1", "one", "1")
        link = await share(client)
        page = await client.get("/shared")
        read = await client.get("/api/shared", headers=by(link))
        for response in (page, read):
            assert response.headers["x-robots-tag"] == "noindex, nofollow"
            assert response.headers["referrer-policy"] == "no-referrer"
        assert read.headers["cache-control"] == "no-store"


FILE = b"what is in the report"


async def _pieces() -> AsyncIterator[bytes]:
    yield FILE


@EACH
async def test_attached_files_open_only_where_everything_is_shared(
    shows: str, tmp_path: Path
) -> None:
    async with app_client(tmp_path) as (services, client):
        file = await services.storage.files.add(OWNER, _pieces(), "text/plain", "report.pdf")
        part = {
            "type": "file", "mediaType": "text/plain", "filename": "report.pdf",
            "url": f"/api/files/{file.id}",
        }  # fmt: skip
        asked = message("c1", "read this")
        asked["messages"][0]["parts"].append(part)
        async with client.stream("POST", "/api/chat", json=asked) as response:
            assert response.status_code == 200
            async for _ in response.aiter_bytes():
                pass
        link = await share(client, shows=shows)
        view = (await client.get("/api/shared", headers=by(link))).json()
        (shown,) = [each for each in view["messages"][0]["parts"] if each["type"] == "file"]
        assert shown["filename"] == "report.pdf"
        if shows != "everything":
            assert shown["url"] == ""
            assert file.id not in json.dumps(view)
            return
        got = await client.get(shown["url"])
        assert (got.status_code, got.content) == (200, FILE)
        bare = shown["url"].partition("?")[0]
        assert (await client.get(bare, headers=by(link))).status_code == 404
        assert (
            await client.get(shown["url"].replace("signature=", "signature=1"))
        ).status_code == 404
        # The address is one of the link: it opens nothing once that is revoked.
        await client.delete(f"/api/chats/c1/links/{link['id']}")
        assert (await client.get(shown["url"])).status_code == 404


async def test_readers_do_not_count_as_clients_of_a_run(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (services, client):
        run = await begin(services, "c1", "one")
        link = await share(client)
        live = await reading(services, client, link)
        assert await services.storage.readers(run.id) == set()
        await say(services, run, Text(id="t", content="1"), TextEnd(id="t"), DONE)
        assert (await live).status_code == 200
