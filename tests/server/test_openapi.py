"""The document that machines read, and the page that people read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest
from msgspec import Struct

import mobox.server
from mobox.server.openapi import Parameter, Route, docs_page, document
from mobox.server.openapi.notation import example_of, notation_of

VOID = {"meta", "link", "br"}


class Text(Struct, tag="text"):
    """Something a person wrote."""

    text: str


class File(Struct, tag="file"):
    """Something a person sent along. It may be <b>big</b>."""

    url: str
    size: int | None = None


class Message(Struct):
    """What a person says."""

    id: str
    parts: list[Text | File]
    answers: Message | None = None


class Chat(Struct, rename="camel"):
    """A conversation.

    It belongs to whoever began it.
    """

    chat_id: str
    created: float
    status: Literal["running", "done"] = "done"
    place: tuple[int, int] = (0, 0)
    usage: dict[str, int] = {}


ROUTES = (
    Route(
        method="GET",
        path="/api/chats",
        scope="read",
        summary="List the chats",
        parameters=(
            Parameter(name="limit", type=int, description="How many, at most."),
            Parameter(name="after", type=str | None),
        ),
        responses={200: list[Chat]},
        tags=("Chats",),
    ),
    Route(
        method="POST",
        path="/api/chats/{chat_id}/messages",
        scope="write",
        summary="Say something",
        description="Begins a run; `text/event-stream` is what comes back.\n\nIt's <new>.",
        parameters=(
            Parameter(name="Idempotency-Key", place="header", required=True),
            Parameter(name="profile", required=True),
        ),
        body=Message,
        example={"id": "m1", "parts": [{"type": "text", "text": "It's me"}]},
        responses={200: "text/event-stream"},
        tags=("Chats",),
    ),
    Route(
        method="DELETE",
        path="/api/chats/{chat_id}",
        scope="write",
        summary="Delete a chat",
        parameters=(Parameter(name="chat_id", place="path", description="Which one."),),
        responses={204: None},
        tags=("Chats",),
    ),
    Route(
        method="PUT",
        path="/api/n/{n:int}",
        scope=None,
        summary="Count",
        body=Message,
        responses={200: Chat},
    ),
)


def refs(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"]
        for each in value.values():
            yield from refs(each)
    elif isinstance(value, list):
        for each in value:
            yield from refs(each)


def operations(told: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [(path, each) for path, methods in told["paths"].items() for each in methods.values()]


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    made = document(ROUTES, "1.2.3")
    read: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(made))
    return read


def test_document_describes_itself(told: dict[str, Any]) -> None:
    assert told["openapi"].startswith("3.1.")
    assert told["info"] == {"title": "Mobox", "version": "1.2.3"}
    assert told["tags"] == [{"name": "Chats"}]


def test_every_reference_leads_somewhere(told: dict[str, Any]) -> None:
    found = set(refs(told))
    assert {"#/components/schemas/Chat", "#/components/schemas/Error"} <= found
    schemas = told["components"]["schemas"]
    assert {ref.removeprefix("#/components/schemas/") for ref in found} <= schemas.keys()


def test_the_parameters_of_a_path_are_those_in_it(told: dict[str, Any]) -> None:
    for path, operation in operations(told):
        named = [each["name"] for each in operation.get("parameters", []) if each["in"] == "path"]
        assert named == re.findall(r"\{(\w+)\}", path)
    [n] = told["paths"]["/api/n/{n}"]["put"]["parameters"]
    assert n == {"name": "n", "in": "path", "required": True, "schema": {"type": "integer"}}
    [chat] = told["paths"]["/api/chats/{chat_id}"]["delete"]["parameters"]
    assert (chat["description"], chat["required"]) == ("Which one.", True)


def test_operations_have_names_of_their_own(told: dict[str, Any]) -> None:
    names = [operation["operationId"] for _, operation in operations(told)]
    assert names == [
        "get_api_chats",
        "post_api_chats_chat_id_messages",
        "delete_api_chats_chat_id",
        "put_api_n_n",
    ]


def test_an_answer_is_json_or_of_another_type_or_nothing(told: dict[str, Any]) -> None:
    answers = {
        operation["operationId"]: operation["responses"] for _, operation in operations(told)
    }
    assert answers["get_api_chats"]["200"] == {
        "description": "OK",
        "content": {
            "application/json": {
                "schema": {"type": "array", "items": {"$ref": "#/components/schemas/Chat"}}
            }
        },
    }
    assert answers["post_api_chats_chat_id_messages"]["200"]["content"] == {
        "text/event-stream": {"schema": {"type": "string"}}
    }
    assert answers["delete_api_chats_chat_id"]["204"] == {"description": "No Content"}
    assert all("default" in each for each in answers.values())


class Page(HTMLParser):
    """Reads a page, and fails where its elements do not fit together."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.feed(page.decode())
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, name: str) -> list[str]:
        return [value for each, value in self.attributes if each == name]


@pytest.fixture(scope="module")
def page(told: dict[str, Any]) -> Page:
    return Page(docs_page(told))


def test_the_page_needs_nothing_that_its_policy_forbids(page: Page) -> None:
    assert not page.tags & {"script", "style", "iframe", "img", "object", "form", "base"}
    assert not [name for name, _ in page.attributes if name == "style" or name.startswith("on")]
    links = [link for link in page.all("href") if not link.startswith("#")]
    assert links == ["docs.css", "openapi.json"]
    assert page.all("src") == []


def test_every_link_of_the_page_leads_somewhere(page: Page) -> None:
    anchors = page.all("id")
    assert len(anchors) == len(set(anchors)) > 8
    assert {link[1:] for link in page.all("href") if link.startswith("#")} <= set(anchors)


def test_page_documents_everything(page: Page, told: dict[str, Any]) -> None:
    for path, operation in operations(told):
        assert operation["summary"] in page.text
        assert path in page.text
    for name, schema in told["components"]["schemas"].items():
        assert name in page.text
        assert all(field in page.text for field in schema.get("properties", {}))
    assert "How many, at most." in page.text
    assert "It's <new>." in page.text
    assert "It may be <b>big</b>." in page.text


def test_an_example_can_be_pasted_into_a_shell(page: Page) -> None:
    assert (
        "curl -N -X POST 'http://127.0.0.1:8000/api/chats/CHAT_ID/messages?profile=…' \\\n"
        "  -H 'Idempotency-Key: …' \\\n"
        "  -H 'content-type: application/json' \\\n"
        "  -d '{\n"
    ) in page.text
    assert "It'\\''s me" in page.text
    assert "curl http://127.0.0.1:8000/api/chats\n" in f"{page.text}\n"
    assert "curl -X DELETE http://127.0.0.1:8000/api/chats/CHAT_ID" in page.text


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (str, "string"),
        (int | None, "int | null"),
        (list[int | str], "(int | string)[]"),
        (tuple[int, str], "[int, string]"),
        (dict[str, list[bool]], "{ [key]: boolean[] }"),
        (dict[str, Any], "{ [key]: any }"),
        (Literal["a", "<"], "&quot;&lt;&quot; | &quot;a&quot;"),
        (Any, "any"),
        (list[Any], "any[]"),
        (Chat, '<a href="#type-Chat">Chat</a>'),
    ],
)
def test_a_type_is_written_as_in_typescript(kind: Any, expected: str) -> None:
    [schema], _ = msgspec.json.schema_components([kind])
    assert notation_of(schema) == expected


def test_a_list_of_types_is_a_union_and_a_constant_itself() -> None:
    assert notation_of({"type": ["string", "null"]}) == "string | null"
    assert notation_of({"const": 1}) == "1"


class Leaf(Struct, tag=True):
    """Holds nothing."""


class Endless(Struct, tag=True):
    """Is never finished by who takes the first choice."""

    inner: Endless | Leaf


def test_an_example_ends() -> None:
    [schema], schemas = msgspec.json.schema_components([Endless])
    assert "inner" in example_of(schema, schemas)


class Nested(Struct):
    """Holds itself, always."""

    inner: Nested | None
    many: list[Nested]
    pair: tuple[Literal["x"], int]


@pytest.mark.parametrize("kind", [Message, Chat, Nested, str, bool | None, list[Text | File], Any])
def test_an_example_is_of_its_type(kind: Any) -> None:
    [schema], schemas = msgspec.json.schema_components([kind])
    msgspec.convert(example_of(schema, schemas), kind, strict=True)


def test_style_is_served_with_the_page_and_loads_nothing_else() -> None:
    style = (Path(mobox.server.__file__).parent / "static/docs.css").read_text()
    assert "prefers-color-scheme: dark" in style
    assert not re.search(r"url\(|@import|https?:", style)
