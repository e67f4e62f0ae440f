"""Schemas in the notation of TypeScript, as HTML, and values that satisfy them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape
from typing import Any, Final

import msgspec

Schema = Mapping[str, Any]
Schemas = Mapping[str, Schema]

_NUMBERS: Final = {"integer": 0, "number": 0.5}
_PLAIN: Final[Mapping[str, Any]] = {"string": "…", "boolean": True, "null": None, **_NUMBERS}
_DEPTH: Final = 4  # types may hold themselves


def name_of(schema: Schema) -> str:
    """The name of the component that a reference means."""
    return str(schema["$ref"]).rpartition("/")[2]


def notation_of(schema: Schema) -> str:
    """A type in a line; components are links to `#type-<name>`."""
    for key, write in _WRITERS.items():
        if key in schema:
            return write(schema)
    return "any"


def _reference(schema: Schema) -> str:
    name = escape(name_of(schema))
    return f'<a href="#type-{name}">{name}</a>'


def _union(schema: Schema) -> str:
    choices = schema.get("anyOf") or schema["oneOf"]
    return " | ".join(notation_of(choice) for choice in choices)


def _literal(schema: Schema) -> str:
    values = schema["enum"] if "enum" in schema else [schema["const"]]
    return " | ".join(escape(msgspec.json.encode(value).decode()) for value in values)


def _typed(schema: Schema) -> str:
    kind = schema["type"]
    if isinstance(kind, list):
        return " | ".join(notation_of({**schema, "type": each}) for each in kind)
    if kind == "array":
        return _array(schema)
    if kind == "object":
        return _object(schema)
    return "int" if kind == "integer" else escape(kind)


def _array(schema: Schema) -> str:
    if "prefixItems" in schema:
        return f"[{', '.join(map(notation_of, schema['prefixItems']))}]"
    item = notation_of(schema.get("items") or {})
    return f"({item})[]" if " | " in item else f"{item}[]"


def _object(schema: Schema) -> str:
    value = schema.get("additionalProperties", True)
    return f"{{ [key]: {notation_of(value if isinstance(value, Mapping) else {})} }}"


_WRITERS: Final[Mapping[str, Callable[[Schema], str]]] = {
    "$ref": _reference,
    "anyOf": _union,
    "oneOf": _union,
    "enum": _literal,
    "const": _literal,
    "type": _typed,
}


def example_of(schema: Schema, schemas: Schemas, depth: int = _DEPTH) -> Any:
    """A small value of that type: only what is required."""
    if depth < 0:
        return {}
    if "$ref" in schema:
        return example_of(schemas[name_of(schema)], schemas, depth - 1)
    if "anyOf" in schema:
        choices = schema["anyOf"]
        return None if {"type": "null"} in choices else example_of(choices[0], schemas, depth)
    if "const" in schema or "enum" in schema:
        return schema["enum"][0] if "enum" in schema else schema["const"]
    if schema.get("type") == "object":
        return _example_object(schema, schemas, depth)
    if schema.get("type") == "array":
        return _example_array(schema, schemas, depth)
    return _PLAIN.get(schema.get("type", ""), {})


def _example_object(schema: Schema, schemas: Schemas, depth: int) -> dict[str, Any]:
    fields = schema.get("properties", {})
    return {name: example_of(fields[name], schemas, depth) for name in schema.get("required", ())}


def _example_array(schema: Schema, schemas: Schemas, depth: int) -> list[Any]:
    if "prefixItems" in schema:
        return [example_of(item, schemas, depth) for item in schema["prefixItems"]]
    items = schema.get("items")
    return [example_of(items, schemas, depth - 1)] if items and depth > 1 else []
