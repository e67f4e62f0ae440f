"""Gemini's chunks and interactions, one behaviour each; for whole streams see tests/golden."""

import json
import re
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobox import Recorder
from mobox.events import (
    Done,
    DoneReason,
    Error,
    File,
    Raw,
    Source,
    Start,
    Status,
    StepEnd,
    StepStart,
    StreamEvent,
    Text,
    TextDelta,
    TextEnd,
    Thinking,
    ThinkingEnd,
    ToolResult,
    ToolUseDelta,
    ToolUseEnd,
    ToolUseStart,
    Usage,
)
from mobox.parsers import get_parser
from mobox.parsers.gemini import Chunks
from mobox.parsers.gemini.calls import PartialArguments
from mobox.parsers.gemini.wire import PartialArg
from support.slow_path import takes_the_short_way

RECORDINGS = sorted((Path(__file__).parent.parent / "recordings" / "gemini").glob("*"))
Line = dict[str, Any]


def chunk(*parts: Line, finish: str | None = None, **more: Any) -> Line:
    candidate: Line = {"content": {"parts": list(parts), "role": "model"}, "index": 0}
    for name in [name for name in more if name.endswith("Metadata") and name != "usageMetadata"]:
        candidate[name] = more.pop(name)
    if finish is not None:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "responseId": "r1", **more}


def call(name: str | None = None, **more: Any) -> Line:
    return {"functionCall": {**({"name": name} if name else {}), **more}}


def told(*lines: Any) -> list[StreamEvent]:
    recorder = Recorder("gemini")
    return [entry.event for entry in recorder.feed(lines) + recorder.close()]


def of(kind: type[StreamEvent], events: list[StreamEvent]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


# Chunks


def test_parts_of_one_kind_form_a_block() -> None:
    events = told(
        chunk({"text": "Hm", "thought": True}, {"text": "."}),
        chunk({"text": ".."}),
        chunk({"text": "", "thoughtSignature": "s1"}, finish="STOP"),
    )
    assert events == [
        Start(framework="gemini"),
        StepStart(id="r1", number=1),
        Thinking(id="r1:1", content="Hm"),
        ThinkingEnd(id="r1:1"),
        Text(id="r1:2", content="."),
        TextDelta(id="r1:2", delta=".."),
        TextEnd(id="r1:2", provider={"google": {"thoughtSignature": "s1"}}),
        StepEnd(id="r1", reason="STOP"),
        Done(reason="stop", native="STOP"),
    ]


def test_signatures_of_one_block_are_all_kept() -> None:
    parts = [{"text": "a", "thoughtSignature": "s1"}, {"text": "b", "thoughtSignature": "s2"}]
    (end,) = of(TextEnd, told(chunk(*parts)))
    assert end.provider == {"google": {"thoughtSignature": "s2", "thoughtSignatures": ["s1", "s2"]}}


def test_a_signature_of_nothing_is_kept() -> None:
    (raw,) = of(Raw, told(chunk(call("f"), {"thoughtSignature": "s"}, finish="STOP")))
    assert raw.raw == {"thoughtSignature": "s"}


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: str(path.stem))
def test_both_spellings_mean_the_same(path: Path) -> None:
    lines = [json.loads(text) for text in path.read_text("utf-8").splitlines()]
    snake = [snaked(each) for each in lines]
    if path.stem not in ("interactions", "simplified"):
        assert snake != lines
    assert told(*snake) == told(*lines)


def snaked(value: Any) -> Any:
    """As a pydantic model is dumped without aliases."""
    if isinstance(value, list):
        return [snaked(each) for each in value]
    if not isinstance(value, dict):
        return value
    own = {"args", "response"}
    return {
        re.sub(r"(?<=[a-z])([A-Z])", lambda m: "_" + m[1].lower(), key): (
            inner if key in own else snaked(inner)
        )
        for key, inner in value.items()
    }


def test_usage_of_an_answer_is_emitted_once_including_thoughts() -> None:
    used = {"promptTokenCount": 10, "toolUsePromptTokenCount": 5, "candidatesTokenCount": 3}
    events = told(
        chunk({"text": "a"}, usageMetadata={"promptTokenCount": 10}, modelVersion="g"),
        chunk({"text": "b"}, finish="STOP", usageMetadata=used | {"thoughtsTokenCount": 4}),
    )
    assert of(Usage, events) == [Usage(id="r1", input=15, output=7, reasoning=4, model="g")]


def test_use_that_comes_after_the_finish_counts() -> None:
    late = {"usageMetadata": {"promptTokenCount": 10}, "responseId": "r1"}
    events = told(chunk({"text": "a"}, finish="STOP"), late)
    assert of(Usage, events) == [Usage(id="r1", input=10)]
    assert len(of(StepStart, events)) == 1


def test_use_that_makes_no_sense_is_kept() -> None:
    events = told(chunk({"text": "a"}, finish="STOP", usageMetadata={"promptTokenCount": "x"}))
    assert of(Raw, events)[0].raw == {"promptTokenCount": "x"}


@pytest.mark.parametrize(
    ("finish", "reason"),
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("RECITATION", "content_filter"),
        ("TOO_MANY_TOOL_CALLS", "max_turns"),
        ("MALFORMED_FUNCTION_CALL", "error"),
        ("A_NEW_ONE", "stop"),
    ],
)
def test_finish_reasons(finish: str, reason: DoneReason) -> None:
    events = told(chunk({"text": "a"}, finish=finish))
    assert events[-1] == Done(reason=reason, native=finish)
    assert bool(of(Error, events)) == (reason == "error")


def test_a_prompt_that_is_blocked() -> None:
    blocked = {"promptFeedback": {"blockReason": "OTHER", "blockReasonMessage": "No."}}
    events = told(blocked)
    assert of(Status, events) == [Status(message="The prompt was blocked: No.", kind="notice")]
    assert events[-1] == Done(reason="content_filter", native="OTHER")


def test_an_error_in_the_stream() -> None:
    error = {"error": {"code": 503, "message": "Busy.", "status": "UNAVAILABLE"}}
    events = told(chunk({"text": "a"}), error)
    assert of(Error, events) == [Error(message="Busy.", code="overloaded", retryable=True)]
    assert events[-1] == Done(reason="error")


def test_another_answer_begins_where_the_id_changes() -> None:
    events = told(chunk({"text": "a"}), {**chunk({"text": "b"}), "responseId": "r2"})
    assert [(step.id, step.status) for step in of(StepEnd, events)] == [
        ("r1", "interrupted"),
        ("r2", "interrupted"),
    ]


def test_other_candidates_are_kept() -> None:
    both = {"candidates": [*chunk({"text": "a"})["candidates"], {"index": 1}]}
    assert of(Raw, told(both)) == [Raw(raw={"index": 1}, source="another candidate")]


@pytest.mark.parametrize("part", [{}, {"newThing": 1}, {"text": 7}, {"functionCall": {"args": 1}}])
def test_unparsed_part_is_kept_and_the_others_are_emitted(part: Line) -> None:
    events = told(chunk({"text": "a"}, part, {"text": "b"}))
    assert of(Raw, events) == [Raw(raw=part, source="a part")]
    assert [event.delta for event in of(TextDelta, events)] == ["b"]


@pytest.mark.parametrize("line", [7, {}, {"candidates": 7}, {"hello": 1}])
def test_unknown_chunk_is_kept(line: Any) -> None:
    assert of(Raw, told(line))[0].raw == line


# Tools


def test_a_call_without_an_id_gets_one_and_results_find_it_by_name() -> None:
    events = told(
        chunk(call("look", args={"a": 1}), call("look", args={"a": 2}), call("go"), finish="STOP"),
        chunk({"functionResponse": {"name": "go", "response": {"error": "no"}}}),
        chunk({"functionResponse": {"name": "look", "response": {"b": 1}}}),
    )
    assert [start.id for start in of(ToolUseStart, events)] == ["call_1", "call_2", "call_3"]
    assert of(ToolResult, events)[:2] == [
        ToolResult(id="call_3", output={"error": "no"}, status="error"),
        ToolResult(id="call_1", output={"b": 1}),
    ]


def test_calls_that_have_no_result_are_handed_over() -> None:
    events = told(chunk(call("look", id="c1"), finish="STOP"))
    assert of(ToolUseEnd, events) == [ToolUseEnd(id="c1", input={})]
    assert events[-1] == Done(reason="tool", native="STOP")


def test_results_that_the_sdk_got_are_the_last_in_the_history() -> None:
    def answered(value: int) -> Line:
        return {"parts": [{"functionResponse": {"name": "look", "response": {"n": value}}}]}

    history = [answered(0), {"parts": [call("look")]}, answered(1)]
    events = told(
        chunk(call("look", id="c1"), finish="STOP"),
        chunk({"text": "a"}, automaticFunctionCallingHistory=history),
        chunk({"text": "b"}, finish="STOP", automaticFunctionCallingHistory=history),
    )
    assert of(ToolResult, events) == [ToolResult(id="c1", output={"n": 1})]
    assert events[-1].type == "done"
    assert [step.id for step in of(StepStart, events)] == ["r1", "r1~2"]


def test_a_result_may_come_in_parts_and_with_files() -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "-_8="}}
    link = {"fileData": {"fileUri": "https://example.org/a"}}
    response = {"name": "look", "response": {}, "willContinue": True}
    events = told(
        chunk(call("look", id="c1")),
        chunk({"functionResponse": response}),
        chunk(
            {"functionResponse": {**response, "willContinue": False, "parts": [image, link, {}]}}
        ),
    )
    assert [result.partial for result in of(ToolResult, events)] == [True, False]
    assert of(File, events) == [
        File(id="c1", media_type="image/png", base64="+/8="),
        File(id="c1", media_type="application/octet-stream", url="https://example.org/a"),
    ]


def test_hosted_tools_are_recognized() -> None:
    events = told(
        chunk({"executableCode": {"code": "1/0", "language": "PYTHON"}}),
        chunk({"codeExecutionResult": {"outcome": "OUTCOME_FAILED", "output": "oh"}}),
        chunk({"toolCall": {"toolType": "FILE_SEARCH", "id": "t1"}}, finish="STOP"),
    )
    assert [(start.name, start.kind, start.server) for start in of(ToolUseStart, events)] == [
        ("code_execution", "code", True),
        ("server:FILE_SEARCH", "search", True),
    ]
    assert [(result.id, result.status) for result in of(ToolResult, events)] == [
        ("call_1", "error"),
        ("t1", "unknown"),
    ]
    assert events[-1] == Done(reason="stop", native="STOP")


@pytest.mark.parametrize(
    "part", [{"toolResponse": {}}, {"codeExecutionResult": {}}, {"functionResponse": {}}]
)
def test_a_result_of_nothing_is_kept(part: Line) -> None:
    assert of(Raw, told(chunk({"text": "a"}, part)))[0].raw == part


# Arguments in pieces


def patch(path: str, value: Any = None, goes_on: bool = False) -> Line:
    kinds = {str: "stringValue", bool: "boolValue", int: "numberValue", float: "numberValue"}
    told = {kinds[type(value)]: value} if value is not None else {"nullValue": "NULL_VALUE"}
    return {"jsonPath": path, **told, **({"willContinue": True} if goes_on else {})}


def test_patches_are_written_as_the_json_that_they_make() -> None:
    patches = [
        patch("$.who.name", 'A"', goes_on=True),
        patch("$.who.name", "da"),
        patch("$.who.tags[0]", "x", goes_on=True),
        patch("$.who.tags[1]", None),
        patch("$['odd key']", 1.5),
        patch("$.list[0].ok", True),
    ]
    events = told(
        chunk(call("look", id="c1", willContinue=True)),
        *(chunk(call(partialArgs=[each], willContinue=True)) for each in patches),
        chunk(call(), finish="STOP"),
    )
    text = "".join(delta.delta for delta in of(ToolUseDelta, events))
    expected = {
        "who": {"name": 'A"da', "tags": ["x", None]},
        "odd key": 1.5,
        "list": [{"ok": True}],
    }
    assert json.loads(text) == expected
    assert of(ToolUseEnd, events) == [ToolUseEnd(id="c1", input=expected)]


def test_a_patch_that_goes_back_is_in_the_input_but_not_in_the_text() -> None:
    patches = [patch("$.a", 1), patch("$.b.c", "x"), patch("$.a", 2), patch("$.d", "y")]
    events = told(chunk(call("look", id="c1", partialArgs=patches)))
    assert of(ToolUseEnd, events)[0].input == {"a": 2, "b": {"c": "x"}, "d": "y"}


@pytest.mark.parametrize("path", ["", "a", "$", "$.a..b", "$[0]", "$.a[7]", "$.a.b", "$.a[x]"])
def test_a_patch_of_no_possible_place_is_kept(path: str) -> None:
    patches = [patch("$.a", "x"), patch(path, 1)]
    events = told(chunk(call("look", id="c1", partialArgs=patches)))
    assert of(Raw, events)[0].raw["jsonPath"] == path
    assert of(ToolUseEnd, events)[0].input == {"a": "x"}


def test_the_next_call_ends_the_input_of_the_one_before() -> None:
    events = told(
        chunk(call("a", id="c1", willContinue=True)),
        chunk(call("b", id="c2", args={"n": 1}, willContinue=True)),
        chunk({"text": "so"}),
    )
    assert of(ToolUseEnd, events) == [
        ToolUseEnd(id="c1", input={}),
        ToolUseEnd(id="c2", input={"n": 1}),
    ]


values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3)
        | st.dictionaries(st.text("abc", min_size=1), inner, min_size=1, max_size=3)
    ),
)


@given(st.dictionaries(st.text("abc", min_size=1), values, min_size=1), st.booleans())
def test_any_value_can_be_sent_in_patches(value: dict[str, Any], in_pieces: bool) -> None:
    arguments, text = PartialArguments(), ""
    for path, leaf in leaves(value, "$"):
        whole = PartialArg(path, number_value=leaf if type(leaf) is int else None)
        whole.bool_value = leaf if isinstance(leaf, bool) else None
        if isinstance(leaf, str):
            pieces = [*leaf, ""] if in_pieces else [leaf]
            for number, piece in enumerate(pieces, 1):
                more = number < len(pieces)
                text += arguments.add(PartialArg(path, string_value=piece, will_continue=more))
        else:
            text += arguments.add(whole)
    assert json.loads(text + arguments.end()) == value == arguments.value


def leaves(value: Any, path: str) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [leaf for key in value for leaf in leaves(value[key], f"{path}.{key}")]
    if isinstance(value, list):
        return [leaf for n, each in enumerate(value) for leaf in leaves(each, f"{path}[{n}]")]
    return [(path, value)]


# Sources


def test_passages_are_cited_with_confidence_and_other_sources_emitted_once() -> None:
    grounding = {
        "groundingChunks": [
            {"web": {"uri": "https://example.org/a", "title": "A"}},
            {"retrievedContext": {"title": "notes.txt", "text": "Once"}},
            {"web": {"uri": "https://example.org/c"}},
        ],
        "groundingSupports": [
            {
                "segment": {"text": "Yes.", "endIndex": 4},
                "groundingChunkIndices": [0, 1, 9],
                "confidenceScores": [0.5],
            }
        ],
    }
    events = told(
        chunk({"text": "Yes."}, groundingMetadata=grounding),
        chunk(finish="STOP", groundingMetadata=grounding),
    )
    passage: dict[str, Any] = {"cited_text": "Yes.", "location": {"endIndex": 4}}
    assert of(Source, events) == [
        Source(id="r1:1", url="https://example.org/a", title="A", confidence=0.5, **passage),
        Source(id="r1:1", document="notes.txt", title="notes.txt", **passage),
        Source(id="r1:1", url="https://example.org/c"),
    ]


def test_citations_and_pages_that_were_read() -> None:
    citations = {"citations": [{"uri": "https://example.org/a", "startIndex": 1, "license": "mit"}]}
    pages = [
        {"retrievedUrl": "https://example.org/b"},
        {"retrievedUrl": "https://example.org/c", "urlRetrievalStatus": "ERROR"},
    ]
    events = told(
        chunk(
            {"text": "a"},
            citationMetadata=citations,
            urlContextMetadata={"urlMetadata": pages},
            groundingMetadata={"groundingChunks": 7},
        )
    )
    assert of(Source, events) == [
        Source(
            id="r1:1", url="https://example.org/a", location={"startIndex": 1, "license": "mit"}
        ),
        Source(url="https://example.org/b"),
    ]
    assert of(Status, events)[0].message == "Could not read https://example.org/c: ERROR"
    assert of(Raw, events)[0].raw == {"groundingChunks": 7}


# Interactions


def step(kind: str, index: int = 0, **more: Any) -> Line:
    return {"event_type": f"step.{kind}", "index": index, **more}


def begun(kind: str, **more: Any) -> Line:
    return step("start", step={"type": kind, **more})


def delta(kind: str, **more: Any) -> Line:
    return step("delta", delta={"type": kind, **more})


CREATED = {"event_type": "interaction.created", "interaction": {"id": "i1", "model": "g"}}


def ended(status: str, **more: Any) -> Line:
    return {"event_type": "interaction.completed", "interaction": {"status": status, **more}}


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ("completed", "stop"),
        ("requires_action", "tool"),
        ("incomplete", "length"),
        ("failed", "error"),
        ("cancelled", "cancelled"),
    ],
)
def test_how_an_interaction_ends(status: str, reason: DoneReason) -> None:
    assert told(CREATED, ended(status))[-1] == Done(reason=reason, native=status)


@pytest.mark.parametrize("usage", [{"total_tokens": "7"}, 7], ids=str)
def test_use_that_makes_no_sense_does_not_cost_the_end_of_an_interaction(usage: Any) -> None:
    events = told(CREATED, ended("completed", usage=usage))
    assert of(Raw, events)[0].raw == usage
    assert events[-1] == Done(reason="stop", native="completed")


def test_a_thought_that_is_not_shown_keeps_its_signature() -> None:
    lines = [begun("thought"), delta("thought_signature", signature="s"), step("stop")]
    events = told(CREATED, *lines, begun("thought"), step("stop"))
    assert of(Thinking, events) == [Thinking(id="i1:0", redacted=True)]
    assert of(ThinkingEnd, events)[0].provider == {"google": {"signature": "s"}}


def test_a_server_tool_of_an_interaction_and_what_it_found() -> None:
    found = [{"url": "https://example.org/a", "title": "A"}, {"other": 1}]
    events = told(
        CREATED,
        begun("google_search_call", id="c1"),
        delta("google_search_call", arguments={"queries": ["a"]}),
        step("stop"),
        begun("google_search_result", call_id="c1"),
        delta("google_search_result", result=found),
        ended("completed"),
    )
    assert of(ToolUseStart, events)[0].kind == "search"
    assert of(ToolUseEnd, events) == [ToolUseEnd(id="c1", input={"queries": ["a"]})]
    assert of(ToolResult, events) == [ToolResult(id="c1", output=found)]
    assert of(Source, events) == [Source(id="c1", url="https://example.org/a", title="A")]


def test_arguments_that_break_off() -> None:
    lines = [begun("function_call", id="c1", name="f"), delta("arguments_delta", arguments='{"a')]
    events = told(CREATED, *lines, step("stop"))
    assert of(ToolUseEnd, events) == [ToolUseEnd(id="c1", invalid='{"a')]


def test_text_of_an_interaction_joined_in_the_middle_is_emitted() -> None:
    thought = step("delta", 0, delta={"type": "thought_summary", "content": {"text": "Hm"}})
    words = [step("delta", 1, delta={"type": "text", "text": text}) for text in ("He", "llo")]
    strange = step("delta", 2, delta={"type": "arguments_delta", "arguments": "{}"})
    events = told(thought, *words, strange, step("stop", 1), ended("completed"))
    assert [event.content for event in of(Thinking, events)] == ["Hm"]
    assert [event.content for event in of(Text, events)] == ["He"]
    assert [event.delta for event in of(TextDelta, events)] == ["llo"]
    assert [raw.raw for raw in of(Raw, events)] == [strange]
    assert len(of(TextEnd, events)) == len(of(ThinkingEnd, events)) == 1


def test_words_of_a_step_that_has_stopped_are_raw() -> None:
    late = step("delta", 0, delta={"type": "text", "text": "?"})
    events = told(CREATED, begun("model_output"), delta("text", text="Hi"), step("stop", 0), late)
    assert [event.content for event in of(Text, events)] == ["Hi"]
    assert [raw.raw for raw in of(Raw, events)] == [late]


def test_media_of_an_interaction_are_files() -> None:
    image = delta("image", data="iVBO", mime_type="image/webp")
    document = delta("document", uri="https://example.org/a.pdf")
    events = told(CREATED, begun("model_output"), image, document)
    assert [file.media_type for file in of(File, events)] == [
        "image/webp",
        "application/octet-stream",
    ]


@pytest.mark.parametrize(
    "line",
    [
        begun("user_input"),
        delta("arguments_delta", arguments="of no step"),
        step("stop", 9),
        {"event_type": "step.start", "index": -1, "step": {}},
    ],
)
def test_an_event_that_is_not_understood_is_kept(line: Line) -> None:
    assert of(Raw, told(CREATED, line))[0].raw == line


def test_a_delta_that_is_not_understood_is_kept() -> None:
    strange = [delta("strange"), delta("thought_summary"), delta("arguments_delta", arguments=7)]
    events = told(CREATED, begun("thought"), *strange)
    assert [raw.raw for raw in of(Raw, events)] == strange[:2]


def test_an_interaction_that_fails() -> None:
    events = told(CREATED, {"event_type": "error", "error": {"code": 500}})
    assert of(Error, events) == [Error(message="500", code="overloaded", retryable=True)]


# The simplified lines, and the short way


def test_the_simplified_lines_of_the_document() -> None:
    events = told(
        {"type": "start", "data": {"model": "gemini-pro"}},
        {"type": "content", "data": {"text": "Hello"}},
        {"type": "function_call", "data": {"name": "look", "args": {"a": 1}}},
        {"type": "function_response", "data": {"name": "look", "response": {"b": 2}}},
        {"type": "done", "data": {"usage": {"input_tokens": 3}}},
    )
    assert [event.type for event in events] == [
        *("start", "text", "text_delta", "text_end", "tool_use_start", "tool_use_end"),
        *("tool_result", "usage", "done"),
    ]


MORE = chunk({"text": "more"}, usageMetadata={"promptTokenCount": 3})
OTHERS: list[Line] = [
    chunk({"text": ""}),
    chunk({"text": "x", "thought": True}),
    chunk({"text": "x", "thoughtSignature": "s"}),
    chunk({"text": "x", "hologram": 1}),
    chunk({"text": "x"}, finish="STOP"),
    chunk({"text": "x"}, {"text": "y"}),
    chunk({"text": "x"}, modelVersion=7),
    chunk({"text": "x"}, groundingMetadata={"groundingChunks": [{"web": {"uri": "https://a.b"}}]}),
    {**MORE, "candidates": [*MORE["candidates"], *MORE["candidates"]]},
    {**MORE, "responseId": "r2"},
    {**MORE, "response_id": "r2"},
    {**MORE, "usage_metadata": {"promptTokenCount": 4}},
    {**MORE, "promptFeedback": {"blockReason": "SAFETY"}},
    {**MORE, "error": {"code": 500}},
    {**MORE, "_exception": "E"},
    {**MORE, "type": "text", "data": {"content": "x"}},
    {"type": "text", "data": {"content": "x", "scope": ["a"]}},
]


@pytest.mark.parametrize("line", OTHERS, ids=str)
def test_a_chunk_that_is_not_only_a_delta_takes_the_long_way(line: Line) -> None:
    assert not takes_the_short_way("gemini", [MORE], line)


def test_a_delta_of_the_open_block_takes_the_short_way() -> None:
    thought = chunk({"text": "hm", "thought": True})
    snake = {"prompt_token_count": 3}
    assert not takes_the_short_way("gemini", [], MORE)
    assert takes_the_short_way("gemini", [MORE], MORE)
    assert takes_the_short_way("gemini", [thought], thought)
    assert takes_the_short_way("gemini", [MORE], {**MORE, "responseId": None, "usageMetadata": {}})
    assert takes_the_short_way("gemini", [MORE], {**MORE, "usageMetadata": snake})
    assert takes_the_short_way("gemini", [MORE], {**MORE, "sdkHttpResponse": {"headers": {}}})
    assert not takes_the_short_way("gemini", [MORE, chunk(finish="STOP")], MORE)


def test_a_failure_of_the_short_way_keeps_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    parser = get_parser("gemini")
    parser.feed(MORE)
    monkeypatch.setattr(Chunks, "read_delta", Mock(side_effect=KeyError("bug")))
    [event] = parser.feed_line(json.dumps(MORE).encode())
    assert event == Raw(raw=MORE, source="parser failed: KeyError('bug')")


pieces = st.sampled_from(
    [
        *OTHERS,
        *[MORE] * 5,
        chunk({"text": "a"}),
        chunk({"text": "b"}, usageMetadata={"promptTokenCount": 3}),
        chunk({"text": "c", "thought": True}, usageMetadata={"promptTokenCount": "x"}),
        chunk({"text": "d"}, finish="STOP"),
        chunk(call("look")),
        {**chunk({"text": "e"}), "responseId": "r2"},
        {"type": "status", "data": {"message": "f"}},
    ]
)


@given(st.lists(pieces, max_size=8))
def test_lines_mean_what_values_mean(lines: list[Line]) -> None:
    by_value, by_line = Recorder("gemini"), Recorder("gemini")
    body = b"".join(json.dumps(each).encode() + b"\n" for each in lines)
    expected = by_value.feed(lines) + by_value.close()
    assert by_line.read(body) + by_line.close() == expected
