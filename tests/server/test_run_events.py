"""A run in any format, from any place on."""

from __future__ import annotations

import json
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from mobox.errors import InvalidCursor
from mobox.events import (
    Done,
    InputRequest,
    InputResponse,
    Paused,
    Start,
    StreamEvent,
    Text,
    TextDelta,
    TextEnd,
    ToolUseEnd,
    ToolUseStart,
)
from mobox.formatters import format_all, get_formatter, profiles_of, protocols
from mobox.formatters.ai_sdk.requests import read_request
from mobox.server.app import create_app, open_services
from mobox.server.runs.reader import Cursor, parse_cursor
from mobox.server.services import Services
from mobox.settings import OWNER, Settings
from mobox.storage.log import Run
from server.app_client import answered, app_client, begin, say
from server.live_server import AGENTS, message
from server.serving import client_of
from server.stored_runs import Told, log_of, read, recorded, told_in
from support.grammar_panes import check_panes

FORMATS = [(name, profile) for name in protocols() for profile in profiles_of(name)]
OVER = "openai/responses_hosted"
CODE = "claude/codeexec"
each_format = pytest.mark.parametrize(("name", "profile"), FORMATS)

ASKS: list[StreamEvent] = [
    Start(framework="test"),
    ToolUseStart(id="c", name="rm"),
    ToolUseEnd(id="c", input={}),
    InputRequest(id="r", tool_call_id="c", prompt="Sure?"),
    Paused(request_ids=("r",)),
]
GOES_ON: list[StreamEvent] = [
    InputResponse(id="r", decision="approved"),
    Text(id="t", content="Done"),
    TextEnd(id="t"),
]


async def waiting(services: Services, chat_id: str = "c1") -> Run:
    run = await begin(services, chat_id, "Go")
    await say(services, run, *ASKS)
    return await services.storage.run(OWNER, run.id)


async def go_on(services: Services, run: Run, *events: StreamEvent) -> Run:
    next_attempt = await services.storage.next_attempt(run.id, run.epoch, GOES_ON, 1000)
    await say(services, next_attempt, *events)
    return next_attempt


def refused(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


# What is told


@each_format
async def test_run_is_readable_in_every_format(tmp_path: Path, name: str, profile: str) -> None:
    async with app_client(tmp_path, "memory:") as (services, client):
        run = await recorded(services, CODE)
        told = await read(client, run, format=name, profile=profile)
        log = await log_of(services, run)
        if name not in ("ag-ui", "agent-event"):  # which tell the chat's id
            documents = format_all(get_formatter(name, run.id, profile), log)
            assert [each.data.encode() for each in told] == documents
        places = [tuple(map(int, (each.id or "").split("."))) for each in told]
        assert places == sorted(set(places))
        assert all(k == 1 or (seq, k - 1) in places for seq, k in places)
        assert {seq for seq, _ in places} <= {entry.seq for entry in log}


@each_format
async def test_a_format_that_names_the_chat_names_this_one(
    tmp_path: Path, name: str, profile: str
) -> None:
    async with app_client(tmp_path, "memory:") as (services, client):
        run = await recorded(services, CODE, "my-chat")
        body = "".join(told.data for told in await read(client, run, format=name, profile=profile))
        assert [word for word in ("thread_1", "session_1") if word in body] == []


async def test_without_a_format_it_is_the_log(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (services, client):
        run = await answered(services, "c1", "Hi", "Hello")
        response = await client.get(f"/api/runs/{run.id}/events")
        assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert response.headers["x-mobox-run"] == run.id
        assert [told.id for told in told_in(response.text)] == ["1.1", "2.1", "3.1"]
        assert told_in(response.text)[2].data.endswith('"event":{"type":"done","reason":"stop"}}')


@pytest.mark.parametrize("url", ["memory:", ""])
@each_format
async def test_resuming_after_any_document_misses_none(
    tmp_path: Path, name: str, profile: str, url: str
) -> None:
    async with app_client(tmp_path, url) as (services, client):
        run = await recorded(services, CODE)
        whole = await read(client, run, format=name, profile=profile)
        for number, (place, _) in enumerate(whole[:-1], 1):
            rest = await read(client, run, format=name, profile=profile, after=place or "")
            assert rest == whole[number:]
        path, query = f"/api/runs/{run.id}/events", {"format": name, "profile": profile}
        last = await client.get(path, params=query | {"after": whole[-1].id or ""})
        assert (last.status_code, last.content) == (204, b"")
        assert last.headers["x-mobox-status"] == "done"


async def test_a_browser_that_comes_back_goes_on_where_it_was(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (services, client):
        run = await answered(services, "c1", "Hi", "Hello")
        path, came_back = f"/api/runs/{run.id}/events?after=1.1", {"last-event-id": "2.1"}
        told = told_in((await client.get(path, headers=came_back)).text)
        assert [each.id for each in told] == ["3.1"]
        garbage = await client.get(path, headers={"last-event-id": "2.1x"})
        assert refused(garbage) == (400, "bad_cursor")


async def test_an_entry_alone_is_after_all_of_it_and_its_zero_before(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (services, client):
        run = await answered(services, "c1", "Hi", "Hello")
        whole = await read(client, run, format="ai-sdk")
        assert await read(client, run, format="ai-sdk", after="0") == whole
        assert await read(client, run, format="ai-sdk", after="1.0") == whole
        after_one = [told for told in whole if not (told.id or "").startswith("1.")]
        assert await read(client, run, format="ai-sdk", after="1") == after_one
        assert len(after_one) < len(whole)


# While it goes on


class Stream:
    """A response that is read event by event."""

    def __init__(self, response: httpx.Response) -> None:
        self.status = response.status_code
        self._lines = response.aiter_lines()

    async def next(self) -> Told:
        frame: list[str] = []
        while line := await anext(self._lines):
            frame.append(line)
        return told_in("\n".join(frame) + "\n\n")[0]

    async def rest(self) -> list[Told]:
        body = "\n".join([line async for line in self._lines])
        return told_in(body + "\n" if body else "")


def settings(data: Path, url: str) -> Settings:
    return Settings(data=data, agents=AGENTS, database_url=url)


@asynccontextmanager
async def live(client: httpx.AsyncClient, run: Run, **query: str) -> AsyncIterator[Stream]:
    """A response as it comes."""
    path = f"/api/runs/{run.id}/events"
    async with client.stream("GET", path, params=query) as response:
        yield Stream(response)


@pytest.mark.parametrize("url", ["memory:", ""])
async def test_run_is_streamed_while_it_is_written(tmp_path: Path, url: str) -> None:
    async with (
        open_services(settings(tmp_path, url)) as services,
        client_of(create_app(services)) as client,
    ):
        run = await begin(services, "c1", "Go")
        await say(services, run, Start(framework="test"), Text(id="t"))
        async with live(client, run, after="1.1") as stream:
            assert (await stream.next()).id == "2.1"
            await say(services, run, TextDelta(id="t", delta="Hi"))
            assert (await stream.next()).id == "3.1"
            await say(services, run, TextEnd(id="t"), Done(reason="stop"))
            assert [told.id for told in await stream.rest()] == ["4.1", "5.1"]


@pytest.mark.parametrize("name", ["canonical", "panes"])
async def test_stream_without_pause_frames_stays_open(tmp_path: Path, name: str) -> None:
    async with (
        open_services(settings(tmp_path, "memory:")) as services,
        client_of(create_app(services)) as client,
    ):
        run = await waiting(services)
        whole = await read(client, run, format=name)
        async with live(client, run, format=name) as stream:
            assert [await stream.next() for _ in whole] == whole
            await go_on(services, run, Done(reason="stop"))
            rest = await stream.rest()
        assert await read(client, run, format=name) == whole + rest
        if name == "panes":
            check_panes([told.data.encode() for told in whole + rest])


def ending_of(whole: list[Told]) -> list[Told]:
    """What was told after PAUSED, which itself is nothing."""
    return [told for told in whole if (told.id or "").startswith("5.")]


@pytest.mark.parametrize("name", ["ai-sdk", "ag-ui"])
async def test_the_end_of_a_response_where_the_run_waits_has_places_too(
    tmp_path: Path, name: str
) -> None:
    async with app_client(tmp_path, "memory:") as (services, client):
        run = await waiting(services)
        path = f"/api/runs/{run.id}/events"
        whole = told_in((await client.get(path, params={"format": name})).text)  # it has ended
        ending = ending_of(whole)
        assert await read(client, run, format=name) == whole
        for number, (place, _) in enumerate(whole[:-1], 1):
            assert await read(client, run, format=name, after=place or "") == whole[number:]
        query = {"format": name, "after": ending[-1].id or "", "live": "off"}
        nothing = await client.get(path, params=query)
        assert (nothing.status_code, nothing.headers["x-mobox-status"]) == (204, "waiting")
        beyond = await client.get(path, params=query | {"after": f"5.{len(ending) + 1}"})
        assert refused(beyond) == (400, "bad_cursor")
        elsewhere = await client.get(path, params=query | {"after": "4.9"})
        assert refused(elsewhere) == (400, "bad_cursor")


@pytest.mark.parametrize(("name", "begins"), [("ai-sdk", "start"), ("ag-ui", "RUN_STARTED")])
async def test_a_response_that_ended_where_the_run_waits_goes_on_as_another(
    tmp_path: Path, name: str, begins: str
) -> None:
    async with (
        open_services(settings(tmp_path, "memory:")) as services,
        client_of(create_app(services)) as client,
    ):
        run = await waiting(services)
        ending = ending_of(await read(client, run, format=name))
        last = ending[-1].id or ""
        async with live(client, run, format=name, after=last) as stream:
            await go_on(services, run, Done(reason="stop"))
            told = [await stream.next(), *await stream.rest()]
        prelude = [json.loads(each.data)["type"] for each in told if each.id is None]
        assert prelude[0] == begins
        numbered = [each for each in told if each.id is not None]
        assert told[-len(numbered) :] == numbered
        assert {(each.id or "").partition(".")[0] for each in numbered} <= {"6", "7", "8", "9"}
        assert await read(client, run, format=name, after=last) == told
        whole = await read(client, run, format=name)  # in which nothing has ended before the end
        assert whole[-1] == told[-1]
        assert {each.id for each in whole}.isdisjoint(each.id for each in ending)


async def test_client_disconnected_at_such_an_end_gets_it_though_the_run_continued(
    tmp_path: Path,
) -> None:
    async with app_client(tmp_path, "memory:") as (services, client):
        run = await waiting(services)
        ending = ending_of(await read(client, run, format="ai-sdk"))
        await go_on(services, run, Done(reason="stop"))
        after = ending[0].id or ""
        assert await read(client, run, format="ai-sdk", after=after) == ending[1:] != []


# Places that are not there


@pytest.mark.parametrize(
    "cursor",
    ["x", "-1", "1.", ".1", "1.1.1", "1,1", " 1", "1 ", "+1", "1e1", "\u0661", "1.-1", "0.1", "2.9",
     "4", "4.0", "999999999999999", "1" * 16, "9" * 5000, "1." + "9" * 5000, "null", "\x00",
     "1\n2", "🙂"],
)  # fmt: skip
@pytest.mark.parametrize("route", ["events", "inspect"])
async def test_invalid_cursor_error_names_the_last_one(
    tmp_path: Path, cursor: str, route: str
) -> None:
    async with app_client(tmp_path, "memory:") as (services, client):
        run = await answered(services, "c1", "Hi", "Hello")
        response = await client.get(f"/api/runs/{run.id}/{route}", params={"after": cursor})
        assert refused(response) == (400, "bad_cursor")
        assert response.json()["error"]["tail"] == 3


def test_a_cursor_is_read() -> None:
    assert parse_cursor("12.3", 12) == Cursor(12, 3)
    assert parse_cursor("0", 0) == Cursor(0, None)
    with pytest.raises(InvalidCursor, match="13"):
        parse_cursor("13", 12)


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"format": "morse"}, "unknown_protocol"),
        ({"format": "ai-sdk", "profile": "v4"}, "unknown_profile"),
        ({"format": "ag-ui", "profile": "v4"}, "unknown_profile"),
        ({"profile": "v6"}, "unknown_profile"),
        ({"live": "yes"}, "invalid_request"),
    ],
)
async def test_unknown_value_is_rejected(tmp_path: Path, query: dict[str, str], code: str) -> None:
    async with app_client(tmp_path, "memory:") as (services, client):
        run = await answered(services, "c1", "Hi", "Hello")
        response = await client.get(f"/api/runs/{run.id}/events", params=query)
        assert refused(response) == (400, code)


@pytest.mark.parametrize("route", ["events", "inspect"])
@pytest.mark.parametrize("url", ["memory:", ""])
async def test_a_run_is_its_owners_alone(tmp_path: Path, url: str, route: str) -> None:
    async with app_client(tmp_path, url) as (services, client):
        run = await answered(services, "c1", "Hi", "Hello")
        [theirs] = await others_runs(services)
        foreign = await client.get(f"/api/runs/{theirs.id}/{route}")
        unknown = await client.get(f"/api/runs/nobody/{route}")
        assert refused(foreign) == refused(unknown) == (404, "not_found")
        assert (await client.get(f"/api/runs/{run.id}/{route}")).status_code == 200


async def others_runs(services: Services) -> list[Run]:
    request = read_request(message("theirs", "Hi"))
    begun = await services.storage.begin_turn("somebody else", request, "counter", "emitted")
    await say(services, begun.run, Done(reason="stop"))
    return [begun.run]


@pytest.mark.parametrize("route", ["events", "inspect"])
@pytest.mark.parametrize("url", ["memory:", ""])
async def test_a_log_that_was_deleted_is_gone(tmp_path: Path, url: str, route: str) -> None:
    async with app_client(tmp_path, url) as (services, client):
        run = await answered(services, "c1", "Hi", "Hello")
        await services.storage.delete(OWNER, "c1")
        response = await client.get(f"/api/runs/{run.id}/{route}")
        assert refused(response) == (410, "log_deleted")


# A thousand cursors


def cursors(seed: int, whole: list[Told], count: int) -> list[str]:
    """Cursors that are right, nearly right, and nothing like it."""
    chance = random.Random(seed)
    alphabet = "0123456789.-+eE xX,;:\x00\n\r\t\"'<>%é🙂\u0663\u202e\ufeff"

    def mutated(text: str) -> str:
        place = chance.randrange(len(text) + 1)
        after = text[place + chance.randrange(len(text) - place + 1) :]
        return f"{text[:place]}{chance.choice(['', *alphabet])}{after}"

    def near() -> str:
        return f"{chance.randrange(-2, 80)}.{chance.randrange(-1, 9)}"

    makers: list[Callable[[], str]] = [
        lambda: chance.choice(whole).id or "0",
        lambda: mutated(chance.choice(whole).id or "0"),
        near,
        lambda: str(chance.randrange(-5, 90)),
        lambda: str(chance.randrange(10 ** chance.randrange(1, 60))),
        lambda: "".join(chance.choices(alphabet, k=chance.randrange(1, 12))),
    ]
    return [chance.choice(makers)() for _ in range(count)]


STATES = ("over", "waiting", "running")


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("name", protocols())
async def test_a_thousand_cursors_are_never_an_error_of_ours_nor_silence(
    tmp_path: Path, name: str, state: str
) -> None:
    """A thousand for each format, over its profiles and the states of a run."""
    profiles = profiles_of(name)
    count = 1 + 1000 // (len(STATES) * len(profiles))
    async with app_client(tmp_path, "memory:") as (services, client):
        run = await in_state(services, state)
        statuses = set()
        for seed, profile in enumerate(profiles):
            whole = await read(client, run, format=name, profile=profile)
            for cursor in [*cursors(seed, whole, count), whole[-1].id or ""]:
                query = {"format": name, "profile": profile, "live": "off", "after": cursor}
                response = await client.get(f"/api/runs/{run.id}/events", params=query)
                statuses.add(response.status_code)
                check_answer(response, cursor, whole, run.tail_seq)
        assert statuses == {200, 204, 400}


async def in_state(services: Services, state: str) -> Run:
    if state == "over":
        return await recorded(services, OVER)
    if state == "waiting":
        return await waiting(services)
    run = await begin(services, "c1", "Go")
    await say(services, run, *ASKS[:3], Text(id="t", content="Hi"), TextEnd(id="t"))
    return await services.storage.run(OWNER, run.id)


def check_answer(response: httpx.Response, cursor: str, whole: list[Told], tail: int) -> None:
    """Refused with the tail, nothing where there is nothing left, or all that is left."""
    if response.status_code == 400:
        error = response.json()["error"]
        assert (error["code"], error["tail"]) == ("bad_cursor", tail), cursor
        assert cursor not in [told.id for told in whole]
        return
    told = told_in(response.text)
    assert response.status_code == (200 if told else 204), cursor
    assert told in (rest_after(cursor, whole), *ends_told_after(cursor, whole, tail)), cursor


def rest_after(cursor: str, whole: list[Told]) -> list[Told]:
    """The documents after a place; an entry alone is after all of its own."""
    seq, _, number = (cursor or "0").partition(".")  # an empty one is none
    place = int(seq), int(number or 10**9)
    return [told for told in whole if tuple(map(int, (told.id or "").split("."))) > place]


def ends_told_after(cursor: str, whole: list[Told], tail: int) -> list[list[Told]]:
    """What ends the response comes after the last entry, and has its number."""
    return [rest_after(f"{tail}.0", whole)] if cursor.lstrip("0") == str(tail) else []
