"""The HTTP API as an OpenAPI 3.1 document, generated from a table of routes.

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
_PLACEHOLDER: Final = re.compile(r"\{(\w+)(?::(\w+))?\}")
_CONVERTED: Final[Mapping[str | None, type]] = {"int": int, "float": float}
_NOT_WORD: Final = re.compile(r"\W+")
_KEY: Final = "key"
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


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """A parameter outside of the body."""

    name: str
    description: str = ""
    type: Any = str
    required: bool = False
    place: Literal["query", "header", "path"] = "query"


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """One operation: its parameters, body and responses.

    `responses` has a type for JSON, the name of a media type for anything else, and None for no
    body. `path` may have Starlette's converters. `example` is an example body.
    """

    method: str
    path: str
    summary: str
    description: str = ""
    parameters: tuple[Parameter, ...] = ()
    body: Any = None
    example: Any = None
    responses: Mapping[int, Any] = msgspec.field(default_factory=dict)
    tags: tuple[str, ...] = ()
    scope: str | None
    """The scope that a key needs; `None` for a public route."""


def document(routes: Sequence[Route], version: str) -> dict[str, Any]:
    """The whole document, to be written as JSON."""
    types = [Error, *_types(routes)]
    found, components = msgspec.json.schema_components(types, ref_template=_REF)
    schemas = {id(kind): schema for kind, schema in zip(types, found, strict=True)}
    paths: dict[str, Any] = {}
    for route in routes:
        path = _PLACEHOLDER.sub(r"{\1}", route.path)
        paths.setdefault(path, {})[route.method.lower()] = _operation(route, schemas)
    tags = dict.fromkeys(tag for route in routes for tag in route.tags)
    return {
        "openapi": "3.1.1",
        "info": {"title": "Mobox", "version": version},
        "tags": [{"name": tag} for tag in tags],
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": {_KEY: _KEY_SCHEME}},
    }


def _types(routes: Iterable[Route]) -> Iterator[Any]:
    for route in routes:
        yield from (parameter.type for parameter in _parameters(route))
        yield from (kind for kind in route.responses.values() if _is_json(kind))
        if route.body is not None:
            yield route.body


def _is_json(kind: Any) -> bool:
    return kind is not None and not isinstance(kind, str)


def _parameters(route: Route) -> list[Parameter]:
    """Undeclared path parameters, then the declared parameters."""
    declared = {parameter.name for parameter in route.parameters if parameter.place == "path"}
    own = [
        Parameter(name=name, type=_CONVERTED.get(converter, str), required=True, place="path")
        for name, converter in _PLACEHOLDER.findall(route.path)
        if name not in declared
    ]
    return [*own, *route.parameters]


def _operation(route: Route, schemas: Mapping[int, Any]) -> dict[str, Any]:
    words = _PLACEHOLDER.sub(r"\1", f"{route.method.lower()}{route.path}")
    fields: dict[str, Any] = {
        "operationId": _NOT_WORD.sub("_", words).strip("_"),
        "summary": route.summary,
        "description": route.description,
        "tags": list(route.tags),
        "parameters": [_parameter(each, schemas) for each in _parameters(route)],
    }
    operation = {name: value for name, value in fields.items() if value}
    operation["security"] = [] if route.scope is None else [{_KEY: [route.scope]}]
    if route.body is not None:
        content: dict[str, Any] = {"schema": schemas[id(route.body)]}
        if route.example is not None:
            content["example"] = route.example
        operation["requestBody"] = {"required": True, "content": {"application/json": content}}
    operation["responses"] = {
        **{
            str(status): _response(status, kind, schemas)
            for status, kind in route.responses.items()
        },
        "default": {"description": "Refused", "content": _json(schemas[id(Error)])},
    }
    return operation


def _parameter(parameter: Parameter, schemas: Mapping[int, Any]) -> dict[str, Any]:
    fields = {
        "name": parameter.name,
        "in": parameter.place,
        "description": parameter.description,
        "required": parameter.required or parameter.place == "path",
    }
    set_fields = {name: value for name, value in fields.items() if value}
    return {**set_fields, "schema": schemas[id(parameter.type)]}


def _response(status: int, kind: Any, schemas: Mapping[int, Any]) -> dict[str, Any]:
    response: dict[str, Any] = {"description": HTTPStatus(status).phrase}
    if isinstance(kind, str):
        response["content"] = {kind: {"schema": {"type": "string"}}}
    elif kind is not None:
        response["content"] = _json(schemas[id(kind)])
    return response


def _json(schema: Any) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
