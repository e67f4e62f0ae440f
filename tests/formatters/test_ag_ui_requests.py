"""What AG-UI's clients post, as requests; how real ones do is in server/test_real_ag_ui.py."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobox.errors import InvalidRequest
from mobox.events.turn import (
    Action,
    Answer,
    ContextItem,
    Cut,
    Decision,
    Frontend,
    FrontendTool,
    Place,
    PromptData,
    PromptFile,
    PromptPart,
    PromptText,
    Request,
    UserMessage,
)
from mobox.formatters.ag_ui.requests import StoredMessages, read_input, request_of
from support.strategies import json_values

Json = Any

ONE = (PromptText(text="one"),)
TWO = (PromptText(text="two"),)
CALL = {"id": "run1:c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def user(name: str, content: Json = "one") -> Json:
    return {"id": name, "role": "user", "content": content}


def assistant(name: str, **more: Json) -> Json:
    return {"id": name, "role": "assistant", **more}


def tool(content: Json, call: str = "run1:c1", **more: Json) -> Json:
    return {"id": f"t-{call}", "role": "tool", "toolCallId": call, "content": content, **more}


def body(*messages: Json, **more: Json) -> Json:
    return {"threadId": "chat1", "runId": "r1", "messages": [*messages], **more}


def read(given: Json, said: StoredMessages | None = None, key: str | None = None) -> Request:
    return request_of(read_input(given), said or {}, key)


def meaning(given: Json, said: StoredMessages | None = None) -> tuple[Json, ...]:
    """What is asked for, without what is brought along."""
    request = read(given, said)
    message = request.message
    said_now = None if message is None else (message.id, message.parts)
    return request.action, said_now, request.cut, request.run_id, request.answers


def submitted(name: str, parts: tuple[PromptPart, ...], *answers: Answer) -> tuple[Json, ...]:
    return Action.SUBMIT, (name, parts), None, None, answers


def continued(run_id: str | None, *answers: Answer) -> tuple[Json, ...]:
    return Action.CONTINUE, None, None, run_id, answers


def told(value: Json, call: str = "c1") -> Answer:
    return Answer(decision="answered", tool_call_id=call, value=value)


def resume(payload: Json = None, name: str = "run1:ask1", status: str = "resolved") -> Json:
    return {"interruptId": name, "status": status, "payload": payload}


def decided(decision: Decision, value: Json = None, reason: str | None = None) -> Answer:
    return Answer(decision=decision, request_id="ask1", value=value, reason=reason)


TALK = [user("u1"), assistant("run1:t1", content="1"), user("u2", "two")]
SAID = {"u1": ONE, "u2": TWO}
ASKED = [user("u1"), assistant("run1:t1", toolCalls=[CALL])]
ANSWERED = assistant("run2:t1", content="2")

MEANT: dict[str, tuple[Json, StoredMessages, tuple[Json, ...]]] = {
    "the first message": (body(user("u1")), {}, submitted("u1", ONE)),
    "a message after others": (body(*TALK), {"u1": ONE}, submitted("u2", TWO)),
    "a history that was cut by its client": (body(TALK[-1]), {"u1": ONE}, submitted("u2", TWO)),
    "two messages at once are one turn": (
        body(user("u1"), user("u2", "two")),
        {},
        submitted("u2", ONE + TWO),
    ),
    "of two messages one is stored, for its run never said a word": (
        body(user("u1"), user("u2", "two")),
        {"u1": ONE},
        submitted("u2", TWO),
    ),
    "instructions are no messages": (
        body({"id": "s", "role": "system", "content": "Be brief."}, user("u1")),
        {},
        submitted("u1", ONE),
    ),
    "instructions after the message": (
        body(user("u1"), {"id": "s", "role": "developer", "content": "Be brief."}),
        {},
        submitted("u1", ONE),
    ),
    "a thought and an activity are what was said to a person": (
        body(user("u1"), {"id": "x", "role": "reasoning", "content": "Hm"}, user("u2", "two")),
        {"u1": ONE},
        submitted("u2", TWO),
    ),
    "the same question again": (
        body(*TALK),
        SAID,
        (Action.REGENERATE, ("u2", TWO), Cut(Place.AFTER, "u2"), None, ()),
    ),
    "an earlier question again": (
        body(TALK[0]),
        SAID,
        (Action.REGENERATE, ("u1", ONE), Cut(Place.AFTER, "u1"), None, ()),
    ),
    "the same message in other words": (
        body(*TALK),
        {"u1": ONE, "u2": ONE},
        (Action.EDIT, ("u2", TWO), Cut(Place.BEFORE, "u2"), None, ()),
    ),
    "a result": (body(*ASKED, tool("sunny")), SAID, continued("run1", told("sunny"))),
    "results that are not the last message": (
        body(*ASKED, tool("1"), tool("2", "run1:c2"), assistant("run1:t2", content="Well")),
        SAID,
        continued("run1", told("1"), told("2", "c2")),
    ),
    "a result that was an object": (
        body(*ASKED, tool('{"a": [1]}')),
        SAID,
        continued("run1", told({"a": [1]})),
    ),
    "a result that only looks like one": (
        body(*ASKED, tool("[object Object]")),
        SAID,
        continued("run1", told("[object Object]")),
    ),
    "a result that is a number in words": (
        body(*ASKED, tool("42")),
        SAID,
        continued("run1", told("42")),
    ),
    "a result of parts": (
        body(*ASKED, tool([{"type": "text", "text": "a"}])),
        SAID,
        continued("run1", told([{"type": "text", "text": "a"}])),
    ),
    "a tool that failed": (
        body(*ASKED, tool("", error="no GPS")),
        SAID,
        continued("run1", Answer(decision="denied", tool_call_id="c1", reason="no GPS")),
    ),
    "a call whose id has a colon, and one of nobody's": (
        body(*ASKED, tool("1", "run1:c:1"), tool("2", "mine")),
        SAID,
        continued("run1", told("1", "c:1"), told("2", "mine")),
    ),
    "old results are not told again": (
        body(*ASKED, tool("old"), user("u2"), ANSWERED, tool("new", "run2:c2")),
        SAID,
        continued("run2", told("new", "c2")),
    ),
    "a message beside a result": (
        body(*ASKED, tool("x"), user("u2", "two")),
        {"u1": ONE},
        submitted("u2", TWO, told("x")),
    ),
    "yes": (
        body(*ASKED, resume=[resume(True)]),
        SAID,
        continued("run1", decided("approved", True)),
    ),
    "no": (
        body(*ASKED, resume=[resume({"approved": False, "why": "risky"})]),
        SAID,
        continued("run1", decided("denied", {"approved": False, "why": "risky"})),
    ),
    "yes, with changes": (
        body(*ASKED, resume=[resume({"approved": True, "editedArgs": {"path": "b"}})]),
        SAID,
        continued("run1", decided("edited", {"path": "b"})),
    ),
    "yes, with changes, and why": (
        body(
            *ASKED, resume=[resume({"approved": True, "editedArgs": {"a": 1}, "reason": "Safer."})]
        ),
        SAID,
        continued("run1", decided("edited", {"a": 1}, "Safer.")),
    ),
    "yes, without changes": (
        body(*ASKED, resume=[resume({"approved": True, "editedArgs": None})]),
        SAID,
        continued("run1", decided("approved", {"approved": True, "editedArgs": None})),
    ),
    "no, whatever was changed": (
        body(*ASKED, resume=[resume({"approved": False, "editedArgs": {}})]),
        SAID,
        continued("run1", decided("denied", {"approved": False, "editedArgs": {}})),
    ),
    "an edit that says itself what it is": (
        body(*ASKED, resume=[{**resume({"a": 1}), "metadata": {"mobox": {"decision": "edited"}}}]),
        SAID,
        continued("run1", decided("edited", {"a": 1})),
    ),
    "an answer": (
        body(*ASKED, resume=[resume("blue")]),
        SAID,
        continued("run1", decided("answered", "blue")),
    ),
    "no answer": (
        body(*ASKED, resume=[resume(status="cancelled")]),
        SAID,
        continued("run1", decided("cancelled")),
    ),
    "an answer that says itself what it is": (
        body(*ASKED, resume=[{**resume(True), "metadata": {"mobox": {"decision": "answered"}}}]),
        SAID,
        continued("run1", decided("answered", True)),
    ),
    "an answer before anything was said": (
        body(user("u1"), resume=[resume("blue", "ask1")]),
        SAID,
        continued(None, decided("answered", "blue")),
    ),
    "a new message instead of an answer": (
        body(*TALK, resume=[resume(status="cancelled")]),
        {"u1": ONE},
        submitted("u2", TWO, decided("cancelled")),
    ),
}


@pytest.mark.parametrize("case", MEANT)
def test_body_is_parsed(case: str) -> None:
    given, said, meant = MEANT[case]
    assert meaning(given, said) == meant


@pytest.mark.parametrize("case", MEANT)
def test_names_may_be_written_as_in_python(case: str) -> None:
    given, said, _ = MEANT[case]
    names = {"threadId": "thread_id", "runId": "run_id", "toolCallId": "tool_call_id"}
    names |= {"interruptId": "interrupt_id", "forwardedProps": "forwarded_props"}

    def in_snake_case(value: Json) -> Json:
        if isinstance(value, list):
            return [in_snake_case(each) for each in value]
        if not isinstance(value, dict):
            return value
        return {names.get(name, name): in_snake_case(each) for name, each in value.items()}

    assert read(in_snake_case(given), said) == read(given, said)


def test_the_protocols_own_way_of_writing_wins() -> None:
    assert read({**body(user("u1")), "thread_id": "other"}).chat_id == "chat1"


PARTS: list[tuple[Json, PromptPart]] = [
    ({"type": "text", "text": "hi"}, PromptText(text="hi")),
    (
        {"type": "image", "source": {"type": "data", "value": "aGk=", "mimeType": "image/png"}},
        PromptFile(media_type="image/png", url="data:image/png;base64,aGk="),
    ),
    (
        {"type": "image", "source": {"type": "url", "value": "https://example.org/a"}},
        PromptFile(media_type="image/*", url="https://example.org/a"),
    ),
    (
        {"type": "document", "source": {"type": "url", "value": "https://example.org/a"}},
        PromptFile(media_type="application/octet-stream", url="https://example.org/a"),
    ),
    (
        {
            "type": "document",
            "source": {"type": "url", "value": "/api/files/f1", "mimeType": "text/plain"},
            "metadata": {"filename": "a.txt"},
        },
        PromptFile(media_type="text/plain", url="/api/files/f1", name="a.txt"),
    ),
    (
        {
            "type": "image",
            "source": {"type": "url", "value": "https://example.org/a"},
            "metadata": {"filename": 1},
        },
        PromptFile(media_type="image/*", url="https://example.org/a"),
    ),
    (
        {"type": "audio", "source": {"type": "data", "value": "aGk=", "mime_type": "audio/mp3"}},
        PromptFile(media_type="audio/mp3", url="data:audio/mp3;base64,aGk="),
    ),
    (
        {"type": "video", "source": {"type": "file", "value": "f1", "provider": "p"}},
        PromptData(name="file", value={"id": "f1", "provider": "p", "mediaType": None}),
    ),
    (
        {"type": "binary", "mimeType": "image/png", "data": "aGk=", "filename": "a.png"},
        PromptFile(media_type="image/png", url="data:image/png;base64,aGk=", name="a.png"),
    ),
    (
        {"type": "binary", "mimeType": "image/png", "url": "https://example.org/a"},
        PromptFile(media_type="image/png", url="https://example.org/a"),
    ),
    (
        {"type": "binary", "mimeType": "image/png", "id": "f1"},
        PromptData(name="file", value={"id": "f1", "mediaType": "image/png"}),
    ),
]


@pytest.mark.parametrize(("part", "meant"), PARTS)
def test_message_part_is_parsed(part: Json, meant: PromptPart) -> None:
    message = read(body(user("u1", [part]))).message
    assert message == UserMessage(id="u1", parts=(meant,))


# What comes along


def test_frontend_context_is_available_to_the_agent() -> None:
    parameters = {"type": "object", "properties": {"a_b": {"type": "string"}}}
    request = read(
        body(
            {"id": "s", "role": "system", "content": "Be brief."},
            user("u1"),
            tools=[{"name": "f_g", "description": "F", "parameters": parameters, "metadata": {}}],
            context=[{"description": "the page", "value": "/home"}],
            state={"some_state": 1},
            forwardedProps={"agent": "demo", "some_prop": {"x_y": 1}},
            protocolVersion="1.0",
        )
    )
    assert request.frontend == Frontend(
        tools=(FrontendTool(name="f_g", description="F", parameters=parameters),),
        context=(ContextItem(description="the page", value="/home"),),
        state={"some_state": 1},
        instructions=("Be brief.",),
        properties={"agent": "demo", "some_prop": {"x_y": 1}},
    )
    assert (request.agent, request.name) == ("demo", "r1")


def test_a_client_may_bring_nothing() -> None:
    empty = {"tools": None, "context": None, "state": None, "forwardedProps": None, "resume": None}
    assert read(body(user("u1"), **empty)) == read(body(user("u1")))
    assert read(body(user("u1"))).frontend == Frontend()


def test_a_message_has_the_same_key_under_every_name_of_the_request() -> None:
    keys = {read(body(user("u1"), runId=name)).idempotency_key for name in ("r1", "r2")}
    assert len(keys) == 1
    assert None not in keys
    assert read(body(user("u1")), key="mine").idempotency_key == "mine"
    assert read(body(*ASKED, tool("x")), SAID).idempotency_key is None


# What is wrong

INVALID: list[tuple[Json, str, str]] = [
    (None, "", "expected `object`, got `null`"),
    ({}, "threadId", "expected a value, got none"),
    ({"thread_id": "t"}, "runId", "expected a value, got none"),
    ({"threadId": "", "runId": "r"}, "threadId", "expected `str` of length >= 1"),
    ({"threadId": "a\nb", "runId": "r"}, "threadId", "expected `str` matching regex"),
    (body(), "messages", "expected a message of a user, or an answer, got neither"),
    (body(user("u1"), ANSWERED), "messages", "got neither"),
    (body({"role": "user", "content": "x"}), "messages[0].id", "expected a value, got none"),
    (body(user("u1", None)), "messages[0].content", "expected `array`, got `null`"),
    (body(ANSWERED, user("u1", [])), "messages[1].content", "expected at least one part, got none"),
    (body(user("u1", ["x"])), "messages[0].content[0]", "expected `object`, got `str`"),
    (body(user("u1", [{"type": "x"}])), "messages[0].content[0].type", "expected text or image or"),
    (body(user("u1", [{"type": "image"}])), "messages[0].content[0].source", "expected a value"),
    (
        body(user("u1", [{"type": "image", "source": {"type": "x", "value": ""}}])),
        "messages[0].content[0].source.type",
        "invalid enum value 'x'",
    ),
    (body({"id": "t", "role": "tool", "content": ""}), "messages[0].toolCallId", "got none"),
    (body(user("u1"), resume=[{"status": "resolved"}]), "resume[0].interruptId", "got none"),
    (body(user("u1"), resume=[resume(status="x")]), "resume[0].status", "invalid enum value"),
    (body(user("u1"), tools=[{}]), "tools[0].name", "expected a value, got none"),
    (body(user("u1"), forwardedProps=[]), "forwardedProps", "got `array`"),
    (body(user("u1"), forwardedProps={"agent": 1}), "forwardedProps.agent", "got `int`"),
    (body(user("u1", "\ud800")), "messages", "expected JSON that can be stored"),
]


@pytest.mark.parametrize(("given", "field", "problem"), INVALID)
def test_invalid_value_is_named(given: Json, field: str, problem: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        read(given, SAID)
    assert caught.value.field == field
    assert problem in str(caught.value)


@given(st.data())
def test_a_body_is_understood_or_refused(data: st.DataObject) -> None:
    given, said, _ = data.draw(st.sampled_from([*MEANT.values()]))
    name = data.draw(st.sampled_from([*given]))
    bad = {**given, name: data.draw(json_values)}
    try:
        request = read(bad, said)
    except InvalidRequest:
        return
    assert (request.action is Action.CONTINUE) == (request.message is None)
