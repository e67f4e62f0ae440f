"""Reads a script from a YAML or JSON file; an error names the line and the field."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from mobox.capture.yaml_file import YamlFile
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


def load_script(file: Path) -> Script:
    """The script of a file; raises `InvalidScript`."""
    page = YamlFile(file, ScriptLines, InvalidScript)
    return _Scenarios(page).script(page.read())


def parse_script(text: str, name: str = "script") -> Script:
    """The script of a text in YAML, of which JSON is a part; raises `InvalidScript`."""
    page = YamlFile(Path(name), ScriptLines, InvalidScript)
    return _Scenarios(page).script(page.parse(text))


class _Scenarios:
    """Checks what the types of the lines do not say."""

    def __init__(self, page: YamlFile[ScriptLines]) -> None:
        self._wrong = page.wrong

    def script(self, lines: ScriptLines) -> Script:
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


KNOWN: Final = ", ".join(StepLine.__struct_fields__)
