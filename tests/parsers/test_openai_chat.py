"""The OpenAI parser on chat completions and their dialects."""

from typing import Any

import pytest

from mobox import Recorder
from mobox.events import (
    Done,
    DoneReason,
    Error,
    File,
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
    ThinkingDelta,
    ThinkingEnd,
    ToolResult,
    ToolUseDelta,
    ToolUseEnd,
    ToolUseStart,
    Usage,
)
from parsers.openai_lines import call, chunk, fed, of, run, text_of


def test_an_answer_is_a_turn_with_one_block() -> None:
    said = run(
        chunk({"role": "assistant", "content": ""}), chunk({"content": "Hi"}), chunk({}, "stop")
    )
    assert said == [
        Start(framework="openai", model="m"),
        StepStart(id="c", number=1),
        Text(id="c:0"),
        TextDelta(id="c:0", delta="Hi"),
        TextEnd(id="c:0"),
        StepEnd(id="c", reason="stop"),
        Done(reason="stop", native="stop"),
    ]


@pytest.mark.parametrize(
    ("finish", "reason"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("tool_calls", "tool"),
        ("function_call", "tool"),
        ("content_filter", "content_filter"),
        ("eos", "stop"),
    ],
)
def test_the_finish_reason_is_the_reason_of_the_run(finish: str, reason: DoneReason) -> None:
    assert run(chunk({"content": "x"}), chunk({}, finish))[-1] == Done(reason=reason, native=finish)


def test_a_stream_without_a_finish_reason_proposes_no_end() -> None:
    assert of(Done, run(chunk({"content": "x"}))) == []


def test_refusal_overrides_a_stop_reason() -> None:
    said = run(chunk({"refusal": "No."}), chunk({}, "stop"))
    assert of(Text, said) == [Text(id="c:0", kind="refusal")]
    assert said[-1] == Done(reason="refusal", native="stop")


def test_handed_over_calls_override_a_stop_reason() -> None:
    said = run(call(0, "{}", id="a", name="f"), chunk({}, "stop"))
    assert said[-1] == Done(reason="tool", native="stop")


def test_a_call_is_known_by_its_index() -> None:
    said = fed(
        call(0, "", id="a", name="f"),
        call(1, "", id="b", name="g"),
        call(0, '{"x":'),
        call(1, "{}"),
        call(0, "1}"),
        chunk({}, "tool_calls"),
    )
    assert of(ToolUseStart, said) == [
        ToolUseStart(id="a", name="f"),
        ToolUseStart(id="b", name="g"),
    ]
    assert of(ToolUseEnd, said) == [
        ToolUseEnd(id="a", input={"x": 1}),
        ToolUseEnd(id="b", input={}),
    ]


def test_a_call_without_an_index_is_the_last_one_or_another() -> None:
    lines = [call(None, "{", id="a", name="f"), call(None, "}"), call(None, "{}", id="b", name="g")]
    ends = of(ToolUseEnd, fed(*lines, chunk({}, "stop")))
    assert ends == [ToolUseEnd(id="a", input={}), ToolUseEnd(id="b", input={})]


def test_another_id_at_the_same_index_is_another_call() -> None:
    lines = [call(0, "{}", id="a", name="f"), call(0, "{}", id="b", name="f"), chunk({}, "stop")]
    assert [end.id for end in of(ToolUseEnd, fed(*lines))] == ["a", "b"]


def test_a_call_begins_when_it_has_a_name() -> None:
    said = fed(call(0, '{"a"', id="a"), call(0, ":1}", name="f"))
    told = [e for e in said if isinstance(e, ToolUseStart | ToolUseDelta)]
    assert told == [
        ToolUseStart(id="a", name="f"),
        ToolUseDelta(id="a", delta='{"a"'),
        ToolUseDelta(id="a", delta=":1}"),
    ]


def test_the_text_of_a_custom_call_is_a_json_string_also_before_it_has_a_name() -> None:
    def piece(**custom: str) -> Any:
        return chunk({"tool_calls": [{"index": 0, "id": "a", "custom": custom}]})

    said = fed(piece(input='"a'), piece(input="\n"), piece(name="f", input="b"), chunk({}, "stop"))
    deltas = [delta.delta for delta in of(ToolUseDelta, said)]
    assert deltas == ['"\\"a', "\\n", "b"]
    assert of(ToolUseEnd, said) == [ToolUseEnd(id="a", input='"a\nb')]


def test_call_without_a_name_is_emitted_at_the_end() -> None:
    assert of(ToolUseStart, run(call(0, "{", id="a"))) == [ToolUseStart(id="a", name="unknown")]


def test_arguments_that_are_no_json_are_kept() -> None:
    said = fed(call(0, '{"a', id="a", name="f"), chunk({}, "length"))
    assert of(ToolUseEnd, said) == [ToolUseEnd(id="a", invalid='{"a')]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_dialects_of_reasoning_are_thoughts(field: str) -> None:
    said = fed(chunk({field: "Hm"}), chunk({"content": "So"}))
    assert said[2:5] == [
        Thinking(id="c:0"),
        ThinkingDelta(id="c:0", delta="Hm"),
        ThinkingEnd(id="c:0"),
    ]
    assert text_of(said) == "So"


def test_thought_under_two_names_is_emitted_once() -> None:
    details = [{"type": "reasoning.text", "text": "Hm"}]
    said = fed(chunk({"reasoning_content": "Hm", "reasoning": "Hm", "reasoning_details": details}))
    assert of(ThinkingDelta, said) == [ThinkingDelta(id="c:0", delta="Hm")]


def test_details_of_a_thought_are_its_words_where_nothing_else_is() -> None:
    details = [{"type": "reasoning.summary", "summary": "Hm"}]
    assert of(ThinkingDelta, fed(chunk({"reasoning_details": details})))[0].delta == "Hm"


def test_signatures_are_kept_for_sending_the_history_back() -> None:
    detail = {"type": "reasoning.encrypted", "data": "x"}
    said = fed(chunk({"reasoning_details": [detail]}), chunk({}, "stop"))
    assert of(ThinkingEnd, said)[0].provider == {"openai": {"reasoning_details": [detail]}}


def test_content_may_be_an_array_of_parts() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}
    said = fed(chunk({"content": [thinking, {"type": "text", "text": "So"}, "!"]}))
    assert of(ThinkingDelta, said)[0].delta == "Hm"
    assert text_of(said) == "So!"


@pytest.mark.parametrize("field", ["citations", "search_results", "web_search"])
def test_pages_that_cannot_be_read_do_not_cost_the_words(field: str) -> None:
    said = run(chunk({"content": "Hello"}, "stop") | {field: 5})
    assert text_of(said) == "Hello"


@pytest.mark.parametrize("part", [{"type": "hologram"}, 7], ids=str)
def test_unknown_content_part_is_raw_and_the_others_are_emitted(part: Any) -> None:
    hello = {"type": "text", "text": "Hello"}
    said = run(chunk({"content": [hello, part, "!"]}), chunk({}, "stop"))
    assert of(Raw, said) == [Raw(raw=part)]
    assert text_of(said) == "Hello!"
    assert [start.id for start in of(StepStart, said)] == ["c"]


@pytest.mark.parametrize(
    ("field", "odd"),
    [
        ("reasoning", {"text": "Hm"}),
        ("audio", {"data": 7}),
        ("executed_tools", {"index": "0"}),
        ("annotations", 7),
        ("tool_calls", [{"index": -1}]),
    ],
)
def test_a_field_that_cannot_be_read_does_not_cost_the_words(field: str, odd: Any) -> None:
    told = [odd] if field == "executed_tools" else odd
    said = run(chunk({"content": "Hello", field: told}, "stop"))
    assert [raw.raw for raw in of(Raw, said)] == [odd]
    assert text_of(said) == "Hello"
    assert said[-1] == Done(reason="stop", native="stop")


def test_other_choices_are_kept_and_noted_once() -> None:
    other = {"id": "c", "choices": [{"index": 1, "delta": {"content": "B"}}]}
    said = fed(chunk({"content": "A"}), other, other)
    assert [raw.source for raw in of(Raw, said)] == ["choice 1", "choice 1"]
    assert len(of(Status, said)) == 1
    assert text_of(said) == "A"


@pytest.mark.parametrize(
    "usage", [{"prompt_tokens": "3"}, {"cost": {"total_cost": "x"}}, 7], ids=str
)
def test_usage_that_cannot_be_read_does_not_cost_the_words(usage: Any) -> None:
    said = run(chunk({"content": "Hi"}, usage=usage), chunk({}, "stop", x_groq={"usage": usage}))
    assert text_of(said) == "Hi"
    assert [(raw.raw, raw.source[:9]) for raw in of(Raw, said)] == [(usage, "malformed")] * 2
    assert said[-1] == Done(reason="stop", native="stop")


def test_cost_may_include_its_breakdown() -> None:
    cost = {"input_tokens_cost": 0.1, "request_cost": 0.4, "total_cost": 0.5}
    [used] = of(Usage, fed(chunk({"content": "Hi"}, usage={"prompt_tokens": 3, "cost": cost})))
    assert (used.input, used.cost_usd) == (3, 0.5)


def test_usage_comes_after_the_end_and_is_that_messages() -> None:
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "total_tokens": 15,
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 2},
    }
    said = run(
        chunk({"content": "x"}), chunk({}, "stop"), {"id": "c", "choices": [], "usage": usage}
    )
    assert of(Usage, said) == [
        Usage(id="c", input=10, output=5, cache_read=4, reasoning=2, total=15, model="m")
    ]
    assert said[-1] == Done(reason="stop", native="stop")


def test_reasoning_that_is_counted_beside_the_output_is_added_to_it() -> None:
    details = {"reasoning_tokens": 7}
    counts = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 22}
    usage = counts | {"completion_tokens_details": details}
    assert of(Usage, fed(chunk({}, "stop", usage=usage)))[0].output == 12


def test_empty_chunk_after_the_end_starts_nothing() -> None:
    last = {**chunk({"content": ""}, "stop"), "id": "other"}
    assert len(of(StepStart, fed(chunk({"content": "x"}), chunk({}, "stop"), last))) == 1


def test_words_after_the_end_are_another_message() -> None:
    said = fed(chunk({"content": "x"}), chunk({}, "stop"), chunk({"content": "y"}))
    assert [step.id for step in of(StepStart, said)] == ["c", "c~2"]


def test_ids_that_change_within_a_message_do_not_end_it() -> None:
    said = fed(chunk({"content": "x"}), {**chunk({"content": "y"}), "id": "other"})
    assert len(of(StepStart, said)) == 1
    assert text_of(said) == "xy"


@pytest.mark.parametrize(
    "failure",
    [
        {"error": {"message": "busy", "code": 503}},
        chunk({}, error={"message": "busy", "code": "server_error"}),
        {"__exception__": "APIConnectionError", "message": "busy"},
    ],
)
def test_an_answer_that_broke_off_is_sent_again(failure: Any) -> None:
    said = run(chunk({"content": "ha"}), failure, chunk({"content": "whole"}), chunk({}, "stop"))
    assert of(Error, said)[0].message == "busy"
    assert of(Retract, said) == [Retract(blocks=("c:0",), reason="retry")]
    assert said[-1] == Done(reason="stop", native="stop")


def test_an_error_at_the_end_is_how_the_run_ended() -> None:
    recorder = Recorder("openai")
    said = [entry.event for entry in recorder.feed([chunk({"content": "x"}), {"error": "gone"}])]
    assert of(Error, said) == [Error(message="gone")]
    assert recorder.close()[-1].event == Done(reason="error")


def test_pages_repeated_by_every_chunk_are_emitted_once() -> None:
    pages = ["https://a.example"]
    said = fed(chunk({"content": "x"}, citations=pages), chunk({"content": "y"}, citations=pages))
    assert of(Source, said) == [Source(id="c:0", url="https://a.example")]


def test_hosted_tool_is_emitted_at_its_start_and_end() -> None:
    begun = {"index": 0, "type": "search", "arguments": '{"q": 1}'}
    said = fed(
        chunk({"executed_tools": [begun]}), chunk({"executed_tools": [{**begun, "output": "o"}]})
    )
    start = ToolUseStart(id="call_1", name="search", kind="search", server=True)
    assert said[2:] == [
        start,
        ToolUseEnd(id="call_1", input={"q": 1}),
        ToolResult(id="call_1", output="o"),
    ]


def test_sound_is_one_file_and_its_words_are_the_answer() -> None:
    pieces = [{"data": "AAE="}, {"transcript": "Hi"}, {"data": "AgM="}]
    said = fed(*(chunk({"audio": piece}) for piece in pieces), chunk({}, "stop"))
    assert of(File, said) == [File(id="c", media_type="audio/pcm", base64="AAECAw==")]
    assert text_of(said) == "Hi"


def test_unknown_delta_is_raw() -> None:
    line = chunk({"hologram": "x"})
    assert fed(line) == [Raw(raw=line)]


def test_the_simplified_lines_have_names_of_their_own() -> None:
    said = run(
        {"type": "start", "data": {"model": "gpt-4"}},
        {"type": "delta", "data": {"content": "Hello"}},
        {"type": "tool_call", "data": {"id": "a", "name": "f", "arguments": '{"x": 1}'}},
        {"type": "tool_result", "data": {"id": "a", "content": "y"}},
        {"type": "done", "data": {"usage": {"prompt_tokens": 3, "completion_tokens": 4}}},
    )
    assert said == [
        Start(framework="openai", model="gpt-4"),
        TextDelta(delta="Hello"),
        ToolUseStart(id="a", name="f"),
        ToolUseEnd(id="a", input={"x": 1}),
        ToolResult(id="a", output="y"),
        Usage(per="run", input=3, output=4),
        Done(reason="stop"),
    ]


# The older completions


def completion(text: str | None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    choice = {"text": text, "index": 0, "logprobs": None, "finish_reason": finish}
    return {"id": "c", "object": "text_completion", "model": "m", "choices": [choice], **more}


def test_older_completion_is_text() -> None:
    counts = {"prompt_tokens": 4, "completion_tokens": 3, "total_tokens": 7}
    said = run(
        completion("The", usage=None),
        completion(" answer"),
        completion(" is 42.", "stop"),
        {**completion(None), "choices": [], "usage": counts},
    )
    assert said == [
        Start(framework="openai", model="m"),
        StepStart(id="c", number=1),
        Text(id="c:0"),
        TextDelta(id="c:0", delta="The"),
        TextDelta(id="c:0", delta=" answer"),
        TextDelta(id="c:0", delta=" is 42."),
        TextEnd(id="c:0"),
        StepEnd(id="c", reason="stop"),
        Usage(id="c", input=4, output=3, total=7, model="m"),
        Done(reason="stop", native="stop"),
    ]


def test_older_completion_that_comes_at_once_is_text() -> None:
    said = run(completion("All of it.", "length"))
    assert text_of(said) == "All of it."
    assert said[-1] == Done(reason="length", native="length")


def test_text_beside_a_delta_is_emitted_once() -> None:
    both = {"index": 0, "delta": {"content": "Hi"}, "text": "Hi"}
    last = {"index": 0, "delta": {"content": ""}, "text": "", "finish_reason": "stop"}
    said = run({"id": "c", "choices": [both]}, {"id": "c", "choices": [last]})
    assert text_of(said) == "Hi"


def test_text_beside_an_empty_delta_is_emitted() -> None:
    assert text_of(run({"id": "c", "choices": [{"delta": {}, "text": "Hi"}]})) == "Hi"
