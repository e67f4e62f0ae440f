"""Reads parts of JSON values whose types are not guaranteed."""

from __future__ import annotations

import msgspec

from mobox.events import JSON

__all__ = ["file_data", "is_link", "object_of", "objects_in", "text_in", "words_of"]

Object = dict[str, JSON]


def object_of(value: JSON) -> Object:
    """`value` if it is an object; else an empty one."""
    return value if isinstance(value, dict) else {}


def objects_in(value: JSON) -> list[Object]:
    """The objects of a list; none if it is no list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def text_in(value: Object, *names: str) -> str | None:
    """The first of these members that is text and not empty."""
    words = (value.get(name) for name in names)
    return next((word for word in words if isinstance(word, str) and word), None)


def words_of(value: JSON) -> str:
    """A value as text: a string as it is, any other value as JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def is_link(address: str) -> bool:
    """Whether this is a URL, and not the name of a document."""
    return address.startswith(("http://", "https://"))


def file_data(url: str) -> tuple[str, str] | None:
    """The media type, which may be empty, and the base64 of a data URL; `None` for any other."""
    head, found, data = url.partition(";base64,")
    is_data = found and head.startswith("data:")
    return (head.removeprefix("data:").partition(";")[0], data) if is_data else None
