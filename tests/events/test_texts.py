"""Texts as JSON are the texts, however they were written and wherever they are cut."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mobox.errors import CorruptLog
from mobox.events.entries import Texts

texts = st.lists(st.text(st.sampled_from('a"\\,\n\r\u2028é🙂[]') | st.characters(codec="utf-8")))


@given(texts)
@example(['x",', "\n", "", "\\"])
def test_texts_are_a_sequence_like_any_other(said: list[str]) -> None:
    kept = Texts.of(said)
    assert list(kept) == said
    assert len(kept) == len(said)
    assert [kept[place] for place in range(-len(said), len(said))] == said * 2


@given(texts, st.data())
def test_some_of_them_are_those(said: list[str], data: st.DataObject) -> None:
    cut = data.draw(st.slices(len(said)))
    assert list(Texts.of(said)[cut]) == said[cut]


@given(texts)
def test_a_list_is_json_with_a_line_for_each(said: list[str]) -> None:
    listed = Texts.of(said).listed()
    assert json.loads(listed) == said
    assert listed.count(b"\n") == max(0, len(said) - 1)
    assert list(Texts.read(listed)) == said


@given(texts)
def test_a_list_without_lines_is_read_as_well(said: list[str]) -> None:
    assert list(Texts.read(msgspec.json.encode(said))) == said


@given(texts)
def test_something_else_can_stand_between_them(said: list[str]) -> None:
    assert Texts.of(said).joined(b"\n\n").split(b"\n\n") == (
        [*map(msgspec.json.encode, said)] or [b""]
    )


@pytest.mark.parametrize("listed", [b'["a",\r\n"b"]', b'[\n "a",\n "b"\n]', b'["a" ,"b"]'])
def test_a_list_in_any_other_form_is_read_as_well(listed: bytes) -> None:
    assert list(Texts.read(listed)) == ["a", "b"]


REFUSED = [b"[1]", b'["a",\n2]', b'[2,\n"a"]', b'{"a": "b"}', b'["\xff"]']


@pytest.mark.parametrize("listed", REFUSED)
def test_invalid_list_of_texts_is_rejected(listed: bytes) -> None:
    with pytest.raises(CorruptLog):
        Texts.read(listed)
