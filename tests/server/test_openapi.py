"""The OpenAPI document that is made of operations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal

import msgspec
import pytest
from msgspec import Struct

from mobox.server.openapi import Operation, Parameter, document


class Text(Struct, tag="text"):
    """Something a person wrote."""

    text: str


class File(Struct, tag="file"):
    """Something a person sent along."""

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


OPERATIONS = (
    Operation(
        method="GET",
        path="/api/chats",
        scope="read",
        summary="List the chats",
        parameters=(
            Parameter("limit", "How many, at most.", type=int),
            Parameter("after", type=str | None),
        ),
        responses={200: list[Chat]},
        tag="Chats",
    ),
    Operation(
        method="POST",
        path="/api/chats/{chat_id}/messages",
        scope="write",
        summary="Say something",
        description="Begins a run; `text/event-stream` is what comes back.",
        parameters=(Parameter("Idempotency-Key", place="header"), Parameter("profile")),
        body=Message,
        example={"id": "m1", "parts": [{"type": "text", "text": "It's me"}]},
        responses={200: "text/event-stream"},
        tag="Chats",
    ),
    Operation(
        method="DELETE",
        path="/api/chats/{chat_id}",
        scope="write",
        summary="Delete a chat",
        responses={204: None},
        tag="Chats",
    ),
    Operation(
        method="PUT",
        path="/api/n/{n}",
        scope=None,
        summary="Count",
        body=Message,
        responses={200: Chat},
        tag="Numbers",
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
    made = document(OPERATIONS, "1.2.3")
    read: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(made))
    return read


def test_document_describes_itself(told: dict[str, Any]) -> None:
    assert told["openapi"].startswith("3.1.")
    assert told["info"] == {"title": "Mobox", "version": "1.2.3"}
    assert told["tags"] == [{"name": "Chats"}, {"name": "Numbers"}]


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
    assert n == {"name": "n", "in": "path", "required": True, "schema": {"type": "string"}}


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
