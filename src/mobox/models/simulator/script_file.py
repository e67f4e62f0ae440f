"""Reads a script from a YAML or JSON file; an error names the line and the field."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml
from msgspec import Struct

from mobox.errors import InvalidScript
from mobox.models.simulator.script import (
    ENDS,
    Scenario,
    ScenarioLines,
    Script,
    ScriptLines,
    Step,
    StepLine,
    Usage,
    step_of,
)

PLACE: Final = re.compile(r" - at `\$\.?(.*)`$")
UNKNOWN: Final = re.compile(r"Object contains unknown field `(.*?)`")
FIELDS: Final = {
    name: field.type
    for struct in (ScriptLines, ScenarioLines, StepLine)
    for name, field in ((f.name, f) for f in msgspec.structs.fields(struct))
}


def load_script(file: Path) -> Script:
    """The script of a file; raises `InvalidScript`."""
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidScript(str(file), 1, "", f"cannot be read: {error}") from None
    return parse_script(text, str(file))


def parse_script(text: str, name: str = "script") -> Script:
    """The script of a text in YAML, of which JSON is a part; raises `InvalidScript`."""
    return _Document(text, name).script()


class _Document:
    """A YAML document that knows the line of each value."""

    def __init__(self, text: str, name: str) -> None:
        self._text = text
        self._name = name
        self._root: yaml.Node | None = None

    def script(self) -> Script:
        value = self._parsed()
        if not isinstance(value, dict):
            raise self._wrong("", "expected `scenarios:` with a list of turns for each name")
        try:
            lines = msgspec.convert(value, ScriptLines)
        except msgspec.ValidationError as error:
            raise self._explained(str(error), value) from None
        scenarios = {name: self._scenario(name, each) for name, each in lines.scenarios.items()}
        if lines.default is not None and lines.default not in scenarios:
            raise self._wrong("default", f"there is no scenario {lines.default!r}")
        return Script(scenarios, lines.default, lines.pace)

    def _scenario(self, name: str, given: list[list[StepLine]] | ScenarioLines) -> Scenario:
        at = f"scenarios.{name}"
        if isinstance(given, ScenarioLines):
            turns, when, at = given.turns, given.when, f"{at}.turns"
        else:
            turns, when = given, None
        return Scenario(
            [self._turn(lines, f"{at}[{place}]") for place, lines in enumerate(turns)], when
        )

    def _turn(self, lines: list[StepLine], at: str) -> list[Step]:
        if not lines:
            raise self._wrong(at, "a turn has at least one step")
        return list(self._steps(lines, at))

    def _steps(self, lines: list[StepLine], at: str) -> Iterator[Step]:
        ended: str | None = None
        for place, line in enumerate(lines):
            given = line.given()
            if len(given) != 1:
                has = ", ".join(given) or "none"
                raise self._wrong(
                    f"{at}[{place}]", f"a step has one field, this one has {has}; known: {KNOWN}"
                )
            ((name, value),) = given.items()
            if value is False:
                raise self._wrong(
                    f"{at}[{place}].{name}", "expected `true`; leave the step out instead"
                )
            step = step_of(name, value)
            if ended and not isinstance(step, Usage):
                raise self._wrong(f"{at}[{place}]", f"nothing can follow {ended!r}")
            if isinstance(step, ENDS) and getattr(step, "times", None) is None:
                ended = name
            yield step

    def _parsed(self) -> Any:
        loader = yaml.SafeLoader(self._text)
        try:
            self._root = loader.get_single_node()
            return {} if self._root is None else loader.construct_document(self._root)
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 1
            raise InvalidScript(self._name, line, "", f"not YAML: {error.problem}") from None
        except yaml.YAMLError as error:
            raise InvalidScript(self._name, 1, "", f"not YAML: {error}") from None
        finally:
            loader.dispose()

    def _explained(self, problem: str, value: Any) -> InvalidScript:
        """The error of msgspec, with its path (`$.scenarios[...][0][1].tool`) as a line number."""
        at = PLACE.search(problem)
        path = self._named(at[1] if at else "", value)
        unknown = UNKNOWN.search(problem)
        if unknown is None:
            return self._wrong(path, PLACE.sub("", problem))
        known = ", ".join(_fields_at(path))
        path = f"{path}.{unknown[1]}" if path else unknown[1]
        return self._wrong(path, f"unknown field; known: {known}")

    def _named(self, path: str, value: Any) -> str:
        """The path with the name of the scenario, for which msgspec writes `[...]`."""
        if "[...]" not in path:
            return path
        for name, scenario in value["scenarios"].items():
            try:
                msgspec.convert({"scenarios": {name: scenario}}, ScriptLines)
            except msgspec.ValidationError:
                return path.replace("[...]", f".{name}", 1)
        return path

    def _wrong(self, path: str, problem: str) -> InvalidScript:
        return InvalidScript(self._name, self._line_of(path), path, problem)

    def _line_of(self, path: str) -> int:
        node, line = self._root, 1
        for name in re.findall(r"[^.\[\]]+", path):
            found = _inside(node, name)
            if found is None:
                break
            node, line = found
        return line


KNOWN: Final = ", ".join(StepLine.__struct_fields__)


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


def _fields_at(path: str) -> tuple[str, ...]:
    """The fields of the object at a path."""
    last = re.findall(r"[^.\[\]]+", path)[-1:] or [""]
    if last[0].isdigit():
        return StepLine.__struct_fields__
    struct = next(
        (each for each in getattr(FIELDS.get(last[0]), "__args__", ()) if _is_struct(each)), None
    )
    if struct is not None:
        return tuple(struct.__struct_fields__)
    return ScenarioLines.__struct_fields__ if path else ScriptLines.__struct_fields__


def _is_struct(each: Any) -> bool:
    return isinstance(each, type) and issubclass(each, Struct)
