"""One run of an ADK Runner, event by event."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final

from msgspec import Struct, ValidationError, convert
from msgspec.structs import replace

from mobox.errors import UnrecognizedLine
from mobox.events import (
    JSON,
    Custom,
    Done,
    Error,
    Events,
    File,
    Outcome,
    Raw,
    Retract,
    Scope,
    Start,
    State,
    Status,
    StepEnd,
    StepStart,
    StreamEvent,
    SubagentEnd,
    SubagentStart,
    Text,
    TextEnd,
    ToolResult,
)
from mobox.events.names import IdAllocator
from mobox.parsers.adk import wire
from mobox.parsers.adk.requests import Requests
from mobox.parsers.gemini import wire as parts_wire
from mobox.parsers.gemini.calls import VENDOR, OpenCalls, reason_of, used
from mobox.parsers.gemini.content import Content
from mobox.parsers.values import as_object, as_text, failure, parse_or_raw

# Parses the output of one agent in one branch, turn by turn.
#
# Rule 1: a turn is streamed in partial events, and repeated complete by one that is not partial:
#         only what that adds is new. Without streaming there is only the complete event.
# Rule 2: usage and sources are taken from the complete event.

Part = dict[str, JSON]
_BESIDES: Final = frozenset({"thought", "thoughtSignature"})
"""Keys of a part other than its kind."""


class Speaker:
    """The turns of one agent in one branch."""

    def __init__(self, name: str, scope: tuple[str, ...], calls: OpenCalls) -> None:
        self.content = Content(calls, scope)
        self._name = name
        self._scope = scope
        self._calls = calls
        self._turn: str | None = None
        self._turns = 0
        self._streamed: set[str] = set()  # kinds of parts that were streamed
        self._pieces: list[str] = []  # the streamed text

    def piece(self, event: wire.Event, parts: list[Part]) -> Events:
        """A partial event of a turn."""
        if not parts:
            return []
        events = self._begin(event)
        for part in parts:
            events += self.content.part(part) if not self._is_known(part) else []
            self._note(part)
        return events

    def delta_of(self, part: parts_wire.DeltaPart) -> StreamEvent | None:
        """`piece` for a part that continues the open block; `None` for any other."""
        delta = self.content.delta_of(part.text, bool(part.thought))
        if delta is not None:
            self._streamed.add("text")
            if not part.thought:
                self._pieces.append(part.text)
        return delta

    def whole(self, event: wire.Event, parts: list[Part]) -> Events:
        """A complete turn."""
        events = self._begin(event)
        new = [part for part in parts if not _is_answer(part) and not self._was_streamed(part)]
        words = "".join(str(part["text"]) for part in parts if _is_answer(part))
        if self._streamed:
            events += self._rest(words)
        else:
            new = parts
        events += self.content.read(new)
        cited = parts_wire.Candidate(
            grounding_metadata=event.grounding_metadata, citation_metadata=event.citation_metadata
        )
        return events + self.content.cite(cited) + self._end(event)

    def interrupt(self) -> Events:
        """The turn ends without its complete event."""
        if self._turn is None:
            return []
        return [*self.content.leave(), self._leave("interrupted", None)]

    def _begin(self, event: wire.Event) -> Events:
        if self._turn is not None:
            return []
        self._turns += 1
        self._turn = event.id or f"{self._name}:{self._turns}"
        self.content.begin(self._turn)
        self._pieces.clear()
        self._streamed.clear()
        return [
            StepStart(
                id=self._turn, scope=self._scope, kind="turn", name=self._name, number=self._turns
            )
        ]

    def _end(self, event: wire.Event) -> Events:
        ends = self.content.leave()
        usage = used(event.usage_metadata, self._turn or "", self._scope, event.model_version)
        return [*ends, *usage, self._leave("ok", event.finish_reason)]

    def _leave(self, status: Outcome, reason: str | None) -> StepEnd:
        name, self._turn = self._turn, None
        return StepEnd(id=name, scope=self._scope, status=status, reason=reason)

    # Parts that were streamed already

    def _note(self, part: Part) -> None:
        self._streamed |= part.keys() - _BESIDES
        if _is_answer(part):
            self._pieces.append(str(part["text"]))

    def _was_streamed(self, part: Part) -> bool:
        if "functionCall" in part:
            return self._is_known(part)
        kinds = part.keys() - _BESIDES - {"functionResponse"}
        return bool(kinds) and kinds <= self._streamed

    def _is_known(self, part: Part) -> bool:
        """Whether this is a call that was sent already, and whose input is complete."""
        call = part.get("functionCall")
        name = call.get("id") if isinstance(call, dict) else None
        return isinstance(name, str) and name in self._calls and name != self.content.coming

    def _rest(self, words: str) -> Events:
        """The rest of the text after the streamed part; all of it if it is a different text."""
        streamed = "".join(self._pieces)
        if not words or words == streamed:
            return []
        if words.startswith(streamed):
            return self.content.part({"text": words[len(streamed) :]})
        blocks = tuple(self.content.texts)
        again = Retract(scope=self._scope, blocks=blocks, reason="replaced")
        return [*self.content.leave(), again, *self.content.part({"text": words})]


def _is_answer(part: Part) -> bool:
    """Whether a part is text of the answer."""
    return isinstance(part.get("text"), str) and not part.get("thought")


# Branches, which are scopes and subagents.
#
# A branch is names separated by dots. `writer@call_1` is the agent that a call spawned; `both.p1`
# is the agent p1 that `both` runs in parallel: no call spawned it, so its branch is its id.

MOST_LEVELS = 32


class Level(Struct, frozen=True):
    """One step down a branch."""

    id: str
    agent: str
    spawned: bool
    """Spawned by a call, whose result is its end."""


class Branches:
    """The open subagents of a run."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[Level, Scope]] = {}

    def enter(self, branch: str | None, tasks: dict[str, str]) -> tuple[Scope, list[StreamEvent]]:
        """The scope of a branch, and the events for entering it the first time."""
        scope: Scope = ()
        events: list[StreamEvent] = []
        if not branch:  # it has waited for the parallel agents: end those
            beside = [name for name, (level, _) in self._open.items() if not level.spawned]
            events += [self._end(name) for name in reversed(beside)]
        for level in levels_of(branch):
            if level.id not in self._open:
                self._open[level.id] = (level, scope)
                task = tasks.get(level.id)
                start = SubagentStart(id=level.id, scope=scope, agent=level.agent, task=task)
                events.append(start)
            scope = (*scope, level.id)
        return scope, events

    def returned(self, call: str | None) -> list[StreamEvent]:
        """A call has its result: end the agent that it spawned."""
        return [self._end(call)] if call is not None and call in self._open else []

    def close(self) -> list[StreamEvent]:
        """The run succeeded: end the parallel agents."""
        return [self._end(name) for name in reversed(list(self._open))]

    def _end(self, name: str) -> SubagentEnd:
        level, scope = self._open.pop(name)
        return SubagentEnd(id=name, scope=scope, agent=level.agent)


def levels_of(branch: str | None) -> Iterator[Level]:
    """The steps of a branch."""
    words = branch.split(".")[:MOST_LEVELS] if branch else []
    start = 0
    while start < len(words):
        agent, at, call = words[start].partition("@")
        if at and call:
            yield Level(call, agent or "agent", spawned=True)
            start += 1
            continue
        is_pair = start + 1 < len(words) and "@" not in words[start + 1]
        start += 2 if is_pair else 1
        yield Level(".".join(words[:start]), words[start - 1] or "agent", spawned=False)


# The actions of an event, besides its content

ActionReader = Callable[[Any, Scope, str], Iterable[StreamEvent]]


def acted(actions: wire.Actions, scope: Scope, event: str) -> list[StreamEvent]:
    """The events for the actions of the event of that id."""
    return [
        made
        for field, reader in ACTIONS.items()
        if (value := getattr(actions, field))
        for made in reader(value, scope, event)
    ]


def _artifacts(delta: dict[str, Any], scope: Scope, _event: str) -> Iterator[StreamEvent]:
    """The event has only an artifact's name and version: neither type nor bytes."""
    media_type = "application/octet-stream"
    for name, version in delta.items():
        yield File(scope=scope, media_type=media_type, file_id=f"{name}@{version}", name=name)


def _compaction(about: dict[str, Any], scope: Scope, event: str) -> Iterator[StreamEvent]:
    name = f"{event}:compaction"
    yield StepStart(id=name, scope=scope, kind="compaction")
    yield StepEnd(id=name, scope=scope, provider={VENDOR: {"compaction": about}})


ACTIONS: Final[dict[str, ActionReader]] = {
    "state_delta": lambda delta, scope, _: [State(scope=scope, mode="patch", value=delta)],
    "artifact_delta": _artifacts,
    "transfer_to_agent": lambda agent, scope, _: [
        Status(scope=scope, message=f"{agent} takes over")
    ],
    "compaction": _compaction,
    "render_ui_widgets": lambda widgets, scope, _: [
        Custom(scope=scope, name="ui-widgets", value=widgets)
    ],
}

# The run


USER: Final = "user"
MOST_SPEAKERS: Final = 1000
_NO_ACTIONS: Final = wire.Actions()
_REJECTED: Final = "This tool call is rejected."
"""The first words of ADK's result for a call that was not confirmed."""


class Run:
    """The state of one run."""

    def __init__(self, framework: str, prefix: str = "") -> None:
        self.failure: str | None = None
        """The error message of the run."""
        self._framework = framework
        self._prefix = prefix
        self._started = False
        self._calls = OpenCalls(IdAllocator(prefix))
        self._tasks: dict[str, str] = {}  # the tasks of calls that may spawn an agent
        self._speakers: dict[tuple[str | None, str], Speaker] = {}
        self._branches = Branches()
        self._requests = Requests()
        self._finish: str | None = None
        self._finish_beside: str | None = None  # of parallel agents
        self._has_answered = False  # in the root's scope
        self._beside: dict[Scope, str] = {}  # the last text of parallel agents
        self._output: JSON = None

    def read(self, event: wire.Event) -> Events:
        parts = event.content.parts or [] if event.content is not None else []
        if event.author == USER:
            return self._by_user(event, parts)
        start = self._start(event)
        scope, entered = self._branches.enter(event.branch, self._tasks)
        speaker = self._speaker(event, scope)
        handle = self._partial if event.partial else self._whole
        return [*start, *entered, *handle(event, speaker, parts, scope)]

    def read_delta(self, event: wire.DeltaEvent) -> Events | None:
        """`read` for an event that continues the open block; `None` if it does anything else."""
        speaker = self._speakers.get((event.branch, event.author))
        (part,) = event.content.parts
        delta = speaker.delta_of(part) if speaker is not None and event.partial else None
        if delta is None:
            return None
        scope, entered = self._branches.enter(event.branch, self._tasks)
        self._has_answered = self._has_answered or not (scope or part.thought)
        return [*entered, delta]

    def answer(self, responses: list[parts_wire.FunctionResponse]) -> Events:
        """Parse the answer to a request; raises `UnrecognizedLine` if it is none."""
        events = self._requests.answer(responses)
        if not events:
            raise UnrecognizedLine
        for event in events:
            if isinstance(event, ToolResult):
                self._calls.end(event.id, None)
        return events

    def _by_user(self, event: wire.Event, parts: list[Part]) -> Events:
        """Parse the responses of the user, or of an agent with a task, which ADK calls so."""
        known = [(part, each) for part in parts if (each := _response(part)) is not None]
        if not known:
            raise UnrecognizedLine
        waiting = self._requests.waiting
        answers = [each for _, each in known if each.id in waiting]
        results = [
            part
            for part, each in known
            if each.id not in waiting and self._requests.is_result(each)
        ]
        scope, entered = self._branches.enter(event.branch, self._tasks)
        speaker = self._speaker(event, scope)
        return [
            *(self.answer(answers) if answers else []),
            *entered,
            *self._results(results, speaker, event.actions or _NO_ACTIONS, scope),
        ]

    def close(self) -> Events:
        """The source ended: the run waits, or ends with its last reason."""
        if self._requests.waiting:
            return self._requests.close()
        self._finish = self._finish or self._finish_beside
        if self._finish is None and self._output is None:
            return []
        return [*self._branches.close(), *self._parallel_answers(), self._done()]

    # An event

    def _start(self, event: wire.Event) -> Events:
        if self._started:
            return []
        self._started = True
        return [Start(framework=self._framework, agent=event.author, model=event.model_version)]

    def _speaker(self, event: wire.Event, scope: Scope) -> Speaker:
        who = (event.branch, event.author)
        if who not in self._speakers:
            if len(self._speakers) >= MOST_SPEAKERS:
                raise UnrecognizedLine
            self._speakers[who] = Speaker(event.author, scope, self._calls)
        return self._speakers[who]

    def _partial(
        self, event: wire.Event, speaker: Speaker, parts: list[Part], scope: Scope
    ) -> Events:
        self._has_answered = self._has_answered or (not scope and any(map(_is_text, parts)))
        events = speaker.piece(event, parts)
        is_failure = event.error_code is not None and reason_of(event.error_code) is None
        return [*events, *self._fail(event, speaker, scope)] if is_failure else events

    def _whole(
        self, event: wire.Event, speaker: Speaker, parts: list[Part], scope: Scope
    ) -> Events:
        actions = event.actions or _NO_ACTIONS
        results = [part for part in parts if "functionResponse" in part]
        content = [part for part in parts if part not in results and not self._is_request(part)]
        events = self._results(results, speaker, actions, scope)
        if content or event.usage_metadata:
            events += speaker.whole(event, content)
            self._remember(content, scope)
        events += self._requests_in(event, parts, scope)
        events += acted(actions, scope, event.id or self._prefix)
        if event.output is not None and not parts:
            events += self._node(event, scope)
        events += self._ended(event, speaker, scope)
        return events + self._last_word(event, parts, results, scope)

    def _remember(self, parts: list[Part], scope: Scope) -> None:
        for part in parts:
            call = as_object(part.get("functionCall"))
            name, task = call.get("id"), as_object(call.get("args")).get("request")
            if isinstance(name, str) and isinstance(task, str):
                self._tasks[name] = task
        words = "".join(str(part["text"]) for part in parts if _is_text(part))
        if words and self._is_beside(scope):
            self._beside[scope] = words
        self._has_answered = self._has_answered or (bool(words) and not scope)

    def _is_beside(self, scope: Scope) -> bool:
        """Whether the event is from an agent that no call spawned."""
        return bool(scope) and not any(name in self._calls for name in scope)

    # Results and requests

    def _results(
        self, parts: list[Part], speaker: Speaker, actions: wire.Actions, scope: Scope
    ) -> Events:
        events: Events = []
        for part in parts:
            response = _response(part)
            if response is None:
                events.append(Raw(scope=scope, raw=part, source="a part"))
            elif self._requests.is_placeholder(response, actions):
                events.append(Raw(scope=scope, raw=part, source="somebody is asked first"))
            else:
                events += self._branches.returned(response.id)
                is_ticket = self._requests.returned(response.id)
                response.will_continue = is_ticket or response.will_continue
                read = partial(speaker.content.respond, response)
                events += map(_with_denial, parse_or_raw(read, part, scope, "a part"))
        return events

    def _is_request(self, part: Part) -> bool:
        call = _call(part)
        return call is not None and self._requests.knows(call)

    def _requests_in(self, event: wire.Event, parts: list[Part], scope: Scope) -> Events:
        events: Events = []
        calls = {}
        for part in parts:
            if (call := _call(part)) is not None:
                calls[call.id] = call
                if self._requests.knows(call):
                    events += parse_or_raw(partial(self._requests.ask, call, scope), part, scope)
        for name in event.long_running_tool_ids or ():
            if name in calls and not self._requests.knows(calls[name]):
                events += self._requests.take_long(name, calls[name].name, scope)
        return events

    # Workflows

    def _node(self, event: wire.Event, scope: Scope) -> Events:
        info = event.node_info or wire.NodeInfo()
        node = (info.path or event.author).rpartition("/")[2].partition("@")[0]
        name = event.id or f"{self._prefix}{node}"
        events: Events = [
            StepStart(id=name, scope=scope, kind="node", name=node),
            StepEnd(id=name, scope=scope, provider={VENDOR: {"output": event.output}}),
        ]
        if self._is_output(event):
            self._output = event.output
            events.append(Custom(name="output", value=event.output))
        return events

    # Ends

    def _ended(self, event: wire.Event, speaker: Speaker, scope: Scope) -> Events:
        code = event.error_code
        if code is not None and reason_of(code) is None:
            return self._fail(event, speaker, scope)
        native = event.finish_reason or code
        if native is None:
            return []
        if not scope:
            self._finish = native
        elif self._is_beside(scope):
            self._finish_beside = native
        if reason_of(native) == "error":
            message = event.error_message or f"The model stopped: {native}"
            return [Error(scope=scope, message=message, code=native)]
        if event.error_message:
            return [Status(scope=scope, message=event.error_message, kind="notice")]
        if code is not None and event.finish_reason is None:
            message = f"The prompt was blocked: {code}"
            return [Status(scope=scope, message=message, kind="notice")]
        return []

    def _fail(self, event: wire.Event, speaker: Speaker, scope: Scope) -> Events:
        """An error that is an exception; a single open call is the one that raised it."""
        self.failure = message = event.error_message or event.error_code or "failed"
        self._finish = self._finish_beside = None  # of turns before this error
        calls, results = self._calls.functions, []
        if len(calls) == 1:
            self._calls.end(calls[0], None)
            results.append(ToolResult(id=calls[0], scope=scope, output=message, status="error"))
        error = failure(message, event.error_code, scope=scope)
        return [*speaker.interrupt(), *results, error]

    def _last_word(
        self, event: wire.Event, parts: list[Part], results: list[Part], scope: Scope
    ) -> Events:
        if scope:
            return []
        skips = event.actions is not None and bool(event.actions.skip_summarization)
        calls = any("functionCall" in part for part in parts)
        is_final = event.finish_reason is not None and not calls and not results
        return self._requests.last_word() if skips or is_final or self._is_output(event) else []

    def _is_output(self, event: wire.Event) -> bool:
        paths = event.node_info.output_for if event.node_info is not None else None
        return event.output is not None and any("/" not in path for path in paths or ())

    def _parallel_answers(self) -> Events:
        """The answer of a run without output in the root's scope."""
        if self._has_answered:
            return []
        answers = {"/".join(scope): words for scope, words in self._beside.items()}
        if not answers and self._output is not None:
            answers = {f"{self._prefix}output": as_text(self._output)}
        return [
            event
            for name, words in answers.items()
            for event in (Text(id=f"{name}:answer", content=words), TextEnd(id=f"{name}:answer"))
        ]

    def _done(self) -> Done:
        if self._finish is None:
            return Done(reason="stop")
        reason = reason_of(self._finish) or "stop"
        if reason == "stop" and self._calls.functions:
            reason = "tool"
        return Done(reason=reason, native=self._finish)


def _response(part: Part) -> parts_wire.FunctionResponse | None:
    """The function result in a part; `None` if it is invalid or has an invalid file."""
    try:
        response = convert(part, parts_wire.Part).function_response
        if response is not None:
            convert(response.parts or [], list[parts_wire.Part])
    except ValidationError:
        return None
    return response


def _with_denial(event: StreamEvent) -> StreamEvent:
    """A result that says that a person has denied the call has the status for that."""
    if not isinstance(event, ToolResult) or not isinstance(event.output, dict):
        return event
    is_denial = str(event.output.get("error")).startswith(_REJECTED)
    return replace(event, status="denied") if is_denial else event


def _call(part: Part) -> parts_wire.FunctionCall | None:
    try:
        return convert(part, parts_wire.Part).function_call
    except ValidationError:
        return None


def _is_text(part: Part) -> bool:
    return bool(part.get("text")) and isinstance(part["text"], str) and not part.get("thought")
