"""Values made for a JSON Schema are valid for it, as an independent validator finds."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobox.models.simulator.schema import About, value_for

SCHEMAS: list[dict[str, Any]] = [
    {"type": "string", "minLength": 60},
    {"type": "string", "maxLength": 3},
    {"type": "string", "pattern": "^[A-Z]{2}[0-9]{2}$"},
    {"type": "string", "format": "uuid"},
    {"type": "integer", "minimum": 5, "maximum": 7, "multipleOf": 3},
    {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.1},
    {"type": "integer", "maximum": -4},
    {"type": "array", "items": {"type": "integer"}, "minItems": 4, "uniqueItems": True},
    {"type": "array", "items": {"enum": ["a", "b", "c"]}, "minItems": 3, "uniqueItems": True},
    {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": False},
    {"anyOf": [{"type": "null"}, {"type": "object", "required": ["a"]}]},
    {"allOf": [{"required": ["a"]}, {"properties": {"a": {"const": 3}}, "type": "object"}]},
    {"type": ["null", "boolean"]},
    {"const": {"a": 1}},
    {
        "$defs": {"node": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "next": {"$ref": "#/$defs/node"}},
            "required": ["name"],
        }},
        "$ref": "#/$defs/node",
    },
]  # fmt: skip


@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize("schema", SCHEMAS)
def test_value_is_valid(schema: dict[str, Any], complete: bool) -> None:
    value = value_for(schema, About("How do bees fly?", "bees", complete))
    jsonschema_rs.validate(schema, value)


SIMPLE = st.one_of(
    st.builds(
        lambda low, size: {"type": "string", "minLength": low, "maxLength": low + size},
        st.integers(0, 50),
        st.integers(0, 50),
    ),
    st.builds(
        lambda low, size: {"type": "integer", "minimum": low, "maximum": low + size},
        st.integers(-50, 50),
        st.integers(0, 50),
    ),
    st.sampled_from([{"type": "boolean"}, {"type": "null"}, {"enum": [1, "a", None]}]),
)


def deeper(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    names = st.dictionaries(st.sampled_from(["query", "path", "x", "email", "content"]), inner)
    objects = names.flatmap(
        lambda found: st.builds(
            lambda required: {"type": "object", "properties": found, "required": required,
                              "additionalProperties": False},
            st.lists(st.sampled_from(sorted(found)), unique=True) if found else st.just([]),
        )
    )  # fmt: skip
    arrays = st.builds(
        lambda items, low, size: {
            "type": "array", "items": items, "minItems": low, "maxItems": low + size,
        },
        inner,
        st.integers(0, 3),
        st.integers(0, 3),
    )  # fmt: skip
    return st.one_of(objects, arrays, st.builds(lambda each: {"anyOf": [each]}, inner))


@given(st.recursive(SIMPLE, deeper, max_leaves=8), st.booleans())
def test_any_value_is_valid(schema: dict[str, Any], complete: bool) -> None:
    jsonschema_rs.validate(schema, value_for(schema, About("How do bees fly?", "bees", complete)))


def test_names_of_properties_say_what_is_meant() -> None:
    names = ("query", "file_path", "email", "city", "url", "command")
    schema = {"properties": {name: {"type": "string"} for name in names}, "required": list(names)}
    value = value_for(schema, About("What is the weather in Porto?", "weather in Porto"))
    assert value["query"] == "weather in Porto"
    assert (value["city"], value["file_path"]) == ("Porto", "/report.md")
    assert value["email"] == "someone@example.org"


def test_schemas_of_gemini_have_types_in_capitals() -> None:
    schema = {"type": "OBJECT", "properties": {"n": {"type": "INTEGER"}}, "required": ["n"]}
    assert value_for(schema, About("", "")) == {"n": 1}
