"""Bodies that `useChat` would never post: each is understood or refused, nothing else."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobox.errors import InvalidRequest
from mobox.events.turn import Request
from mobox.formatters.ai_sdk.requests import read_request
from support.ai_sdk_bodies import (
    RAN,
    REGENERATE,
    STEP,
    TALK,
    assistant,
    body,
    recorded,
    text,
    tool,
    user,
)
from support.strategies import json_values

Json = Any

HUGE = "x" * 1_000_000
LONG = "x" * 500

INVALID: list[tuple[Json, str, str]] = [
    (None, "", "expected `object`, got `null`"),
    ([], "", "expected `object`, got `array`"),
    ({}, "id", "expected a value, got none"),
    ({"id": 1}, "id", "expected `str`, got `int`"),
    ({"id": ""}, "id", "expected `str` of length >= 1"),
    ({"id": "a\nb"}, "id", "expected `str` matching regex"),
    ({"id": HUGE}, "id", "expected `str` of length <= 500"),
    (body({"id": "a" * 501, "role": "user", "parts": []}), "messages[0].id", "length <= 500"),
    (body(TALK[0], messageId=HUGE), "messageId", "length <= 500"),
    (body(TALK[0], agent=HUGE), "agent", "length <= 500"),
    ({"id": "a"}, "messages", "expected at least one message, got none"),
    ({"id": "a", "messages": None}, "messages", "expected at least one message, got none"),
    (body(), "messages", "expected at least one message, got none"),
    ({"id": "a", "messages": {}}, "messages", "expected `array | null`, got `object`"),
    ({"id": "a", "message": "hi"}, "message", "expected `object | null`, got `str`"),
    (body(None), "messages[0]", "expected `object`, got `null`"),
    (body({"role": "user", "parts": []}), "messages[0].id", "expected a value, got none"),
    (body({"id": "a", "parts": []}), "messages[0].role", "expected a value, got none"),
    (body(*TALK, {"id": "a", "role": "user"}), "messages[4].parts", "expected a value, got none"),
    (body({"id": "a", "role": "user", "content": "hi"}), "messages[0].parts", "expected a value"),
    (body({"id": "a", "role": "system", "parts": []}), "messages[0].role", "got 'system'"),
    (body(TALK[0], trigger="resume"), "trigger", "expected submit-message or regenerate-message"),
    (body(TALK[0], trigger=None), "trigger", "expected `str`, got `null`"),
    (body(TALK[0], messageId=1), "messageId", "expected `str | null`, got `int`"),
    (body(TALK[0], agent=""), "agent", "expected `str` of length >= 1"),
    (body(user("a")), "messages[0].parts", "expected at least one part, got none"),
    (body(user("a", text("hi"), "hi")), "messages[0].parts[1]", "expected `object`, got `str`"),
    (body(user("a", {})), "messages[0].parts[0].type", "expected a value, got none"),
    (body(user("a", {"type": 1})), "messages[0].parts[0].type", "expected `str`, got `int`"),
    (body(user("a", STEP)), "messages[0].parts[0].type", "expected text or file or data-, got"),
    (body(user("a", {"type": "text"})), "messages[0].parts[0].text", "expected a value, got none"),
    (body(user("a", text("hi")), message=user("b", text(1))), "message.parts[0].text", "got `int`"),
    (body(user("a", {"type": "file", "url": "x"})), "messages[0].parts[0].mediaType", "expected a"),
    (body(user("a", {**text("hi"), "type": HUGE})), "messages[0].parts[0].type", "got 'xxx"),
    (body(user("a", {"type": "data-x", "id": 1})), "messages[0].parts[0].id", "got `int`"),
    (body(assistant("a", None)), "messages[0].parts[0]", "expected `object`, got `null`"),
    (body(assistant("a", {"type": "tool-x"})), "messages[0].parts[0].state", "expected a value"),
    (body(assistant("a", tool([]))), "messages[0].parts[0].state", "expected `str`, got `array`"),
    (
        body(assistant("a", tool("approval-responded", approval={"id": "x", "approved": None}))),
        "messages[0].parts[0].approval.approved",
        "expected `bool`, got `null`",
    ),
    (
        body(assistant("a", tool("output-error", errorText=None))),
        "messages[0].parts[0].errorText",
        "expected `str`, got `null`",
    ),
    (
        body(assistant("a", {**RAN, "toolCallId": None})),
        "messages[0].parts[0].toolCallId",
        "expected `str`, got `null`",
    ),
    (
        body(user("a", {}), **REGENERATE),
        "messages[0].parts[0].type",
        "expected a value, got none",
    ),
    (body(TALK[0], more="\ud800"), "more", "surrogates not allowed"),
    (body(TALK[0], **{"\ud800": 1}), "?", "surrogates not allowed"),
    (body(TALK[0], more=10**5000), "more", "expected JSON that can be stored"),
]


@pytest.mark.parametrize(("given", "field", "words"), INVALID)
def test_error_names_the_field_and_what_was_expected(given: Json, field: str, words: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        read_request(given)
    assert caught.value.field == field
    assert words in str(caught.value)
    assert str(caught.value).startswith(field or "the body")
    assert len(str(caught.value).encode()) < 500  # it can be sent, and has nothing hostile in it


@pytest.mark.parametrize("place", ["message", "messages", "extra"])
def test_deep_nesting_is_refused(place: str) -> None:
    deep: Json = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(InvalidRequest, match=f"^{place}: .*recursion"):
        read_request({"id": "a", place: deep})


def test_ids_and_keys_may_be_long_but_not_without_end() -> None:
    given = {"id": LONG, "message": user(LONG, text("hi"))}
    request = read_request(given, LONG)
    assert request.message is not None
    assert (request.chat_id, request.message.id, request.idempotency_key) == (LONG, LONG, LONG)
    with pytest.raises(InvalidRequest, match="Idempotency-Key: expected at most 500 characters"):
        read_request(given, LONG + "x")


WHOLE = [variant["body"] for variants in recorded().values() for variant in variants]


def is_understood_or_refused(given: Json) -> bool:
    try:
        return isinstance(read_request(given), Request)
    except InvalidRequest as error:
        return bool(str(error))


@given(json_values | st.dictionaries(st.sampled_from(["id", "messages", "message"]), json_values))
def test_any_value_is_understood_or_refused(given: Json) -> None:
    assert is_understood_or_refused(given)


@given(st.data())
def test_a_body_with_anything_anywhere_is_understood_or_refused(data: st.DataObject) -> None:
    whole = data.draw(st.sampled_from(WHOLE))
    assert is_understood_or_refused(data.draw(broken(whole)))


@st.composite
def broken(draw: st.DrawFn, value: Json) -> Json:
    """`value` with one thing in it, at any depth, taken away or replaced."""
    if not value or not isinstance(value, dict | list) or draw(st.integers(0, 9)) == 0:
        return draw(json_values)
    copy = value.copy()
    place = draw(st.sampled_from([*value] if isinstance(value, dict) else range(len(value))))
    if draw(st.integers(0, 9)) == 0:
        del copy[place]
    else:
        copy[place] = draw(broken(value[place]))
    return copy
