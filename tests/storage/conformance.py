"""What every store must do. A backend's test file subclasses `StorageConformance` and opens it."""

from __future__ import annotations

import asyncio
import inspect
import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace

from mobox import Recorder
from mobox.errors import (
    ChatNotFound,
    Fenced,
    InvalidCursor,
    InvalidRequest,
    KeyReused,
    LogDeleted,
    NotFoundError,
    ProtocolError,
    RunActive,
    RunNotFound,
)
from mobox.events import (
    Done,
    DoneReason,
    InputRequest,
    InputResponse,
    LogEntry,
    Paused,
    Raw,
    Start,
    Status,
    StreamEvent,
    Text,
    TextDelta,
    TextEnd,
    Usage,
)
from mobox.events.message import Message
from mobox.events.transcript import build_message
from mobox.events.turn import (
    Action,
    ContextItem,
    Cut,
    Frontend,
    FrontendTool,
    Place,
    PromptFile,
    PromptText,
    Request,
    UserMessage,
)
from mobox.storage import Settings, Storage
from mobox.storage.chats import Chats, NamedRequest
from mobox.storage.keys import Keys
from mobox.storage.log import PAGE, ClientRequest, Log, RawLine, ReaderState, Run, RunId
from mobox.storage.owner_limits import OwnerLimits
from mobox.storage.share_links import ShareLink

SETTINGS = Settings(poll_seconds=3600, lease=3600)  # no poll helps a wake-up that was lost
SECONDS = 60  # only a test that hangs takes so long

S = TypeVar("S", bound=Storage)

BEGINNING = [Start(framework="demo"), Text(id="text_1")]
DONE = Done(reason="stop")
ENDING = [TextEnd(id="text_1"), DONE]
QUESTION = [InputRequest(id="r1", kind="question"), Paused(request_ids=("r1",))]
ANSWER = [InputResponse(id="r1", decision="answered", value="yes")]


def words(*said: str) -> list[StreamEvent]:
    return [TextDelta(id="text_1", delta=text) for text in said]


def submit(
    text: str = "Hello", message_id: str = "u1", chat_id: str = "chat", key: str | None = None
) -> Request:
    return Request(
        chat_id=chat_id,
        action=Action.SUBMIT,
        message=UserMessage(id=message_id, parts=(PromptText(text=text),)),
        idempotency_key=key,
    )


def same(run: Run | None, other: Run) -> bool:
    """Whether nothing but the lease has changed, which a store may renew at any time."""
    return run is not None and replace(run, lease_until=other.lease_until) == other


async def begin(store: Storage, request: Request | None = None, owner: str = "ann") -> Run:
    return (await store.begin_turn(owner, request or submit(), "demo", "emitted")).run


async def say(store: Storage, run: Run, *events: StreamEvent) -> list[LogEntry]:
    return await store.append(run.id, run.epoch, events, 1000)


async def turn(
    store: Storage, text: str, answer: str, message_id: str = "u1", chat_id: str = "chat"
) -> Run:
    """A whole turn."""
    run = await begin(store, submit(text, message_id, chat_id))
    await say(store, run, *BEGINNING, *words(answer), *ENDING)
    return run


async def collect(batches: Any) -> list[LogEntry]:
    return [entry async for batch in batches for entry in batch]


def seqs(entries: Iterable[LogEntry]) -> list[int]:
    return [entry.seq for entry in entries]


async def ids_of(store: Storage, chat_id: str = "chat") -> list[str]:
    return [message.id for message in (await store.history("ann", chat_id)).messages]


@asynccontextmanager
async def opened(open_one: Callable[[], Awaitable[S]], number: int = 1) -> AsyncIterator[list[S]]:
    """So many stores on one database, as several processes have them; closed at the end."""
    stores = [await open_one() for _ in range(number)]
    try:
        yield stores
    finally:
        for store in stores:
            await store.close()


class Conformance:
    """Tests of a store; a backend's test file says how it is opened."""

    async def open(self, folder: Path, settings: Settings) -> Storage:
        raise NotImplementedError

    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[Storage]:
        """A store that is opened for a test and closed after it."""
        async with opened(lambda: self.open(tmp_path, SETTINGS)) as (store,):
            yield store


Use = Callable[[Storage, str, str, str], Awaitable[object]]

LINK = ShareLink(id="link_1", digest="d1", shows="answer", created_at=1)

# Every method of a store has a place in one of these: a new one fails until it is listed.
BY_OWNER: dict[str, Use] = {
    "add_link": lambda store, owner, chat, run: store.add_link(owner, chat, LINK),
    "begin_turn": lambda store, owner, chat, run: begin(store, submit("again", "u9", chat), owner),
    "branches": lambda store, owner, chat, run: store.branches(owner, chat),
    "chat": lambda store, owner, chat, run: store.chat(owner, chat),
    "choose_branch": lambda store, owner, chat, run: store.choose_branch(owner, chat, run),
    "delete": lambda store, owner, chat, run: store.delete(owner, chat),
    "feedback": lambda store, owner, chat, run: store.feedback(owner, chat),
    "give_feedback": lambda store, owner, chat, run: store.give_feedback(
        owner, chat, run, "up", ""
    ),
    "history": lambda store, owner, chat, run: store.history(owner, chat),
    "links": lambda store, owner, chat, run: store.links(owner, chat),
    "messages": lambda store, owner, chat, run: store.messages(owner, chat),
    "named": lambda store, owner, chat, run: store.named(owner, chat, "r1"),
    "permissions": lambda store, owner, chat, run: store.permissions(owner, chat),
    "pin": lambda store, owner, chat, run: store.pin(owner, chat, True),
    "rename": lambda store, owner, chat, run: store.rename(owner, chat, "Mine now"),
    "request_stop": lambda store, owner, chat, run: store.request_stop(owner, run),
    "revoke_link": lambda store, owner, chat, run: store.revoke_link(owner, chat, run),
    "revoke_permission": lambda store, owner, chat, run: store.revoke_permission(owner, chat, run),
    "run": lambda store, owner, chat, run: store.run(owner, run),
    "run_after": lambda store, owner, chat, run: store.run_after(owner, chat, RunId(run)),
    "run_facts": lambda store, owner, chat, run: store.run_facts(owner, chat),
    "runs": lambda store, owner, chat, run: store.runs(owner, chat),
    "take_back_feedback": lambda store, owner, chat, run: store.take_back_feedback(
        owner, chat, run
    ),
}
LISTS_OF_AN_OWNER = {"busy_chats", "chats", "list_runs"}
BY_RUN_ID = {
    "append", "asked", "beyond", "follow", "granted", "hand_over", "next_attempt", "note", "queue",
    "raw_lines", "read", "readers", "requeue", "set_reader", "take_over",
}  # fmt: skip
OF_THE_STORE = {
    "can_write", "check", "check_version", "claim", "close", "count_raw", "delete_idle", "drop_raw",
    "expired", "files", "forget_deleted", "idle_chats", "has_active_worker", "is_running", "load",
    "settle", "still_there", "stopping", "wake_ups", "when_work",
    "acts_until", "left_waiting", "when_renewed",
}  # fmt: skip


def methods(protocol: type) -> set[str]:
    return {name for name in dir(protocol) if not name.startswith("_")}


class LogConformance(Conformance):
    """Whose it is, what is written, and what is read of it."""

    # Owners

    def test_every_method_is_listed(self) -> None:
        listed = [*BY_OWNER, *LISTS_OF_AN_OWNER, *BY_RUN_ID, *OF_THE_STORE, *methods(Keys)]
        listed += methods(OwnerLimits)
        assert sorted(listed) == sorted(methods(Storage))
        assert methods(Chats) == BY_OWNER.keys() | LISTS_OF_AN_OWNER

    @pytest.mark.parametrize("name", sorted(BY_OWNER.keys() | LISTS_OF_AN_OWNER))
    def test_the_owner_cannot_be_forgotten(self, name: str) -> None:
        _, owner, *_ = inspect.signature(getattr(Chats, name)).parameters.values()
        assert (owner.name, owner.default) == ("owner", inspect.Parameter.empty)

    @pytest.mark.parametrize("name", sorted(BY_RUN_ID))
    def test_methods_without_owner_take_a_run_id(self, name: str) -> None:
        _, run_id, *_ = inspect.signature(getattr(Log, name)).parameters.values()
        assert (run_id.name, run_id.annotation) == ("run_id", "RunId")

    @pytest.mark.parametrize("name", sorted(BY_OWNER))
    async def test_resources_of_other_owners_are_not_found(self, name: str, store: Storage) -> None:
        run = await turn(store, "Hello", "Hi", chat_id="hers")
        before = await store.history("ann", "hers")
        with pytest.raises(NotFoundError) as foreign:
            await BY_OWNER[name](store, "bob", "hers", run.id)
        assert await store.history("ann", "hers") == before
        if name != "begin_turn":  # which makes what is not there
            with pytest.raises(NotFoundError) as unknown:
                await BY_OWNER[name](store, "bob", "nobodys", "nobodys")
            assert type(foreign.value) is type(unknown.value)
            said = str(foreign.value).replace(run.id, "ID").replace("hers", "ID")
            assert said == str(unknown.value).replace("nobodys", "ID")

    async def test_an_owner_lists_and_finds_only_what_is_theirs(self, store: Storage) -> None:
        await turn(store, "a secret", "hidden", chat_id="hers")
        assert (await store.chats("bob")).chats == ()
        assert (await store.chats("bob", query="secret")).chats == ()
        assert [chat.id for chat in (await store.chats("ann", query="secret")).chats] == ["hers"]

    async def test_a_key_of_one_owner_means_nothing_to_another(self, store: Storage) -> None:
        hers = await begin(store, submit(chat_id="hers", key="k"))
        his = await begin(store, submit(chat_id="his", key="k"), owner="bob")
        assert hers.id != his.id

    # Appending

    async def test_seq_is_dense_and_ids_increase_over_all_runs(self, store: Storage) -> None:
        one, two = await begin(store), await begin(store, submit(chat_id="other"))
        entries = await say(store, one, *BEGINNING)
        entries += await say(store, two, *BEGINNING)
        entries += await say(store, one, *words("a", "b"))
        assert seqs(entries) == [1, 2, 1, 2, 3, 4]
        ids = [entry.id for entry in entries]
        assert ids == sorted(set(ids))
        assert await store.read(one.id) == [*entries[:2], *entries[4:]]
        assert {entry.ts for entry in entries} == {1000}

    async def test_appended_event_is_not_changed_by_its_writer(self, store: Storage) -> None:
        run = await begin(store)
        events = words("a", "b")
        entries = await store.append(run.id, 1, events, None)
        events.clear()
        entries.clear()
        assert seqs(await store.read(run.id)) == [1, 2]

    async def test_concurrent_appends_of_many_runs_are_each_dense(self, store: Storage) -> None:
        runs = [await begin(store, submit(chat_id=f"c{n}")) for n in range(20)]

        async def write(run: Run) -> list[LogEntry]:
            written: list[LogEntry] = []
            for n in range(20):
                written += await say(store, run, *words("x", str(n)))
            return written

        written = await asyncio.gather(*map(write, runs))
        for run, entries in zip(runs, written, strict=True):
            assert seqs(entries) == list(range(1, 41))
            assert await store.read(run.id) == entries
        ids = [entry.id for entries in written for entry in entries]
        assert len(set(ids)) == len(ids)

    async def test_unawaited_appends_keep_their_order(self, store: Storage) -> None:
        run = await begin(store)
        batches: list[list[StreamEvent]] = [words("a"), [Status(message="b")], [*QUESTION]]
        batches += [[*ANSWER], words("c"), [DONE]]
        await asyncio.gather(*(say(store, run, *batch) for batch in batches))
        said = [entry.event for entry in await store.read(run.id)]
        assert said == [event for batch in batches for event in batch]

    async def test_a_fenced_batch_fails_alone(self, store: Storage) -> None:
        runs = [await begin(store, submit(chat_id=f"c{n}")) for n in range(3)]
        epochs = [1, 2, 1]
        outcomes = await asyncio.gather(
            *(
                store.append(run.id, epoch, BEGINNING, None)
                for run, epoch in zip(runs, epochs, strict=True)
            ),
            return_exceptions=True,
        )
        assert [isinstance(outcome, Fenced) for outcome in outcomes] == [False, True, False]
        assert [len(await store.read(run.id)) for run in runs] == [2, 0, 2]

    async def test_nothing_is_appended_after_done(self, store: Storage) -> None:
        run = await turn(store, "Hello", "Hi")
        with pytest.raises(Fenced):
            await say(store, run, *words("more"))
        with pytest.raises(Fenced):
            await say(store, run, DONE)
        assert (await store.run("ann", run.id)).tail_seq == 5

    async def test_done_is_the_last_of_its_batch(self, store: Storage) -> None:
        run = await begin(store)
        with pytest.raises(ProtocolError):
            await say(store, run, DONE, *words("more"))
        assert await store.read(run.id) == []

    async def test_entry_that_cannot_be_stored_fails_alone(self, store: Storage) -> None:
        runs = [await begin(store, submit(chat_id=f"c{n}")) for n in range(3)]
        batches: list[list[StreamEvent]] = [words("a"), [DONE, DONE], words("c")]
        outcomes = await asyncio.gather(
            *(say(store, run, *batch) for run, batch in zip(runs, batches, strict=True)),
            return_exceptions=True,
        )
        assert [isinstance(outcome, list) for outcome in outcomes] == [True, False, True]

    async def test_an_empty_append_changes_nothing(self, store: Storage) -> None:
        run = await begin(store)
        assert await say(store, run) == []
        assert same(await store.run("ann", run.id), run)

    # Raw lines

    async def test_raw_lines_stand_beside_the_events_they_made(self, store: Storage) -> None:
        run = await begin(store)
        await store.append(run.id, 1, BEGINNING, None, [RawLine(b"start", 0, 1), RawLine(b"t", 1)])
        await store.append(run.id, 1, [], None, [RawLine(b"\xff not text")])
        await store.append(run.id, 1, ENDING, None, [RawLine(b"end")])
        lines = await store.raw_lines(run.id)
        assert [line.line for line in lines] == [b"start", b"t", b"\xff not text", b"end"]
        assert [(line.first_seq, line.last_seq) for line in lines] == [
            (1, 1),
            (2, 2),
            (3, 2),
            (3, 4),
        ]
        assert await store.raw_lines(run.id, after=1, limit=2) == lines[1:3]
        assert (await store.run("ann", run.id)).raw_lines == 4

    async def test_raw_lines_are_capped_and_the_log_is_not(self, tmp_path: Path) -> None:
        store = await self.open(tmp_path, Settings(raw_bytes=10))
        run = await begin(store)
        for _ in range(4):
            await store.append(run.id, 1, words("x"), None, [RawLine(b"1234")])
        assert [line.n for line in await store.raw_lines(run.id)] == [1, 2]
        assert len(await store.read(run.id)) == 4
        assert (await store.run("ann", run.id)).raw_lines == 4
        await store.close()

    async def test_raw_lines_can_be_dropped_alone(self, store: Storage) -> None:
        run, active = await begin(store), await begin(store, submit(chat_id="other"))
        for each in (run, active):
            await store.append(each.id, 1, BEGINNING, None, [RawLine(b"line")])
        await say(store, run, *ENDING)
        assert await store.drop_raw(0) == 0
        assert await store.drop_raw(2**60) == 1
        assert await store.raw_lines(run.id) == []
        assert len(await store.read(run.id)) == 4
        assert len(await store.raw_lines(active.id)) == 1

    # Reading

    async def test_a_log_is_read_in_pages(self, store: Storage) -> None:
        run = await begin(store)
        written = await say(store, run, *words(*map(str, range(1000))))
        pages, after = [], 0
        while page := await store.read(run.id, after):
            pages.append(len(page))
            after = page[-1].seq
        assert (sum(pages), max(pages)) == (1000, PAGE)
        assert await store.read(run.id, 300, 5) == written[300:305]

    async def test_appends_of_any_length_are_read_as_they_were_written(
        self, store: Storage
    ) -> None:
        run = await begin(store)
        written = []
        for count, ts in ((2, 10), (1, None), (3, 12)):
            events = words(*map(str, range(count)))
            written += await store.append(run.id, run.epoch, events, ts)
        written += await say(store, run, DONE)
        for after in range(len(written)):
            assert await store.read(run.id, after) == written[after:]
            page = await store.read(run.id, after, 2)
            assert 1 <= len(page) <= 2
            assert page == written[after : after + len(page)]

    async def test_a_log_that_was_written_word_by_word_is_read_as_it_was_written(
        self, store: Storage
    ) -> None:
        both = [await begin(store, submit(chat_id=name)) for name in ("a", "b")]
        written: dict[RunId, list[LogEntry]] = {run.id: [] for run in both}
        for n in range(600):
            said, ts = words(*[f'"{n}],[é'] * (3 if n % 50 == 0 else 1)), n if n % 7 else None
            for run in both:
                written[run.id] += await store.append(run.id, run.epoch, said, ts)
        for run in both:
            written[run.id] += await say(store, run, DONE)
            whole = written[run.id]
            assert await collect(store.follow(run.id)) == whole
            for after in range(0, len(whole), 41):
                assert await collect(store.follow(run.id, after)) == whole[after:]
                assert await store.read(run.id, after, 1) == whole[after : after + 1]

    async def test_a_cursor_that_is_no_place_is_refused(self, store: Storage) -> None:
        run = await begin(store)
        await say(store, run, *BEGINNING)
        for cursor in (3, -1, 2**70):
            with pytest.raises(InvalidCursor) as refused:
                await store.read(run.id, cursor)
            assert refused.value.tail == 2
            with pytest.raises(InvalidCursor) as refused:
                await collect(store.follow(run.id, cursor))
            assert refused.value.tail == 2

    async def test_a_log_that_is_not_there_cannot_be_read(self, store: Storage) -> None:
        nowhere = RunId("run_nowhere")
        with pytest.raises(RunNotFound):
            await store.read(nowhere)
        with pytest.raises(RunNotFound):
            await store.beyond(nowhere, 0)
        with pytest.raises(RunNotFound):
            await collect(store.follow(nowhere))
        assert await store.raw_lines(nowhere) == []


class FollowingConformance(Conformance):
    """Whoever waits is told: a suite for every way to tell other processes, too."""

    # Work

    async def test_poll_loop_is_notified_of_a_requested_stop(self, store: Storage) -> None:
        told: list[int] = []
        store.when_work(lambda: told.append(1))
        store.when_work(lambda: told.append(2))
        run = await begin(store)
        await say(store, run, *BEGINNING)
        await store.request_stop("ann", run.id)
        assert {*told} == {1, 2}

    # Following

    async def test_a_follower_of_a_run_that_ended_gets_all_of_it(self, store: Storage) -> None:
        run = await turn(store, "Hello", "Hi")
        written = await store.read(run.id)
        for after in range(6):
            assert await collect(store.follow(run.id, after)) == written[after:]

    async def test_fifty_followers_see_the_same_sequence(self, store: Storage) -> None:
        run = await begin(store)
        followers = [asyncio.create_task(collect(store.follow(run.id))) for _ in range(50)]
        for n in range(200):
            await say(store, run, *words(*map(str, range(n % 7))))
        await say(store, run, DONE)
        written: list[LogEntry] = []
        while page := await store.read(run.id, len(written)):
            written += page
        assert all(seen == written for seen in await asyncio.gather(*followers))

    async def test_a_follower_that_starts_anywhere_gets_exactly_the_tail(
        self, store: Storage
    ) -> None:
        run, chance = await begin(store), random.Random(1)
        followers: list[tuple[int, asyncio.Task[list[LogEntry]]]] = []
        tail = 0
        for _ in range(150):
            tail += len(await say(store, run, *words(*["w"] * chance.randrange(1, 9))))
            after = chance.randrange(tail + 1)
            followers.append((after, asyncio.create_task(collect(store.follow(run.id, after)))))
        await say(store, run, DONE)
        for after, follower in followers:
            assert seqs(await follower) == list(range(after + 1, tail + 2))

    async def test_a_slow_follower_misses_nothing(self, store: Storage) -> None:
        """It falls behind what is kept in memory while others are at the end."""
        run = await begin(store)
        slow = store.follow(run.id)
        await say(store, run, *words("first"))
        seen = list(await anext(slow))
        for _ in range(100):
            await say(store, run, *words(*["w"] * 11))
        await say(store, run, DONE)
        seen += await collect(slow)
        assert seqs(seen) == list(range(1, 1103))

    async def test_leaving_follower_affects_no_other(self, store: Storage) -> None:
        run = await begin(store)
        await say(store, run, *BEGINNING)
        stays, leaves = (asyncio.create_task(collect(store.follow(run.id, 2))) for _ in range(2))
        await asyncio.sleep(0)
        leaves.cancel()
        await asyncio.gather(leaves, return_exceptions=True)
        await say(store, run, *ENDING)
        assert seqs(await stays) == [3, 4]

    async def test_no_wake_up_is_lost(self, store: Storage) -> None:
        """Waiters come while appends commit; no poll would wake those that were forgotten."""
        run, total = await begin(store), 300

        async def wait_for_each(start: int) -> None:
            seq = start
            while seq < total:
                position = await store.beyond(run.id, seq)
                assert position.tail > seq
                seq = position.tail

        waiters = [asyncio.create_task(wait_for_each(n)) for n in range(0, total, 3)]
        for n in range(total):
            await say(store, run, *words(str(n)))
            waiters.append(asyncio.create_task(wait_for_each(n)))
        await asyncio.gather(*waiters)

    async def test_waiting_for_more_of_a_run_that_ended_returns(self, store: Storage) -> None:
        run = await turn(store, "Hello", "Hi")
        assert (await store.beyond(run.id, 5)).status == "done"

    # Waiting for runs to begin

    async def test_run_started_after_another_is_found(self, store: Storage) -> None:
        first, second = await turn(store, "One", "1"), await turn(store, "Two", "2", "u2")
        assert (await store.run_after("ann", "chat", None)).id == first.id
        other = await turn(store, "Three", "3", chat_id="other")
        assert (await store.run_after("ann", "chat", first.id)).id == second.id
        with pytest.raises(RunNotFound):
            await store.run_after("ann", "chat", other.id)

    async def test_no_beginning_is_missed_not_even_of_the_chat(self, store: Storage) -> None:
        """Waiters come while turns are begun; no poll would wake those that were forgotten."""

        async def see_all() -> list[RunId]:
            seen: list[RunId] = []
            while len(seen) < 30:
                run = await store.run_after("ann", "chat", seen[-1] if seen else None)
                seen.append(run.id)
            return seen

        waiters = [asyncio.create_task(see_all())]
        begun = []
        for number in range(30):
            begun.append((await turn(store, "Say", "Well", f"u{number}")).id)
            waiters.append(asyncio.create_task(see_all()))
        assert await asyncio.gather(*waiters) == [begun] * len(waiters)

    async def test_waiting_for_a_run_ends_when_the_chat_is_deleted(self, store: Storage) -> None:
        run = await turn(store, "One", "1")
        waiter = asyncio.create_task(store.run_after("ann", "chat", run.id))
        await asyncio.sleep(0)
        await store.delete("ann", "chat")
        with pytest.raises(LogDeleted):
            await waiter

    # Waiting for answers

    async def test_a_paused_run_waits_without_a_lease(self, store: Storage) -> None:
        run = await begin(store)
        await say(store, run, *BEGINNING, *QUESTION)
        waiting = await store.run("ann", run.id)
        assert (waiting.status, waiting.lease_owner, waiting.lease_until) == ("waiting", None, None)
        assert await store.expired() == []

    async def test_a_follower_may_stop_where_the_run_waits(self, store: Storage) -> None:
        run = await begin(store)
        goes_on = asyncio.create_task(collect(store.follow(run.id)))
        stops = asyncio.create_task(collect(store.follow(run.id, through_pauses=False)))
        await say(store, run, *QUESTION)
        assert seqs(await stops) == [1, 2]
        leg = await store.next_attempt(run.id, run.epoch, ANSWER, None)
        assert seqs(await store.read(run.id, 2)) == [3]
        await say(store, leg, DONE)
        assert seqs(await goes_on) == [1, 2, 3, 4]

    async def test_additions_of_a_paused_agent_keep_it_waiting(self, store: Storage) -> None:
        run = await begin(store)
        await say(store, run, *QUESTION)
        await say(store, run, Usage(id="m", input=1))
        assert (await store.run("ann", run.id)).status == "waiting"
        await say(store, run, *ANSWER)
        answered = await store.run("ann", run.id)
        assert (answered.status, answered.leg, answered.epoch) == ("running", 1, 1)
        assert answered.lease_owner == run.lease_owner

    async def test_next_attempt_fences_the_previous_one(self, store: Storage) -> None:
        run = await begin(store)
        await say(store, run, *QUESTION)
        leg = await store.next_attempt(run.id, run.epoch, ANSWER, None)
        assert (leg.status, leg.leg, leg.epoch, leg.tail_seq) == ("running", 2, 2, 3)
        assert leg == await store.run("ann", run.id)
        with pytest.raises(Fenced):
            await say(store, run, *words("too late"))
        with pytest.raises(Fenced):
            await store.next_attempt(run.id, run.epoch, ANSWER, None)
        with pytest.raises(Fenced):
            await store.next_attempt(leg.id, leg.epoch, ANSWER, None)

    async def test_an_answer_to_an_earlier_pause_starts_nothing(self, store: Storage) -> None:
        run = await begin(store)
        await say(store, run, *QUESTION)
        leg = await store.next_attempt(run.id, run.epoch, ANSWER, None)
        await say(store, leg, *QUESTION)
        with pytest.raises(Fenced):
            await store.next_attempt(run.id, run.epoch, ANSWER, None)
        assert (await store.run("ann", run.id)).status == "waiting"

    async def test_only_one_of_many_answers_starts_the_next_attempt(self, store: Storage) -> None:
        run = await begin(store)
        await say(store, run, *QUESTION)
        legs = (store.next_attempt(run.id, run.epoch, ANSWER, None) for _ in range(20))
        outcomes = await asyncio.gather(*legs, return_exceptions=True)
        assert sum(isinstance(outcome, Run) for outcome in outcomes) == 1
        assert (await store.run("ann", run.id)).tail_seq == 3

    async def test_attempt_needs_its_answers(self, store: Storage) -> None:
        run = await begin(store)
        await say(store, run, *QUESTION)
        with pytest.raises(ProtocolError):
            await store.next_attempt(run.id, run.epoch, [], None)

    async def test_a_waiting_run_can_be_cancelled(self, store: Storage) -> None:
        run = await begin(store)
        await say(store, run, *QUESTION)
        no = InputResponse(id="r1", decision="cancelled")
        await say(store, run, no, Done(reason="cancelled"))
        ended = await store.run("ann", run.id)
        assert (ended.status, ended.reason) == ("done", "cancelled")
        assert ended.ended_at is not None

    async def test_a_waiting_run_does_not_go_on_beside_another(self, store: Storage) -> None:
        waiting = await begin(store)
        await say(store, waiting, *QUESTION)
        running = await begin(store, submit("Never mind", "u2"))
        with pytest.raises(RunActive) as refused:
            await store.next_attempt(waiting.id, waiting.epoch, ANSWER, None)
        assert refused.value.run_id == running.id
        with pytest.raises(RunActive):
            await say(store, waiting, *ANSWER)
        assert (await store.run("ann", waiting.id)).tail_seq == 2


class StorageConformance(LogConformance, FollowingConformance):
    """One suite for every backend."""

    # Leases

    async def test_a_run_that_ended_has_no_lease_to_take(self, store: Storage) -> None:
        run = await turn(store, "Hello", "Hi")
        with pytest.raises(Fenced):
            await store.queue(run.id, run.epoch)
        with pytest.raises(Fenced):
            await store.take_over(run.id, run.epoch)
        with pytest.raises(Fenced):
            await store.take_over(RunId("run_nowhere"), 1)

    async def test_stop_is_stored_once_and_seen_by_the_lease_owner(self, store: Storage) -> None:
        run = await begin(store)
        asked = await store.request_stop("ann", run.id)
        assert asked.stop_requested_at is not None
        assert await store.request_stop("ann", run.id) == asked
        assert await store.stopping() == [asked]
        await say(store, run, DONE)
        assert await store.stopping() == []
        ended = await store.run("ann", run.id)
        assert await store.request_stop("ann", run.id) == ended

    # Readers

    async def test_the_readers_of_a_run_are_known_until_they_are_gone(self, store: Storage) -> None:
        run = await begin(store)
        states: list[ReaderState | None] = ["reading", "left", "reading", None]
        assert await store.readers(run.id) == set()
        for state in states:
            await store.set_reader(run.id, state)
            assert await store.readers(run.id) == ({state} if state else set())

    async def test_a_deleted_run_has_no_readers(self, store: Storage) -> None:
        run = await begin(store)
        await store.set_reader(run.id, "reading")
        await store.delete("ann", "chat")
        await store.set_reader(run.id, "left")
        assert await store.readers(run.id) == set()

    # Turns

    async def test_a_turn_is_a_message_and_its_run(self, store: Storage) -> None:
        begun = await store.begin_turn("ann", submit("What\nis this?"), "demo", "emitted")
        run = begun.run
        assert begun.created
        assert (run.agent, run.framework, run.status) == ("demo", "emitted", "running")
        assert (run.epoch, run.leg, run.tail_seq) == (1, 1, 0)
        chat = await store.chat("ann", "chat")
        assert (chat.title, chat.owner) == ("What", "ann")
        history = await store.history("ann", "chat")
        assert same(history.active, run)
        assert [message.body for message in history.messages] == [submit("What\nis this?").message]

    async def test_fifty_submits_with_one_key_make_one_run(self, store: Storage) -> None:
        requests = (store.begin_turn("ann", submit(key="k"), "demo", "emitted") for _ in range(50))
        begun = await asyncio.gather(*requests)
        assert len({turn.run.id for turn in begun}) == 1
        assert sum(turn.created for turn in begun) == 1
        assert await ids_of(store) == ["u1"]

    async def test_a_key_still_names_its_run_when_that_is_over(self, store: Storage) -> None:
        run = await begin(store, submit(key="k"))
        await say(store, run, DONE)
        again = await store.begin_turn("ann", submit(key="k"), "demo", "emitted")
        assert (again.run.id, again.run.status, again.created) == (run.id, "done", False)

    async def test_a_key_cannot_stand_for_two_requests(self, store: Storage) -> None:
        await begin(store, submit("one", key="k"))
        with pytest.raises(KeyReused):
            await begin(store, submit("two", key="k"))

    async def test_a_chat_has_one_running_run(self, store: Storage) -> None:
        requests = (begin(store, submit(message_id=f"u{n}")) for n in range(20))
        outcomes = await asyncio.gather(*requests, return_exceptions=True)
        (run,) = [outcome for outcome in outcomes if isinstance(outcome, Run)]
        refused = [outcome for outcome in outcomes if isinstance(outcome, RunActive)]
        assert [error.run_id for error in refused] == [run.id] * 19
        assert len(await ids_of(store)) == 1

    async def test_a_run_knows_why_it_was_started(self, store: Storage) -> None:
        first = await turn(store, "Hello", "Hi")
        assert (first.kind, first.back_to) == ("message", None)
        again = Request(chat_id="chat", action=Action.REGENERATE, cut=Cut(Place.AFTER, "u1"))
        failed = await begin(store, again)
        assert (failed.kind, failed.back_to) == ("regenerate", "u1")
        await say(store, failed, Done(reason="lost"))
        retried = await begin(store, again)
        assert (retried.kind, retried.back_to) == ("retry", "u1")
        await say(store, retried, DONE)
        edited = submit("Hello again", "u2")
        edit = replace(edited, action=Action.EDIT, cut=Cut(Place.BEFORE, "u1"))
        run = await begin(store, edit)
        assert (run.kind, run.back_to) == ("edit", "u1")
        assert await store.run("ann", run.id) == run

    async def test_failed_start_leaves_no_chat(self, store: Storage) -> None:
        nothing = Request(chat_id="new", action=Action.REGENERATE, cut=Cut(Place.ANSWER))
        with pytest.raises(InvalidRequest):
            await begin(store, nothing)
        with pytest.raises(ChatNotFound):
            await store.chat("ann", "new")

    async def test_a_message_that_is_there_is_not_submitted_again(self, store: Storage) -> None:
        await turn(store, "Hello", "Hi")
        with pytest.raises(InvalidRequest):
            await begin(store, submit("Hello again"))
        assert len(await ids_of(store)) == 2

    async def test_continuing_does_not_start_a_run(self, store: Storage) -> None:
        with pytest.raises(InvalidRequest):
            await begin(store, Request(chat_id="chat", action=Action.CONTINUE))
        with pytest.raises(InvalidRequest):
            await begin(store, Request(chat_id="chat", action=Action.SUBMIT))

    async def test_an_edit_supersedes_what_follows(self, store: Storage) -> None:
        first = await turn(store, "One", "Answer one")
        second = await turn(store, "Two", "Answer two", "u2")
        message = UserMessage(id="u1", parts=(PromptText(text="Uno"),))
        cut = Cut(Place.BEFORE, "u1")
        edit = Request(chat_id="chat", action=Action.EDIT, message=message, cut=cut)
        run = await begin(store, edit)
        assert await ids_of(store) == ["u1"]
        await say(store, run, *BEGINNING, *words("Risposta"), *ENDING)
        assert await ids_of(store) == ["u1", run.id]
        runs = await store.runs("ann", "chat")
        assert [(each.id, each.superseded) for each in runs] == [
            (first.id, True), (second.id, True), (run.id, False),
        ]  # fmt: skip
        assert len(await store.read(first.id)) == 5, "superseded is kept"
        assert (await store.chats("ann", query="Answer")).chats == ()

    async def test_regenerating_answers_the_stored_message_again(self, store: Storage) -> None:
        old = await turn(store, "One", "Answer")
        for cut in (Cut(Place.BEFORE, old.id), Cut(Place.ANSWER), Cut(Place.AFTER, "u1")):
            run = await begin(store, Request(chat_id="chat", action=Action.REGENERATE, cut=cut))
            assert await ids_of(store) == ["u1"]
            await say(store, run, *BEGINNING, *ENDING)
        assert len(await store.runs("ann", "chat")) == 4

    async def test_regenerating_after_a_failed_post_adds_the_message(self, store: Storage) -> None:
        run = await turn(store, "One", "Answer")
        request = Request(
            chat_id="chat",
            action=Action.REGENERATE,
            message=UserMessage(id="u2", parts=(PromptText(text="Two"),)),
            cut=Cut(Place.AFTER, "u2"),
        )
        await begin(store, request)
        assert await ids_of(store) == ["u1", run.id, "u2"]

    async def test_an_unknown_answer_is_cut_after_its_question(self, store: Storage) -> None:
        await turn(store, "One", "Answer")
        message = UserMessage(id="u1", parts=(PromptText(text="One"),))
        cut = Cut(Place.BEFORE, "made up by the client")
        await begin(
            store, Request(chat_id="chat", action=Action.REGENERATE, message=message, cut=cut)
        )
        assert await ids_of(store) == ["u1"]

    async def test_an_edit_of_what_is_not_stored_cuts_nothing(self, store: Storage) -> None:
        run = await turn(store, "One", "Answer")
        message = UserMessage(id="u2", parts=(PromptText(text="Two"),))
        cut = Cut(Place.BEFORE, "u2")
        await begin(store, Request(chat_id="chat", action=Action.EDIT, message=message, cut=cut))
        assert await ids_of(store) == ["u1", run.id, "u2"]

    async def test_a_request_is_found_by_the_name_that_its_client_gave_it(
        self, store: Storage
    ) -> None:
        page = Frontend(
            tools=(FrontendTool(name="locate", parameters={"type": "object"}),),
            context=(ContextItem(description="page", value=["/", 1]),),
            state={"count": 1},
        )
        first = await begin(store, replace(submit(), name="r1", frontend=page))
        assert await store.asked(first.id) == [ClientRequest(name="r1", frontend=page)]
        await say(store, first, Paused(request_ids=()))
        await store.note(first.id, ClientRequest(name="r2", after=1))
        assert (await store.named("ann", "chat", "r2")).asking == ClientRequest(name="r2", after=1)
        assert (await store.named("ann", "chat", "r1")).run.id == first.id
        await say(store, first, Done(reason="stop"))
        second = await begin(store, replace(submit("again", "u2"), name="r1"))
        assert await store.named("ann", "chat", "r1") == NamedRequest(
            second, ClientRequest(name="r1")
        )
        with pytest.raises(RunNotFound):
            await store.named("ann", "chat", "r3")
        await store.delete("ann", "chat")
        assert await store.asked(first.id) == []
        with pytest.raises(RunNotFound):
            await store.note(first.id, ClientRequest(name="r4"))

    async def test_a_request_without_a_name_is_not_kept(self, store: Storage) -> None:
        assert await store.asked((await begin(store)).id) == []

    # Messages

    async def test_a_message_is_the_fold_of_its_log(self, store: Storage) -> None:
        run = await turn(store, "Hello", "Hi there")
        folded = build_message(await store.read(run.id), run.id)
        for _ in range(2):  # the second time out of the cache
            history = await store.history("ann", "chat")
            assert [message.role for message in history.messages] == ["user", "assistant"]
            assert history.messages[1].body == folded
            assert history.messages[1].run_id == run.id
        outline = [message.as_history() for message in history.messages]
        assert outline[0].parts == ({"type": "text", "text": "Hello"},)
        assert outline[1].parts[0]["text"] == "Hi there"

    async def test_history_names_the_active_run_and_leaves_its_message_out(
        self, store: Storage
    ) -> None:
        run = await begin(store)
        await say(store, run, *BEGINNING, *words("Hi"))
        history = await store.history("ann", "chat")
        assert history.active is not None
        assert (history.active.id, history.active.tail_seq) == (run.id, 3)
        assert [message.id for message in history.messages] == ["u1"]
        await say(store, run, *QUESTION)
        waiting = await store.history("ann", "chat")
        assert waiting.active is not None
        assert waiting.active.status == "waiting"
        assert [message.id for message in waiting.messages] == ["u1"]

    async def test_run_that_waits_behind_another_is_sent_up_to_its_last_event(
        self, store: Storage
    ) -> None:
        waiting = await begin(store)
        await say(store, waiting, *BEGINNING, *words("May I?"), *QUESTION)
        running = await begin(store, submit("Never mind", "u2"))
        history = await store.history("ann", "chat")
        assert same(history.active, running)
        assert [message.id for message in history.messages] == ["u1", waiting.id, "u2"]
        assert (await store.chats("ann", query="May I?")).chats == (), "only what is whole is found"
        await say(store, waiting, Done(reason="cancelled"))
        body = (await store.history("ann", "chat")).messages[1].body
        assert isinstance(body, Message)
        assert body.reason == "cancelled"

    async def test_a_run_that_ends_while_history_is_read_is_there_or_is_active(
        self, store: Storage
    ) -> None:
        async def read_until_over(chat_id: str, run_id: str) -> None:
            is_over = False
            while not is_over:
                history = await store.history("ann", chat_id)
                is_over = history.active is None
                ids = [message.id for message in history.messages]
                assert (run_id in ids) == is_over
                if is_over:
                    body = history.messages[-1].body
                    assert isinstance(body, Message)
                    assert (body.content, body.reason) == ("Hi", "stop")

        for n in range(25):
            run = await begin(store, submit(chat_id=f"c{n}"))
            readers = [asyncio.create_task(read_until_over(f"c{n}", run.id)) for _ in range(3)]
            await say(store, run, *BEGINNING)
            await say(store, run, *words("Hi"))
            await say(store, run, *ENDING)
            await asyncio.gather(*readers)

    async def test_messages_are_paged_from_the_end(self, store: Storage) -> None:
        expected = []
        for n in range(7):
            run = await turn(store, f"Q{n}", f"A{n}", f"u{n}")
            expected += [f"u{n}", run.id]
        active = await begin(store, submit("Q", "last"))
        pages: list[list[str]] = []
        before: str | None = None
        while before is not None or not pages:
            page = await store.messages("ann", "chat", before, 4)
            assert page.active is not None
            assert page.active.id == active.id
            pages.insert(0, [message.id for message in page.messages])
            before = page.before
        assert [len(page) for page in pages] == [3, 4, 4, 4]
        assert list(chain.from_iterable(pages)) == [*expected, "last"]

    async def test_history_may_be_limited_and_names_where_it_continues(
        self, store: Storage
    ) -> None:
        for n in range(3):
            await turn(store, f"Q{n}", f"A{n}", f"u{n}")
        active = await begin(store, submit("Q", "last"))
        whole = await store.history("ann", "chat")
        assert (len(whole.messages), whole.before) == (7, None)
        assert await store.history("ann", "chat", 7) == whole
        last = await store.history("ann", "chat", 3)
        assert (last.chat, last.messages) == (whole.chat, whole.messages[4:])
        assert last.active == whole.active
        assert last.active is not None
        assert last.active.id == active.id
        older = await store.messages("ann", "chat", last.before, 50)
        assert (older.messages, older.before) == (whole.messages[:4], None)

    async def test_uncountable_values_do_not_break_the_search(self, store: Storage) -> None:
        run = await begin(store)
        recorder = Recorder("emitted")
        number = 10**20
        lines = [
            {"type": "result", "data": {"num_turns": number}},
            {"type": "result", "data": {"duration_ms": number}},
            *({"type": "usage", "data": {"input_tokens": 2**53}} for _ in range(1025)),
        ]
        printed = "".join(json.dumps(line) + "\n" for line in lines).encode()
        said = [*recorder.read(printed), *recorder.close()]
        await say(store, run, *(entry.event for entry in said))
        assert (await store.chats("ann", query="nothing")).chats == ()
        body = (await store.history("ann", "chat")).messages[1].body
        assert isinstance(body, Message)
        assert body.usage is not None
        assert (body.usage.input, body.usage.num_turns) == (2**53, None)
        kept = [entry.event for entry in said if isinstance(entry.event, Raw)]
        assert [event.raw for event in kept] == lines[:2]

    # Chats

    async def test_chats_are_paged_the_latest_first(self, store: Storage) -> None:
        for n in range(7):
            await turn(store, f"Chat {n}", "Hi", chat_id=f"c{n}")
        pages: list[list[str]] = []
        before: str | None = None
        while before is not None or not pages:
            page = await store.chats("ann", before, 3)
            pages.append([chat.title for chat in page.chats])
            before = page.before
        titles = [f"Chat {n}" for n in reversed(range(7))]
        assert pages == [titles[:3], titles[3:6], titles[6:]]

    async def test_page_of_chats_shows_which_run_and_wait(self, store: Storage) -> None:
        await turn(store, "Over", "Hi", chat_id="over")
        running = await begin(store, submit("Go", chat_id="running"))
        waiting = await begin(store, submit("Ask", chat_id="waiting"))
        await say(store, waiting, *BEGINNING, *QUESTION)
        behind = await begin(store, submit("Ask", chat_id="both"))
        await say(store, behind, *BEGINNING, *QUESTION)
        ahead = await begin(store, submit("Never mind", "u2", chat_id="both"))
        page = await store.chats("ann")
        assert {run.chat_id: (run.id, run.status) for run in page.active} == {
            "running": (running.id, "running"),
            "waiting": (waiting.id, "waiting"),
            "both": (ahead.id, "running"),
        }
        assert len(page.active) == 3
        last = await store.chats("ann", limit=1)
        assert [run.chat_id for run in last.active] == [chat.id for chat in last.chats]

    async def test_list_names_chats_whose_last_run_failed(self, store: Storage) -> None:
        async def ended(reason: DoneReason, message_id: str, chat_id: str) -> None:
            run = await begin(store, submit("Go", message_id, chat_id))
            await say(store, run, *BEGINNING, TextEnd(id="text_1"), Done(reason=reason))

        reasons: tuple[DoneReason, ...] = ("stop", "cancelled", "error", "lost")
        for reason in reasons:
            await ended(reason, "u1", reason)
        await ended("error", "u1", "mended")
        await ended("stop", "u2", "mended")
        await ended("error", "u1", "tried again")
        cut = Cut(Place.AFTER, "u1")
        await begin(store, Request(chat_id="tried again", action=Action.REGENERATE, cut=cut))
        assert (await store.chats("ann")).failed == {"error", "lost"}
        assert (await store.chats("ann", query="nothing")).failed == frozenset()

    async def test_a_bad_cursor_of_a_list_is_refused(self, store: Storage) -> None:
        await turn(store, "Hello", "Hi")
        for cursor in ("", "x", "1", "1.2.3", "-1.2", "\uff11.\uff12", "9" * 30 + ".1"):
            with pytest.raises(InvalidCursor):
                await store.chats("ann", cursor)
        for cursor in ("", "x", "1.2", "9" * 30):
            with pytest.raises(InvalidCursor):
                await store.messages("ann", "chat", cursor)

    async def test_chat_that_begins_with_a_file_has_its_name(self, store: Storage) -> None:
        file = PromptFile(media_type="text/plain", url="/api/files/f", name=" a.txt ")
        message = UserMessage(id="u1", parts=(file,))
        await begin(store, Request(chat_id="chat", action=Action.SUBMIT, message=message))
        assert (await store.chats("ann")).chats[0].title == "a.txt"

    async def test_search_finds_titles_and_words(self, store: Storage) -> None:
        await turn(store, "The price of oil", "It is 100% up_to you", chat_id="oil")
        await turn(store, "Ölpreis", "Der PREIS steigt \\ fällt", chat_id="öl")
        running = await begin(store, submit("Nothing yet", chat_id="new"))
        await say(store, running, *BEGINNING, *words("half an answer"))

        async def found(query: str) -> set[str]:
            return {chat.id for chat in (await store.chats("ann", query=query)).chats}

        assert await found("PRICE") == {"oil"}
        assert await found("preis") == {"öl"}
        assert await found("ölPreis") == {"öl"}
        assert await found("FÄLLT") == {"öl"}
        assert await found("100%") == {"oil"}
        assert await found("0%u") == set()
        assert await found("up_to") == {"oil"}
        assert await found("upto") == await found("u__to") == set()
        assert await found("\\") == {"öl"}
        assert await found("half an answer") == set()
        await say(store, running, *ENDING)
        assert await found("half an answer") == {"new"}

    async def test_a_chat_is_renamed(self, store: Storage) -> None:
        await turn(store, "Hello", "Hi")
        renamed = await store.rename("ann", "chat", "Greetings")
        assert renamed.title == "Greetings"
        assert await store.chat("ann", "chat") == renamed

    async def test_reader_that_is_busy_while_the_chat_is_deleted_ends(self, store: Storage) -> None:
        run = await begin(store)
        await say(store, run, *BEGINNING)
        reader = store.follow(run.id)
        await anext(reader)
        await store.delete("ann", "chat")  # while the reader sends the page
        with pytest.raises(RunNotFound):
            async with asyncio.timeout(10):
                await anext(reader)

    async def test_a_chat_is_deleted_with_its_logs(self, store: Storage) -> None:
        over = await begin(store, submit(key="k"))
        await store.append(over.id, 1, [*BEGINNING, *ENDING], None, [RawLine(b"line")])
        await store.history("ann", "chat")
        running = await begin(store, submit(message_id="u2"))
        await say(store, running, *BEGINNING)
        follower = asyncio.create_task(collect(store.follow(running.id, 2)))
        await asyncio.sleep(0)
        await store.delete("ann", "chat")
        with pytest.raises(RunNotFound):
            await follower
        with pytest.raises(ChatNotFound):
            await store.history("ann", "chat")
        for run in (over, running):
            with pytest.raises(LogDeleted):
                await store.run("ann", run.id)
            with pytest.raises(RunNotFound) as foreign:
                await store.run("bob", run.id)
            assert type(foreign.value) is RunNotFound
            with pytest.raises(RunNotFound):
                await store.read(run.id)
            assert await store.raw_lines(run.id) == []
        with pytest.raises(Fenced):
            await say(store, running, *words("more"))
        with pytest.raises(Fenced):
            await say(store, running, DONE)
        again = await store.begin_turn("ann", submit(key="k"), "demo", "emitted")
        assert again.created
        entries = await say(store, again.run, *BEGINNING)
        assert entries[0].id > 6, "ids are not given again"
