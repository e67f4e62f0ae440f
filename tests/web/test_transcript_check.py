"""The comparison of the other tests: it finds missing and repeated text."""

from __future__ import annotations

from typing import Any

import pytest

from web.transcript_check import missing, plain, words

MESSAGE: dict[str, Any] = {
    "parts": [
        {"type": "step-start"},
        {"type": "reasoning", "text": "Let me see."},
        {"type": "dynamic-tool", "input": {"city": "Zürich"}, "output": {"high": [24, 21]}},
        {
            "type": "text",
            "text": "**Sun** today, [rain](https://example.org) tomorrow\n\n1. so be it",
        },
        {"type": "data-todos", "data": {"items": [{"content": "Write it down"}]}},
    ]
}
SHOWN = "Let me see city Zürich high 24 21 Result Sun today rain tomorrow so be it Write it down"


def test_complete_text_is_not_missing() -> None:
    assert missing(MESSAGE, words(SHOWN)) == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("see ", ""), "not shown: Let me see"),
        (("Sun today", "today Sun"), "not shown: Sun today rain tomorrow so be it"),
        (("so be it", "so be"), "not shown: Sun today rain tomorrow so be it"),
        (("Zürich", "Zurich"), "not shown: Zürich"),
        (("24 21", "24 2"), "not shown: 21"),
        (("Write it down", ""), "not shown: Write it down"),
        (
            ("Result", "Sun today rain tomorrow so be it"),
            "shown again: Sun today rain tomorrow so be it",
        ),
    ],
)
def test_differences_are_named(change: tuple[str, str], told: str) -> None:
    assert missing(MESSAGE, words(SHOWN.replace(*change))) == [told]


SENT: dict[str, Any] = {
    "parts": [
        {"type": "dynamic-tool", "toolCallId": "a", "input": {"to": "scout"}, "output": "So tall."},
        {"type": "reasoning", "text": "scout started: Look at the tower"},
        {
            "type": "data-subagent",
            "id": "a",
            "data": {"agent": "scout", "task": "Look at the tower"},
        },
        {"type": "reasoning", "text": "So tall."},
        {"type": "reasoning", "text": "scout finished"},
    ]
}


def test_content_of_a_subagent_card_is_sent_there_only() -> None:
    assert missing(SENT, words("Look at the tower. So tall.")) == []
    assert missing(SENT, words("So tall.")) == ["not shown: Look at the tower"]
    assert missing(SENT, words("Look at the tower.")) == ["not shown: So tall"]
    call, *others = SENT["parts"]
    other = {"parts": [{**call, "output": "330 m"}, *others]}
    assert missing(other, words("Look at the tower. So tall.")) == ["not shown: 330 m"]


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("# A *heading*", "A heading"),
        ("| a | b |\n| --- | --: |\n| 1 | 2 |", "a b 1 2"),
        ("```python\nprint(1)\n```\nafter", "print 1 after"),
        ("![a picture](x.png) and [a link](y 'title')", "and a link"),
        ("1. one\n2) two\n - [x] three", "one two three"),
        ('before <<{"title": "T"}>> after', "before after"),
        ("a &amp; b &lt;c&gt;", "a b c"),
    ],
)
def test_only_the_words_of_markdown_count(markdown: str, text: str) -> None:
    assert " ".join(words(plain(markdown))) == text
