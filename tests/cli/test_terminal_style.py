"""Widths, wrapping, and one-line summaries of values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobox.cli.terminal import summary
from mobox.cli.terminal.figures import bytes_of, duration, usage_line
from mobox.cli.terminal.style import Style, Wrapped, cells, cut
from mobox.events import JSON
from mobox.events.usage import Totals


def wrapped(text: str, indent: str, width: int | None, size: int = 1000) -> str:
    made = Wrapped(indent, width)
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    return "".join(map(made.feed, pieces)) + made.end()


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("one two three four", 13, "one two \n  three four"),
        ("one\n\ntwo", 13, "one\n\n  two"),
        ("one two three four", None, "one two three four"),
        ("one\ntwo", None, "one\n  two"),
        ("aaaaaaaaaaaaaaaaaaaa b", 13, "aaaaaaaaaaaaaaaaaaaa \n  b"),
        ("漢字漢字漢字漢字", 13, "漢字漢字漢\n  字漢字"),
        ("", 13, ""),
        (
            "see:\n```\none two three four\n```\none two three",
            13,
            "see:\n  ```\n  one two three four\n  ```\n  one two \n  three",
        ),
    ],
)
def test_text_is_wrapped_with_its_indent(text: str, width: int | None, shown: str) -> None:
    assert wrapped(text, "  ", width) == shown


@given(st.text("ab \n漢é", max_size=60), st.integers(1, 7), st.sampled_from([None, 14, 20]))
def test_pieces_are_wrapped_as_the_whole(text: str, size: int, width: int | None) -> None:
    whole = wrapped(text, "    ", width)
    assert wrapped(text, "    ", width, size) == whole
    assert "".join(whole.split()) == "".join(text.split())
    if width is not None:
        words = [word for word in text.split() if cells(word) <= width - 5]
        if len(words) == len(text.split()):
            assert all(cells(line.rstrip()) < width for line in whole.split("\n"))


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdefg", 6, "abcde…"),
        ("漢字漢字", 6, "漢字…"),
        ("e\u0301x", 2, "e\u0301x"),
    ],
)
def test_text_is_cut_to_columns(text: str, width: int, shown: str) -> None:
    assert cut(text, width) == shown


def test_line_is_cut_to_what_is_left_of_the_width() -> None:
    assert Style(width=20).fits("a b\nc " * 20, used=5) == "a b c a b c a…"
    assert len(Style().fits("x" * 1000)) == 160


# Values


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, ""),
        ({}, ""),
        ({"query": "x"}, '"x"'),
        ({"query": "x", "topic": None, "tags": []}, '"x"'),
        ({"city": "Oslo", "days": 3}, 'city: "Oslo", days: 3'),
        ({"code": "a = 1\nb = 2"}, '"a = 1 …"'),
        ({"commands": ["ls", "pwd"]}, '["ls","pwd"]'),
        ({"flag": False}, "false"),
        ("{broken", '"{broken"'),
        ([1, 2], "[1,2]"),
        ({"a": "\x1b[31m"}, '"\\x1b[31m"'),
    ],
)
def test_input_is_one_line(value: JSON, shown: str) -> None:
    assert summary.of_input(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "done"),
        ("", "done"),
        (" \n", "done"),
        ("one", "one"),
        ("one\n\ntwo\nthree", "one (+2 lines)"),
        ("Logs:\nfirst\nlast", "Logs: first (+1 line)"),
        ([{"url": "a"}, {"url": "b"}], "2 results"),
        ([], "no results"),
        ({"results": [1]}, "1 result"),
        ('{"results": [1, 2, 3]}', "3 results"),
        ({"content": "the text", "ok": True}, "the text"),
        ({"temp": 21, "city": "Oslo"}, '{"temp":21,"city":"Oslo"}'),
        ([{"type": "text", "text": "a\nb"}], "a (+1 line)"),
        ([{"type": "image", "data": "…"}], "[image]"),
        (True, "true"),
        (0, "0"),
        ("[not json", "[not json"),
    ],
)
def test_result_is_one_line(value: JSON, shown: str) -> None:
    assert summary.of_result(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"answers": {"Where?": "Bern", "What?": "all"}}, "Bern, all"),
        ("oak", "oak"),
        ({"path": "a.txt"}, '"a.txt"'),
        (True, "true"),
    ],
)
def test_answer_is_one_line(value: JSON, shown: str) -> None:
    assert summary.of_answer(value) == shown


def test_figures_are_short() -> None:
    times = [0, 1234, 9949, 9950, 59_499, 59_500, 3_723_000]
    shown = ["0.0 s", "1.2 s", "9.9 s", "10 s", "59 s", "1 min 0 s", "62 min 3 s"]
    assert list(map(duration, times)) == shown
    assert list(map(bytes_of, [14, 1500, 2_300_000, 5e12])) == ["14 B", "2 KB", "2 MB", "5000 GB"]


@pytest.mark.parametrize(
    ("totals", "ms", "shown"),
    [
        (Totals(), None, ""),
        (Totals(input=0, output=0), 500, "0.5 s"),
        (Totals(input=1, output=2), None, "1 token in, 2 out"),
        (
            Totals(input=1200, output=34, cost_usd=0.00123),
            2000,
            "1,200 tokens in, 34 out · $0.0012 · 2.0 s",
        ),
        (
            Totals(output=5, cost_usd=12.5, duration_ms=70_000),
            None,
            "5 tokens out · $12.50 · 1 min 10 s",
        ),
    ],
)
def test_usage_is_a_line(totals: Totals, ms: float | None, shown: str) -> None:
    assert usage_line(totals, ms) == shown
    facts = [fact for fact in shown.split(" · ") if fact and not fact.startswith("$")]
    simulated = usage_line(totals, ms, is_simulated=True)
    assert simulated.split(" · ") == ["simulated model", *facts]
