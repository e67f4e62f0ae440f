"""A YAML file of a person, read into a struct; an error names the line and the field."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import UnionType
from typing import Any, Final, Generic, TypeVar, Union, get_args, get_origin

import msgspec
import yaml
from msgspec import Struct

from mobox.errors import MoboxError
from mobox.events import JSON

T = TypeVar("T", bound=Struct)
Wrong = Callable[[Path, int, str, str], MoboxError]
"""Makes the error for a file, a line that counts from 1, a field or "", and the problem."""

_PLACE: Final = re.compile(r" - at (?:`key` in )?`\$\.?(.*)`$")
_UNKNOWN: Final = re.compile(r"Object contains unknown field `(.*?)`")
_ANY_KEY: Final = "[...]"
"""What msgspec writes for a key of a mapping."""


class YamlFile(Generic[T]):
    """A file of one shape; its errors are made by `error`."""

    def __init__(self, file: Path, shape: type[T], error: Wrong) -> None:
        self.file = file
        self._shape = shape
        self._error = error
        self._root: yaml.Node | None = None

    def read(self, prepare: Callable[[dict[str, JSON]], JSON] = dict) -> T:
        """The fields, converted after `prepare`."""
        try:
            text = self.file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise self.wrong("", f"cannot be read: {error}") from None
        return self.parse(text, prepare)

    def parse(self, text: str, prepare: Callable[[dict[str, JSON]], JSON] = dict) -> T:
        """The same of a text in place of the file's."""
        value = self._parsed(text)
        if not isinstance(value, dict):
            first = self._shape.__struct_fields__[0]
            raise self.wrong("", f"expected fields such as `{first}: …`")
        prepared = prepare(value)
        try:
            return msgspec.convert(prepared, self._shape)
        except msgspec.ValidationError as error:
            raise self._explained(str(error), prepared) from None

    def wrong(self, field: str, problem: str) -> MoboxError:
        """The error to raise for the value of `field`, such as `timeouts.idle` or `env[0]`."""
        return self._error(self.file, self._line_of(field), field, problem)

    def _parsed(self, text: str) -> JSON:
        loader = yaml.SafeLoader(text)
        try:
            self._root = loader.get_single_node()
            return {} if self._root is None else loader.construct_document(self._root)
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 1
            raise self._error(self.file, line, "", f"not YAML: {error.problem}") from None
        except yaml.YAMLError as error:
            raise self.wrong("", f"cannot be read: {error}") from None
        finally:
            loader.dispose()

    def _explained(self, problem: str, value: Any) -> MoboxError:
        """The error of msgspec, with its path (`$.timeouts.idle`, `$.env[0]`) as a line number."""
        at = _PLACE.search(problem)
        path = self._with_keys(at[1] if at else "", value)
        unknown = _UNKNOWN.search(problem)
        if unknown is None:
            return self.wrong(path, _PLACE.sub("", problem))
        known = ", ".join(_fields_at(self._shape, path))
        path = f"{path}.{unknown[1]}" if path else unknown[1]
        return self.wrong(path, f"unknown field; known: {known}")

    def _with_keys(self, path: str, value: Any) -> str:
        """The path with the key whose value is wrong, if it is in a mapping of the whole file."""
        name, is_mapping, rest = path.partition(_ANY_KEY)
        if is_mapping and name in value:
            for key, item in value[name].items():
                try:
                    msgspec.convert({**value, name: {key: item}}, self._shape)
                except msgspec.ValidationError:
                    return f"{name}.{key}{rest}"
        return path

    def _line_of(self, path: str) -> int:
        node, line = self._root, 1
        for name in _names(path):
            found = _inside(node, name)
            if found is None:
                break
            node, line = found
        return line


def _names(path: str) -> list[str]:
    return re.findall(r"[^.\[\]]+", path)


def _inside(node: yaml.Node | None, name: str) -> tuple[yaml.Node, int] | None:
    """The value of `name` in a node, and its line."""
    if isinstance(node, yaml.SequenceNode) and name.isdigit() and int(name) < len(node.value):
        item = node.value[int(name)]
        return item, item.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == name:
                return value, key.start_mark.line + 1
    return None


def _fields_at(shape: type[Struct], path: str) -> tuple[str, ...]:
    """The fields of the struct at a path of another."""
    declared: list[Any] = [shape]
    for name in _names(path):
        declared = [inner for each in declared for inner in _declared_inside(each, name)]
    return next((each.__struct_fields__ for each in declared if _is_struct(each)), ())


def _declared_inside(declared: Any, name: str) -> Iterator[Any]:
    """The types that the value of `name` may have: of a field, an item or a key."""
    if _is_struct(declared):
        types = {each.name: each.type for each in msgspec.structs.fields(declared)}
        yield from _members(types.get(name))
    elif get_origin(declared) in (list, dict):
        yield from _members(get_args(declared)[-1])


def _members(declared: Any) -> tuple[Any, ...]:
    return get_args(declared) if get_origin(declared) in (Union, UnionType) else (declared,)


def _is_struct(declared: Any) -> bool:
    return isinstance(declared, type) and issubclass(declared, Struct)
