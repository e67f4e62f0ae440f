"""Gets a person's answers to the requests of an agent, at the prompt.

Rule 1: what is approved is shown as it is. Of a long input, a line counts what is not shown, and a
        key shows it.
Rule 2: only what was typed after the request counts: text that was typed before could approve
        something that the person has not read.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import ClassVar, Final, NamedTuple, Protocol

import msgspec

from mobox.cli.terminal.forms import Field, form_of
from mobox.cli.terminal.layout import STEP
from mobox.cli.terminal.style import Style, one_line
from mobox.events import JSON, UNKNOWN_TOOL, InputRequest
from mobox.events.printable import prose
from mobox.events.turn import Answer, allowed_words

LINES: Final = 30
"""Lines of an input that are shown at first."""
NO_PAGE: Final = "This client is a terminal: it has no page that could run frontend tools."
_WORDS: Final = {"yes": "y", "no": "n", "approve": "y", "deny": "n", "always": "a", "edit": "e"}


class Call(NamedTuple):
    """The tool call that a request is about."""

    name: str
    input: JSON


class Prompt(Protocol):
    """The part of a console that a dialog uses."""

    @property
    def style(self) -> Style: ...

    def write(self, text: str) -> None: ...

    def read(self, prompt: str, typed: str = "") -> str:
        """A line that a person types; `typed` is there already. Raises `EOFError`."""
        ...

    def discard_typed(self) -> None:
        """Forget what was typed before."""
        ...


class Dialog:
    """Answers requests with what a person types."""

    def __init__(self, prompt: Prompt) -> None:
        self._prompt = prompt

    def answer(self, request: InputRequest, call: Call | None) -> Answer:
        """The answer; raises `EOFError` and `KeyboardInterrupt` as the prompt does."""
        if request.kind == "tool":
            return Answer(decision="denied", request_id=request.id, reason=NO_PAGE)
        self._prompt.discard_typed()
        if request.kind == "approval":
            return _Approval(self._prompt, request, call).answer()
        return Answer(decision="answered", request_id=request.id, value=self._value(request))

    def _value(self, request: InputRequest) -> JSON:
        if request.kind == "auth" and (url := _url(request)):
            self._prompt.write(f"{STEP}{prose(url)}\n")
            if request.schema is None:
                self._prompt.read(f"{STEP}Press Enter when you have finished there ")
                return True
        form = form_of(request)
        return form.value({field.name: self._field(field) for field in form.fields})

    def _field(self, field: Field) -> JSON:
        self._prompt.write("".join(_described(field, self._prompt.style)))
        while True:
            try:
                return field.read(self._prompt.read(f"{STEP}{_hint(field)}> "))
            except ValueError as problem:
                self._prompt.write(f"{STEP}{problem}\n")


def _described(field: Field, style: Style) -> Iterator[str]:
    optional = "" if field.required else style.paint("dim", " (optional)")
    hint = style.paint("dim", f"  {one_line(field.hint)}") if field.hint else ""
    if field.label or hint:
        yield f"{STEP}{style.paint('bold', one_line(field.label))}{optional}{hint}\n"
    for number, option in enumerate(field.options, 1):
        about = style.paint("dim", f"  {one_line(option.hint)}") if option.hint else ""
        yield f"{STEP}{number}. {one_line(option.label)}{about}\n"


def _hint(field: Field) -> str:
    if not field.options:
        return ""
    how = "numbers" if field.several else "number"
    return f"{how} or text " if field.other else f"{how} "


def _url(request: InputRequest) -> str:
    for place in (request.options, request.schema):
        if isinstance(place, Mapping) and isinstance(place.get("url"), str):
            return str(place["url"])
    return ""


class _Approval:
    """One approval: the call, and what a person may decide."""

    def __init__(self, prompt: Prompt, request: InputRequest, call: Call | None) -> None:
        self._prompt = prompt
        self._request = request
        self._call = call
        allowed = allowed_words(request)
        is_known = call is not None and call.name != UNKNOWN_TOOL
        has_input = call is not None and isinstance(call.input, Mapping)
        self._lines = _lines_of(call.input if call is not None else None)
        self._choices = {
            key: words
            for key, words, is_possible in (
                ("y", "approve", "approve" in allowed),
                ("n", "deny", "reject" in allowed),
                ("a", "always in this chat", "approve" in allowed and is_known),
                ("e", "edit", "edit" in allowed and has_input),
                ("r", "respond instead", "respond" in allowed),
                ("v", "view all", len(self._lines) > LINES),
            )
            if is_possible
        }

    def answer(self) -> Answer:
        self._show(self._lines[:LINES])
        style = self._prompt.style
        offered = "  ".join(
            f"{style.paint('bold', f'[{key}]')} {words}" for key, words in self._choices.items()
        )
        self._prompt.write(f"{STEP}{offered}\n")
        while True:
            word, _, comment = self._prompt.read(f"{STEP}> ").strip().partition(" ")
            key = _WORDS.get(word.lower(), word.lower())
            if key not in self._choices:
                self._prompt.write(f"{STEP}expected one of {', '.join(self._choices)}\n")
            elif (answer := self.DECISIONS[key](self, comment.strip())) is not None:
                return answer

    def _show(self, lines: list[str]) -> None:
        hidden = len(self._lines) - len(lines)
        more = [f"… {hidden} more lines"] if hidden else []
        style = self._prompt.style
        for line in lines:
            self._prompt.write(f"{STEP}{style.paint('dim', '│')} {line}\n")
        for line in more:
            self._prompt.write(f"{STEP}{style.paint('yellow', line)}\n")

    def _made(self, answer: Answer) -> Answer:
        return msgspec.structs.replace(answer, request_id=self._request.id)

    def _approve(self, comment: str) -> Answer:
        return self._made(Answer(decision="approved", reason=comment or None))

    def _deny(self, comment: str) -> Answer:
        return self._made(Answer(decision="denied", reason=comment or None))

    def _allow(self, comment: str) -> Answer:
        return self._made(Answer(decision="approved", reason=comment or None, scope="chat"))

    def _respond(self, comment: str) -> Answer:
        response = comment or self._prompt.read(f"{STEP}Response: ")
        return self._made(Answer(decision="answered", value=response))

    def _view(self, _: str) -> None:
        self._show(self._lines)

    def _edit(self, _: str) -> Answer | None:
        """The changed input; `None` if it is not JSON, or has not changed."""
        assert self._call is not None
        before = self._call.input
        text = edited(before, self._prompt)
        try:
            value = json.loads(text)
        except ValueError as problem:
            self._prompt.write(f"{STEP}not JSON: {problem}\n")
            return None
        if not isinstance(value, dict):
            self._prompt.write(f"{STEP}expected an object: {{ … }}\n")
            return None
        if value == before and "y" in self._choices:
            return self._approve("")
        return self._made(Answer(decision="edited", value=value))

    DECISIONS: ClassVar[dict[str, Callable[[_Approval, str], Answer | None]]] = {
        "y": _approve,
        "n": _deny,
        "a": _allow,
        "e": _edit,
        "r": _respond,
        "v": _view,
    }


def _lines_of(value: JSON) -> list[str]:
    """An input as lines: `name: value`, with texts of several lines below their name."""
    if value in (None, {}):
        return []
    if not isinstance(value, Mapping):
        return prose(_pretty(value)).split("\n")
    lines: list[str] = []
    for name, each in value.items():
        text = prose(each if isinstance(each, str) else _pretty(each)).split("\n")
        label = one_line(str(name))
        lines += [f"{label}: {text[0]}"] if len(text) == 1 else [f"{label}:", *_indented(text)]
    return lines


def _indented(lines: list[str]) -> list[str]:
    return [f"{STEP}{line}" for line in lines]


def _pretty(value: JSON) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def edited(value: JSON, prompt: Prompt, environment: Mapping[str, str] = os.environ) -> str:
    """The value as JSON, changed by a person: in `$VISUAL` or `$EDITOR`, else on a line."""
    editor = environment.get("VISUAL") or environment.get("EDITOR")
    if not editor:
        typed = json.dumps(value, ensure_ascii=False)
        return prompt.read(f"{STEP}Input: ", typed) or typed
    with tempfile.TemporaryDirectory(prefix="mobox-") as folder:
        file = Path(folder) / "input.json"
        file.write_text(_pretty(value) + "\n", "utf-8")
        try:
            subprocess.run([*shlex.split(editor), str(file)], check=False)
        except (OSError, ValueError) as error:
            prompt.write(f"{STEP}cannot start {one_line(editor)}: {error}\n")
        return file.read_text("utf-8")
