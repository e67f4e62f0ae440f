"""The conversation that an agent gives to a model: nothing is lost, and each provider takes it."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mobox.agent_path.shared.control import Turn
from mobox.agent_path.shared.conversation import STYLES, render
from mobox.events import (
    Done,
    DoneReason,
    File,
    InputRequest,
    InputResponse,
    LogEntry,
    StepStart,
    StreamEvent,
    SubagentStart,
    Text,
    TextEnd,
    Thinking,
    ThinkingEnd,
    ToolResult,
    ToolUseEnd,
    ToolUseStart,
)
from mobox.events.message import parts_for_history
from mobox.events.transcript import build_message
from support.conversation_shapes import SHAPES
from support.recordings import each_recording, recorded_log
from support.strategies import log_of, logs, numbered

Json = dict[str, Any]
PNG = base64.b64encode(b"\x89PNG picture").decode()
PDF = base64.b64encode(b"%PDF-1.4").decode()
WAV = base64.b64encode(b"RIFF").decode()

each_style = pytest.mark.parametrize("style", [None, *STYLES], ids=str)


def question(*parts: Json, name: str = "q") -> Json:
    return {"id": name, "role": "user", "parts": list(parts)}


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def file(media_type: str, url: str, name: str | None = None) -> Json:
    return {"type": "file", "media_type": media_type, "url": url, "name": name}


def answer(log: Sequence[LogEntry], name: str = "run") -> Json:
    parts = parts_for_history(build_message(log, name))
    return {"id": name, "role": "assistant", "parts": msgspec.to_builtins(parts)}


def answered(*events: StreamEvent, reason: DoneReason = "stop") -> Json:
    return answer(numbered(log_of(events, Done(reason=reason))))


def words(name: str, said: str, scope: tuple[str, ...] = ()) -> list[StreamEvent]:
    return [Text(id=name, content=said, scope=scope), TextEnd(id=name, scope=scope)]


def call(
    name: str, tool: str = "look", scope: tuple[str, ...] = (), **arguments: Any
) -> list[StreamEvent]:
    return [
        ToolUseStart(id=name, name=tool, scope=scope),
        ToolUseEnd(id=name, input=arguments, scope=scope),
    ]


def said(style: str | None, *history: Json, prompt: Sequence[Json] = (), noted: str = "") -> Any:
    """What a style makes of a conversation; `noted` is in the note about what it cannot say."""
    messages, note = render(history, prompt or [text("And now?")], style)
    SHAPES[style](messages)
    assert noted in note if noted else not note, note
    return messages


# Every transcript


CALLS: dict[str | None, str] = {
    None: '"status": ',
    "anthropic": '"type": "tool_use"',
    "openai": '"type": "function"',
    "responses": '"type": "function_call"',
    "gemini": '"functionCall": ',
}
"""What is in the messages once for each call."""


def check(style: str | None, history: Sequence[Json]) -> str:
    """Whether the conversation is valid and whole; what is sent of it."""
    messages, _ = render(history, [text("And now?")], style)
    SHAPES[style](messages)
    told = json.dumps(messages, ensure_ascii=False)
    parts = [part for each in history for part in each["parts"] if not part.get("scope")]
    for part in parts:
        if part["type"] == "text" and part.get("text", "").strip():
            assert json.dumps(part["text"], ensure_ascii=False)[1:-1] in told
    calls = [p for p in parts if p["type"] == "tool" and (style is None or not p.get("server"))]
    assert told.count(CALLS[style]) >= len(calls)
    return told


@each_style
@given(st.lists(logs(), max_size=3))
@settings(max_examples=60)
def test_every_transcript_is_a_valid_conversation(
    style: str | None, chat: list[list[LogEntry]]
) -> None:
    history = []
    for number, log in enumerate(chat):
        history += [question(text(f"question {number}")), answer(log, f"run_{number}")]
    check(style, history)


@each_style
@each_recording
def test_recording_is_sent_without_the_words_of_subagents(
    recording: Path, style: str | None
) -> None:
    told = answer(recorded_log(recording))
    sent = check(style, [question(text("Go.")), told])
    root = json.dumps([p for p in told["parts"] if not p.get("scope")], ensure_ascii=False)
    for part in told["parts"]:
        if part["type"] == "text" and part.get("scope") and len(part["text"]) > 20:
            words_of_subagent = json.dumps(part["text"], ensure_ascii=False)[1:-1]
            assert words_of_subagent not in sent or words_of_subagent in root


# Tool calls


TWO_ROUNDS = answered(
    StepStart(id="1", kind="turn"),
    *words("t1", "I will look."),
    *call("a", at="it"),
    *call("b", at="that"),
    ToolResult(id="b", output={"seen": 2}),
    ToolResult(id="a", output="seen"),
    StepStart(id="2", kind="turn"),
    *words("t2", "Both are there."),
)


def test_parallel_calls_are_in_one_message_with_their_results_after_it() -> None:
    messages = said("anthropic", question(text("Look.")), TWO_ROUNDS)
    assert messages == [
        {"role": "user", "content": [text("Look.")]},
        {
            "role": "assistant",
            "content": [
                text("I will look."),
                {"type": "tool_use", "id": "a", "name": "look", "input": {"at": "it"}},
                {"type": "tool_use", "id": "b", "name": "look", "input": {"at": "that"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "seen"},
                {"type": "tool_result", "tool_use_id": "b", "content": '{"seen": 2}'},
            ],
        },
        {"role": "assistant", "content": [text("Both are there.")]},
        {"role": "user", "content": [text("And now?")]},
    ]


def test_chat_completions_have_calls_and_messages_of_the_role_tool() -> None:
    messages = said("openai", question(text("Look.")), TWO_ROUNDS)
    assert [message["role"] for message in messages] == [
        *("user", "assistant", "tool", "tool", "assistant", "user")
    ]
    assert messages[1]["content"] == "I will look."
    assert [each["function"] for each in messages[1]["tool_calls"]] == [
        {"name": "look", "arguments": '{"at": "it"}'},
        {"name": "look", "arguments": '{"at": "that"}'},
    ]
    assert messages[3] == {"role": "tool", "tool_call_id": "b", "content": '{"seen": 2}'}


def test_responses_have_items_for_calls_and_outputs() -> None:
    items = said("responses", question(text("Look.")), TWO_ROUNDS)
    assert [each.get("type", each.get("role")) for each in items] == [
        *("user", "assistant", "function_call", "function_call"),
        *("function_call_output", "function_call_output", "assistant", "user"),
    ]


def test_result_has_its_images_in_the_responses_api() -> None:
    image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    output = [{"type": "text", "text": "Here."}, image]
    run = answered(*call("a"), ToolResult(id="a", output=output))
    (result,) = [each for each in said("responses", run) if "output" in each]
    assert result["output"] == [
        {"type": "input_text", "text": "Here."},
        {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "auto"},
    ]


def test_gemini_has_function_calls_and_responses() -> None:
    contents = said("gemini", question(text("Look.")), TWO_ROUNDS)
    assert contents[1]["parts"][1] == {
        "functionCall": {"id": "a", "name": "look", "args": {"at": "it"}}
    }
    assert [part["functionResponse"]["response"] for part in contents[2]["parts"]] == [
        {"output": "seen"},
        {"seen": 2},
    ]


def test_plain_messages_have_calls_beside_their_text() -> None:
    (_, told, _) = said(None, question(text("Look.")), TWO_ROUNDS)
    assert told["content"] == "I will look.\nBoth are there."
    assert told["tool_calls"] == [
        {"id": "a", "name": "look", "input": {"at": "it"}, "output": "seen", "status": "ok"},
        {"id": "b", "name": "look", "input": {"at": "that"}, "output": {"seen": 2}, "status": "ok"},
    ]


@pytest.mark.parametrize("style", ["anthropic", "openai", "responses", "gemini"])
def test_text_after_a_call_is_another_answer_of_the_model(style: str) -> None:
    flat = answered(
        *words("t1", "Hm."), *call("a"), ToolResult(id="a", output=1), *words("t", "Ah")
    )
    roles = {
        "anthropic": ["user", "assistant", "user", "assistant", "user"],
        "openai": ["user", "assistant", "tool", "assistant", "user"],
        "gemini": ["user", "model", "user", "model", "user"],
        "responses": ["user", "assistant", None, None, "assistant", "user"],
    }
    messages = said(style, question(text("Hi")), flat)
    assert [message.get("role") for message in messages] == roles[style]


@each_style
def test_call_without_a_result_was_interrupted(style: str | None) -> None:
    cut = answered(*call("a", path="x"), reason="cancelled")
    assert "interrupted" in json.dumps(said(style, question(text("Hi")), cut))


def test_failed_and_denied_calls_are_errors() -> None:
    denied = ToolResult(id="a", status="denied", output="Not that one.")
    history = question(text("Hi")), answered(*call("a"), denied)
    result = said("anthropic", *history)[2]["content"][0]
    assert (result["content"], result["is_error"]) == ("Not that one.", True)
    part = said("gemini", *history)[2]["parts"][0]
    assert part["functionResponse"]["response"] == {"error": "Not that one."}


@each_style
def test_runs_with_the_same_ids_stay_apart(style: str | None) -> None:
    run = answered(*call("call 1"), ToolResult(id="call 1", output="x"))
    said(style, question(text("Hi")), run, question(text("Again")), run)


def test_an_image_in_a_result_is_sent_where_the_provider_takes_it() -> None:
    block = {"type": "image", "data": PNG, "mimeType": "image/png"}
    run = answered(*call("a"), ToolResult(id="a", output=[text("Here:"), block]))
    result = said("anthropic", question(text("Hi")), run)[2]["content"][0]
    assert [each["type"] for each in result["content"]] == ["text", "image"]
    messages = said("openai", question(text("Hi")), run, noted="file image/png, 12 bytes")
    assert messages[2]["content"] == "Here:\n[file image/png, 12 bytes]"


# Scopes and thoughts


@each_style
def test_words_of_a_subagent_are_not_the_agents_own(style: str | None) -> None:
    run = answered(
        *call("spawn", "task", what="research"),
        SubagentStart(id="spawn", agent="researcher", task="research"),
        *words("s1", "I am the subagent.", ("spawn",)),
        *call("inner", scope=("spawn",)),
        ToolResult(id="inner", scope=("spawn",), output="inner result"),
        ToolResult(id="spawn", output="The report."),
        *words("t1", "It is done."),
    )
    messages, _ = render([question(text("Hi")), run], [text("And now?")], style)
    SHAPES[style](messages)
    told = json.dumps(messages)
    assert "The report." in told
    assert "It is done." in told
    for words_of_others in ("I am the subagent", "inner", "researcher"):
        assert words_of_others not in told


def thought(**state: Any) -> list[StreamEvent]:
    provider = {name: {**values} for name, values in state.items()}
    return [Thinking(id="th", content="Hm."), ThinkingEnd(id="th", provider=provider)]


def test_signed_thoughts_go_back_to_their_provider() -> None:
    signed = answered(*thought(anthropic={"signature": "sig"}), *words("t", "Yes."))
    assert said("anthropic", question(text("Hi")), signed)[1]["content"] == [
        {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
        text("Yes."),
    ]
    assert said("openai", question(text("Hi")), signed, noted="thought without")[1:2] == [
        {"role": "assistant", "content": "Yes."}
    ]


def test_redacted_thoughts_go_back_as_they_are() -> None:
    redacted = [
        Thinking(id="th", redacted=True),
        ThinkingEnd(id="th", provider={"anthropic": {"redacted_data": "xyz"}}),
    ]
    run = answered(*redacted, *words("t", "Yes."))
    first = said("anthropic", question(text("Hi")), run)[1]["content"][0]
    assert first == {"type": "redacted_thinking", "data": "xyz"}


def test_reasoning_items_go_back_with_their_encrypted_content() -> None:
    state = {"item_id": "rs_1", "encrypted_content": "xyz"}
    run = answered(*thought(openai=state), *words("t", "Yes."))
    assert said("responses", question(text("Hi")), run)[1] == {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "Hm."}],
        "encrypted_content": "xyz",
    }


def test_signatures_of_gemini_are_in_the_parts_that_they_came_with() -> None:
    signature = {"google": {"thoughtSignature": "sig"}}
    run = answered(
        ToolUseStart(id="a", name="look", provider=signature),
        ToolUseEnd(id="a", input={}),
        ToolResult(id="a", output="x"),
        Text(id="t", content="Yes."),
        TextEnd(id="t", provider=signature),
    )
    contents = said("gemini", question(text("Hi")), run)
    assert contents[1]["parts"][0]["thoughtSignature"] == "sig"
    assert contents[3]["parts"] == [{"text": "Yes.", "thoughtSignature": "sig"}]


# Files


@each_style
def test_message_with_only_a_file_is_there(style: str | None) -> None:
    image = file("image/png", f"data:image/png;base64,{PNG}", "cat.png")
    (message,) = said(style, prompt=[image])
    assert PNG in json.dumps(message)


def test_files_in_the_form_of_each_provider() -> None:
    prompt = [
        text("Look:"),
        file("image/png", f"data:image/png;base64,{PNG}"),
        file("image/png", "https://example.com/cat.png"),
        file("application/pdf", f"data:application/pdf;base64,{PDF}", "a.pdf"),
        file(
            "text/plain", "data:text/plain;base64," + base64.b64encode(b"words").decode(), "a.txt"
        ),
    ]
    (message,) = said("anthropic", prompt=prompt)
    assert [block["type"] for block in message["content"]] == [
        *("text", "image", "image", "document", "document")
    ]
    assert message["content"][2]["source"] == {"type": "url", "url": "https://example.com/cat.png"}
    assert message["content"][4]["source"]["data"] == "words"
    (message,) = said("openai", prompt=prompt)
    assert [part["type"] for part in message["content"]] == [
        *("text", "image_url", "image_url", "file", "text")
    ]
    (message,) = said("gemini", prompt=prompt)
    assert [next(iter(part)) for part in message["parts"]] == [
        *("text", "inlineData", "fileData", "inlineData", "inlineData")
    ]
    (message,) = said("responses", prompt=prompt)
    assert [part["type"] for part in message["content"]] == [
        *("input_text", "input_image", "input_image", "input_file", "input_text")
    ]


def test_sound_is_sent_to_providers_that_hear() -> None:
    sound = file("audio/wav", f"data:audio/wav;base64,{WAV}", "a.wav")
    (message,) = said("openai", prompt=[sound])
    assert message["content"] == [
        {"type": "input_audio", "input_audio": {"data": WAV, "format": "wav"}}
    ]
    (message,) = said("anthropic", prompt=[sound], noted="file a.wav, 4 bytes")
    assert message["content"] == [text("[file a.wav, 4 bytes]")]


def test_a_file_of_the_answer_is_a_short_text() -> None:
    run = answered(File(media_type="image/png", base64=PNG, name="chart.png"), *words("t", "See?"))
    messages = said("anthropic", question(text("Hi")), run, noted="chart.png")
    assert messages[1]["content"] == [text("[file chart.png, 12 bytes]"), text("See?")]
    contents = said("gemini", question(text("Hi")), run)
    assert contents[1]["parts"][0] == {"inlineData": {"mimeType": "image/png", "data": PNG}}


# The rest


@each_style
def test_answered_question_is_part_of_the_conversation(style: str | None) -> None:
    run = answered(
        InputRequest(id="city", kind="question", prompt="Which city?"),
        InputResponse(id="city", decision="answered", value="Lisbon"),
        *words("t", "It is sunny."),
    )
    messages = said(style, question(text("Weather?")), run)
    roles = [message["role"].replace("model", "assistant") for message in messages]
    assert roles == ["user", "assistant", "user", "assistant", "user"]
    assert "Lisbon" in json.dumps(messages[2])


def test_tools_that_the_provider_ran_are_its_own_blocks() -> None:
    page = {"type": "web_search_result", "url": "https://example.com", "title": "Example"}
    run = answered(
        ToolUseStart(id="srvtoolu_1", name="web_search", server=True),
        ToolUseEnd(id="srvtoolu_1", input={"query": "x"}),
        ToolResult(
            id="srvtoolu_1", output=[page], provider={"anthropic": {"/0/encrypted_content": "e"}}
        ),
        *words("t", "Found."),
    )
    content = said("anthropic", question(text("Hi")), run)[1]["content"]
    assert [block["type"] for block in content] == [
        *("server_tool_use", "web_search_tool_result", "text")
    ]
    assert content[1]["content"] == [{**page, "encrypted_content": "e"}]
    other = said("openai", question(text("Hi")), run, noted="web_search")
    assert other[1]["content"].startswith('[called web_search {"query": "x"}: ')


def test_code_that_gemini_ran_is_its_own_part() -> None:
    run = answered(
        ToolUseStart(id="c", name="code_execution", kind="code", server=True),
        ToolUseEnd(id="c", input={"language": "PYTHON", "code": "1+1"}),
        ToolResult(id="c", output={"outcome": "OUTCOME_OK", "output": "2"}),
    )
    assert said("gemini", question(text("Hi")), run)[1]["parts"] == [
        {"executableCode": {"language": "PYTHON", "code": "1+1"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}},
    ]


def test_what_a_style_cannot_say_is_one_line_on_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    turn = Turn({"prompt": [file("video/mp4", "data:video/mp4;base64,AAAA", "a.mp4")]})
    assert turn.messages(style="anthropic")[0]["content"] == [text("[file a.mp4, 3 bytes]")]
    assert capfd.readouterr().err == (
        "mobox: messages(style='anthropic'): not sent to the model: file a.mp4, 3 bytes\n"
    )


def test_an_unknown_style_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match="anthropic, gemini, openai, responses"):
        Turn({"prompt": "Hi"}).messages(style="claude")


def test_data_of_the_application_is_told() -> None:
    (message,) = said(None, prompt=[{"type": "data", "name": "selection", "value": [1, 2]}])
    assert message["content"] == "[data selection: [1, 2]]"
