"""Text of agents, made safe for a terminal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobox.events.printable import on_one_line, printable, prose


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("\x1b[2Jcleared", "\\x1b[2Jcleared"),
        ("\x9b31m\x07\x00\x7f", "\\x9b31m\\x07\\x00\\x7f"),
        ("a\r\nb\rc\u2028d", "a\nb\nc\nd"),
        ("10\xa0% and 5\u202fkm", "10\xa0% and 5\u202fkm"),  # spaces of French
        ("👩\u200d🔬 a\u200cb", "👩\u200d🔬 a\u200cb"),  # joiners of emoji and of Persian
        ("abc\u202edef\u2066", "abc\\u202edef\\u2066"),  # shown in another order
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_prose_keeps_what_languages_need(text: str, shown: str) -> None:
    assert prose(text) == shown


@given(st.text())
def test_prose_has_no_control_characters(text: str) -> None:
    made = prose(text)
    assert not {c for c in made if ord(c) < 32 and c not in "\n\t"}
    assert not {c for c in made if 127 <= ord(c) < 160}
    made.encode()
    assert prose(made) == made


def test_other_text_shows_every_invisible_character() -> None:
    assert printable("a\xa0b\nc\x1b") == "a\\xa0b\nc\\x1b"
    assert on_one_line("a\nb" * 200, 4) == "a\\nba…"
