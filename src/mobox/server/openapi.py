"""The HTTP API as an OpenAPI 3.1 document, generated from the table of routes.

https://spec.openapis.org/oas/v3.1.1.html

Schemas are msgspec's schemas of the types; path parameters need no declaration; every operation may
also respond with an `Error`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final, Literal

import msgspec

_REF: Final = "#/components/schemas/{name}"
_PLACEHOLDER: Final = re.compile(r"\{(\w+)\}")
_NOT_WORD: Final = re.compile(r"\W+")
_KEY: Final = "key"
SHARED: Final = "shared"
"""The scope of routes that are for the readers of a link, who have no key."""
_KEY_SCHEME: Final = {
    "type": "http",
    "scheme": "bearer",
    "description": "Create keys with `mobox keys add`. Not required with `--auth none`.",
}


class ErrorBody(msgspec.Struct, frozen=True):
    """The error. Some codes have further fields: `field`, `runId`, `tail`, `known`."""

    code: str
    message: str


class Error(msgspec.Struct, frozen=True):
    """The body of every response with a status of 400 or more."""

    error: ErrorBody


class Parameter(msgspec.Struct, frozen=True):
    """An optional parameter in the query or in a header."""

    name: str
    description: str = ""
    type: Any = str
    place: Literal["query", "header"] = "query"


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """A method of a path: its parameters, body and responses.

    `responses` has a type for JSON, the name of a media type for anything else, None for no body,
    and a tuple where there are several. `example` is an example body.
    """

    method: str
    path: str
    scope: str | None
    """The scope that a key needs; `None` for a public route."""
    summary: str
    description: str = ""
    parameters: tuple[Parameter, ...] = ()
    body: Any = None
    forms: Mapping[str, Any] = {}
    """The schemas of a body that is not JSON, by media type."""
    limit: Literal["max_body", "max_chat_body", "max_file"] = "max_body"
    """The setting with the maximum size of its body."""
    example: Any = None
    responses: Mapping[int, Any]
    tag: str
    has_plain_errors: bool = False
    """Whether its errors are plain text for clients that do not ask for JSON."""


def document(operations: Sequence[Operation], version: str) -> dict[str, Any]:
    """The whole document, to be written as JSON."""
    types = [Error, str, *_types(operations)]
    found, components = msgspec.json.schema_components(types, ref_template=_REF)
    schemas = {id(kind): schema for kind, schema in zip(types, found, strict=True)}
    paths: dict[str, Any] = {}
    for each in operations:
        paths.setdefault(each.path, {})[each.method.lower()] = _operation(each, schemas)
    return {
        "openapi": "3.1.1",
        "info": {"title": "Mobox", "version": version},
        "tags": [{"name": tag} for tag in dict.fromkeys(each.tag for each in operations)],
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": {_KEY: _KEY_SCHEME}},
    }


def _types(operations: Iterable[Operation]) -> Iterator[Any]:
    for each in operations:
        yield from (parameter.type for parameter in each.parameters)
        found = (kind for kinds in each.responses.values() for kind in kinds_of(kinds))
        yield from filter(_is_json, found)
        if each.body is not None:
            yield each.body


def kinds_of(kind: Any) -> tuple[Any, ...]:
    """The kinds of a response: several, or one."""
    return kind if isinstance(kind, tuple) else (kind,)


def _is_json(kind: Any) -> bool:
    return kind is not None and not isinstance(kind, str)


def _operation(operation: Operation, schemas: Mapping[int, Any]) -> dict[str, Any]:
    words = _PLACEHOLDER.sub(r"\1", f"{operation.method.lower()}{operation.path}")
    in_path = [
        {"name": name, "in": "path", "required": True, "schema": schemas[id(str)]}
        for name in _PLACEHOLDER.findall(operation.path)
    ]
    fields: dict[str, Any] = {
        "operationId": _NOT_WORD.sub("_", words).strip("_"),
        "summary": operation.summary,
        "description": operation.description,
        "tags": [operation.tag],
        "parameters": [*in_path, *(_parameter(each, schemas) for each in operation.parameters)],
    }
    written = {name: value for name, value in fields.items() if value}
    is_open = operation.scope in (None, SHARED)  # the link's secret is a parameter
    written["security"] = [] if is_open else [{_KEY: [operation.scope]}]
    if operation.body is not None:
        content: dict[str, Any] = {"schema": schemas[id(operation.body)]}
        if operation.example is not None:
            content["example"] = operation.example
        written["requestBody"] = {"required": True, "content": {"application/json": content}}
    elif operation.forms:
        contents = {name: {"schema": schema} for name, schema in operation.forms.items()}
        written["requestBody"] = {"required": True, "content": contents}
    responses = {
        str(status): _response(status, kind, schemas)
        for status, kind in operation.responses.items()
    }
    plain = {"text/plain": {"schema": {"type": "string"}}} if operation.has_plain_errors else {}
    refused = {"description": "Refused", "content": {**_json(schemas[id(Error)]), **plain}}
    written["responses"] = {**responses, "default": refused}
    return written


def _parameter(parameter: Parameter, schemas: Mapping[int, Any]) -> dict[str, Any]:
    fields = {
        "name": parameter.name,
        "in": parameter.place,
        "description": parameter.description,
        "schema": schemas[id(parameter.type)],
    }
    return {name: value for name, value in fields.items() if value}


def _response(status: int, kind: Any, schemas: Mapping[int, Any]) -> dict[str, Any]:
    response: dict[str, Any] = {"description": HTTPStatus(status).phrase}
    kinds = kinds_of(kind)
    content = {each: {"schema": {"type": "string"}} for each in kinds if isinstance(each, str)}
    if found := [schemas[id(each)] for each in kinds if _is_json(each)]:
        content |= _json(found[0] if len(found) == 1 else {"anyOf": found})
    return {**response, "content": content} if content else response


def _json(schema: Any) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
