"""The events of a session have one order, whoever counts them and whenever."""

from collections.abc import AsyncIterator
from itertools import pairwise

import pytest

from mobox.events import Done, InputRequest, LogEntry, Paused
from mobox.formatters import format_all, get_formatter, profiles_of
from mobox.formatters.agent_event import AgentEventFormatter, place_of
from mobox.server import session_index
from mobox.server.session_index import Format, SessionIndex, up_to_the_first_open
from mobox.storage import SqliteStorage, Storage, open_storage
from mobox.storage.log import PAGE, RunId
from storage.conformance import BEGINNING, ENDING, begin, say, submit, turn, words
from support.grammar_agent_event import events_of

AGENT_EVENT = Format("agent-event")


@pytest.fixture
async def store() -> AsyncIterator[Storage]:
    store = await open_storage("memory:")
    yield store
    await store.close()


async def told(store: Storage, last: int = -1) -> list[int]:
    """The indexes that a client is told which has those up to `last`."""
    runs = await SessionIndex(store).of_session("ann", "chat", AGENT_EVENT)
    place = place_of(last, [each.event_count for each in runs])
    indexes = []
    for run, first, _ in runs[place.run :]:
        formatter = AgentEventFormatter(run.id, first_event_index=first, last_event_index=last)
        documents = format_all(formatter, await store.read(run.id))
        indexes += [event["eventIndex"] for event in events_of(documents)]
    return indexes


async def test_the_order_goes_on_from_run_to_run(store: Storage) -> None:
    for number in range(3):
        await turn(store, "Hello", "Hi", f"u{number}")
    assert await told(store) == list(range(12))
    assert await told(store, 5) == [6, 7, 8, 9, 10, 11]
    assert await told(store, 11) == []


async def test_a_run_that_goes_on_is_counted_as_far_as_it_is(store: Storage) -> None:
    first = await turn(store, "Hello", "Hi")
    run = await begin(store, submit(message_id="u2"))
    index = SessionIndex(store)
    await say(store, run, *BEGINNING, *words("one"))
    before = await index.of_session("ann", "chat", AGENT_EVENT)
    assert [each.event_count for each in before] == [4, 2]
    await say(store, run, *words("two"), *ENDING)
    after = await index.of_session("ann", "chat", AGENT_EVENT)
    assert [each.event_count for each in after] == [4, 5]
    assert [await index.first_of(each.run, AGENT_EVENT) for each in after] == [0, 4]
    assert after[0].run.id == first.id


async def test_a_run_that_waited_is_counted_to_its_end(store: Storage) -> None:
    """Which comes when the next run has been begun already, before it speaks."""
    asks = [*BEGINNING[:1], InputRequest(id="q"), Paused(request_ids=("q",))]
    waiting = await begin(store)
    await say(store, waiting, *asks)
    run = await begin(store, submit(message_id="u2"))
    await say(store, waiting, Done(reason="cancelled"))
    await say(store, run, *BEGINNING, *words("Hi"), *ENDING)
    assert await SessionIndex(store).first_of(run, AGENT_EVENT) == 2
    assert await told(store) == list(range(6))


async def test_each_format_counts_its_own_events(store: Storage) -> None:
    await turn(store, "Hello", "Hi")
    run = await turn(store, "Hello", "Hi", "u2")
    index = SessionIndex(store)
    log = await store.read(run.id)
    assert len(log) != 4, "else this proves nothing"
    for profile in (None, *profiles_of("agent-event")):
        assert await index.first_of(run, Format("agent-event", profile)) == 4
    assert await index.first_of(run, Format("canonical")) == len(log)
    for profile in profiles_of("ai-sdk"):
        documents = format_all(get_formatter("ai-sdk", run.id, profile), log)
        assert await index.first_of(run, Format("ai-sdk", profile)) == len(documents)


class CountingStorage(SqliteStorage):
    """A store that knows how often it was read."""

    reads = 0

    async def read(self, run_id: RunId, after: int = 0, limit: int = PAGE) -> list[LogEntry]:
        self.reads += 1
        return await super().read(run_id, after, limit)


async def test_a_run_that_is_over_is_read_once() -> None:
    store = await CountingStorage.open_temporary()
    await turn(store, "Hello", "Hi")
    index = SessionIndex(store)
    before = await index.of_session("ann", "chat", AGENT_EVENT)
    assert store.reads == 1
    assert await index.of_session("ann", "chat", AGENT_EVENT) == before
    assert store.reads == 1
    await store.close()


async def test_uncached_run_is_counted_again(
    monkeypatch: pytest.MonkeyPatch, store: Storage
) -> None:
    monkeypatch.setattr(session_index, "REMEMBERED", 1)
    for number in range(3):
        await turn(store, "Hello", "Hi", f"u{number}")
    index = SessionIndex(store)
    for _ in range(2):
        runs = await index.of_session("ann", "chat", AGENT_EVENT)
        assert [later.first_event_index for _, later in pairwise(runs)] == [4, 8]


async def test_first_index_of_a_run_is_unknown_while_the_previous_one_is_open(
    store: Storage,
) -> None:
    index = SessionIndex(store)
    await turn(store, "Hello", "Hi")
    waiting = await begin(store, submit(message_id="u2"))
    await say(store, waiting, *BEGINNING[:1], InputRequest(id="q"), Paused(request_ids=("q",)))
    run = await begin(store, submit(message_id="u3"))

    async def known() -> int:
        return len(up_to_the_first_open(await index.of_session("ann", "chat", AGENT_EVENT)))

    assert await known() == 2
    await say(store, waiting, Done(reason="cancelled"))
    assert await known() == 3
    await say(store, run, *BEGINNING)
    assert await known() == 3


async def test_indexes_of_a_run_do_not_depend_on_the_end_of_the_previous_one(
    store: Storage,
) -> None:
    waiting = await begin(store)
    await say(store, waiting, *BEGINNING[:1], InputRequest(id="q"), Paused(request_ids=("q",)))
    run = await begin(store, submit(message_id="u2"))
    await say(store, run, *BEGINNING)
    indexed = await SessionIndex(store).of_session("ann", "chat", AGENT_EVENT)
    assert len(up_to_the_first_open(indexed)) == 2
