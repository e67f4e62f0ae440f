"""What `useChat` posts, as requests: the recorded bodies of real clients, and others."""

import json
import subprocess
from typing import Any

import pytest
from msgspec.structs import replace

from mobox.events.turn import (
    Action,
    Answer,
    Cut,
    Frontend,
    Place,
    PromptData,
    PromptFile,
    PromptText,
    Request,
    UserMessage,
)
from mobox.formatters.ai_sdk.requests import read_request
from support.ai_sdk_bodies import (
    BODIES,
    RAN,
    REGENERATE,
    STEP,
    TALK,
    ask,
    assistant,
    body,
    record,
    recorded,
    text,
    tool,
    user,
)
from support.ai_sdk_client import find_node

Json = Any

CLIENTS = ["ai", "ai-v6", "ai-v6-strict", "ai-v5", "ai-v5-strict"]


def said(name: str, *texts: str, **more: Json) -> UserMessage:
    return UserMessage(id=name, parts=tuple(PromptText(text=text) for text in texts), **more)


def submitted(message: UserMessage, **more: Json) -> Request:
    return Request(chat_id="chat1", action=Action.SUBMIT, message=message, **more)


def edited(message: UserMessage, replaced: str) -> Request:
    cut = Cut(Place.BEFORE, replaced)
    return Request(chat_id="chat1", action=Action.EDIT, message=message, cut=cut)


def regenerated(place: Place, at: str | None, message: UserMessage | None = None) -> Request:
    cut = Cut(place, at)
    return Request(chat_id="chat1", action=Action.REGENERATE, message=message, cut=cut)


def continued(run_id: str, *answers: Answer) -> Request:
    return Request(chat_id="chat1", action=Action.CONTINUE, run_id=run_id, answers=answers)


PICTURE = PromptFile(media_type="image/png", url="data:image/png;base64,iVBORw0KGgo=", name="a.png")
PAPER = PromptFile(media_type="application/pdf", url="https://example.org/b.pdf")
ONE, TWO, HI = said("u1", "one"), said("u2", "two"), said("new1", "hi")
YES = Answer(decision="approved", request_id="ask1", tool_call_id="c1")
NO = Answer(decision="denied", request_id="ask1", tool_call_id="c1", reason="too risky")
PLACE = Answer(decision="answered", tool_call_id="c1", value={"lat": 1})
GONE = Answer(decision="answered", request_id="ask1", tool_call_id="c1", value="gone")

RED = Answer(decision="answered", request_id="q1", value="red")

MEANT: dict[str, Request] = {
    "submit": submitted(HI),
    "submit after a history": submitted(HI),
    "submit with a body and metadata": submitted(
        said("new1", "hi", metadata={"at": 1}),
        agent="demo",
        frontend=Frontend(body={"model": "m", "temperature": 0}),
    ),
    "submit with files": submitted(
        UserMessage(id="new1", parts=(PICTURE, PAPER, PromptText(text="see")))
    ),
    "submit files only": submitted(UserMessage(id="new1", parts=(PICTURE,))),
    "submit parts of its own": submitted(
        UserMessage(
            id="mine",
            parts=(PromptText(text="hi"), PromptData(name="place", value={"lat": 1}, id="p")),
        )
    ),
    "submit the last message only": submitted(HI),
    "edit": edited(said("u2", "two!"), "u2"),
    "edit with an id of its own": edited(said("u2", "two!"), "u2"),
    "edit with an id of its own, ai": edited(said("u2b", "two!"), "u2"),
    "edit the last message only": edited(said("u2", "two!"), "u2"),
    "send again what has no answer": edited(TWO, "u2"),
    "regenerate": regenerated(Place.AFTER, "u2", TWO),
    "regenerate what has no answer": regenerated(Place.AFTER, "u2", TWO),
    "regenerate an answer": regenerated(Place.BEFORE, "a1", ONE),
    "regenerate from a question": regenerated(Place.AFTER, "u1", ONE),
    "regenerate the last message only": regenerated(Place.AFTER, "u2", TWO),
    "regenerate an answer the last message only": regenerated(Place.BEFORE, "a1", ONE),
    # Nothing in this body says that it is not new; what was stored has the same idempotency key.
    "regenerate the last message without a trigger": submitted(TWO),
    "continue a finished answer": continued("a2"),
    "tool output": continued("run1", PLACE),
    "tool output of a static tool": continued("run1", PLACE),
    "tool output of the last message only": continued("run1", PLACE),
    "tool output null sent by hand": continued("run1", replace(PLACE, value=None)),
    "tool failure": continued(
        "run1", Answer(decision="denied", tool_call_id="c1", reason="no GPS")
    ),
    "answer": continued("run1", RED),
    "answer sent by hand": continued("run1", RED),
    "answer that denies": continued(
        "run1", Answer(decision="denied", request_id="q1", reason="too risky")
    ),
    "no answer": continued("run1", Answer(decision="denied", request_id="q1", reason="no time")),
    "approval": continued("run1", YES),
    "approval of a static tool": continued("run1", YES),
    "approval of the last message only": continued("run1", YES),
    "approval and output": continued("run1", GONE),
    "approval of an earlier message": continued("run1", YES),
    # This client only answers the approvals of the last message, but sends all the same.
    "approval of an earlier message, ai-v6-strict": continued("run2"),
    "denial": continued("run1", NO),
}
"""What each scene of bodies/record.mjs asks for; with a client's name, what only that one does."""


RECORDED = {
    (own if (own := f"{scene}, {variant['clients'][0]}") in MEANT else scene): variant["body"]
    for scene, variants in recorded().items()
    for variant in variants
}
"""The bodies by scene, and by their first client where MEANT has a row for it."""


def test_every_recorded_body_has_a_meaning() -> None:
    assert RECORDED.keys() == MEANT.keys()
    assert len(RECORDED) == sum(map(len, recorded().values()))


@pytest.mark.parametrize("scene", MEANT)
def test_body_of_real_client_is_parsed(scene: str) -> None:
    assert replace(read_request(RECORDED[scene]), idempotency_key=None) == MEANT[scene]


@pytest.mark.usefixtures("ai_sdk")
def test_the_recorded_bodies_are_what_the_clients_send(regold: bool) -> None:
    scenes: dict[str, list[Json]] = {}
    for client in CLIENTS:
        for scene, sent in play(client).items():
            variants = scenes.setdefault(scene, [])
            same = next((variant for variant in variants if variant["body"] == sent), None)
            if same is None:
                variants.append({"clients": [client], "body": sent})
            else:
                same["clients"].append(client)
    if regold:
        record(scenes)
    assert recorded() == scenes


def play(client: str) -> dict[str, Json]:
    command = [find_node() or "node", str(BODIES / "record.mjs"), client]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stderr == ""
    bodies: dict[str, Json] = json.loads(done.stdout)
    return bodies


# Bodies that no client sends by itself


ASKED = tool("approval-responded", approval={"id": "ask1", "approved": True})

WRITTEN: dict[str, tuple[Json, Request]] = {
    "a message after messages is the last": (
        body(*TALK, message=user("u3", text("three"))),
        submitted(said("u3", "three")),
    ),
    "a message that messages end with counts once": (
        body(*TALK[:3], message=TALK[2], messageId="u2"),
        edited(TWO, "u2"),
    ),
    "a message counts more than its older self in messages": (
        body(assistant("run1"), message=assistant("run1", ASKED), messageId="run1"),
        continued("run1", YES),
    ),
    "null is the same as absent": (
        body(TALK[0], message=None, messageId=None, agent=None),
        submitted(ONE),
    ),
    "old messages are not read": (
        body(user("x", 1), {"id": "y", "role": "?", "parts": [None]}, TALK[0]),
        submitted(ONE),
    ),
    "a continuation needs no messageId": (body(*TALK), continued("a2")),
    "a messageId nobody has continues the last answer": (
        body(*TALK, messageId="x"),
        continued("a2"),
    ),
    "regenerating in a history that was not cut": (
        body(*TALK, messageId="a1", **REGENERATE),
        regenerated(Place.BEFORE, "a1", ONE),
    ),
    "regenerating from a question in a history that was not cut": (
        body(*TALK, messageId="u1", **REGENERATE),
        regenerated(Place.AFTER, "u1", ONE),
    ),
    "regenerating the first of all messages": (
        body(messageId="a0", **REGENERATE),
        regenerated(Place.ANSWER, "a0"),
    ),
    "regenerating with an answer last": (
        body(*TALK[:2], **REGENERATE),
        regenerated(Place.AFTER, "a1"),
    ),
    "regenerating by name alone": (
        {"id": "chat1", "messageId": "a1", **REGENERATE},
        regenerated(Place.ANSWER, "a1"),
    ),
    "regenerating the last answer, whatever it is": (
        {"id": "chat1", **REGENERATE},
        regenerated(Place.ANSWER, None),
    ),
    "an output in a message without steps answers": (
        body(assistant("run1", RAN)),
        continued("run1", Answer(decision="answered", tool_call_id="c1", value=1)),
    ),
    "an output without a value answers with null": (
        body(assistant("run1", tool("output-available"))),
        continued("run1", Answer(decision="answered", tool_call_id="c1")),
    ),
    "an output of an earlier step is old": (
        body(assistant("run1", STEP, RAN, STEP)),
        continued("run1"),
    ),
    "an approval of an earlier step answers": (
        body(assistant("run1", STEP, ASKED, STEP)),
        continued("run1", YES),
    ),
    "an approval after which the client failed to run the tool": (
        body(assistant("run1", tool("output-error", errorText="x", approval={"id": "ask1"}))),
        continued(
            "run1",
            Answer(decision="denied", request_id="ask1", tool_call_id="c1", reason="x"),
        ),
    ),
    "what the provider ran or what is preliminary answers nothing": (
        body(
            assistant(
                "run1",
                tool("output-available", providerExecuted=True),
                tool("output-available", preliminary=True),
                tool("output-error", errorText="x", providerExecuted=True),
            )
        ),
        continued("run1"),
    ),
    "tools that wait or were denied, and other parts, answer nothing": (
        body(
            assistant(
                "run1",
                text("…"),
                tool("input-streaming"),
                tool("input-available"),
                tool("approval-requested", approval={"id": "ask1"}),
                tool("output-denied"),
            )
        ),
        continued("run1"),
    ),
    "ids without the id of their message are the agent's own": (
        body(
            assistant(
                "run1",
                tool("output-available", toolCallId="run2:c1", output=1),
                tool("output-available", toolCallId="run1:a:b", output=2),
                tool("output-error", toolCallId="run1:", errorText="x"),
            )
        ),
        continued(
            "run1",
            Answer(decision="answered", tool_call_id="run2:c1", value=1),
            Answer(decision="answered", tool_call_id="a:b", value=2),
            Answer(decision="denied", tool_call_id="", reason="x"),
        ),
    ),
    "an answer in an earlier step counts": (
        body(assistant("run1", STEP, ask("output-available", output="red"), STEP)),
        continued("run1", RED),
    ),
    "of a question that was asked again the last answer counts": (
        body(
            assistant(
                "run1",
                ask("output-available", output="blue"),
                ask("output-available", toolCallId="run1:@ask2:q1", output="red"),
            )
        ),
        continued("run1", RED),
    ),
    "a question that was asked again and waits is not answered": (
        body(
            assistant(
                "run1",
                ask("output-error", errorText="x"),
                ask("input-available", toolCallId="run1:@ask2:q1"),
            )
        ),
        continued("run1"),
    ),
    "a tool of the agent may have the name of ours": (
        body(assistant("run1", ask("output-available", toolCallId="run1:c1", output=1))),
        continued("run1", Answer(decision="answered", tool_call_id="c1", value=1)),
    ),
    "names that are dangerous elsewhere are names here": (
        body(TALK[0], __proto__={"x": 1}, constructor={"prototype": 1}),
        submitted(
            ONE, frontend=Frontend(body={"__proto__": {"x": 1}, "constructor": {"prototype": 1}})
        ),
    ),
}


@pytest.mark.parametrize("case", WRITTEN)
def test_body_is_parsed(case: str) -> None:
    given, meant = WRITTEN[case]
    assert replace(read_request(given), idempotency_key=None) == meant


@pytest.mark.parametrize(
    ("older", "current", "given"),
    [
        ("submit-user-message", "submit-message", body(TALK[0])),
        ("submit-tool-result", "submit-message", body(assistant("run1", RAN))),
        ("regenerate-assistant-message", "regenerate-message", {"id": "chat1", "messageId": "a1"}),
    ],
)
def test_older_triggers_of_the_guides_are_understood(older: str, current: str, given: Json) -> None:
    assert read_request({**given, "trigger": older}) == read_request({**given, "trigger": current})


APPROVE = Answer(decision="approved", request_id="q1")
OUTPUTS: list[tuple[Json, Answer]] = [
    (True, APPROVE),
    ("approve", APPROVE),
    ({"approved": True}, APPROVE),
    ({"approved": True, "reason": "fine"}, replace(APPROVE, reason="fine")),
    (False, replace(APPROVE, decision="denied")),
    ("reject", replace(APPROVE, decision="denied")),
    ({"approved": False, "reason": 7}, replace(APPROVE, decision="denied")),
    ("Gone.", replace(APPROVE, decision="answered", value="Gone.")),
    ({"approved": "?"}, replace(APPROVE, decision="answered", value={"approved": "?"})),
    (None, replace(APPROVE, decision="answered")),
]


@pytest.mark.parametrize(("output", "answer"), OUTPUTS)
def test_output_of_a_call_that_asks_for_an_approval_is_a_decision(
    output: Json, answer: Answer
) -> None:
    asked = ask("output-available", input={"kind": "approval"}, output=output)
    assert read_request(body(assistant("run1", asked))).answers == (answer,)
    question = ask("output-available", input={"kind": "question"}, output=output)
    answered = Answer(decision="answered", request_id="q1", value=output)
    assert read_request(body(assistant("run1", question))).answers == (answered,)


# Keys


def key_of(given: Json, header: str | None = None) -> str | None:
    return read_request(given, header).idempotency_key


@pytest.mark.parametrize("scene", MEANT)
def test_only_a_new_message_has_a_key_of_its_own(scene: str) -> None:
    assert (key_of(RECORDED[scene]) is not None) == (MEANT[scene].action is Action.SUBMIT)


@pytest.mark.parametrize("scene", MEANT)
def test_the_key_of_the_header_wins(scene: str) -> None:
    assert key_of(RECORDED[scene], "mine") == "mine"


def test_an_empty_header_is_no_key() -> None:
    assert key_of(RECORDED["submit"], "") == key_of(RECORDED["submit"])
    assert key_of(RECORDED["edit"], "") is None


def test_a_message_has_the_same_key_however_it_is_sent() -> None:
    alone = {"message": RECORDED["submit"]["messages"][0], "id": "chat1", "more": True}
    keys = {key_of(RECORDED["submit"]), key_of(RECORDED["submit after a history"]), key_of(alone)}
    assert len(keys) == 1
