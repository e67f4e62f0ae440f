"""The OpenAI parser on Responses."""

from typing import Any

import pytest

from mobox.events import (
    Done,
    DoneReason,
    Error,
    File,
    InputRequest,
    InputResponse,
    Paused,
    Raw,
    Retract,
    Source,
    Start,
    Status,
    StepEnd,
    StepStart,
    Text,
    TextDelta,
    TextEnd,
    Thinking,
    ThinkingEnd,
    ToolResult,
    ToolUseDelta,
    ToolUseEnd,
    ToolUseStart,
)
from mobox.parsers.openai.responses import Deltas, Responses
from parsers.openai_lines import Line, added, created, done, ended, event, fed, of, run, text_of

TYPES = [
    "response.created",
    "response.queued",
    "response.in_progress",
    "response.completed",
    "response.incomplete",
    "response.failed",
    "error",
    "response.compaction.compacting",
    "response.output_item.added",
    "response.output_item.done",
    "response.content_part.added",
    "response.content_part.done",
    "response.output_text.delta",
    "response.output_text.done",
    "response.output_text.annotation.added",
    "response.refusal.delta",
    "response.refusal.done",
    "response.reasoning_summary_part.added",
    "response.reasoning_summary_part.done",
    "response.reasoning_summary_text.delta",
    "response.reasoning_summary_text.done",
    "response.reasoning_text.delta",
    "response.reasoning_text.done",
    "response.function_call_arguments.delta",
    "response.function_call_arguments.done",
    "response.custom_tool_call_input.delta",
    "response.custom_tool_call_input.done",
    "response.web_search_call.in_progress",
    "response.web_search_call.searching",
    "response.web_search_call.completed",
    "response.file_search_call.in_progress",
    "response.file_search_call.searching",
    "response.file_search_call.completed",
    "response.code_interpreter_call.in_progress",
    "response.code_interpreter_call.interpreting",
    "response.code_interpreter_call.completed",
    "response.code_interpreter_call_code.delta",
    "response.code_interpreter_call_code.done",
    "response.shell_call_command.added",
    "response.shell_call_command.delta",
    "response.shell_call_command.done",
    "response.shell_call_output_content.delta",
    "response.shell_call_output_content.done",
    "response.image_generation_call.in_progress",
    "response.image_generation_call.generating",
    "response.image_generation_call.partial_image",
    "response.image_generation_call.completed",
    "response.mcp_call_arguments.delta",
    "response.mcp_call_arguments.done",
    "response.mcp_call.in_progress",
    "response.mcp_call.completed",
    "response.mcp_call.failed",
    "response.mcp_list_tools.in_progress",
    "response.mcp_list_tools.completed",
    "response.mcp_list_tools.failed",
    "response.audio.delta",
    "response.audio.done",
    "response.audio.transcript.delta",
    "response.audio.transcript.done",
]
"""The types of the package's union of events."""

OWN = {
    "response.apply_patch_call_operation_diff.delta",
    "response.apply_patch_call_operation_diff.done",
}
"""What the API sends and the package does not name."""

TEXT = event("output_text.delta", content_index=0, delta="Hi")


@pytest.mark.parametrize("usage", [{"input_tokens": "3"}, 7], ids=str)
def test_usage_that_cannot_be_read_does_not_cost_the_end(usage: Any) -> None:
    said = run(created(), ended(usage=usage))
    assert [(raw.raw, raw.source[:9]) for raw in of(Raw, said)] == [(usage, "malformed")]
    assert said[-2:] == [
        StepEnd(id="r", reason="completed"),
        Done(reason="stop", native="completed"),
    ]


def test_every_type_of_event_has_its_row() -> None:
    assert len(TYPES) == 59
    assert {*Responses.EVENTS, *Deltas.EVENTS} == {*TYPES, *OWN}


def test_a_response_is_a_turn() -> None:
    part = {"type": "output_text", "text": "Hi", "annotations": []}
    said = run(
        created(),
        added(0, "message", content=[]),
        event("content_part.added", content_index=0, part={"type": "output_text", "text": ""}),
        TEXT,
        event("content_part.done", content_index=0, part=part),
        done(0, "message", content=[part]),
        ended(),
    )
    assert said == [
        Start(framework="openai", model="m"),
        StepStart(id="r", number=1),
        Text(id="i0:0"),
        TextDelta(id="i0:0", delta="Hi"),
        TextEnd(id="i0:0"),
        StepEnd(id="r", reason="completed"),
        Done(reason="stop", native="completed"),
    ]


@pytest.mark.parametrize("odd", [{"type": "hologram"}, {"id": "i9"}, 7], ids=str)
def test_unknown_item_loses_neither_the_others_nor_the_end(odd: Any) -> None:
    hello = {"type": "message", "content": [{"type": "output_text", "text": "Hello"}]}
    said = run(created(), ended(output=[odd, hello]))
    assert [raw.raw for raw in of(Raw, said)] == [odd]
    assert text_of(said) == "Hello"
    assert said[-1] == Done(reason="stop", native="completed")


def test_an_annotation_that_cannot_be_read_does_not_cost_the_words() -> None:
    page = {"type": "url_citation", "url": "https://example.org"}
    hello = {"type": "output_text", "text": "Hello", "annotations": [page, 9]}
    said = run(created(), ended(output=[{"type": "message", "content": [hello]}]))
    assert text_of(said) == "Hello"
    assert [source.url for source in of(Source, said)] == ["https://example.org"]


def test_a_part_that_cannot_be_read_does_not_cost_the_others() -> None:
    odd = {"type": "output_text", "text": 7}
    words = [odd, {"type": "output_text", "text": "Hello"}]
    said = run(created(), done(0, "message", content=words), done(1, "reasoning", summary=[odd]))
    assert [raw.raw for raw in of(Raw, said)] == [odd, odd]
    assert text_of(said) == "Hello"


def test_an_unknown_event_is_raw() -> None:
    line = event("hologram.delta", delta="x")
    assert fed(line) == [Raw(raw=line)]


def test_an_item_is_known_by_its_index_and_not_by_its_id() -> None:
    lines = [added(0, "message", content=[]), {**TEXT, "item_id": "x"}, {**TEXT, "item_id": "y"}]
    said = fed(
        created(), *lines, {**done(0, "message", content=[{"type": "output_text", "text": "HiHi"}])}
    )
    assert text_of(said) == "HiHi"
    assert len(of(Text, said)) == len(of(TextEnd, said)) == 1


def test_unstreamed_content_is_emitted_when_its_item_is_done() -> None:
    content = [{"type": "output_text", "text": "Hi", "annotations": []}]
    assert text_of(fed(created(), done(0, "message", content=content))) == "Hi"


def test_items_that_come_only_with_the_end_are_emitted() -> None:
    content = [{"type": "output_text", "text": "Hi", "annotations": []}]
    said = fed(created(), ended(output=[{"type": "message", "id": "i", "content": content}]))
    assert text_of(said) == "Hi"


def test_items_with_the_same_id_get_names_of_their_own() -> None:
    said = fed(created("a"), TEXT, ended("completed", "a"), created("b"), TEXT)
    assert [text.id for text in of(Text, said)] == ["i0:0", "i0~2:0"]


def test_commentary_and_refusals_are_distinguished_from_answers() -> None:
    refusal = {**event("refusal.delta", 1, content_index=0, delta="No")}
    said = fed(created(), added(0, "message", phase="commentary"), TEXT, refusal)
    assert [text.kind for text in of(Text, said)] == ["commentary", "refusal"]


def test_every_summary_is_a_thought_and_the_last_has_the_encrypted_form() -> None:
    parts = [{"type": "summary_text", "text": text} for text in ("A", "B")]
    said = fed(
        created(),
        added(0, "reasoning", summary=[]),
        event("reasoning_summary_text.delta", summary_index=0, delta="A"),
        event("reasoning_summary_part.done", summary_index=0, part=parts[0]),
        event("reasoning_summary_text.delta", summary_index=1, delta="B"),
        done(0, "reasoning", summary=parts, encrypted_content="secret"),
    )
    assert [thought.source for thought in of(Thinking, said)] == ["summary", "summary"]
    state = {"openai": {"item_id": "i0", "encrypted_content": "secret"}}
    assert [end.provider for end in of(ThinkingEnd, said)] == [None, state]


def test_hidden_thought_is_redacted() -> None:
    said = fed(created(), added(0, "reasoning"), done(0, "reasoning", encrypted_content="secret"))
    assert of(Thinking, said) == [Thinking(id="i0", redacted=True)]
    assert of(ThinkingEnd, said)[0].provider["openai"]["encrypted_content"] == "secret"


def test_summaries_and_raw_reasoning_are_separate_blocks() -> None:
    said = fed(
        created(),
        event("reasoning_summary_text.delta", summary_index=0, delta="A"),
        event("reasoning_text.delta", content_index=0, delta="B"),
    )
    assert [(t.id, t.source) for t in of(Thinking, said)] == [
        ("i0:0", "summary"),
        ("i0:reasoning_0", "model"),
    ]


def test_calls_without_results_are_handed_over() -> None:
    begun = {"call_id": "c", "name": "f", "arguments": ""}
    said = run(
        created(),
        added(0, "function_call", **begun),
        event("function_call_arguments.delta", delta="{}"),
        done(0, "function_call", **begun | {"arguments": "{}"}),
        ended(),
    )
    assert of(ToolUseStart, said) == [ToolUseStart(id="c", name="f")]
    assert of(ToolUseDelta, said) == [ToolUseDelta(id="c", delta="{}")]
    assert of(ToolUseEnd, said) == [ToolUseEnd(id="c", input={})]
    assert said[-1] == Done(reason="tool", native="completed")


HOSTED: list[tuple[Line, Line, str, Any, Any]] = [
    (
        {"type": "web_search_call"},
        {"action": {"type": "search", "query": "q"}},
        "web_search",
        {},
        {"action": {"type": "search", "query": "q"}},
    ),
    (
        {"type": "file_search_call"},
        {"queries": ["q"], "results": None},
        "file_search",
        {},
        {"queries": ["q"], "results": None},
    ),
    (
        {"type": "code_interpreter_call", "container_id": "k"},
        {"code": "1", "container_id": "k", "outputs": [{"type": "logs", "logs": "1"}]},
        "code_interpreter",
        {"code": "1", "containerId": "k"},
        [{"type": "logs", "logs": "1"}],
    ),
    (
        {"type": "image_generation_call"},
        {"result": "AAAA", "size": "1x1"},
        "image_generation",
        {},
        {"size": "1x1"},
    ),
    (
        {"type": "mcp_call", "name": "ask", "arguments": ""},
        {"name": "ask", "arguments": "{}", "output": "42"},
        "mcp.ask",
        {},
        "42",
    ),
]


@pytest.mark.parametrize(("begun", "ends", "name", "given", "output"), HOSTED)
def test_a_hosted_tool_has_its_result_in_its_item(
    begun: Line, ends: Line, name: str, given: Any, output: Any
) -> None:
    kind = begun["type"]
    said = run(created(), added(0, **_as(begun)), done(0, kind, **ends), ended())
    [start] = of(ToolUseStart, said)
    assert (start.id, start.name, start.server) == ("i0", name, True)
    assert of(ToolUseEnd, said) == [ToolUseEnd(id="i0", input=given)]
    assert of(ToolResult, said) == [ToolResult(id="i0", output=output)]
    assert said[-1] == Done(reason="stop", native="completed")


def _as(begun: Line) -> Line:
    return {"kind": begun["type"], **{k: v for k, v in begun.items() if k != "type"}}


def test_an_image_is_a_file() -> None:
    said = fed(done(0, "image_generation_call", result="AAAA", output_format="webp"))
    assert of(File, said) == [File(id="i0", media_type="image/webp", base64="AAAA")]


def test_a_partial_image_is_a_partial_result() -> None:
    image = event(
        "image_generation_call.partial_image", partial_image_b64="A", partial_image_index=0
    )
    said = fed(added(0, "image_generation_call"), image)
    output = {"result": "A", "index": 0}
    assert of(ToolResult, said) == [ToolResult(id="i0", output=output, partial=True)]


def test_results_of_a_file_search_are_sources_with_scores() -> None:
    results = [{"file_id": "f", "filename": "a.pdf", "score": 0.9, "text": "t"}]
    said = fed(done(0, "file_search_call", queries=["q"], results=results))
    source = Source(id="i0", file="f", title="a.pdf", cited_text="t", score=0.9)
    assert of(Source, said) == [source]


def test_annotations_are_citations_emitted_once() -> None:
    cited = {"type": "url_citation", "url": "https://a.example", "title": "A", "start_index": 1}
    content = [{"type": "output_text", "text": "Hi", "annotations": [cited]}]
    told = event("output_text.annotation.added", content_index=0, annotation=cited)
    said = fed(created(), TEXT, told, done(0, "message", content=content))
    source = Source(id="i0:0", url="https://a.example", title="A", location={"start_index": 1})
    assert of(Source, said) == [source]


def test_input_that_is_plain_text_is_streamed_as_json() -> None:
    said = fed(
        added(0, "custom_tool_call", call_id="c", name="sql", input=""),
        event("custom_tool_call_input.delta", delta='a "b"'),
        done(0, "custom_tool_call", call_id="c", name="sql", input='a "b"'),
    )
    assert of(ToolUseDelta, said) == [ToolUseDelta(id="c", delta='"a \\"b\\"')]
    assert of(ToolUseEnd, said) == [ToolUseEnd(id="c", input='a "b"')]


def test_command_output_is_sent_whole_each_time() -> None:
    def more(stdout: str) -> Line:
        return event(
            "shell_call_output_content.delta", 1, command_index=0, delta={"stdout": stdout}
        )

    said = fed(
        added(0, "shell_call", call_id="c", action={"commands": ["ls"]}),
        done(0, "shell_call", call_id="c", action={"commands": ["ls"]}),
        added(1, "shell_call_output", call_id="c", output=[]),
        more("a"),
        more("b"),
        done(1, "shell_call_output", call_id="c", output=[{"outcome": {"exit_code": 1}}]),
    )
    outputs = [result.output["output"][0].get("stdout") for result in of(ToolResult, said)]
    assert outputs == ["a", "ab", None]
    assert of(ToolResult, said)[-1].status == "error"


def test_an_approval_pauses_the_run_when_its_response_is_complete() -> None:
    asked = {"name": "ask", "arguments": "{}", "server_label": "s"}
    lines = [created(), added(0, "mcp_approval_request", **asked)]
    said = run(*lines, done(0, "mcp_approval_request", **asked), ended())
    assert of(InputRequest, said) == [InputRequest(id="i0", tool_call_id="i0")]
    assert said[-1] == Paused(request_ids=("i0",))


def test_approved_call_is_the_requested_one() -> None:
    asked = {"name": "ask", "arguments": "{}", "server_label": "s"}
    answer = {"approval_request_id": "i0", "approve": True}
    approved = {**asked, "approval_request_id": "i0", "output": "42"}
    said = run(
        created(),
        done(0, "mcp_approval_request", **asked),
        ended(),
        created("r2"),
        done(1, "mcp_approval_response", **answer),
        added(2, "mcp_call", **approved),
        event("mcp_call_arguments.delta", 2, delta="{}"),
        done(2, "mcp_call", **approved),
        ended(name="r2"),
    )
    assert of(InputResponse, said) == [InputResponse(id="i0", decision="approved")]
    assert [start.id for start in of(ToolUseStart, said)] == ["i0"]
    assert of(ToolResult, said) == [ToolResult(id="i0", output="42")]
    assert said[-1] == Done(reason="stop", native="completed")


def test_call_approved_in_an_earlier_attempt_emits_only_its_result() -> None:
    call = {"name": "ask", "arguments": "{}", "output": "42", "approval_request_id": "q"}
    said = fed(created(), added(0, "mcp_call", **call), done(0, "mcp_call", **call), prefix="2.")
    assert of(ToolUseStart, said) == []
    assert of(ToolResult, said) == [ToolResult(id="q", output="42")]


@pytest.mark.parametrize(
    ("details", "reason", "native"),
    [
        ({"reason": "max_output_tokens"}, "length", "max_output_tokens"),
        ({"reason": "content_filter"}, "content_filter", "content_filter"),
        (None, "length", "length"),
    ],
)
def test_incomplete_response_has_its_reason(details: Any, reason: DoneReason, native: str) -> None:
    said = run(created(), TEXT, ended("incomplete", incomplete_details=details))
    assert said[-1] == Done(reason=reason, native=native)


def test_failure_is_reported_once() -> None:
    problem = {"code": "server_error", "message": "busy"}
    said = run(created(), {"type": "error", "error": problem}, ended("failed", error=problem))
    assert [error.message for error in of(Error, said)] == ["busy"]
    assert said[-1] == Done(reason="error", native="failed")


@pytest.mark.parametrize("failure", [[], [{"type": "error", "message": "busy"}]])
def test_a_response_that_broke_off_is_sent_again(failure: list[Line]) -> None:
    said = run(created("a"), TEXT, *failure, created("b"), TEXT, ended(name="b"))
    assert of(Retract, said) == [Retract(blocks=("i0:0",), reason="retry")]
    assert said[-1] == Done(reason="stop", native="completed")


def test_compaction_is_a_step() -> None:
    said = fed(event("compaction.compacting"), done(0, "compaction", encrypted_content="secret"))
    assert of(StepStart, said) == [StepStart(id="i0", kind="compaction")]
    assert of(StepEnd, said)[0].provider == {"openai": {"encrypted_content": "secret"}}


def test_a_server_that_does_not_list_its_tools_is_a_notice() -> None:
    said = fed(done(0, "mcp_list_tools", server_label="s", tools=[], error="gone"))
    assert of(Status, said)[0].kind == "notice"


def test_a_stream_that_is_joined_in_the_middle_is_read() -> None:
    said = run(TEXT, event("function_call_arguments.delta", 1, delta="{}"), ended())
    assert text_of(said) == "Hi"
    assert said[-1] == Done(reason="stop", native="completed")
