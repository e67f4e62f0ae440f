"""Forms: how the data of one kind of line is converted to a Struct, and what is left over.

A form never loses a value: it is in the Struct, in the rest, or the whole line is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.inspect import LiteralType, StructType, UnionType, type_info

from mobox.events import JSON

__all__ = ["Data", "Form", "Names"]

Data = dict[str, JSON]
Names = Mapping[str, tuple[str, ...]]
"""The names under which lines give a field, the best first."""
Converter = Callable[[JSON], JSON]
"""Converts a value for a field; `None` if the value does not fit."""
Mender = Callable[[Any, Data], Any]

_NO_NAMES: Final[Names] = {}
_IS_ERROR: Final = {True: "error", False: "ok"}


class Form:
    """Which fields to read, from which names, into which Struct."""

    def __init__(
        self,
        into: type[Struct],
        names: Names = _NO_NAMES,
        *,
        groups: frozenset[str] = frozenset(),
        repair: Mender | None = None,
        **defaults: JSON,
    ) -> None:
        """`groups` are objects whose fields are named `group.field`; `repair` gets the data too."""
        self._into = into
        self._groups = groups
        self._repair = repair
        self._defaults = defaults
        self._fields = list(_fields_of(into, names))

    @property
    def names(self) -> Names:
        """The fields that a line may fill, with their names."""
        return {field: names for field, names, _ in self._fields}

    def read(self, data: Data) -> tuple[Any, Data]:
        """The Struct and the rest; raises `msgspec.ValidationError`."""
        rest = {name: value for name, value in self._flat(data) if value is not None}
        fields = dict(self._defaults)
        for field, names, convert in self._fields:
            for name in names:
                value = convert(rest.get(name))
                if value is not None:
                    fields[field] = value
                    del rest[name]
                    break
        parsed = msgspec.convert(fields, self._into, strict=False)
        return (parsed if self._repair is None else self._repair(parsed, data)), rest

    def _flat(self, data: Data) -> Iterator[tuple[str, JSON]]:
        for name, value in data.items():
            if name in self._groups and type(value) is dict:
                yield from ((f"{name}.{inner}", within) for inner, within in value.items())
            else:
                yield name, value


def _fields_of(
    into: type[Struct], names: Names
) -> Iterator[tuple[str, tuple[str, ...], Converter]]:
    """The fields a line may set: `provider` is ours, `id` only where the form lists it."""
    described = type_info(into)
    assert isinstance(described, StructType)
    for field in described.fields:
        if field.name == "provider" or (field.name == "id" and "id" not in names):
            continue
        options = field.type.types if isinstance(field.type, UnionType) else (field.type,)
        words = [word for o in options if isinstance(o, LiteralType) for word in o.values]
        convert = _one_of(words) if words else _CONVERTERS.get(field.name, _as_it_is)
        yield field.name, names.get(field.name, (field.name,)), convert


def _as_it_is(value: JSON) -> JSON:
    return value


def _one_of(words: list[Any]) -> Converter:
    meanings: dict[Any, JSON] = {word: word for word in words}
    if "ok" in words:
        meanings |= _IS_ERROR
    return lambda value: meanings.get(value) if type(value) in (str, bool) else None


def _text(value: JSON) -> JSON:
    return str(value) if type(value) is int else value


def _number(value: JSON) -> JSON:
    # msgspec reads "nan" and "-inf", which have no digits and which no JSON can hold.
    return None if type(value) is str and not value[-1:].isdigit() else value


def _scope(value: JSON) -> JSON:
    # Agents use `scope` for other things too: ours is a list of ids.
    ours = type(value) is list and all(type(name) is str for name in value)
    return value if ours else None


_CONVERTERS: Final[dict[str, Converter]] = {
    "id": _text,
    "code": _text,
    "signal": _text,
    "session_id": _text,
    "scope": _scope,
    "cost_usd": _number,
    "duration_ms": _number,
}
