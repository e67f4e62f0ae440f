"""The HTTP interface as an OpenAPI 3.1 document, made from a table of routes.

https://spec.openapis.org/oas/v3.1.1.html

Schemas are those that msgspec has of the types; a path's own parameters need no declaration; every
operation may also answer with an `Error`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final, Literal

import msgspec

__all__ = ["Error", "ErrorBody", "Parameter", "Route", "document"]

_REF: Final = "#/components/schemas/{name}"
_PLACEHOLDER: Final = re.compile(r"\{(\w+)(?::(\w+))?\}")
_CONVERTED: Final[Mapping[str | None, type]] = {"int": int, "float": float}
_NOT_WORD: Final = re.compile(r"\W+")
_KEY: Final = "key"
_KEY_SCHEME: Final = {
    "type": "http",
    "scheme": "bearer",
    "description": "`mobox keys add` makes keys. A server that asks for none takes any request.",
}


class ErrorBody(msgspec.Struct, frozen=True):
    """What is wrong. Some codes say more beside: `field`, `runId`, `tail`, `known`."""

    code: str
    message: str


class Error(msgspec.Struct, frozen=True):
    """Every answer with a status of 400 or more."""

    error: ErrorBody


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is told outside of the body."""

    name: str
    description: str = ""
    type: Any = str
    required: bool = False
    place: Literal["query", "header", "path"] = "query"


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """One operation: what it takes and gives.

    `responses` has a type for what is JSON, the name of a media type for what is not, and None for
    what has no body. `path` may have Starlette's converters. `example` is a body to show.
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
    """What a key must be for; `None` where anybody may ask."""


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
    """Those that are declared, after those of the path that are not."""
    declared = {parameter.name for parameter in route.parameters if parameter.place == "path"}
    own = [
        Parameter(name=name, type=_CONVERTED.get(converter, str), required=True, place="path")
        for name, converter in _PLACEHOLDER.findall(route.path)
        if name not in declared
    ]
    return [*own, *route.parameters]


def _operation(route: Route, schemas: Mapping[int, Any]) -> dict[str, Any]:
    words = _PLACEHOLDER.sub(r"\1", f"{route.method.lower()}{route.path}")
    told: dict[str, Any] = {
        "operationId": _NOT_WORD.sub("_", words).strip("_"),
        "summary": route.summary,
        "description": route.description,
        "tags": list(route.tags),
        "parameters": [_parameter(each, schemas) for each in _parameters(route)],
    }
    operation = {name: value for name, value in told.items() if value}
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
    told = {
        "name": parameter.name,
        "in": parameter.place,
        "description": parameter.description,
        "required": parameter.required or parameter.place == "path",
    }
    kept = {name: value for name, value in told.items() if value}
    return {**kept, "schema": schemas[id(parameter.type)]}


def _response(status: int, kind: Any, schemas: Mapping[int, Any]) -> dict[str, Any]:
    response: dict[str, Any] = {"description": HTTPStatus(status).phrase}
    if isinstance(kind, str):
        response["content"] = {kind: {"schema": {"type": "string"}}}
    elif kind is not None:
        response["content"] = _json(schemas[id(kind)])
    return response


def _json(schema: Any) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
