"""The titles of chats, made of their first messages."""

import pytest

from mobox.events.turn import PromptFile, PromptPart, PromptText, UserMessage
from mobox.storage.titles import title_of


def message(text: str, *files: str | None) -> UserMessage:
    attached = [PromptFile(media_type="text/plain", url="x", name=name) for name in files]
    parts: list[PromptPart] = [PromptText(text=text)] if text else []
    return UserMessage(id="m1", parts=(*parts, *attached))


LONG = "Explain how the write ahead log of a database makes a commit durable when power fails"

TITLES = {
    "tool": "tool",
    "Chat 1": "Chat 1",
    "What can you do?": "What can you do?",
    "Hi, what is a monad?": "What is a monad?",
    "hello there! can you explain monads": "Explain monads",
    "Hello\n\nCompare Qdrant and pgvector.": "Compare Qdrant and pgvector",
    "Wait for it...": "Wait for it...",
    "Hello world in C": "Hello world in C",
    "Hi-fi systems under 300": "Hi-fi systems under 300",
    "Could you please summarize this report?": "Summarize this report",
    "I'd like you to plan a trip": "Plan a trip",
    "Hallo, kannst du bitte die Preise vergleichen?": "Die Preise vergleichen",
    "/research Compare vector databases": "Compare vector databases",
    "# Task: fix the build": "Task: fix the build",
    "> quoted **words** of `code`": "quoted words of code",
    "1. first\n2. second": "first",
    "See [the docs](https://example.org/a/b) first": "See the docs first",
    "Why is this slow?\n```python\nx = 1\n```": "Why is this slow?",
    "Fix the login page. Then write tests. Then deploy it.": "Fix the login page",
    "No. I mean something else": "No. I mean something else",
    LONG: "Explain how the write ahead log of a database makes a…",
    "x" * 100: "x" * 59 + "…",
    "价格是多少\uff1f请比较这两个数据库的价格": "价格是多少\uff1f请比较这两个数据库的价格",
}


@pytest.mark.parametrize("text", TITLES)
def test_a_title_says_what_the_message_is_about(text: str) -> None:
    title = title_of(message(text))
    assert (title.text, title.is_weak) == (TITLES[text], False)
    assert len(title.text) <= 60


def test_code_alone_is_a_title() -> None:
    title = title_of(message("```python\nx = 1\n```"))
    assert (title.text, title.is_weak) == ("x = 1", False)


@pytest.mark.parametrize("text", ["Hi", "hello!", "Good morning", "Hey there", "Guten Tag"])
def test_a_greeting_is_a_weak_title(text: str) -> None:
    assert title_of(message(text)) == (text, True)


def test_a_message_without_words_is_named_by_its_file() -> None:
    assert title_of(message("", None, "report.pdf")) == ("report.pdf", False)
    assert title_of(message("Hi!", "report.pdf")) == ("report.pdf", False)
    assert title_of(message("")) == ("New chat", True)
    assert title_of(message("  \n… !?")) == ("… !?", True)
    assert title_of(None) == ("New chat", True)


def test_a_huge_message_takes_no_time() -> None:
    """Patterns that backtrack would not end."""
    for text in ("a " * 500_000, "`" * 100_000, "[" * 100_000, "``` \n" * 50_000, "- " * 100_000):
        assert len(title_of(message(text)).text) <= 60
