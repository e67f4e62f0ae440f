"""The lines that nobody understood: counted, and described without what they say."""

from __future__ import annotations

from typing import Any

import pytest

from mobox.events import (
    Custom,
    Done,
    Error,
    InputRequest,
    InputResponse,
    Raw,
    Start,
    Status,
    StreamEvent,
    TextDelta,
)
from mobox.parsers.detection import NOT_UNDERSTOOD, UnreadLines, is_unread, shape_of

PART = {"index": 0, "part": {"content": "a secret"}, "event_kind": "part_start"}


def seen(*events: StreamEvent, framework: str = "claude") -> UnreadLines:
    lines = UnreadLines(framework)
    lines.see(events)
    return lines


def message_of(*raws: Any, framework: str = "claude") -> str:
    error = seen(*map(as_raw, raws), framework=framework).error()
    assert error is not None
    assert (error.code, error.retryable) == (NOT_UNDERSTOOD, False)
    return error.message


def as_raw(raw: Any) -> Raw:
    return Raw(raw=raw, source="not JSON" if isinstance(raw, str) else None)


# When it is an error


@pytest.mark.parametrize(
    "events",
    [
        [],
        [Start(framework="claude"), Done(reason="stop")],
        [Raw(raw=1), TextDelta(delta="a")],
        [Status(message="Working"), Raw(raw=1)],
        [Raw(raw=1), Error(message="no")],
        [Raw(raw=1), Custom(name="x", value=1)],
        [Raw(raw={"type": "user"}, source="not shown")],
    ],
    ids=str,
)
def test_a_run_in_which_something_was_understood_is_no_error(events: list[StreamEvent]) -> None:
    assert seen(*events).error() is None


def test_the_beginning_and_the_end_of_a_run_are_nothing_that_was_understood() -> None:
    lines = seen(Start(framework="claude"), Raw(raw=PART), Done(reason="stop"))
    assert lines.error() is not None


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (None, True),
        ("malformed: Expected `int`", True),
        ("parser failed: KeyError()", True),
        ("not JSON", True),
        ("a part", True),
        ("not shown", False),
        ("told before", False),
        ("stray text_end", False),
        ("choice 1", False),
        ("answered already", False),
    ],
)
def test_a_line_that_is_kept_though_it_was_understood_does_not_count(
    source: str | None, expected: bool
) -> None:
    assert is_unread(Raw(raw=1, source=source)) is expected
    assert seen(Raw(raw=1, source=source)).count == expected


def test_log_formats_the_same_with_server_events_in_it() -> None:
    log = [Start(framework="claude"), Status(message="Starting"), Raw(raw=PART)]
    lines = UnreadLines("claude")
    lines.recall(log)
    assert (lines.count, lines.understood) == (1, False)
    lines.recall([InputResponse(id="r", decision="approved")])
    assert not lines.understood
    lines.recall([InputRequest(id="r", kind="question")])
    assert (lines.count, lines.error()) == (1, None)


def test_parsed_state_is_kept_when_the_log_is_read_again() -> None:
    lines = seen(Status(message="Working"), Raw(raw=PART)).afresh()
    assert (lines.count, lines.understood) == (0, True)


# What it says


def test_the_message_names_the_framework_the_first_line_and_what_it_looks_like() -> None:
    assert message_of(*[PART] * 46) == (
        "None of the 46 lines could be read as claude. The first line is an object with the keys "
        "index, part, event_kind. It looks like pydantic-ai's events; Mobox has no parser for them "
        "yet: docs/add-a-framework.md"
    )


def test_a_format_that_has_a_parser_is_what_to_set() -> None:
    line = {"event": "on_chain_start", "run_id": "r", "data": {}}
    assert message_of(line, line).endswith(
        "an object with the keys event, run_id, data. It looks like LangChain's events: "
        "set framework: langchain"
    )


def test_broken_lines_of_the_right_framework_suggest_no_other() -> None:
    assert message_of({"type": "message_start"}) == (
        "Not one line could be read as claude. The first line is an object with the key type. "
        "It looks like Claude's Messages API events, but with fields that this version of Mobox "
        "cannot read."
    )


def test_unknown_shape_leads_to_writing_a_parser() -> None:
    assert message_of({"a": 1}).endswith(
        "Mobox knows no format that looks like it: docs/add-a-framework.md"
    )


def test_plain_text_leads_to_the_documentation_of_emitting() -> None:
    assert message_of("Hello", "World", framework="emitted") == (
        "None of the 2 lines could be read as emitted. The first line is text, not JSON. "
        "An agent writes JSON lines to its standard output: docs/agents.md"
    )


def test_text_before_the_first_json_does_not_hide_it() -> None:
    message = message_of("Booting", PART, {"b": 1})
    assert "The first JSON line is an object with the keys index, part, event_kind." in message
    assert "pydantic-ai" in message


def test_the_summary_of_a_run_with_some_of_them() -> None:
    some = seen(TextDelta(delta="a"), Raw(raw=PART))
    shape = "The first line is an object with the keys index, part, event_kind."
    assert some.summary() == f"1 line could not be read as claude. {shape}"
    some.see([Raw(raw=1)] * 1999)
    assert some.summary() == f"2,000 lines could not be read as claude. {shape}"


def test_content_of_a_line_is_not_repeated() -> None:
    secret = "s3cret"
    for raw in ({"a": secret}, [secret], secret, {"a": {secret: 1}}, {"type": secret}):
        assert secret not in message_of(raw)


@pytest.mark.parametrize(
    ("event", "shape"),
    [
        (Raw(raw={}), "an empty object"),
        (Raw(raw={"a": 1}), "an object with the key a"),
        (
            Raw(raw=dict.fromkeys("abcdefghij")),
            "an object with the keys a, b, c, d, e, f, g, h and 2 more",
        ),
        (
            Raw(raw={"a\n\x1b[1m": 1, "b" * 100: 1}),
            rf"an object with the keys a\n\x1b[1m, {'b' * 40}…",
        ),
        (Raw(raw=[1, "a"]), "an array of 2 values"),
        (Raw(raw="a"), "a string"),
        (Raw(raw="a", source="not JSON"), "text, not JSON"),
        (Raw(raw=1.5), "a number"),
        (Raw(raw=True), "a boolean"),
        (Raw(raw=None), "null"),
        (Raw(raw={"dropped_bytes": 20_000_000}, source="oversized line"),
         "too long to be read (20,000,000 bytes)"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_a_line_is_described_by_its_keys_and_types(event: Raw, shape: str) -> None:
    assert shape_of(event) == shape
