"""What every store must do with lists of chats: pins, agents, titles, and what a search found."""

from __future__ import annotations

import pytest

from mobox.errors import ChatNotFound
from mobox.storage import Storage
from mobox.storage.chats import ChatPage
from storage.conformance import BEGINNING, ENDING, Conformance, begin, say, submit, turn, words


def ids(page: ChatPage) -> tuple[list[str], list[str]]:
    return [chat.id for chat in page.chats], [chat.id for chat in page.pinned]


def shown(page: ChatPage, chat_id: str = "chat") -> list[tuple[str, str]]:
    """What was found in a chat: the role, and the text with its match in brackets."""
    found = []
    for hit in page.hits.get(chat_id, ()):
        text = hit.excerpt
        found.append((hit.role, f"{text.before}[{text.match}]{text.after}"))
    return found


class ListsConformance(Conformance):
    """Lists of chats."""

    async def test_pinned_chats_are_on_the_first_page_in_the_order_of_pinning(
        self, store: Storage
    ) -> None:
        for name in ("a", "b", "c"):
            await turn(store, f"Chat {name}", "Yes", chat_id=name)
        pinned = await store.pin("ann", "a", True)
        assert pinned.pinned_at is not None
        assert await store.chat("ann", "a") == pinned
        await store.pin("ann", "b", True)
        assert await store.pin("ann", "a", True) == pinned, "it keeps its place"
        first = await store.chats("ann", limit=2)
        assert ids(first) == (["c", "b"], ["a", "b"])
        assert ids(await store.chats("ann", first.before, 2)) == (["a"], [])
        assert ids(await store.chats("ann", query="Chat a")) == (["a"], [])
        assert (await store.pin("ann", "a", False)).pinned_at is None
        assert ids(await store.chats("ann")) == (["c", "b", "a"], ["b"])

    async def test_a_pinned_chat_on_no_page_has_its_active_run_and_its_agent(
        self, store: Storage
    ) -> None:
        run = await begin(store, submit("Old", chat_id="old"))
        await store.pin("ann", "old", True)
        await turn(store, "New", "Yes", chat_id="new")
        page = await store.chats("ann", limit=1)
        assert ids(page) == (["new"], ["old"])
        assert [each.id for each in page.active] == [run.id]
        assert page.agents == {"new": "demo", "old": "demo"}

    async def test_pins_belong_to_an_owner_and_go_with_the_chat(self, store: Storage) -> None:
        await turn(store, "Mine", "Yes")
        with pytest.raises(ChatNotFound):
            await store.pin("bob", "chat", True)
        await store.pin("ann", "chat", True)
        assert ids(await store.chats("bob")) == ([], [])
        await store.delete("ann", "chat")
        assert ids(await store.chats("ann")) == ([], [])

    async def test_chats_are_listed_by_the_agent_of_their_last_run(self, store: Storage) -> None:
        await turn(store, "One", "Yes", chat_id="one")
        other = (
            await store.begin_turn("ann", submit("Two", chat_id="two"), "coder", "emitted")
        ).run
        await say(store, other, *BEGINNING, *words("def"), *ENDING)
        await store.pin("ann", "one", True)
        assert ids(await store.chats("ann", agent="coder")) == (["two"], [])
        assert ids(await store.chats("ann", agent="demo")) == (["one"], ["one"])
        assert ids(await store.chats("ann", query="two", agent="demo")) == ([], [])
        assert ids(await store.chats("ann", agent="nobody")) == ([], [])
        again = submit("Three", "u2", chat_id="one")
        await store.begin_turn("ann", again, "coder", "emitted")
        assert ids(await store.chats("ann", agent="coder")) == (["one", "two"], ["one"])

    # Searching

    async def test_a_search_shows_the_text_around_what_it_found(self, store: Storage) -> None:
        run = await turn(store, "Is the OIL price up?", "The oil price is up.\nBy 4%.")
        page = await store.chats("ann", query="oil PRICE")
        assert shown(page) == [
            ("user", "Is the [OIL price] up?"),
            ("assistant", "The [oil price] is up. By 4%."),
        ]
        assert [hit.message_id for hit in page.hits["chat"]] == ["u1", run.id]

    async def test_long_messages_are_cut_between_words(self, store: Storage) -> None:
        await turn(store, "Begin", "word " * 5000 + "needle" + " more" * 60_000)
        ((_, text),) = shown(await store.chats("ann", query="NEEDLE"))
        assert "word [needle] more" in text
        assert text.startswith("…word") and text.endswith("more…")
        assert len(text) < 200

    async def test_the_last_three_messages_of_a_chat_are_shown(self, store: Storage) -> None:
        for number in range(5):
            await turn(store, f"ping {number}", "ok", f"u{number}")
        found = shown(await store.chats("ann", query="ping"))
        assert found == [("user", f"[ping] {number}") for number in (2, 3, 4)]

    async def test_matches_keep_their_letters_whatever_case_folding_does(
        self, store: Storage
    ) -> None:
        await turn(store, "Die Straße nach GROẞENHAIN", "Ölpreis")
        found = shown(await store.chats("ann", query="STRAẞE"))
        assert found == [("user", "Die [Straße] nach GROẞENHAIN")]
        assert shown(await store.chats("ann", query="ÖLPREIS")) == [("assistant", "[Ölpreis]")]

    async def test_a_chat_that_is_found_by_its_title_only_has_no_hits(self, store: Storage) -> None:
        await turn(store, "Something", "Else")
        await store.rename("ann", "chat", "Quarterly report")
        page = await store.chats("ann", query="quarterly")
        assert (ids(page), page.hits) == ((["chat"], []), {})

    # Titles

    async def test_a_greeting_is_a_title_until_there_is_a_better_one(self, store: Storage) -> None:
        await turn(store, "Hello!", "Hi")
        assert (await store.chat("ann", "chat")).title == "Hello!"
        await turn(store, "hey", "Hi", "u2")
        await turn(store, "Can you compare Qdrant and pgvector?", "Yes", "u3")
        assert (await store.chat("ann", "chat")).title == "Compare Qdrant and pgvector"
        await turn(store, "And now to something else", "Yes", "u4")
        assert (await store.chat("ann", "chat")).title == "Compare Qdrant and pgvector"
        assert ids(await store.chats("ann", query="qdrant and"))[0] == ["chat"]

    async def test_a_title_that_a_person_gave_stays(self, store: Storage) -> None:
        await turn(store, "Hello!", "Hi")
        await store.rename("ann", "chat", "Greetings")
        await turn(store, "Compare Qdrant and pgvector", "Yes", "u2")
        assert (await store.chat("ann", "chat")).title == "Greetings"
