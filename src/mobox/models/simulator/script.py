"""The script language: what a simulated model answers, the same for every wire format.

Rule 1: a scenario is a list of turns, a turn a list of steps: one turn for each assistant message.
Rule 2: a scenario is chosen by a marker in the first user message (`[[name]]`), else by its `when`,
        a text in that message, else by the script's `default`. The turn is the number of assistant
        messages in the request. So no state is kept between requests.
Rule 3: a turn ends at its first fault (`fail`, `cut`, `stall`), refusal or `max_tokens`: no step
        may follow it.

docs/sim.md describes each step in each wire format.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal, TypeAlias

from msgspec import NODEFAULT, UNSET, Meta, Struct, UnsetType, field
from msgspec.structs import FieldInfo, asdict, fields

MARKER: Final = re.compile(r"\[\[([A-Za-z][\w.-]*)(?: [^\[\]]*)?\]\]")

Seconds = Annotated[float, Meta(ge=0)]
Count = Annotated[int, Meta(ge=0)]
Status = Annotated[int, Meta(ge=400, le=599)]


class Think(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Reasoning before the answer."""

    text: str
    redacted: bool = False
    """The provider encrypts it: the client gets no text."""


class Text(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Text of the answer."""

    text: str


class Cite(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Text of the answer that is supported by a source."""

    text: str
    url: str
    title: str = ""
    quote: str = ""
    """What the source says; the text itself if it is empty."""


class Tool(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A call of one of the client's tools."""

    name: str
    input: dict[str, Any] = field(default_factory=dict)
    malformed: str | None = None
    """The input as text that is not valid JSON, sent in place of `input`."""
    id: str | None = None


class Page(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A result of a web search."""

    url: str
    title: str = ""
    text: str = ""


class ServerTool(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A tool that the provider runs itself."""

    name: Literal["web_search", "code_execution"]
    input: str
    """The query, or the code."""
    pages: list[Page] = field(default_factory=list)
    """What a search finds."""
    output: str = ""
    """What the code prints."""
    id: str | None = None


class File(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """An image or another file that the model makes."""

    media_type: str
    data: str
    """In base64."""
    name: str = ""


class Usage(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The tokens that the response reports; what is not given is estimated."""

    input: Count | None = None
    """All tokens of the request, the cached ones included."""
    output: Count | None = None
    """All tokens of the response, the reasoning included."""
    cached: Count = 0
    cache_write: Count = 0
    reasoning: Count | None = None


class Wait(Struct, frozen=True):
    """Send nothing for so long."""

    seconds: Seconds


class Fail(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """An error of the provider: as the response if nothing was sent before, else in the stream."""

    status: Status
    message: str = ""
    kind: str = ""
    """The provider's name for the error; by default that of the status."""
    retry_after: Seconds | None = None
    times: Count | None = None
    """How often: a try with a higher `x-stainless-retry-count` continues after this step."""


class Cut(Struct, frozen=True):
    """The connection breaks off."""


class Stall(Struct, frozen=True):
    """Nothing more is sent, for so long; then the connection breaks off."""

    seconds: Seconds | None = None
    """`None`: until the client disconnects."""


class Refuse(Struct, frozen=True):
    """The model declines to answer."""

    text: str = "I can't help with that."


class MaxTokens(Struct, frozen=True):
    """The response ends here, as its limit of tokens is reached."""


Content: TypeAlias = Think | Text | Cite | Tool | ServerTool | File
Break: TypeAlias = Fail | Cut | Stall
Step: TypeAlias = Content | Usage | Wait | Break | Refuse | MaxTokens
Turn: TypeAlias = Sequence[Step]

ENDS: Final = (Fail, Cut, Stall, Refuse, MaxTokens)


class Scenario(Struct, frozen=True):
    """What is answered to one conversation."""

    turns: Sequence[Turn]
    when: str | None = None
    """A text of the first user message that chooses this scenario without a marker."""


class Script(Struct, frozen=True):
    """Scenarios by name; a list of turns is a scenario too."""

    scenarios: Mapping[str, Scenario | Sequence[Turn]] = {}
    default: str | None = None
    """The scenario of conversations that choose none; without one the default model answers."""
    pace: Seconds | None = None
    """Tokens per second; 0 for no delay."""

    def scenario(self, name: str) -> Scenario:
        """The scenario of that name."""
        found = self.scenarios[name]
        return found if isinstance(found, Scenario) else Scenario(found)

    def choose(self, first: str) -> str | None:
        """The name of the scenario for a conversation that begins with `first`.

        Without a default it may be the name of none: a marker that is misspelled is an error. With
        one, any prompt has an answer, also one that has `[[brackets]]` of its own.
        """
        marker = MARKER.search(first) if self.scenarios else None
        if marker is not None and (marker[1] in self.scenarios or self.default is None):
            return marker[1]
        for name in self.scenarios:
            text = self.scenario(name).when
            if text and text in first:
                return name
        return self.default

    def document(self) -> dict[str, Any]:
        """The script as its file would have it."""
        fields: dict[str, Any] = {"default": self.default, "pace": self.pace}
        document = {name: value for name, value in fields.items() if value is not None}
        document["scenarios"] = {name: self._written(name) for name in self.scenarios}
        return document

    def _written(self, name: str) -> Any:
        scenario = self.scenario(name)
        turns = [[written(step) for step in turn] for turn in scenario.turns]
        return turns if scenario.when is None else {"when": scenario.when, "turns": turns}


# The same as lines of a file: each step has one field, which says what it is.


class StepLine(Struct, frozen=True, forbid_unknown_fields=True):
    """One step of a file."""

    think: str | Think | UnsetType = UNSET
    text: str | UnsetType = UNSET
    cite: Cite | UnsetType = UNSET
    tool: Tool | UnsetType = UNSET
    server_tool: ServerTool | UnsetType = UNSET
    file: File | UnsetType = UNSET
    usage: Usage | UnsetType = UNSET
    wait: Seconds | UnsetType = UNSET
    fail: Status | Fail | UnsetType = UNSET
    cut: bool | UnsetType = UNSET
    stall: bool | Seconds | UnsetType = UNSET
    refuse: bool | str | UnsetType = UNSET
    max_tokens: bool | UnsetType = UNSET

    def given(self) -> dict[str, Any]:
        """The fields that are there: one, if the step is valid."""
        return {name: value for name, value in asdict(self).items() if value is not UNSET}


class ScenarioLines(Struct, frozen=True, forbid_unknown_fields=True):
    """A scenario with more than its turns."""

    turns: list[list[StepLine]]
    when: str | None = None


class ScriptLines(Struct, frozen=True, forbid_unknown_fields=True):
    """A whole file."""

    scenarios: dict[str, list[list[StepLine]] | ScenarioLines]
    default: str | None = None
    pace: Seconds | None = None


SHORT: Final[Mapping[str, Any]] = {
    "think": Think,
    "text": Text,
    "wait": Wait,
    "fail": Fail,
    "cut": lambda _: Cut(),
    "stall": lambda value: Stall() if value is True else Stall(value),
    "refuse": lambda value: Refuse() if value is True else Refuse(value),
    "max_tokens": lambda _: MaxTokens(),
}
"""What each step is made of that a file gives without fields of its own."""


def step_of(name: str, value: Any) -> Step:
    """The step of one line."""
    step: Step = SHORT[name](value) if name in SHORT and not is_step(value) else value
    return step


def is_step(value: Any) -> bool:
    """Whether a value has the fields of a step."""
    return type(value) in NAMES


NAMES: Final[Mapping[type[Struct], str]] = {
    Think: "think",
    Text: "text",
    Cite: "cite",
    Tool: "tool",
    ServerTool: "server_tool",
    File: "file",
    Usage: "usage",
    Wait: "wait",
    Fail: "fail",
    Cut: "cut",
    Stall: "stall",
    Refuse: "refuse",
    MaxTokens: "max_tokens",
}


def written(step: Step) -> dict[str, Any]:
    """The line of a step."""
    name = NAMES[type(step)]
    given = {each.name: getattr(step, each.name) for each in fields(step) if _is_given(step, each)}
    if isinstance(step, ServerTool) and step.pages:
        given["pages"] = [asdict(page) for page in step.pages]
    if name in SHORT and given.keys() <= set(step.__struct_fields__[:1]):
        return {name: next(iter(given.values()), True)}
    return {name: given}


def _is_given(step: Step, of: FieldInfo) -> bool:
    """Whether a field must be in the line: others have their default."""
    default = of.default if of.default_factory is NODEFAULT else of.default_factory()
    return of.required or bool(getattr(step, of.name) != default)
