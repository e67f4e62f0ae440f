"""Requests and turns: how a history is cut, what a process is sent, when two requests are one."""

import msgspec
import pytest

from mobox.events import JSON
from mobox.events.turn import (
    Action,
    Answer,
    Cut,
    Decision,
    Frontend,
    FrontendTool,
    HistoryMessage,
    Place,
    PromptData,
    PromptFile,
    PromptPart,
    PromptText,
    Request,
    Turn,
    UserMessage,
    submission_key,
    with_reason,
)

U1, A1 = HistoryMessage(id="u1", role="user"), HistoryMessage(id="a1", role="assistant")
U2, A2 = HistoryMessage(id="u2", role="user"), HistoryMessage(id="a2", role="assistant")
HI = PromptText(text="hi")
PICTURE = PromptFile(media_type="image/png", url="https://example.org/a.png", name="a.png")


@pytest.mark.parametrize(
    ("place", "message_id", "history", "kept"),
    [
        (Place.BEFORE, "u2", [U1, A1, U2, A2], [U1, A1]),
        (Place.BEFORE, "a1", [U1, A1, U2, A2], [U1]),
        (Place.BEFORE, None, [U1, A1, U2, A2], [U1, A1, U2]),
        (Place.AFTER, "u1", [U1, A1, U2, A2], [U1]),
        (Place.AFTER, "a2", [U1, A1, U2, A2], [U1, A1, U2, A2]),
        (Place.AFTER, None, [U1, A1], [U1, A1]),
        (Place.ANSWER, "a1", [U1, A1, U2, A2], [U1]),
        (Place.ANSWER, "u1", [U1, A1, U2, A2], [U1]),
        (Place.ANSWER, None, [U1, A1, U2, A2], [U1, A1, U2]),
        (Place.ANSWER, None, [U1, A1, U2], [U1, A1, U2]),
    ],
)
def test_a_cut_keeps_what_stands_before_it(
    place: Place,
    message_id: str | None,
    history: list[HistoryMessage],
    kept: list[HistoryMessage],
) -> None:
    assert history[: Cut(place, message_id).kept(history)] == kept
    assert Cut(place, message_id).kept(history) == len(kept)


@pytest.mark.parametrize("place", Place)
def test_a_cut_at_a_message_that_is_not_there_keeps_no_count(place: Place) -> None:
    assert Cut(place, "x").kept([U1, A1]) is None
    assert Cut(place).kept([]) is None


def test_the_words_of_a_prompt_are_its_texts() -> None:
    parts: tuple[PromptPart, ...] = (PICTURE, HI, PromptText(text="there"))
    assert UserMessage(id="u1", parts=parts).text == "hi\nthere"
    assert Turn(prompt=parts).text == "hi\nthere"
    assert Turn().text == ""


def test_a_process_is_sent_every_key_of_a_turn() -> None:
    sent = msgspec.json.encode({"type": "turn", "data": Turn()})
    assert sent == (
        b'{"type":"turn","data":{"kind":"message","chat_id":"","run_id":"","attempt":1,"owner":"",'
        b'"parent":null,"back_to":null,"prompt":[],"history":[],"answers":[],"earlier_answers":[],'
        b'"resume":null,"frontend":null}}'
    )


def test_a_turn_is_the_same_after_it_was_sent() -> None:
    turn = Turn(
        prompt=(HI, PICTURE, PromptData(name="place", value={"lat": 1}, id="p")),
        history=(
            HistoryMessage(id="u1", role="user", parts=({"type": "text", "text": "one"},)),
            HistoryMessage(id="a1", role="assistant", parts=({"type": "text", "text": "1"},)),
        ),
        answers=(Answer(decision="denied", request_id="ask1", reason="too risky"),),
        resume={"thread": 1},
        frontend=Frontend(tools=(FrontendTool(name="locate"),), state={"count": 1}),
    )
    assert msgspec.json.decode(msgspec.json.encode(turn), type=Turn) == turn


def test_a_prompt_in_a_history_is_sent_as_in_a_turn() -> None:
    message = msgspec.to_builtins(HistoryMessage(id="u1", role="user", parts=(HI, PICTURE)))
    assert message["parts"] == msgspec.to_builtins(Turn(prompt=(HI, PICTURE)))["prompt"]


def key(*parts: PromptPart, chat: str = "c", name: str = "u1", metadata: JSON = None) -> str | None:
    message = UserMessage(id=name, parts=parts, metadata=metadata)
    return submission_key(Request(chat_id=chat, action=Action.SUBMIT, message=message))


def test_the_same_words_have_the_same_key_for_ever() -> None:
    assert key(HI) == "5e3e54ecb8701069909f142831a0c95290e2bde378b93149513ef8aef813bb25"
    assert key(HI) == key(HI, metadata={"at": 1})
    assert key(PromptData(name="d", value={"a": 1, "b": 2})) == key(
        PromptData(name="d", value={"b": 2, "a": 1})
    )


def test_other_words_have_another_key() -> None:
    keys = [
        key(HI),
        key(HI, chat="d"),
        key(HI, name="u2"),
        key(PromptText(text="ho")),
        key(HI, HI),
        key(PromptText(text="h"), PromptText(text="i")),
        key(PICTURE),
        key(PICTURE, HI),
        key(HI, PICTURE),
        key(PromptFile(media_type="image/png", url="https://example.org/b.png", name="a.png")),
        key(PromptData(name="text", value="hi")),
        key(HI, chat="c\x00u1"),
    ]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("action", Action)
def test_request_without_a_new_message_has_no_key(action: Action) -> None:
    assert submission_key(Request(chat_id="c", action=action)) is None
    message = UserMessage(id="u1", parts=(HI,))
    told = submission_key(Request(chat_id="c", action=action, message=message))
    assert (told is not None) == (action is Action.SUBMIT)


def test_fields_of_a_page_are_not_shared_between_requests() -> None:
    one, other = Frontend(), Frontend()
    assert one == other
    assert one.body is not other.body
    assert one.headers is not other.headers


REASONS: dict[str, tuple[JSON, str | None, JSON, str | None]] = {
    "as the reason": (None, "too risky", None, "too risky"),
    "as the value": ("too risky", None, None, "too risky"),
    "within the value": ({"approved": False, "reason": "no"}, None, ..., "no"),
    "as both": ("value", "reason", "value", "reason"),
    "in no words": ({"approved": False, "reason": 1}, None, ..., None),
    "in empty words": ("", None, None, None),
    "not at all": (None, None, None, None),
}


@pytest.mark.parametrize(("value", "reason", "plain", "why"), REASONS.values(), ids=REASONS)
@pytest.mark.parametrize("decision", ["approved", "denied"])
def test_the_reason_of_a_decision_is_its_reason_however_it_was_sent(
    decision: Decision, value: JSON, reason: str | None, plain: JSON, why: str | None
) -> None:
    told = with_reason(Answer(decision=decision, value=value, reason=reason))
    assert (told.value, told.reason) == (value if plain is ... else plain, why)


def test_an_answer_in_words_is_a_value() -> None:
    answer = Answer(decision="answered", value="oak")
    assert with_reason(answer) == answer
