"""What every store must do with keys and tickets. A backend's test file subclasses it, too."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from mobox.errors import KeyNotFound
from mobox.storage import Settings, Storage
from mobox.storage.keys import ApiKey, Ticket
from storage.conformance import Conformance, opened
from support.clocks import Clock

ANNS = ApiKey(
    id="key_ann",
    owner="ann",
    name="her laptop",
    digest="a" * 64,
    scopes=("read", "write"),
    created_at=1000,
    expires_at=9000,
)
BOBS = ApiKey(id="key_bob", owner="bob's ✓", name="", digest="b" * 64, scopes=(), created_at=1000)
TICKET = Ticket(digest="t" * 64, key_id="key_ann", owner="ann", run_id="msg_1", expires_at=2000)


class KeysConformance(Conformance):
    """Keys and tickets."""

    @pytest.fixture
    def clock(self) -> Clock:
        return Clock(1000)

    @pytest.fixture
    async def store(self, tmp_path: Path, clock: Clock) -> AsyncIterator[Storage]:
        settings = Settings(lease=3600, clock=clock)
        async with opened(lambda: self.open(tmp_path, settings)) as (store,):
            yield store

    async def test_a_key_is_found_by_its_digest_as_it_was_added(
        self, store: Storage, clock: Clock
    ) -> None:
        await store.add_key(ANNS)
        await store.add_key(BOBS)
        assert await store.find_key(ANNS.digest) == ANNS
        assert await store.find_key(BOBS.digest) == BOBS
        assert await store.find_key("c" * 64) is None
        assert await store.find_key(ANNS.id) is None

    async def test_keys_are_listed_oldest_first(self, store: Storage, clock: Clock) -> None:
        assert await store.keys() == []
        await store.add_key(BOBS)
        await store.add_key(ANNS)
        assert await store.keys() == [BOBS, ANNS]

    async def test_some_keys_are_found_by_their_ids(self, store: Storage, clock: Clock) -> None:
        await store.add_key(ANNS)
        await store.add_key(BOBS)
        assert await store.keys_of(()) == []
        assert await store.keys_of(("key_nobody", BOBS.id, BOBS.digest)) == [BOBS]
        both = await store.keys_of({ANNS.id, BOBS.id})
        assert sorted(both, key=lambda key: key.id) == [ANNS, BOBS]

    async def test_keys_that_have_ended_are_forgotten(self, store: Storage, clock: Clock) -> None:
        revoked = replace(BOBS, id="key_old", digest="c" * 64, revoked_at=5000)
        for key in (ANNS, BOBS, revoked):
            await store.add_key(key)
        assert await store.forget_keys(5000) == 0
        assert await store.forget_keys(5001) == 1
        assert await store.keys() == [ANNS, BOBS]
        assert await store.forget_keys(9001) == 1
        assert await store.keys() == [BOBS]
        assert await store.find_key(ANNS.digest) is None
        assert await store.forget_keys(10**15) == 0

    async def test_a_key_that_is_revoked_is_still_found_and_stays_revoked(
        self, store: Storage, clock: Clock
    ) -> None:
        await store.add_key(ANNS)
        await store.add_key(BOBS)
        clock.now = 1500
        revoked = await store.revoke_key(ANNS.id)
        assert revoked == replace(ANNS, revoked_at=1500)
        clock.now = 1600
        assert await store.revoke_key(ANNS.id) == revoked
        assert await store.find_key(ANNS.digest) == revoked
        assert await store.keys() == [revoked, BOBS]

    async def test_a_key_that_is_not_there_cannot_be_revoked(
        self, store: Storage, clock: Clock
    ) -> None:
        await store.add_key(ANNS)
        for name in ("key_nobody", ANNS.digest):
            with pytest.raises(KeyNotFound):
                await store.revoke_key(name)
        assert await store.keys() == [ANNS]

    async def test_the_last_use_of_a_key_is_remembered(self, store: Storage, clock: Clock) -> None:
        await store.add_key(ANNS)
        for at in (3000, 2000):  # processes may tell it late
            await store.note_use(ANNS.id, at)
        await store.note_use("key_nobody", 5000)
        assert await store.keys() == [replace(ANNS, used_at=3000)]

    async def test_a_ticket_is_taken_once(self, store: Storage, clock: Clock) -> None:
        await store.add_ticket(TICKET)
        clock.now = 1999
        asked = (store.take_ticket(TICKET.digest) for _ in range(20))
        taken = await asyncio.gather(*asked)
        assert [ticket for ticket in taken if ticket is not None] == [TICKET]
        assert await store.take_ticket("u" * 64) is None

    async def test_a_ticket_that_has_expired_is_none(self, store: Storage, clock: Clock) -> None:
        await store.add_ticket(TICKET)
        clock.now = 2000
        assert await store.take_ticket(TICKET.digest) is None
        clock.now = 1999
        assert await store.take_ticket(TICKET.digest) is None  # it was taken all the same

    async def test_tickets_that_have_expired_are_forgotten(
        self, store: Storage, clock: Clock
    ) -> None:
        await store.add_ticket(TICKET)
        clock.now = 2000
        other = replace(TICKET, digest="o" * 64, key_id=None, expires_at=3000)
        await store.add_ticket(other)
        clock.now = 1999  # at which it would be found, were it there
        assert await store.take_ticket(TICKET.digest) is None
        assert await store.take_ticket(other.digest) == other
