"""Stores that tell each other news by a real Valkey, most of which look for nothing."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from mobox.errors import InvalidSetting, LogDeleted, NotInstalled, RunNotFound
from mobox.storage import Settings, Storage, open_storage
from mobox.storage.notifications import MOST_BYTES, RunNotice
from mobox.storage.redis import RedisNotifier
from storage.conformance import (
    BEGINNING,
    DONE,
    FollowingConformance,
    begin,
    collect,
    say,
    seqs,
    submit,
    turn,
    words,
)
from support.valkey_server import Valkey
from support.waiting import until

NEWS_ONLY = Settings(poll_seconds=3600, lease=3600)
WATCHFUL = Settings(poll_seconds=0.02, lease=3600)


class Stage:
    """Opens stores, and closes them at the end."""

    def __init__(self, folder: Path, stack: AsyncExitStack) -> None:
        self._folder = folder
        self._stack = stack

    async def open(self, url: str, settings: Settings = NEWS_ONLY, name: str = "mobox") -> Storage:
        store = await open_storage(f"sqlite:///{self._folder}/{name}.db", settings, url)
        self._stack.push_async_callback(store.close)
        return store

    async def two(self, url: str, settings: Settings = NEWS_ONLY) -> tuple[Storage, Storage]:
        """As two processes have them, once they hear each other."""
        one, two = await self.open(url, settings), await self.open(url, settings)
        await until(lambda: one.wake_ups == two.wake_ups == "up")
        return one, two


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with AsyncExitStack() as stack:
        yield Stage(tmp_path, stack)


class TestSqliteWithValkey(FollowingConformance):
    @pytest.fixture(autouse=True)
    def beside(self, valkey: Valkey) -> None:
        self.url = valkey.url

    async def open(self, folder: Path, settings: Settings) -> Storage:
        return await open_storage(f"sqlite:///{folder}/mobox.db", settings, self.url)


# What is told


async def test_follower_is_notified_of_another_stores_writes(valkey: Valkey, stage: Stage) -> None:
    one, two = await stage.two(valkey.url)
    begun = await begin(one)
    followers = [asyncio.create_task(collect(two.follow(begun.id))) for _ in range(3)]
    for n in range(20):
        await say(one, begun, *words(str(n)))
        assert (await two.beyond(begun.id, n)).tail > n
    await say(one, begun, DONE)
    for follower in followers:
        assert seqs(await follower) == list(range(1, 22))


async def test_waiting_client_is_notified_that_another_store_started_a_run(
    valkey: Valkey, stage: Stage
) -> None:
    one, two = await stage.two(valkey.url)
    first = asyncio.create_task(two.run_after("ann", "chat", None))
    await asyncio.sleep(0)
    begun = await turn(one, "One", "1")
    assert (await first).id == begun.id
    later = asyncio.create_task(two.run_after("ann", "chat", begun.id))
    await asyncio.sleep(0)
    assert (await turn(one, "Two", "2", "u2")).id == (await later).id


async def test_reader_is_notified_that_another_store_deleted_the_log(
    valkey: Valkey, stage: Stage
) -> None:
    one, two = await stage.two(valkey.url)
    begun = await begin(one)
    follower = asyncio.create_task(collect(two.follow(begun.id)))
    waiting = asyncio.create_task(two.run_after("ann", "chat", begun.id))
    await say(one, begun, *BEGINNING)
    await two.beyond(begun.id, 1)
    await one.delete("ann", "chat")
    with pytest.raises(RunNotFound):
        await follower
    with pytest.raises(LogDeleted):
        await waiting


async def test_all_stores_are_notified_of_a_requested_stop(valkey: Valkey, stage: Stage) -> None:
    one, two = await stage.two(valkey.url)
    told = Counter[str]()
    one.when_work(lambda: told.update(["one"]))
    two.when_work(lambda: told.update(["two"]))
    begun = await begin(one)
    assert not told
    await two.request_stop("ann", begun.id)
    await until(lambda: told["one"])
    assert [run.id for run in await one.stopping()] == [begun.id]
    await two.request_stop("ann", begun.id)
    await until(lambda: told["one"] == 2)
    assert told == {"one": 2, "two": 2}, "nobody hears himself twice"


async def test_last_notification_of_a_closing_store_arrives(valkey: Valkey) -> None:
    one, two = RedisNotifier(valkey.url, "last"), RedisNotifier(valkey.url, "last")
    told: list[RunNotice] = []
    one.listen(lambda news: None)
    two.listen(told.append)
    await until(lambda: one.is_healthy and two.is_healthy)
    one.notify(RunNotice(chats=("last words",)))
    await one.close()
    await until(lambda: RunNotice(chats=("last words",)) in told)
    await two.close()


async def test_last_appends_of_a_closing_store_are_notified(valkey: Valkey, stage: Stage) -> None:
    one, two = await stage.two(valkey.url)
    begun = await begin(one)
    follower = asyncio.create_task(collect(two.follow(begun.id)))
    last = asyncio.create_task(say(one, begun, *BEGINNING, DONE))
    await asyncio.sleep(0)
    await one.close()
    assert seqs(await last) == seqs(await follower) == [1, 2, 3]


async def test_two_databases_on_one_valkey_are_separate(valkey: Valkey, stage: Stage) -> None:
    before = valkey.channels
    one, two = await stage.two(valkey.url)
    other, another = [await stage.open(valkey.url, name="other") for _ in range(2)]
    await until(lambda: other.wake_ups == another.wake_ups == "up")
    assert len({*valkey.channels} - {*before}) == 2
    told = Counter[str]()
    two.when_work(lambda: told.update(["two"]))
    another.when_work(lambda: told.update(["another"]))
    await one.request_stop("ann", (await begin(one)).id)
    await until(lambda: told["two"])
    await other.request_stop("ann", (await begin(other)).id)
    await until(lambda: told["another"])
    assert told == {"two": 1, "another": 1}


async def test_a_channel_is_named_after_its_database_and_a_prefix(
    tmp_path: Path, valkey: Valkey
) -> None:
    names: list[str] = []
    for _ in range(2):
        async with AsyncExitStack() as stack:
            before = valkey.channels
            await Stage(tmp_path, stack).two(valkey.url, Settings(redis_prefix="team:a"))
            names.extend({*valkey.channels} - {*before})
        await until(lambda: names[-1] not in valkey.channels)
    assert len(names) == 2
    assert len({*names}) == 1
    assert names[0].startswith("team:a:news:")


# What is no news

GARBAGE = [
    b"",
    b"\xff\x00garbage",
    b"[" * 100_000,
    b'{"sender":"x","news":{"positions":{"r":1}}}',
    b'{"sender":"x","news":{"chats":["chat","no such chat"],"work":true,"everything":true}}',
    b'{"sender":"x","news":{"positions":{"RUN":{"tail":1000000,"status":"done"}}}}',
    b'{"sender":"x","news":{"positions":{"RUN":{"tail":-1,"status":"waiting"}}}}',
    b'{"sender":"x","news":{"positions":{"RUN":{"tail":1000000000000000000000,"status":"done"}}}}',
    b'{"sender":"x","news":{},"more":"' + b"x" * 8 * MOST_BYTES + b'"}',
]


async def test_foreign_messages_on_the_channel_change_nothing(valkey: Valkey, stage: Stage) -> None:
    before = valkey.channels
    one, two = await stage.two(valkey.url)
    (channel,) = {*valkey.channels} - {*before}
    begun = await begin(one)
    follower = asyncio.create_task(collect(two.follow(begun.id)))
    for n, message in enumerate(GARBAGE):
        said = message.replace(b"RUN", begun.id.encode())
        await asyncio.to_thread(valkey.publish, channel, said)
        await say(one, begun, *words(str(n)))
        assert await two.beyond(begun.id, n) == (await one.beyond(begun.id, n))
    await say(one, begun, DONE)
    assert seqs(await follower) == list(range(1, len(GARBAGE) + 2))


# Where it is not


async def test_store_opens_without_valkey_and_receives_once_it_is_back(
    tmp_path: Path, own_valkey: Valkey, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "mobox.storage")
    async with AsyncExitStack() as stack:
        stage = Stage(tmp_path, stack)
        own_valkey.kill()
        stores = [await stage.open(own_valkey.url, WATCHFUL) for _ in range(2)]
        one, two = stores
        begun = await begin(one)
        follower = asyncio.create_task(collect(two.follow(begun.id)))
        await say(one, begun, *BEGINNING)
        await two.beyond(begun.id, 1)
        assert {store.wake_ups for store in stores} == {"down"}
        own_valkey.recover()
        await until(lambda: {store.wake_ups for store in stores} == {"up"})
        await say(one, begun, DONE)
        assert seqs(await follower) == [1, 2, 3]
    said = Counter(record.message.partition(" notifications")[0] for record in caplog.records)
    assert said == {"cannot receive": 2, "cannot send": 2, "can receive": 2, "can send": 2}


async def test_writes_during_a_valkey_outage_are_found_when_it_is_back(
    own_valkey: Valkey, stage: Stage
) -> None:
    one, two = await stage.two(own_valkey.url)
    begun = await begin(one)
    follower = asyncio.create_task(collect(two.follow(begun.id)))
    waiting = asyncio.create_task(two.run_after("ann", "other", None))
    await say(one, begun, *BEGINNING)
    await two.beyond(begun.id, 1)
    own_valkey.kill()
    await say(one, begun, *words("unheard"))
    other = await begin(one, submit(chat_id="other"))
    own_valkey.recover()
    assert (await two.beyond(begun.id, 2)).tail == 3
    assert (await waiting).id == other.id
    await until(lambda: one.wake_ups == two.wake_ups == "up")
    await say(one, begun, DONE)
    assert seqs(await follower) == [1, 2, 3, 4]


async def test_writes_of_a_closed_store_are_found_when_valkey_is_back(
    own_valkey: Valkey, stage: Stage
) -> None:
    one, two = await stage.two(own_valkey.url)
    begun = await begin(one)
    follower = asyncio.create_task(collect(two.follow(begun.id)))
    waiting = asyncio.create_task(two.run_after("ann", "other", None))
    await say(one, begun, *BEGINNING)
    await two.beyond(begun.id, 1)
    own_valkey.kill()
    await until(lambda: one.wake_ups == two.wake_ups == "down")
    await say(one, begun, DONE)
    other = await begin(one, submit(chat_id="other"))
    await one.close()  # and nobody is left who could tell
    own_valkey.recover()
    assert seqs(await follower) == [1, 2, 3]
    assert (await waiting).id == other.id


async def test_failed_notification_is_sent_later(valkey: Valkey, stage: Stage) -> None:
    valkey.ask("ACL", "SETUSER", "mute", "reset", "on", ">secret", "+@all", "&*", "-publish")
    one, two = await stage.open(valkey.address("mute:secret")), await stage.open(valkey.url)
    await until(lambda: (one.wake_ups, two.wake_ups) == ("down", "up"))
    begun = await begin(one)
    await say(one, begun, *BEGINNING)
    batches = two.follow(begun.id)
    assert seqs(await anext(batches)) == [1, 2]  # from here on `two` waits to be told
    await say(one, begun, DONE)
    refused = valkey.refused_publishes
    await until(lambda: valkey.refused_publishes > refused + 1)  # it tried, and keeps trying
    valkey.ask("ACL", "SETUSER", "mute", "+publish")
    assert seqs(await anext(batches)) == [3]


@pytest.mark.parametrize("rules", ["-subscribe", "-publish", "resetchannels"])
async def test_store_without_valkey_permissions_polls(
    valkey: Valkey, rules: str, stage: Stage
) -> None:
    valkey.ask("ACL", "SETUSER", "deaf", "reset", "on", ">secret", "+@all", "&*", rules)
    stores = [await stage.open(valkey.address("deaf:secret"), WATCHFUL) for _ in range(2)]
    one, two = stores
    begun = await begin(one)
    follower = asyncio.create_task(collect(two.follow(begun.id)))
    await say(one, begun, *BEGINNING)
    await two.beyond(begun.id, 1)
    await until(lambda: {store.wake_ups for store in stores} == {"down"})
    valkey.ask("ACL", "SETUSER", "deaf", "+@all", "allchannels")
    await until(lambda: {store.wake_ups for store in stores} == {"up"})
    await say(one, begun, DONE)
    assert seqs(await follower) == [1, 2, 3]


async def test_few_rights_are_enough(valkey: Valkey, stage: Stage) -> None:
    rights = ("+subscribe", "+publish", "+ping", "&mobox:news:*")
    valkey.ask("ACL", "SETUSER", "modest", "reset", "on", ">secret", *rights)
    one, two = await stage.two(valkey.address("modest:secret"))
    begun = await begin(one)
    await say(one, begun, *BEGINNING, DONE)
    assert seqs(await collect(two.follow(begun.id))) == [1, 2, 3]


async def test_wrong_password_is_not_shown_and_may_become_valid(
    tmp_path: Path, valkey: Valkey, caplog: pytest.LogCaptureFixture
) -> None:
    async with AsyncExitStack() as stack:
        valkey.ask("ACL", "SETUSER", "eve", "reset", "on", ">right", "+@all", "&*")
        one = await Stage(tmp_path, stack).open(valkey.address("eve:hunter2"), WATCHFUL)
        await until(lambda: len(caplog.records) == 2)
        assert one.wake_ups == "down"
        begun = await turn(one, "Hello", "Hi")
        assert seqs(await collect(one.follow(begun.id))) == [1, 2, 3, 4, 5]
        valkey.ask("ACL", "SETUSER", "eve", ">hunter2")
        await until(lambda: one.wake_ups == "up")
    assert len(caplog.records) == 2, "once for receiving, once for sending"
    assert "invalid username-password pair" in caplog.text
    assert "hunter2" not in caplog.text


# What cannot be


@pytest.mark.parametrize("url", ["http://x", "redis://:hunter2/hunter2@host", "hunter2"])
async def test_invalid_address_is_rejected_without_its_password(tmp_path: Path, url: str) -> None:
    with pytest.raises(InvalidSetting) as refused:
        await open_storage(f"sqlite:///{tmp_path}/mobox.db", None, url)
    assert str(refused.value) == "redis_url=***: not a Redis URL"


async def test_missing_client_library_names_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "redis"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "mobox.storage.redis", raising=False)
    with pytest.raises(NotInstalled, match=r"Redis needs redis.*: pip install '\.\[redis\]'"):
        await open_storage(f"sqlite:///{tmp_path}/mobox.db", None, "redis://localhost")


async def test_unshared_store_needs_no_notifications() -> None:
    store = await open_storage("memory:", None, "redis://localhost:1")
    assert store.wake_ups == "none"
    await store.close()
