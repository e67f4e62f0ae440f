"""Placeholders: which text is one, what is replaced in it, and that pieces of it do not matter."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobox.events.placeholders import LONGEST, Placeholders, resolved

CALLS = {"call_1": "run:call_1", 'q"1': 'run:q"1', "ü": "run:ü"}

REPLACED: dict[str, tuple[str, str]] = {
    "the seed's": (
        'a <<{"type":"promql","tool_call_id":"call_1"}>> b',
        'a <<{"type":"promql","tool_call_id":"run:call_1"}>> b',
    ),
    "any key, in any depth": (
        '<<{ "of": {"id" : "call_1" }, "all": ["call_1","x"] }>>',
        '<<{ "of": {"id" : "run:call_1" }, "all": ["run:call_1","x"] }>>',
    ),
    "over several lines": ('<<{\n "id": "call_1"\n}>>', '<<{\n "id": "run:call_1"\n}>>'),
    "two of them": ('<<{"a":"call_1"}>><<{"a":"call_1"}>>', '<<{"a":"run:call_1"}>>' * 2),
    "an escaped id": (r'<<{"a":"q\"1"}>>', r'<<{"a":"run:q\"1"}>>'),
    "an escaped letter": ('<<{"a":"\\u00fc"}>>', '<<{"a":"run:ü"}>>'),
    "its end within a string": (
        '<<{"title":"a}>>b","id":"call_1"}>>',
        '<<{"title":"a}>>b","id":"run:call_1"}>>',
    ),
    "behind more than two brackets": ('<<<{"a":"call_1"}>>', '<<<{"a":"run:call_1"}>>'),
    "behind one that is none": ('<<{x <<{"a":"call_1"}>>', '<<{x <<{"a":"run:call_1"}>>'),
}

KEPT: dict[str, str] = {
    "no brackets": "plain",
    "a comparison": "a < b",
    "at the end": "a <<",
    "C++": "std::cout <<{1, 2};",
    "a key": '<<{"call_1":1}>>',
    "another id": '<<{"id":"call_2"}>>',
    "no JSON": '<<{"id":"call_1",}>>',
    "a list": '<<["call_1"]>>',
    "no end": '<<{"id":"call_1"}',
    "a blank line within": '<<{"a":1,\n\n"id":"call_1"}>>',
    "a blank line of spaces within": '<<{"a":1,\n \t\n"id":"call_1"}>>',
    "empty": "<<{}>>",
    "too long": '<<{"id":"call_1","x":"' + "x" * LONGEST + '"}>>',
    "too deep": '<<{"id":' + "[" * 900 + "]" * 900 + "}>>",
}


@pytest.mark.parametrize(("text", "told"), REPLACED.values(), ids=REPLACED)
def test_ids_of_calls_are_replaced(text: str, told: str) -> None:
    assert resolved(text, CALLS.get, ended=True) == told


@pytest.mark.parametrize("text", KEPT.values(), ids=KEPT)
def test_all_else_stays_as_it_is(text: str) -> None:
    assert resolved(text, CALLS.get, ended=True) == text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a <", "a "),
        ("a <<{", "a "),
        ('a <<{"id":"call_1"}>', "a "),
        ('a <<{"id":"call_1"}>>', 'a <<{"id":"run:call_1"}>>'),
        ("a <<{b", "a <<{b"),
        ("a <b", "a <b"),
    ],
)
def test_possible_placeholder_is_held_back(text: str, told: str) -> None:
    assert resolved(text, CALLS.get, ended=False) == told


TEXTS = st.lists(
    st.sampled_from(
        ["<", "<<{", "}>>", '"id":"call_1"', '"x"', ":", ",", "}", " ", "\n", "a", "x" * 700]
    )
    | st.sampled_from([text for text, _ in REPLACED.values()])
).map("".join)


@given(TEXTS, st.lists(st.integers(min_value=1, max_value=40), min_size=1))
def test_pieces_do_not_matter(text: str, sizes: list[int]) -> None:
    placeholders, told, place = Placeholders(CALLS.get), "", 0
    while place < len(text):
        size = sizes[place % len(sizes)]
        told += placeholders.feed(text[place : place + size])
        place += size
        assert told == resolved(text[:place], CALLS.get, ended=False)
    assert told + placeholders.flush() == resolved(text, CALLS.get, ended=True)


@given(TEXTS)
def test_without_calls_nothing_changes(text: str) -> None:
    assert resolved(text, lambda _: None, ended=True) == text
