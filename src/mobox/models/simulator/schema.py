"""Values that are valid for a JSON Schema: inputs of tools, and structured output.

The names of properties say what a text is about: `query` gets the topic, `path` a path. Gemini's
schemas have their types in capitals and `nullable`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import Struct

DEEPEST: Final = 6
"""Beyond this depth only what is required is there, so that recursive schemas end."""

Schema = dict[str, Any]


class About(Struct, frozen=True):
    """What the values are about."""

    prompt: str
    topic: str
    """The prompt in a few words."""
    complete: bool = False
    """Optional properties are there too."""
    texts: Mapping[str, str] = {}
    """Texts for properties of certain names."""
    number: str = "1"
    """An id: of an order, a ticket and the like."""


FORMATS: Final = {
    "date-time": "2026-01-15T09:00:00Z",
    "date": "2026-01-15",
    "time": "09:00:00Z",
    "duration": "PT1H",
    "email": "someone@example.org",
    "hostname": "example.org",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uuid": "123e4567-e89b-42d3-a456-426614174000",
    "uri": "https://example.org/",
    "url": "https://example.org/",
}
NUMBER: Final = r"(^|_)(id|no|number)$"
TEXTS: Final[tuple[tuple[re.Pattern[str], str], ...]] = tuple(
    (re.compile(pattern, re.IGNORECASE), text)
    for pattern, text in (
        (r"e?mail|recipient|^to$|^cc$", "someone@example.org"),
        (r"url|uri|link|href", "https://example.org/"),
        (r"(file|dir|folder).*|.*path$|^path", "/report.md"),
        (r"command|^cmd|shell", "echo 'Hello from a simulated model'"),
        (r"^code$|script|python", "print('Hello from a simulated model')"),
        (r"city|location|place|town|destination", "{place}"),
        (r"country", "Portugal"),
        (r"lang", "en"),
        (r"currency", "EUR"),
        (r"time_?zone|^tz$", "UTC"),
        (r"date|^day$|^when$", "2026-01-15"),
        (r"query|search|keyword|^q$|topic|subject|title|name|term|pattern", "{topic}"),
        (r"prompt|task|instruction|description|question|request|goal|reason", "{prompt}"),
        (r"content|body|text|message|thought|summary|answer|note|output|report", "{text}"),
        (NUMBER, "{number}"),
    )
)
PLACE: Final = re.compile(r"\b(?:in|at|to|for|of|from|near)\s+([A-Z]\w+(?:\s[A-Z]\w+)*)")
GUESSES: Final = ("abc", "ABC", "a", "1", "12", "123", "2026-01-15", "AB12", "a@b.co", "#aabbcc")
"""Texts to try where a pattern is given."""


def value_for(schema: Schema, about: About) -> Any:
    """A value that the schema allows."""
    return _Maker(schema, about).value(schema, "", 0)


def place_in(prompt: str) -> str:
    """A place that a prompt names."""
    found = PLACE.search(prompt)
    return found[1] if found else "Lisbon"


class _Maker:
    def __init__(self, root: Schema, about: About) -> None:
        self._root = root
        self._about = about

    def value(self, schema: Any, name: str, depth: int) -> Any:
        """A value for a schema, which is that of the property `name`."""
        schema = self._resolved(schema)
        for fixed in ("const", "default", "example"):
            if fixed in schema and (fixed == "const" or schema[fixed] is not None):
                return schema[fixed]
        if schema.get("enum"):
            return _named(schema["enum"], self._about.prompt)
        if schema.get("examples"):
            return schema["examples"][0]
        kind = _kind(schema)
        makers: dict[str, Callable[[Schema, str, int], Any]] = {
            "object": self._object,
            "array": self._array,
            "integer": self._number,
            "number": self._number,
            "boolean": lambda *_: True,
            "null": lambda *_: None,
        }
        return makers.get(kind, self._string)(schema, name, depth)

    def _resolved(self, schema: Any) -> Schema:
        """The schema without references, and with one of its alternatives."""
        for _ in range(20):
            if not isinstance(schema, dict):
                return {}
            if "$ref" in schema:
                schema = {**self._at(str(schema["$ref"])), **_without(schema, "$ref")}
            elif schema.get("allOf"):
                schema = _merged([_without(schema, "allOf"), *map(self._resolved, schema["allOf"])])
            elif options := schema.get("anyOf") or schema.get("oneOf"):
                rest = _without(_without(schema, "anyOf"), "oneOf")
                schema = _merged([rest, self._first(options)])
            else:
                return schema
        return {}

    def _first(self, options: list[Any]) -> Schema:
        """The first alternative that is not null."""
        resolved = [self._resolved(option) for option in options]
        return next((each for each in resolved if _kind(each) != "null"), {})

    def _at(self, ref: str) -> Schema:
        found: Any = self._root
        for name in ref.removeprefix("#").strip("/").split("/"):
            name = name.replace("~1", "/").replace("~0", "~")
            found = found.get(name, {}) if isinstance(found, dict) else {}
        return found if isinstance(found, dict) else {}

    def _object(self, schema: Schema, _name: str, depth: int) -> dict[str, Any]:
        properties = schema.get("properties") or {}
        required = [name for name in schema.get("required") or () if isinstance(name, str)]
        chosen = list(required)
        if depth < DEEPEST and (self._about.complete or not required):
            more = list(properties) if self._about.complete else list(properties)[:1]
            chosen += [name for name in more if name not in required]
        return {name: self.value(properties.get(name, {}), name, depth + 1) for name in chosen}

    def _array(self, schema: Schema, name: str, depth: int) -> list[Any]:
        given = [self.value(each, name, depth + 1) for each in schema.get("prefixItems") or ()]
        least = int(schema.get("minItems", 0))
        wanted = max(least, min(int(schema.get("maxItems", 2)), 2) if depth < DEEPEST else 0)
        items = schema.get("items")
        if items is False:
            return given
        while len(given) < wanted:
            item = self.value(items or {}, name, depth + 1)
            if schema.get("uniqueItems") and item in given:
                item = _another(self._resolved(items), item, given)
                if item in given:
                    break
            given.append(item)
        return given

    def _number(self, schema: Schema, name: str, _depth: int) -> float | int:
        whole = _kind(schema) == "integer"
        low, high = _limits(schema, 1 if whole else 0.5)
        value = min(max(self._given_number(name), low), high)
        if low > high:  # a gap smaller than ours, between two excluded numbers
            value = (schema["exclusiveMinimum"] + schema["exclusiveMaximum"]) / 2
        if step := schema.get("multipleOf"):
            value = math.ceil(value / step) * step
            value = value if value <= high else math.floor(high / step) * step
        return math.ceil(value) if whole else value

    def _given_number(self, name: str) -> float | int:
        """The number that the prompt has for a property; 1 if there is none."""
        if re.fullmatch(r"\d{1,12}(\.\d{1,6})?", self._about.texts.get(name, "")):
            return float(self._about.texts[name])
        is_id = re.search(NUMBER, name) and self._about.number.isdecimal()
        return int(self._about.number) if is_id else 1

    def _string(self, schema: Schema, name: str, _depth: int) -> str:
        pattern = schema.get("pattern")
        if pattern:
            return _matching(str(pattern), [self._text(name), *GUESSES])
        usual = None if name in self._about.texts else FORMATS.get(str(schema.get("format")))
        given = usual or self._text(name)
        most = schema.get("maxLength")
        return given.ljust(int(schema.get("minLength", 0)), ".")[
            : None if most is None else int(most)
        ]

    def _text(self, name: str) -> str:
        if name in self._about.texts:
            return self._about.texts[name]
        text = next((text for pattern, text in TEXTS if pattern.search(name)), "{topic}")
        topic, prompt = self._about.topic, self._about.prompt
        known = {"topic": topic, "prompt": prompt, "place": place_in(prompt)}
        known |= {"text": f"A note on {topic}.", "number": self._about.number}
        for each, value in known.items():
            if text == f"{{{each}}}":
                return value
        return text


def _named(options: list[Any], prompt: str) -> Any:
    """The first option that the prompt names, such as `store` in "by store"; else the first."""
    for option in options:
        words = str(option).replace("_", " ")
        if len(words) > 2 and re.search(rf"\b{re.escape(words)}", prompt, re.IGNORECASE):
            return option
    return options[0]


def _kind(schema: Schema) -> str:
    kinds = schema.get("type")
    if isinstance(kinds, list):
        kinds = next((kind for kind in kinds if kind != "null"), "null")
    if isinstance(kinds, str):
        return kinds.lower()
    if "properties" in schema or "required" in schema:
        return "object"
    return "array" if "items" in schema or "prefixItems" in schema else "string"


def _limits(schema: Schema, gap: float) -> tuple[float, float]:
    """The least and the greatest number; `gap` is kept from a number that is excluded."""
    gap = schema.get("multipleOf") or gap
    lows = [schema.get("minimum"), _plus(schema.get("exclusiveMinimum"), gap)]
    highs = [schema.get("maximum"), _plus(schema.get("exclusiveMaximum"), -gap)]
    low = max((each for each in lows if each is not None), default=-math.inf)
    return low, min((each for each in highs if each is not None), default=math.inf)


def _plus(value: Any, gap: float) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value + gap if is_number else None


def _merged(schemas: list[Schema]) -> Schema:
    """All of them in one: properties and required ones are joined."""
    merged: Schema = {}
    for each in schemas:
        joined = {
            "properties": {**merged.get("properties", {}), **each.get("properties", {})},
            "required": [*merged.get("required", []), *each.get("required", [])],
        }
        merged = {**merged, **each, **{name: value for name, value in joined.items() if value}}
    return merged


def _another(schema: Schema, item: Any, given: list[Any]) -> Any:
    """A value beside those that are there already."""
    for option in schema.get("enum") or ():
        if option not in given:
            return option
    if isinstance(item, str) and "enum" not in schema:
        return f"{item} {len(given) + 1}"
    is_number = isinstance(item, int | float) and not isinstance(item, bool)
    return item + len(given) if is_number else item


def _matching(pattern: str, guesses: list[str]) -> str:
    try:
        return next((each for each in guesses if re.search(pattern, each)), guesses[0])
    except re.error:
        return guesses[0]


def _without(schema: Schema, name: str) -> Schema:
    return {key: value for key, value in schema.items() if key != name}
