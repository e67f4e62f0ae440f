"""What a page sends along with a message of the AI SDK."""

from __future__ import annotations

import pytest

from mobox.events import JSON
from mobox.events.turn import Frontend, FrontendTool
from mobox.formatters.ai_sdk.extras import read_tools
from mobox.formatters.ai_sdk.requests import read_request
from support.ai_sdk_bodies import TALK, assistant, body, text, tool, user

SAID = body(user("u1", text("one")))
SCHEMA: JSON = {"type": "object", "properties": {"city": {"type": "string"}}}
LOCATE = FrontendTool(name="locate", description="Where am I?", parameters=SCHEMA)
FIELDS: dict[str, JSON] = {
    "model": "small",
    "webSearch": True,
    "system": "Be brief.",
    "tools": {"locate": {"description": "Where am I?", "parameters": SCHEMA}},
}
PAGE = Frontend(
    tools=(LOCATE,), instructions=("Be brief.",), body={"model": "small", "webSearch": True}
)


@pytest.mark.parametrize(
    "sent",
    [
        SAID,
        body(user("u2", text("two!")), messageId="u2"),
        body(*TALK, trigger="regenerate-message"),
        body(assistant("run1", tool("output-available", output=1))),
    ],
    ids=["submit", "edit", "regenerate", "continue"],
)
def test_every_kind_of_request_brings_what_the_page_sent(sent: dict[str, JSON]) -> None:
    assert read_request(sent).frontend is None
    assert read_request({**sent, **FIELDS}).frontend == PAGE


def test_forwarded_headers_are_part_of_it() -> None:
    request = read_request(SAID, None, {"x-tenant": "one"})
    assert request.frontend == Frontend(headers={"x-tenant": "one"})


def test_page_that_sends_the_defaults_of_assistant_ui_sends_nothing() -> None:
    sent: dict[str, JSON] = {"callSettings": None, "tools": {}, "system": ""}
    frontend = read_request({**SAID, **sent}).frontend
    assert frontend == Frontend(body={"callSettings": None})


@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        ({"locate": {"description": "Where am I?", "parameters": SCHEMA}}, (LOCATE,)),
        ([{"name": "locate", "description": "Where am I?", "inputSchema": SCHEMA}], (LOCATE,)),
        ([{"name": "locate", "description": "Where am I?", "parameters": SCHEMA}], (LOCATE,)),
        ({"a": {}}, (FrontendTool(name="a"),)),
        ({"a": {"name": "b", "description": None}}, (FrontendTool(name="a"),)),
        ({}, ()),
        ([], ()),
        (None, None),
        (True, None),
        (["search"], None),
        ({"search": True}, None),
        ([{"description": "without a name"}], None),
        ([{"name": ""}], None),
    ],
)
def test_tools_are_an_object_or_a_list(
    tools: JSON, expected: tuple[FrontendTool, ...] | None
) -> None:
    assert read_tools(tools) == expected


@pytest.mark.parametrize("value", [None, True, ["search"], {"search": True}])
def test_field_of_another_form_is_the_applications_own(value: JSON) -> None:
    sent = {**SAID, "tools": value, "system": {"text": "Be brief."}}
    frontend = read_request(sent).frontend
    assert frontend == Frontend(body={"tools": value, "system": {"text": "Be brief."}})
