"""What every store must do with the links to chats. A backend's test file subclasses it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from mobox.errors import ChatNotFound, LinkNotFound, RunNotFound
from mobox.events import Done
from mobox.storage import Storage
from mobox.storage.share_links import OpenedLink, ShareLink, new_link_id
from storage.conformance import Conformance, begin, say, submit

WHOLE = ShareLink(id="link_1", digest="d1", shows="answer", created_at=1000)
TIMED = replace(WHOLE, id="link_2", digest="d2", shows="everything", expires_at=2**41)


class LinksConformance(Conformance):
    """Links are found by their digest, listed by their owner, and end with their chat."""

    async def test_links_are_listed_and_found(self, store: Storage) -> None:
        run = await begin(store, submit())
        timed = replace(TIMED, run_id=run.id)
        await store.add_link("ann", "chat", WHOLE)
        await store.add_link("ann", "chat", timed)
        assert await store.links("ann", "chat") == [WHOLE, timed]
        opened = OpenedLink(link=timed, owner="ann", chat_id="chat")
        assert await store.find_link("d2") == opened
        assert await store.find_link("link_2") is None
        assert await store.links_of(["link_2", "link_9"]) == [opened]

    async def test_a_revoked_link_opens_nothing(self, store: Storage) -> None:
        await begin(store, submit())
        await store.add_link("ann", "chat", WHOLE)
        await store.revoke_link("ann", "chat", "link_1")
        assert await store.find_link("d1") is None
        assert await store.links_of(["link_1"]) == []
        with pytest.raises(LinkNotFound):
            await store.revoke_link("ann", "chat", "link_1")

    async def test_links_end_with_their_chat(self, store: Storage) -> None:
        run = await begin(store, submit())
        await say(store, run, Done(reason="stop"))
        await store.add_link("ann", "chat", replace(WHOLE, run_id=run.id))
        await store.delete("ann", "chat")
        assert await store.find_link("d1") is None
        await begin(store, submit(message_id="u2"))
        assert await store.links("ann", "chat") == []

    async def test_another_owner_has_no_links(self, store: Storage) -> None:
        await begin(store, submit())
        await store.add_link("ann", "chat", WHOLE)
        with pytest.raises(ChatNotFound):
            await store.add_link("bob", "chat", TIMED)
        with pytest.raises(ChatNotFound):
            await store.links("bob", "chat")
        with pytest.raises(ChatNotFound):
            await store.revoke_link("bob", "chat", "link_1")
        assert await store.links("ann", "chat") == [WHOLE]

    async def test_a_run_of_another_chat_cannot_be_linked(self, store: Storage) -> None:
        await begin(store, submit())
        other = await begin(store, submit(chat_id="other", message_id="u2"))
        with pytest.raises(RunNotFound):
            await store.add_link("ann", "chat", replace(WHOLE, run_id=other.id))
        assert await store.links("ann", "chat") == []

    def test_ids_are_unguessable(self) -> None:
        assert len({new_link_id() for _ in range(100)}) == 100
        assert len(new_link_id()) == len("link_") + 24
