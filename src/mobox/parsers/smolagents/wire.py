"""The types of smolagents' stream that the parser reads: `{"type": class, "data": …}`.

Decoding validates: a line of another type raises `msgspec.ValidationError` and becomes RAW. Keys
that are not listed are ignored, and null is the same as absent.
"""

from __future__ import annotations

from msgspec import UNSET, Struct

from mobox.events import JSON, Count, Outcome


class Line(Struct):
    type: str
    data: dict[str, JSON]
    within: list[str] | None = None
    """The managed agents, outermost first, whose line this is: `name:id or number of the call`."""


class TokenUsage(Struct):
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    total_tokens: Count | None = None


class CodeTags(Struct):
    """Added by code that watches a CodeAgent, before its model's text: where the code is in it."""

    id: str
    """The call that the code will be."""
    opening: str
    closing: str


class FunctionFragment(Struct):
    name: str | None = None
    arguments: JSON = None


class CallFragment(Struct):
    index: int | None = None
    id: str | None = None
    function: FunctionFragment | None = None


class StreamDelta(Struct):
    content: str | None = None
    tool_calls: list[CallFragment] | None = None
    token_usage: JSON = None


class Function(Struct):
    name: str
    arguments: JSON = None


class ToolCall(Struct):
    function: Function
    id: str | None = None


class ToolOutput(Struct):
    id: str
    output: JSON = None
    observation: str | None = None
    status: Outcome | None = None
    """Added by code that watches the calls; smolagents itself ends a step where a call fails."""


class ActionOutput(Struct):
    """The output of a step; the step that follows at once repeats it."""


class StepError(Struct):
    message: str
    type: str | None = None


class Timing(Struct):
    start_time: float | None = None
    end_time: float | None = None


class Message(Struct):
    content: JSON = None


class ActionStep(Struct):
    step_number: Count
    timing: Timing | None = None
    error: StepError | None = None
    model_output: JSON = None
    observations: str | None = None
    observations_images: list[JSON] | None = None
    action_output: JSON = None
    token_usage: JSON = None


class PlanningStep(Struct):
    plan: str
    model_output_message: Message | None = None
    timing: Timing | None = None
    token_usage: JSON = None


class TaskStep(Struct):
    task: str


class FinalAnswer(Struct):
    output: JSON = UNSET
    final_answer: JSON = UNSET
    """Its name in earlier versions."""

    def __post_init__(self) -> None:
        if self.output is UNSET and self.final_answer is UNSET:
            raise ValueError("no answer")

    @property
    def answer(self) -> JSON:
        """The output of the run; `None` if it has none."""
        candidates = (self.output, self.final_answer)
        return next((each for each in candidates if each is not UNSET and each is not None), None)
