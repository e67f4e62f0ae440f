"""What every store must find, with an index or without."""

from __future__ import annotations

import pytest

from mobox.events.message import Message
from mobox.events.shortening import EARLIER_LEFT_OUT
from mobox.storage import Storage
from mobox.supervisor.input_requests import InputRequests
from mobox.supervisor.turn import turn_for
from storage.conformance import BEGINNING, ENDING, Conformance, begin, say, submit, turn, words

TEXTS = {
    "quotes": 'She said "no way" and left',
    "signs": "100% of a_b and a\\b, c'est ça",
    "letters": "Die Größe der Straße nach GROẞENHAIN",
    "code": "def main():\n    return 0",
    "japanese": "東京都の天気は晴れです",
    "zero": "before\0after",
}
FOUND = {
    '"no way"': "quotes",
    "NO WAY": "quotes",
    "100%": "signs",
    "a_b": "signs",
    "a\\b": "signs",
    "ÇA": "signs",
    "größe": "letters",
    "STRAẞE": "letters",
    "großenhain": "letters",
    "ße": "letters",
    "main():\n    re": "code",
    "東京都": "japanese",
    "天気": "japanese",
    "晴": "japanese",
    "before": "zero",
}
MISSED = ["no  way", "100_", "a%b", "axb", "ways", "q", "main() return", "西京都", '"', "%%", "''"]


async def found(store: Storage, query: str, owner: str = "ann") -> set[str]:
    return {chat.id for chat in (await store.chats(owner, query=query)).chats}


class SearchConformance(Conformance):
    """Searches in the texts of messages."""

    async def test_any_part_of_a_text_is_found(self, store: Storage) -> None:
        for name, text in TEXTS.items():
            await turn(store, "Hi", text, chat_id=name)
        for query, name in FOUND.items():
            assert await found(store, query) == {name}, query
        for query in MISSED:
            expected = {"quotes"} if query == '"' else set()
            assert await found(store, query) == expected, query

    async def test_messages_of_people_are_found_as_answers_are(self, store: Storage) -> None:
        await begin(store, submit("The walrus ate it", chat_id="walrus"))
        assert await found(store, "alrus at") == {"walrus"}
        assert await found(store, "walrus", "bob") == set()

    async def test_a_deleted_text_is_not_found_though_its_number_is_used_again(
        self, store: Storage
    ) -> None:
        for text in ("walrus", "tapir"):
            for _ in range(2):
                await turn(store, f"The {text} again", f"It is a {text}")
                assert await found(store, text) == {"chat"}
                await store.delete("ann", "chat")
                assert await found(store, text) == set()
        await turn(store, "Something else", "Nothing")
        assert await found(store, "walrus") == await found(store, "tapir") == set()

    @pytest.mark.parametrize("query", ["need", "ne"])
    async def test_pages_of_a_search_have_each_chat_once(self, store: Storage, query: str) -> None:
        names = [f"c{n}" for n in range(7)]
        for name in names:
            await turn(store, "Hi", f"A needle in {name}", chat_id=name)
        seen: list[str] = []
        before = None
        while True:
            page = await store.chats("ann", before, 3, query)
            seen += [chat.id for chat in page.chats]
            if (before := page.before) is None:
                break
        assert seen == names[::-1]


LONG = 3_000_000


class LongChatsConformance(Conformance):
    """Chats that are too long to be read at once."""

    async def test_pages_are_bounded_in_bytes_and_together_they_are_the_chat(
        self, store: Storage
    ) -> None:
        for n in range(6):
            await turn(store, f"Question {n}", f"{n}" * LONG, f"u{n}")
        whole = await store.history("ann", "chat")
        assert whole.before is not None
        assert 1 < len(whole.messages) < 12
        seen, pages = list(whole.messages), 1
        before: str | None = whole.before
        while before is not None:
            page = await store.messages("ann", "chat", before, 50)
            seen, before, pages = [*page.messages, *seen], page.before, pages + 1
        assert pages > 2
        texts = [
            message.body.content if isinstance(message.body, Message) else message.body.text
            for message in seen
        ]
        expected = [text for n in range(6) for text in (f"Question {n}", f"{n}" * LONG)]
        assert texts == expected
        again = await store.history("ann", "chat")  # from what is stored, not from folds
        assert [each.id for each in again.messages] == [each.id for each in whole.messages]

    async def test_an_agent_is_told_that_earlier_messages_are_left_out(
        self, store: Storage
    ) -> None:
        for n in range(6):
            await turn(store, f"Question {n}", f"{n}" * LONG, f"u{n}")
        run = await begin(store, submit("And now?", "last"))
        told = await turn_for(store, run, InputRequests())
        assert told.history[0].parts == ({"type": "text", "text": EARLIER_LEFT_OUT},)
        assert [each.id for each in told.history[1:]][-1:] != []
        sent = submit("And now?", "last").message
        assert sent is not None
        assert told.prompt == sent.parts
        await say(store, run, *BEGINNING, *ENDING)

    async def test_a_message_alone_is_shortened(self, store: Storage) -> None:
        run = await begin(store, submit("Much"))
        await say(store, run, *BEGINNING, *words(*["0123456789" * 100] * 6000), *ENDING)
        for _ in range(2):
            (_, answer) = (await store.history("ann", "chat")).messages
            assert isinstance(answer.body, Message)
            assert 4_000_000 < len(answer.body.content) < 4_001_000
            assert answer.body.content.endswith(f"GET /api/runs/{run.id}/events]")
