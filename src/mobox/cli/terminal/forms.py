"""The fields of a question, and the value of its answer; the page builds the same forms.

| request | value of the answer |
| --- | --- |
| `options: {questions}` | `{answers: {question: label}}`, several labels as `a, b` |
| `options: [...]` | the option's `value`, else its label |
| `schema` of an object | an object with its properties |
| any other `schema` | a value of its type |
| nothing | text |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final, Literal, NamedTuple

from mobox.events import JSON, InputRequest


class Option(NamedTuple):
    """One of the values of a choice."""

    label: str
    value: JSON
    hint: str = ""


class Field(NamedTuple):
    """One value that a request needs."""

    name: str = "value"
    label: str = ""
    kind: Literal["text", "number", "choice"] = "text"
    options: tuple[Option, ...] = ()
    several: bool = False
    """More than one option may be chosen."""
    other: bool = False
    """Free text is possible too."""
    required: bool = True
    hint: str = ""

    def read(self, text: str) -> JSON:
        """The value of what a person typed; raises `ValueError` with what is expected."""
        text = text.strip()
        if not text:
            if self.required:
                raise ValueError("expected an answer")
            return None
        if self.kind == "choice":
            return self._choice(text)
        return _number(text) if self.kind == "number" else text

    def _choice(self, text: str) -> JSON:
        words = text.replace(",", " ").split() if self.several else [text]
        chosen = [self._option(word) for word in words]
        if all(option is not None for option in chosen):
            values = [option.value for option in chosen if option is not None]
            return values if self.several else values[0]
        if self.other:
            return [text] if self.several else text
        numbers = f"a number from 1 to {len(self.options)}"
        raise ValueError(f"expected {numbers}{', or several' if self.several else ''}")

    def _option(self, text: str) -> Option | None:
        if text.isascii() and text.isdecimal() and len(text) <= 6:
            place = int(text) - 1
            return self.options[place] if 0 <= place < len(self.options) else None
        named = (option for option in self.options if option.label.casefold() == text.casefold())
        return next(named, None)


class Form(NamedTuple):
    """All fields of a question."""

    fields: tuple[Field, ...]
    shape: Literal["single", "object", "answers"] = "single"

    def value(self, given: Mapping[str, JSON]) -> JSON:
        """The answer's value, from the values of the fields."""
        filled = {name: value for name, value in given.items() if value is not None}
        if self.shape == "single":
            return next(iter(filled.values()), None)
        if self.shape == "object":
            return filled
        return {"answers": {name: _joined(value) for name, value in filled.items()}}


_YES_OR_NO: Final = (Option("Yes", True), Option("No", False))


def form_of(request: InputRequest) -> Form:
    """The fields of a request."""
    listed = request.options
    questions = list(_objects(listed.get("questions"))) if isinstance(listed, Mapping) else []
    if questions:
        return Form(tuple(map(_question, questions)), "answers")
    if options := tuple(_options(listed)):
        return Form((Field(kind="choice", options=options),))
    schema = request.schema if isinstance(request.schema, Mapping) else {}
    properties = schema.get("properties")
    if not isinstance(properties, Mapping) or not properties:
        return Form((_of_schema("value", schema)._replace(label=""),))
    required = schema.get("required") or ()
    fields = [
        _of_schema(str(name), each if isinstance(each, Mapping) else {})._replace(
            required=name in required
        )
        for name, each in properties.items()
    ]
    return Form(tuple(fields), "object")


def _question(question: Mapping[str, Any]) -> Field:
    name = str(question.get("question") or question.get("header") or "")
    options = tuple(_options(question.get("options")))
    return Field(
        name=name,
        label=name,
        kind="choice" if options else "text",
        options=options,
        several=question.get("multiSelect") is True,
        other=True,
    )


def _of_schema(name: str, schema: Mapping[str, Any]) -> Field:
    field = Field(
        name=name, label=str(schema.get("title") or name), hint=str(schema.get("description") or "")
    )
    if values := tuple(_options(schema.get("enum"))):
        return field._replace(kind="choice", options=values)
    if schema.get("type") == "boolean":
        return field._replace(kind="choice", options=_YES_OR_NO)
    if schema.get("type") in ("number", "integer"):
        return field._replace(kind="number")
    return field


def _options(listed: JSON) -> Iterator[Option]:
    for each in listed if isinstance(listed, list | tuple) else ():
        if isinstance(each, str | int | float):
            yield Option(str(each), each)
        elif isinstance(each, Mapping):
            names = (each.get(name) for name in ("label", "name", "title", "value"))
            label = next((name for name in names if isinstance(name, str) and name), None)
            if label is not None:
                yield Option(label, each.get("value", label), str(each.get("description") or ""))


def _objects(listed: JSON) -> Iterator[Mapping[str, Any]]:
    for each in listed if isinstance(listed, list | tuple) else ():
        if isinstance(each, Mapping):
            yield each


def _number(text: str) -> int | float:
    with suppress(ValueError):
        return int(text)
    with suppress(ValueError):
        return float(text.replace(",", "."))
    raise ValueError("expected a number")


def _joined(value: JSON) -> JSON:
    return ", ".join(map(str, value)) if isinstance(value, list) else value
