"""What a person may answer to a request: forms, decisions, and what is shown before."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mobox.cli.terminal.dialog import LINES, Call, Dialog
from mobox.cli.terminal.forms import Field, Form, form_of
from mobox.cli.terminal.style import Style
from mobox.events import JSON, UNKNOWN_TOOL, InputRequest
from mobox.events.turn import Answer


class Typist:
    """A person who types these lines, one after the other, and then leaves."""

    style = Style()

    def __init__(self, *lines: str) -> None:
        self._lines = list(lines)
        self.seen = ""
        self.discards = 0

    def write(self, text: str) -> None:
        self.seen += text

    def read(self, prompt: str, typed: str = "") -> str:
        self.seen += prompt
        if not self._lines:
            raise EOFError
        line = self._lines.pop(0)
        self.seen += f"{line}\n"
        return line.replace("TYPED", typed)

    def discard_typed(self) -> None:
        self.discards += 1


def answer(request: InputRequest, *lines: str, call: Call | None = None) -> tuple[Answer, Typist]:
    typist = Typist(*lines)
    return Dialog(typist).answer(request, call), typist


# Forms


@pytest.mark.parametrize(
    ("request_", "typed", "value"),
    [
        (InputRequest(kind="question"), ["some text"], "some text"),
        (InputRequest(kind="question", options=["a", "b"]), ["2"], "b"),
        (InputRequest(kind="question", options=["a", "b"]), ["B"], "b"),
        (InputRequest(kind="question", options=["a", "b"]), ["3", "nothing", "1"], "a"),
        (InputRequest(kind="question", options=[{"label": "A", "value": 7}]), ["1"], 7),
        (
            InputRequest(
                kind="question",
                options={
                    "questions": [
                        {"question": "Which?", "options": ["x", "y"], "multiSelect": True},
                        {"question": "Why?"},
                        {"header": "Where?", "options": [{"label": "here"}]},
                    ]
                },
            ),
            ["1, 2", "because", "over there"],
            {"answers": {"Which?": "x, y", "Why?": "because", "Where?": "over there"}},
        ),
        (InputRequest(kind="input", schema={"type": "integer"}), ["many", "12"], 12),
        (InputRequest(kind="input", schema={"type": "number"}), ["1,5"], 1.5),
        (InputRequest(kind="input", schema={"type": "boolean"}), ["no"], False),
        (
            InputRequest(
                kind="input",
                schema={
                    "properties": {
                        "name": {"title": "Your name", "description": "in full"},
                        "size": {"enum": ["S", "L"]},
                        "note": {},
                    },
                    "required": ["name", "size"],
                },
            ),
            ["", "Ann", "2", ""],
            {"name": "Ann", "size": "L"},
        ),
        (InputRequest(kind="auth", options={"url": "https://a.example"}), [""], True),
        (
            InputRequest(kind="auth", options={"url": "u"}, schema={"type": "string"}),
            ["code-1"],
            "code-1",
        ),
    ],
)
def test_question_becomes_a_value(
    request_: InputRequest, typed: Sequence[str], value: JSON
) -> None:
    made, typist = answer(request_, *typed)
    assert (made.decision, made.value) == ("answered", value)
    assert typist.discards == 1


def test_form_shows_labels_hints_and_options() -> None:
    schema = {"properties": {"size": {"title": "Size", "description": "of it", "enum": ["S"]}}}
    _, typist = answer(InputRequest(kind="input", schema=schema), "1")
    assert typist.seen == "  Size (optional)  of it\n  1. S\n  number > 1\n"


def test_page_and_terminal_build_the_same_forms() -> None:
    form = form_of(InputRequest(options={"questions": [{"question": "Q", "options": ["a"]}]}))
    assert form.shape == "answers"
    assert form.fields[0].other
    assert form_of(InputRequest(options={"questions": ["no object"]})) == Form((Field(),))
    assert form_of(InputRequest(schema={"properties": []})).shape == "single"
    assert form_of(InputRequest(options=[{"no": "label"}, None])) == Form((Field(),))


# Approvals

CALL = Call("delete", {"path": "a.txt", "lines": [1, 2]})
ALL = InputRequest(id="r", allowed=("approve", "edit", "reject", "respond"))


def test_usual_approval_offers_approve_deny_and_always() -> None:
    made, typist = answer(InputRequest(id="r"), "y", call=CALL)
    assert made == Answer(decision="approved", request_id="r")
    shown = "  │ path: a.txt\n  │ lines:\n  │   [\n  │     1,\n  │     2\n  │   ]\n"
    offered = "  [y] approve  [n] deny  [a] always in this chat\n  > y\n"
    assert typist.seen == shown + offered


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        (["yes"], Answer(decision="approved")),
        (["y please"], Answer(decision="approved", reason="please")),
        (["n"], Answer(decision="denied")),
        (["N not this one"], Answer(decision="denied", reason="not this one")),
        (["a"], Answer(decision="approved", scope="chat")),
        (["r use b.txt"], Answer(decision="answered", value="use b.txt")),
        (["r", "use b.txt"], Answer(decision="answered", value="use b.txt")),
        (["e", '{"path": "b.txt"}'], Answer(decision="edited", value={"path": "b.txt"})),
        (["e", "TYPED"], Answer(decision="approved")),
        (["e", "[]", "e", "{", "n"], Answer(decision="denied")),
        (["x", "", "y"], Answer(decision="approved")),
    ],
)
def test_decisions(typed: list[str], expected: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("EDITOR", "VISUAL"):
        monkeypatch.delenv(name, raising=False)
    made, _ = answer(ALL, *typed, call=CALL)
    assert made == Answer(**{**_fields(expected), "request_id": "r"})


def _fields(given: Answer) -> dict[str, JSON]:
    return {name: getattr(given, name) for name in given.__struct_fields__}


def test_only_what_is_possible_is_offered() -> None:
    _, without_call = answer(InputRequest(allowed=("reject", "edit")), "n")
    assert without_call.seen == "  [n] deny\n  > n\n"
    _, unknown = answer(InputRequest(), "y", call=Call(UNKNOWN_TOOL, {}))
    assert "always" not in unknown.seen


def test_long_input_is_shown_on_request() -> None:
    call = Call("write", {"text": "\n".join(f"line {n}" for n in range(100))})
    made, typist = answer(InputRequest(), "v", "y", call=call)
    assert made.decision == "approved"
    first, _, rest = typist.seen.partition("view all")
    assert f"line {LINES - 2}\n" in first
    assert f"line {LINES}\n" not in first
    assert f"… {101 - LINES} more lines\n" in first
    assert "line 99\n" in rest


def test_input_cannot_control_the_terminal() -> None:
    _, typist = answer(InputRequest(), "y", call=Call("x", {"a\x1b": "\x1b[2J", "b": ["\x9b"]}))
    assert "\x1b" not in typist.seen
    assert "\x9b" not in typist.seen


def test_tool_of_a_page_is_declined_without_a_person() -> None:
    made, typist = answer(InputRequest(id="r", kind="tool"))
    assert made.decision == "denied"
    assert "no page" in (made.reason or "")
    assert typist.seen == ""


def test_person_may_leave() -> None:
    with pytest.raises(EOFError):
        answer(InputRequest())
