"""What every store must find, with an index or without."""

from __future__ import annotations

import pytest

from mobox.storage import Storage
from storage.conformance import Conformance, begin, submit, turn

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
