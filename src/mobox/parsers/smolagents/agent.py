"""Parses the output of one smolagents agent, step by step.

Rule 1: the kind and the number of a step are known only at its end, from ActionStep or
        PlanningStep. The model's text in a step is a thought; the answer is in FinalAnswerStep.
Rule 2: a plan is streamed as a thought, then retracted and sent as a plan (RETRACT).
Rule 3: the result of a call without an output of its own, such as code, is the observation of its
        step, or its error. Of code it is what was printed, without smolagents' headings.
Rule 4: when the limit of steps is reached, the last ActionStep comes twice; there is no other sign.
Rule 5: code in the model's text is no thought but a call. If a line announces it (CodeTags), its
        input is streamed, else it comes with the call. Code that becomes no call is a thought.
Rule 6: every agent counts its calls from the start: those of a managed agent are prefixed with the
        call that started it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar, Final

import msgspec
from msgspec import Struct

from mobox.events import (
    JSON,
    Events,
    File,
    Outcome,
    Result,
    Retract,
    Scope,
    Status,
    StepEnd,
    StepStart,
    Text,
    TextEnd,
    Thinking,
    ThinkingDelta,
    ThinkingEnd,
    TodoItem,
    ToolKind,
    ToolResult,
    ToolUseDelta,
    ToolUseEnd,
    ToolUseStart,
    Usage,
)
from mobox.events.names import IdAllocator
from mobox.parsers.smolagents import wire
from mobox.parsers.smolagents.code import CodeText, printed, without_code
from mobox.parsers.tool_kinds import runs_python, todo_change, tool_kind
from mobox.parsers.values import as_text, first_text, parse_or_raw, split_data_url

_BASE64: Final = re.compile(r"[A-Za-z0-9+/\s]+={0,2}\s*")


def file_of(image: JSON, name: str | None, scope: tuple[str, ...] = ()) -> File | None:
    """The file that `image` is: a data URL, base64 text, or an object with its bytes or its URL."""
    if isinstance(image, str):
        inline = split_data_url(image)
        if inline is None and not _BASE64.fullmatch(image):
            return None
        kind, base64 = inline or ("", image)
        return File(id=name, scope=scope, media_type=kind or "image/png", base64=base64)
    if not isinstance(image, dict):
        return None
    media_type = first_text(image, "media_type", "mime_type", "mimeType") or "image/png"
    data, url = first_text(image, "base64", "data"), first_text(image, "url")
    if data is None and url is None:
        return None
    return File(id=name, scope=scope, media_type=media_type, base64=data, url=url)


_HEADING: Final = re.compile(r"^#+ .*\bplan\b.*$", re.IGNORECASE | re.MULTILINE)
_ITEM: Final = re.compile(r"^[ \t]*(?:\d{1,3}[.)]|[-*])[ \t]+(\S.*?)[ \t]*$", re.MULTILINE)
_END: Final = "<end_plan>"


def items_of(plan: str) -> tuple[TodoItem, ...]:
    """The list items of a plan, which is prose: of the section titled plan, else of the whole text.

    The rest are facts.
    """
    text = plan.partition(_END)[0]
    headings = list(_HEADING.finditer(text))
    listed = _ITEM.findall(text[headings[-1].end() :] if headings else text)
    return tuple(TodoItem(content=line) for line in listed)


VENDOR: Final = "smolagents"
_KINDS: Final[dict[str, ToolKind]] = {
    "web_search": "search",
    "visit_webpage": "search",
    "wikipedia_search": "search",
}
MAX_STEPS: Final = "AgentMaxStepsError"
_CODE: Final = "python_interpreter"
_CODE_START, _CODE_END = '{"code": "', '"}'
Reader = Callable[["Agent", Any], Events]


class Agent:
    """One run of one agent: the root, or one that it manages."""

    def __init__(self, prefix: str = "", scope: Scope = ()) -> None:
        self.scope = scope
        self.final: JSON = None
        """The output of the run; `None` if it has none."""
        self.has_ended = False
        self.reached_limit = False
        self.calls: dict[str, str] = {}
        """The tools of calls without a result, by call id."""
        self.thought: str | None = None
        """The open block of the model's text."""
        self._names = IdAllocator(prefix)
        self._step: str | None = None
        self._steps = 0
        self._number = 0  # of the last action
        self._thoughts: list[str] = []  # the blocks of this step
        self._text = CodeText()
        self._held = ""  # text of the model that may be code
        self._code = ""  # the code of this step
        self._streamed = ""  # the call whose input is the code that comes
        self._spaces = ""  # at the end of the code so far
        self._fragments: dict[int | None, str] = {}
        self._plan: tuple[TodoItem, ...] = ()
        self._last_usage: wire.TokenUsage | None = None
        self._timings: list[wire.Timing] = []

    def read(self, kind: str, data: Struct) -> Events:
        """Parse an object of the class `kind`, in the type that READERS names for it."""
        return self.READERS[kind][1](self, data)

    # The model's text

    def _delta(self, delta: wire.StreamDelta) -> Events:
        events = self._split_text(delta.content) if delta.content else []
        for fragment in delta.tool_calls or ():
            events += self._fragment(fragment)
        return events + self._add_usage(delta.token_usage)

    def _code_tags(self, tags: wire.CodeTags) -> Events:
        self._text = CodeText(tags.opening, tags.closing)
        self._streamed = self.call_id(tags.id)
        return []

    def _split_text(self, text: str) -> Events:
        had_code = self._text.has_code
        said, code = self._text.feed(text)
        events = self._add_text(said) if said.strip() or (said and not had_code) else []
        if self._streamed:
            return events + self._add_code(code)
        if self._text.has_code:
            self._held += code if had_code else f"<code>{code}"
        return events

    def _add_code(self, code: str) -> Events:
        """More of the input of the call that was announced."""
        text = (self._spaces + code).rstrip()
        self._spaces = (self._spaces + code)[len(text) :]
        is_new = self._streamed not in self.calls
        text = text.lstrip() if is_new else text
        if not text:
            return []
        start = self._begin_call(self._streamed, _CODE) if is_new else []
        delta = f"{_CODE_START if is_new else ''}{msgspec.json.encode(text).decode()[1:-1]}"
        return [*start, ToolUseDelta(id=self._streamed, scope=self.scope, delta=delta)]

    def say_rest(self, code: str = "") -> Events:
        """The text that was held back, without the code that is a call."""
        held, self._held = self._held + self._text.rest(), ""
        rest = without_code(held, code) if code else held
        text = held if rest is None else rest
        return self._add_text(text) if text.strip() else []

    def _add_text(self, text: str) -> Events:
        events = self._begin_step()
        if self.thought is None:
            self.thought = f"{self._step}:{len(self._thoughts) + 1}"
            self._thoughts.append(self.thought)
            events.append(Thinking(id=self.thought, scope=self.scope))
        return [*events, ThinkingDelta(id=self.thought, scope=self.scope, delta=text)]

    def _fragment(self, fragment: wire.CallFragment) -> Events:
        function = fragment.function or wire.FunctionFragment()
        events: Events = []
        if fragment.index not in self._fragments or fragment.id:
            name = self._name_of_call(fragment.id)
            events = self._begin_call(name, function.name or "")
            self._fragments[fragment.index] = name
        name = self._fragments[fragment.index]
        if isinstance(function.arguments, str) and function.arguments:
            events.append(ToolUseDelta(id=name, scope=self.scope, delta=function.arguments))
        return events

    # Tools

    def _tool_call(self, call: wire.ToolCall) -> Events:
        name = self._name_of_call(call.id)
        tool, arguments = call.function.name, call.function.arguments
        events: Events = []
        if runs_python(tool) and isinstance(arguments, str):
            self._code, arguments = arguments, {"code": arguments}
            events = self.say_rest(self._code) if not self._streamed else []
        if name not in self.calls:
            events += self._begin_call(name, tool)
        elif name == self._streamed:
            events.append(ToolUseDelta(id=name, scope=self.scope, delta=_CODE_END))
        return [*events, ToolUseEnd(id=name, scope=self.scope, input=arguments)]

    def _name_of_call(self, given: str | None) -> str:
        step = self._steps + (self._step is None)
        return self.call_id(given) if given else self._names.fresh(f"step_{step}:call")

    def call_id(self, given: str) -> str:
        """The id in the log of a call that has one: another process may have made the call."""
        return self._prefixed(given) if self.scope else given

    def _begin_call(self, name: str, tool: str) -> Events:
        before = [*self._begin_step(), *self._end_thought()]
        self.calls[name] = tool
        kind = tool_kind(tool, _KINDS)
        return [*before, ToolUseStart(id=name, scope=self.scope, name=tool, kind=kind)]

    def _tool_output(self, output: wire.ToolOutput) -> Events:
        name = self.call_id(output.id)
        self.calls.pop(name, None)
        shown = file_of(output.output, name, self.scope) if _is_image(output.output) else None
        value = output.observation if output.output is None or shown else output.output
        status = output.status or "ok"
        result = ToolResult(id=name, scope=self.scope, output=value, status=status)
        return [*self._begin_step(), result, *([shown] if shown else [])]

    def _action_output(self, _output: wire.ActionOutput) -> Events:
        return self._begin_step()

    # Steps

    def _action_step(self, step: wire.ActionStep) -> Events:
        if step.error is not None and step.error.type == MAX_STEPS:
            self.reached_limit = True
        if self._step is None and self._steps and step.step_number == self._number:
            self.reached_limit = True
            return []
        self._number = step.step_number
        events = [*self.say_rest(), *self._begin_step()]
        events += self._unstreamed_text(step.model_output)
        images = [file_of(each, self._step, self.scope) for each in step.observations_images or ()]
        events += [*self._results(step), *(image for image in images if image is not None)]
        status: Outcome = "ok" if step.error is None else "error"
        if step.error is None and step.model_output is None and not _has_content(step):
            status = "interrupted"
        reason = step.error.type if step.error is not None else None
        return events + self._end_step(step, status, reason)

    def _unstreamed_text(self, text: JSON) -> Events:
        """The model's text, if it was not streamed."""
        if self._thoughts or not isinstance(text, str) or not text:
            return []
        rest = without_code(text, self._code) if self._code else text
        if rest == "":
            return []
        name = f"{self._step}:1"
        thought = Thinking(id=name, scope=self.scope, content=text if rest is None else rest)
        return [thought, ThinkingEnd(id=name, scope=self.scope)]

    def _results(self, step: wire.ActionStep) -> Events:
        open_calls, self.calls = self.calls, {}
        output = step.observations if step.error is None else step.error.message
        status: Outcome = "ok" if step.error is None else "error"
        events: Events = [
            ToolResult(
                id=name,
                scope=self.scope,
                output=printed(output) if output is not None and runs_python(tool) else output,
                status=status,
                structured=step.action_output,
            )
            for name, tool in open_calls.items()
        ]
        if step.error is not None and not events:
            message = step.error.message
            events.append(Status(scope=self.scope, message=message, kind="notice"))
        return events

    def _planning_step(self, step: wire.PlanningStep) -> Events:
        message = step.model_output_message
        content = message.content if message is not None else None
        plan = content if isinstance(content, str) and content else step.plan
        events = [*self._begin_step(), *self._end_thought()]
        if self._thoughts:
            blocks = tuple(self._thoughts)
            events.append(Retract(scope=self.scope, blocks=blocks, reason="plan"))
        name = f"{self._step}:plan"
        provider = {VENDOR: {"plan": step.plan}} if step.plan != plan else None
        events += [
            Thinking(id=name, scope=self.scope, content=plan, source="plan", provider=provider),
            ThinkingEnd(id=name, scope=self.scope),
            *self._plan_changes(items_of(plan)),
        ]
        return events + self._end_step(step, "ok", "plan")

    def _plan_changes(self, items: tuple[TodoItem, ...]) -> Events:
        if not items:
            return []
        before, self._plan = self._plan, items
        return [
            msgspec.structs.replace(each, scope=self.scope) for each in todo_change(before, items)
        ]

    def _final_answer(self, step: wire.FinalAnswer) -> Events:
        self.final, self.has_ended = step.answer, True
        events = [*self.say_rest(), *self._end_thought(), *self._leave_step()]
        name = self._prefixed("answer")
        shown = file_of(self.final, name, self.scope) if _is_image(self.final) else None
        if shown is not None:
            return [*events, shown, *self._statistics(None)]
        if self.final is None:
            return [*events, *self._statistics(None)]
        text = as_text(self.final)
        block = Text(id=name, scope=self.scope, content=text)
        end = TextEnd(id=name, scope=self.scope)
        return [*events, block, end, *self._statistics(text)]

    def _statistics(self, text: str | None) -> Events:
        if self.scope:
            return []
        starts = [t.start_time for t in self._timings if t.start_time is not None]
        ends = [t.end_time for t in self._timings if t.end_time is not None]
        duration = round((max(ends) - min(starts)) * 1000, 3) if starts and ends else None
        return [Result(text=text, duration_ms=duration, num_turns=self._number or None)]

    # The current step

    def _begin_step(self) -> Events:
        if self._step is not None:
            return []
        self._steps += 1
        self._step = self._prefixed(f"step_{self._steps}")
        number = self._number + 1
        return [StepStart(id=self._step, scope=self.scope, kind="turn", number=number)]

    def _end_thought(self) -> Events:
        name, self.thought = self.thought, None
        return [ThinkingEnd(id=name, scope=self.scope)] if name is not None else []

    def _end_step(
        self, step: wire.ActionStep | wire.PlanningStep, status: Outcome, reason: str | None
    ) -> Events:
        if step.timing is not None:
            self._timings.append(step.timing)
        events = [*self._end_thought(), *self._add_usage(step.token_usage)]
        return events + self._leave_step(status, reason)

    def _leave_step(self, status: Outcome = "ok", reason: str | None = None) -> Events:
        name, self._step = self._step, None
        self._thoughts, self._last_usage = [], None
        self._text = CodeText()
        self._held = self._code = self._streamed = self._spaces = ""
        self._fragments.clear()
        if name is None:
            return []
        return [StepEnd(id=name, scope=self.scope, status=status, reason=reason)]

    def _add_usage(self, usage: JSON) -> Events:
        """The usage of the step; the last delta of a stream reports it, and the step repeats it."""
        if usage is None:
            return []
        return parse_or_raw(lambda: self._parse_usage(usage), usage, self.scope)

    def _parse_usage(self, raw: JSON) -> Events:
        usage = msgspec.convert(raw, wire.TokenUsage)
        if usage == self._last_usage:
            return []
        self._last_usage = usage
        return [
            *self._begin_step(),
            Usage(
                id=self._step,
                scope=self.scope,
                input=usage.input_tokens or 0,
                output=usage.output_tokens or 0,
                total=usage.total_tokens,
            ),
        ]

    def _prefixed(self, name: str) -> str:
        return f"{self._names.prefix}{name}"

    READERS: ClassVar[dict[str, tuple[type[Struct], Reader]]] = {
        "CodeTags": (wire.CodeTags, _code_tags),
        "ChatMessageStreamDelta": (wire.StreamDelta, _delta),
        "ChatMessageToolCall": (wire.ToolCall, _tool_call),
        "ToolCall": (wire.ToolCall, _tool_call),
        "ToolOutput": (wire.ToolOutput, _tool_output),
        "ActionOutput": (wire.ActionOutput, _action_output),
        "PlanningStep": (wire.PlanningStep, _planning_step),
        "ActionStep": (wire.ActionStep, _action_step),
        "FinalAnswerStep": (wire.FinalAnswer, _final_answer),
    }


def _has_content(step: wire.ActionStep) -> bool:
    """Whether a step without text of the model has content after all."""
    return step.observations is not None or step.action_output is not None


def _is_image(output: JSON) -> bool:
    """Whether a value is an image, and not text."""
    if isinstance(output, str):
        return output.startswith("data:image/")
    return isinstance(output, dict) and ("media_type" in output or "mime_type" in output)
