"""Every recording in every format, byte for byte, and read by the real clients.

`make golden` rewrites the expected files: review the diff as code.
"""

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from mobox import LogEntry, get_formatter
from mobox.delivery import sse
from mobox.events import Done, Error, Retract, Text, TextDelta, decode_many, encode_many
from mobox.formatters import format_all, protocols
from mobox.parsers import frameworks
from mobox.parsers.emitted.lines import LINES
from support.ag_ui_client import CLIENTS, AGUIClients
from support.ai_sdk_client import AiSdkClients
from support.grammar_ag_ui import check_ag_ui
from support.grammar_agent_event import check_agent_events
from support.grammar_ai_sdk import check_ai_sdk
from support.grammar_log import legal_log
from support.grammar_panes import check_panes
from support.recordings import RECORDINGS, each_recording, name_of, recorded_log

TESTS = Path(__file__).parents[1]
GOLDEN = TESTS / "golden"
READERS = [
    ("v5", "ai-v5-strict"),
    ("v5", "ai-v5"),
    ("v6", "ai-v6-strict"),
    ("v6", "ai-v6"),
    ("v6", "ai"),
    ("v7", "ai"),
    ("page", "ai"),
]
"""Which clients each profile is written for."""


def ai_sdk_documents(log: list[LogEntry], profile: str = "v6") -> list[bytes]:
    formatter = get_formatter("ai-sdk", "msg_1", profile)
    documents = format_all(formatter, log)
    return documents if isinstance(log[-1].event, Done) else [*documents, *formatter.pause()]


def ag_ui_documents(log: list[LogEntry], profile: str = "1.0") -> list[bytes]:
    formatter = get_formatter("ag-ui", "msg_1", profile)
    documents = format_all(formatter, log)
    documents += [] if isinstance(log[-1].event, Done) else formatter.pause()
    check_ag_ui(documents, profile)
    return documents


def panes_documents(log: list[LogEntry], policy: str = "document") -> list[bytes]:
    documents = format_all(get_formatter("panes", "msg_1", policy), log)
    check_panes(documents, policy, over=isinstance(log[-1].event, Done))
    return documents


def as_events(log: list[LogEntry]) -> bytes:
    assert decode_many(encode_many(log)) == log
    legal_log([entry.event for entry in log])
    return encode_many(log)


def as_ai_sdk(log: list[LogEntry], profile: str = "v6") -> bytes:
    documents = ai_sdk_documents(log, profile)
    check_ai_sdk(documents, profile)
    return b"".join(document + b"\n" for document in documents)


def as_ag_ui(log: list[LogEntry]) -> bytes:
    return b"".join(document + b"\n" for document in ag_ui_documents(log))


def as_panes(log: list[LogEntry]) -> bytes:
    return b"".join(document + b"\n" for document in panes_documents(log))


def agent_events(log: list[LogEntry], profile: str = "v1") -> list[bytes]:
    documents = format_all(get_formatter("agent-event", "msg_1", profile), log)
    check_agent_events(documents, profile, waits=not isinstance(log[-1].event, Done))
    return documents


def as_agent_events(log: list[LogEntry]) -> bytes:
    return b"".join(document + b"\n" for document in agent_events(log))


FORMATS: dict[str, Callable[[list[LogEntry]], bytes]] = {
    "events": as_events,
    "ai-sdk-v6": as_ai_sdk,
    "ai-sdk-v7": lambda log: as_ai_sdk(log, "v7"),
    "ai-sdk-page": lambda log: as_ai_sdk(log, "page"),
    "ag-ui-1.0": as_ag_ui,
    "panes": as_panes,
    "agent-event-v1": as_agent_events,
}
OTHERS: dict[str, Callable[[list[LogEntry]], list[bytes]]] = {
    "v5": lambda log: ai_sdk_documents(log, "v5"),
    "v7": lambda log: ai_sdk_documents(log, "v7"),
    "page": lambda log: ai_sdk_documents(log, "page"),
    "document": lambda log: ai_sdk_documents(log, "document"),
    "ag-ui pre-1.0": lambda log: ag_ui_documents(log, "pre-1.0"),
    "panes": panes_documents,
    "panes chat": lambda log: panes_documents(log, "chat"),
    "agent-event": agent_events,
    "agent-event document": lambda log: agent_events(log, "document"),
}
"""The other profiles, of which only hashes are kept: one file per recording."""
IN_FULL = {
    *("adk/hosted", "claude/agent_perm", "claude/agent_sub_sync_fwd", "claude/codeexec"),
    *("claude/overload", "deepagents/parts", "emitted/every_event", "gemini/hosted"),
    *("openai/responses_hosted", "openai/responses_rare", "openai-agents/approval_2_rejected"),
    *("smolagents/code_error", "smolagents/code_nostream", "smolagents/code_planning"),
    *("smolagents/gen_error", "smolagents/managed", "smolagents/max_steps"),
    *("smolagents/tool_error", "smolagents/tool_stream"),
}
"""The recordings whose panes and agent events are kept: more than a chat. Of the others, hashes."""

OF_VERSION_7 = {
    *("adk/confirmation", "claude/agent_ask", "claude/agent_perm", "claude/overload"),
    *("emitted/every_event", "langchain/callbacks_hitl", "langchain/parts_hitl"),
    *("langchain/protocol_hitl", "openai-agents/approval_2_rejected"),
    "openai-agents/mcp_approval_auto",
}
"""Those that version 7 reads otherwise: with answers, or what is taken back."""
OF_PAGE = {
    *("adk/long_running", "adk/workflow_request_input", "claude/agent_ask"),
    "emitted/every_event",
}
"""Those that our own page reads otherwise: with requests that are no approvals."""
ONLY_OF = {
    "panes": IN_FULL,
    "agent-event-v1": IN_FULL,
    "ai-sdk-v7": OF_VERSION_7,
    "ai-sdk-page": OF_PAGE,
}


GOLDEN_FILES = [
    (recording, form)
    for recording in RECORDINGS
    for form in FORMATS
    if form not in ONLY_OF or name_of(recording) in ONLY_OF[form]
]


def golden_file(recording: Path, form: str) -> Path:
    return GOLDEN / recording.parent.name / f"{recording.stem}.{form}.jsonl"


def hashes_file(recording: Path) -> Path:
    return GOLDEN / recording.parent.name / f"{recording.stem}.hashes.json"


@pytest.mark.parametrize(
    ("recording", "form"),
    GOLDEN_FILES,
    ids=[f"{name_of(path)}-{form}" for path, form in GOLDEN_FILES],
)
def test_a_recording_becomes_its_golden_file(recording: Path, form: str, regold: bool) -> None:
    golden, made = golden_file(recording, form), FORMATS[form](recorded_log(recording))
    if regold:
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_bytes(made)
    assert made.splitlines() == golden.read_bytes().splitlines()
    assert made == golden.read_bytes()


@each_recording
def test_the_other_profiles_are_what_they_were(recording: Path, regold: bool) -> None:
    log, golden = recorded_log(recording), hashes_file(recording)
    made = {
        profile: sha256(b"\n".join(format_log(log))).hexdigest()
        for profile, format_log in OTHERS.items()
    }
    if regold:
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(json.dumps(made, indent=1) + "\n", "utf-8")
    assert made == json.loads(golden.read_text("utf-8"))


def test_every_golden_file_has_its_recording(regold: bool) -> None:
    expected = {golden_file(recording, form) for recording, form in GOLDEN_FILES}
    expected |= {hashes_file(recording) for recording in RECORDINGS}
    if regold:
        for stale in set(golden_files()) - expected:
            stale.unlink()
    assert {name_of(recording) for recording in RECORDINGS} >= IN_FULL | OF_VERSION_7 | OF_PAGE
    assert set(golden_files()) == expected


def golden_files() -> list[Path]:
    return [path for path in GOLDEN.rglob("*") if path.is_file()]


def test_the_recordings_are_of_known_frameworks_and_stay_small() -> None:
    assert {path.parent.name for path in RECORDINGS} <= set(frameworks())
    assert sum(path.stat().st_size for path in RECORDINGS) <= 5_000_000


def test_every_recording_has_its_line_in_the_provenance() -> None:
    provenance = (TESTS / "recordings" / "PROVENANCE.md").read_text("utf-8")
    assert [path.stem for path in RECORDINGS if f"| {path.stem} |" not in provenance] == []


def test_every_kind_of_emitted_line_is_recorded() -> None:
    lines = (TESTS / "recordings/emitted/every_line.jsonl").read_text("utf-8").splitlines()
    assert {json.loads(line)["type"] for line in lines} == set(LINES)


@each_recording
@pytest.mark.parametrize("protocol", protocols())
def test_one_entry_at_a_time_gives_the_same_documents(recording: Path, protocol: str) -> None:
    log, formatter = recorded_log(recording), get_formatter(protocol, "msg_1")
    one_by_one = [document for entry in log for document in formatter.format(entry)]
    assert one_by_one == format_all(get_formatter(protocol, "msg_1"), log)


@each_recording
@pytest.mark.parametrize(("profile", "client"), READERS)
def test_the_real_client_reads_the_text_of_the_log(
    ai_sdk: AiSdkClients, recording: Path, profile: str, client: str
) -> None:
    log = recorded_log(recording)
    reading = ai_sdk.read(client, sse.encode(ai_sdk_documents(log, profile)))
    assert reading.error is None
    assert reading.error_text == error_of(log)
    assert reading.message is not None
    assert reading.message["id"] == "msg_1"
    parts = reading.message["parts"]
    assert shown_text(parts) == text_of(log)
    assert [part for part in parts if part.get("state") in ("streaming", "input-streaming")] == []


@each_recording
@pytest.mark.parametrize("profile", CLIENTS)
def test_the_real_ag_ui_client_reads_the_text_of_the_log(
    ag_ui: AGUIClients, recording: Path, profile: str
) -> None:
    log = recorded_log(recording)
    reading = ag_ui.read(profile, ag_ui_documents(log, profile))
    assert (reading.error, reading.warnings) == (None, [])
    assert reading.run_error == error_of(log)
    said = [message for message in reading.messages if message["role"] == "assistant"]
    texts = [message.get("content", "") for message in said if "subagentRunId" not in message]
    # A placeholder names its call as the wire does.
    assert "".join(texts).replace('"msg_1:', '"') == text_of(log)


def shown_text(parts: list[dict[str, Any]]) -> str:
    """The answer as a page shows it: without the parts that were sent again."""
    hidden = {
        name for part in parts if part["type"] == "data-retract" for name in part["data"]["ids"]
    }
    texts = [part for part in parts if part["type"] == "text"]
    return "".join(
        part["text"] for part in texts if part["providerMetadata"]["mobox"]["id"] not in hidden
    )


def text_of(log: list[LogEntry]) -> str:
    """What the root agent answered, without what it took back."""
    events = [entry.event for entry in log if not entry.event.scope]
    retracted = {name for event in events if isinstance(event, Retract) for name in event.blocks}
    return "".join(
        event.content if isinstance(event, Text) else event.delta
        for event in events
        if isinstance(event, Text | TextDelta) and event.id not in retracted
    )


def error_of(log: list[LogEntry]) -> str | None:
    """What the run failed with, if it did."""
    done = log[-1].event
    if not isinstance(done, Done) or done.reason not in ("error", "lost"):
        return None
    return [entry.event.message for entry in log if isinstance(entry.event, Error)][-1]
