"""News by NOTIFY: cut to letters, and told again when the connection is lost."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import asyncpg
import pytest

from mobox.storage.log import Position, RunId
from mobox.storage.notifications import RunNotice, read_notification
from mobox.storage.postgres.database import connector
from mobox.storage.postgres.notify import PostgresNotifier, parts
from support.postgres_server import Databases

SECONDS = 60


@pytest.mark.parametrize("count", [0, 1, 80, 81, 1000])
def test_notifications_are_split_to_the_maximum_size(count: int) -> None:
    positions = {RunId(f"run_{n:032}"): Position(n, "running") for n in range(count)}
    chats = tuple(f"chat {n}" for n in range(count))
    sent = list(parts("me", RunNotice(positions=positions, chats=chats, work=count > 0)))
    assert all(len(letter) < 8000 for letter in sent)
    told = [letter.news for letter in map(read_notification, sent) if letter is not None]
    assert len(told) == len(sent)
    assert {name: place for news in told for name, place in news.positions.items()} == positions
    assert tuple(chat for news in told for chat in news.chats) == chats
    assert [news.work for news in told] == [True, *[False] * (len(sent) - 1)][: len(sent)]


def test_unsplittable_notification_becomes_check_everything() -> None:
    (sent,) = parts("me", RunNotice(chats=("long" * 5000,), work=True))
    letter = read_notification(sent)
    assert letter is not None
    assert letter.news == RunNotice(everything=True, work=True)


@pytest.mark.time_limit(SECONDS)
async def test_notifications_arrive_again_after_a_lost_connection(
    postgres: Databases, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "mobox.storage")
    url = await postgres.database(str(tmp_path))
    connect = connector(url, SECONDS)
    speaker, listener = PostgresNotifier(connect), PostgresNotifier(connect)
    heard: asyncio.Queue[RunNotice] = asyncio.Queue()
    speaker.listen(lambda news: None)
    listener.listen(heard.put_nowait)
    assert (await heard.get()).everything, "who begins to listen has missed something"
    speaker.notify(RunNotice(chats=("one",)))
    assert await heard.get() == RunNotice(chats=("one",))
    connection = await asyncpg.connect(url)
    ours = "FROM pg_stat_activity WHERE application_name = 'mobox'"
    await connection.execute(f"SELECT pg_terminate_backend(pid) {ours}")
    await connection.close()
    assert (await heard.get()).everything
    speaker.notify(RunNotice(chats=("two",)))
    while (news := await heard.get()) != RunNotice(chats=("two",)):
        assert news.everything
    assert listener.is_healthy
    restored = caplog.messages.count("LISTEN/NOTIFY connection restored")
    assert restored == caplog.text.count("LISTEN/NOTIFY connection lost") > 0
    for each in (speaker, listener):
        await each.close()
        assert not each.is_healthy
