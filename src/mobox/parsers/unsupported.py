"""Well-known formats without a parser yet, so that an error can name the format.

When a framework gets a parser, move its row into the `formats` of that parser.
"""

from __future__ import annotations

from typing import Final

from mobox.events import JSON
from mobox.parsers.formats import Format, has_keys, kind_in, kind_starts_with

_PYDANTIC_KINDS: Final = (
    "part_start", "part_delta", "part_end", "final_result", "function_tool_call",
    "function_tool_result", "builtin_tool_call", "builtin_tool_result", "output_tool_call",
    "output_tool_result", "agent_run_result", "deferred_tool_requests", "deferred_tool_results",
    "enqueued_messages",
)  # fmt: skip
_PYDANTIC_CLASSES: Final = (
    "PartStartEvent", "PartDeltaEvent", "PartEndEvent", "FinalResultEvent",
    "FunctionToolCallEvent", "FunctionToolResultEvent", "OutputToolCallEvent",
    "OutputToolResultEvent", "BuiltinToolCallEvent", "BuiltinToolResultEvent",
    "AgentRunResultEvent", "DeferredToolRequestsEvent", "DeferredToolResultsEvent",
)  # fmt: skip
_AG_UI: Final = (
    "RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "STEP_STARTED", "STEP_FINISHED",
    "STATE_SNAPSHOT", "STATE_DELTA", "MESSAGES_SNAPSHOT",
)  # fmt: skip
_AI_SDK: Final = (
    "start", "finish", "start-step", "finish-step", "reset-step", "abort", "message-metadata",
)  # fmt: skip
_AI_SDK_PREFIXES: Final = (
    "text-", "reasoning-", "tool-input-", "tool-output-", "tool-approval-", "source-", "data-",
)  # fmt: skip
_CONVERSE: Final = (
    "messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop",
    "metadata", "redactContent",
)  # fmt: skip
_STRANDS: Final = (
    "init_event_loop", "start_event_loop", "event_loop_cycle_id", "event_loop_throttled_delay",
    "current_tool_use", "tool_stream_event", "tool_interrupt_event",
)  # fmt: skip
_LLAMA_INDEX: Final = (
    "AgentInput", "AgentSetup", "AgentStream", "AgentStreamStructuredOutput", "AgentOutput",
    "AgentWorkflowStartEvent", "ToolCallResult", "InputRequiredEvent", "HumanResponseEvent",
)  # fmt: skip
_AUTOGEN: Final = (
    "TextMessage", "MultiModalMessage", "ModelClientStreamingChunkEvent", "ThoughtEvent",
    "ToolCallRequestEvent", "ToolCallExecutionEvent", "ToolCallSummaryMessage", "HandoffMessage",
    "StopMessage", "UserInputRequestedEvent", "MemoryQueryEvent", "StructuredMessage",
)  # fmt: skip
_CREW_CHANNELS: Final = ("llm", "flow", "tools", "messages", "lifecycle", "custom")
_CODEX: Final = ("thread.started", "turn.started", "turn.completed", "turn.failed")
_COHERE: Final = (
    "message-start", "content-start", "content-delta", "content-end", "tool-plan-delta",
    "tool-call-start", "tool-call-delta", "tool-call-end", "citation-start", "citation-end",
    "message-end",
)  # fmt: skip


def _converse(line: JSON) -> float:
    """An event of the Converse API: an object of one member, which names it."""
    if not isinstance(line, dict) or len(line) != 1:
        return 0.0
    ((name, value),) = line.items()
    return 0.9 if name in _CONVERSE and isinstance(value, dict) else 0.0


def _strands(line: JSON) -> float:
    if not isinstance(line, dict):
        return 0.0
    if any(name in line for name in _STRANDS):
        return 1.0
    if len(line) == 1 and (line.get("start") is True or "message" in line or "result" in line):
        return 0.5
    return 1.0 if len(line) == 1 and _converse(line.get("event")) else 0.0


def _llama_index_call(line: JSON) -> float:
    is_call = kind_in("type", ("ToolCall",), "data")(line) > 0
    return has_keys("tool_name", "tool_kwargs")(line["data"]) if is_call else 0.0


def _agno(line: JSON) -> float:
    who = ("agent_id", "team_id", "workflow_id")
    name = line.get("event") if isinstance(line, dict) else None
    is_event = isinstance(name, str) and name[:1].isupper() and "run_id" in line
    return float(is_event and any(key in line for key in who))


def _ai_sdk(line: JSON) -> float:
    named = kind_starts_with("type", *_AI_SDK_PREFIXES)(line)
    return max(named * 0.9, kind_in("type", _AI_SDK, confidence=0.6)(line))


def _a2a(line: JSON) -> float:
    result = line.get("result", line) if isinstance(line, dict) else None
    kind = kind_in("kind", ("status-update", "artifact-update"), confidence=0.9)(result)
    return max(kind, has_keys("statusUpdate")(result), has_keys("artifactUpdate")(result))


UNSUPPORTED: Final = (
    Format(
        "pydantic-ai's events",
        (
            kind_in("event_kind", _PYDANTIC_KINDS),
            kind_in("_class", _PYDANTIC_CLASSES),
            kind_in("type", _PYDANTIC_CLASSES),
        ),
    ),
    Format(
        "AG-UI's events",
        (
            kind_in("type", _AG_UI),
            kind_starts_with(
                "type", "TEXT_MESSAGE_", "TOOL_CALL_", "THINKING_", "REASONING_", "ACTIVITY_"
            ),
            kind_in("type", ("RAW", "CUSTOM"), confidence=0.5),
        ),
    ),
    Format("the AI SDK's UI message chunks", (_ai_sdk,)),
    Format("Agno's events", (_agno,)),
    Format("Strands' events", (_strands,)),
    Format("Amazon Bedrock's Converse events", (_converse,)),
    Format(
        "LlamaIndex's workflow events",
        (
            kind_in("type", _LLAMA_INDEX),
            kind_in("_class", _LLAMA_INDEX),
            _llama_index_call,
            kind_in("type", ("StopEvent",), "data", confidence=0.6),
            has_keys("response", "current_agent_name", confidence=0.9),
            has_keys("tool_name", "tool_kwargs", confidence=0.9),
        ),
    ),
    Format(
        "Microsoft Agent Framework's updates",
        (
            kind_in("type", ("AgentResponseUpdate", "AgentRunResponseUpdate"), "contents"),
            kind_in("type", ("agent_response_update", "chat_response_update"), "contents"),
            kind_in("_class", ("AgentResponseUpdate", "WorkflowEvent")),
        ),
    ),
    Format(
        "AutoGen's messages",
        (kind_in("type", _AUTOGEN, "source"), kind_in("_class", _AUTOGEN, "source")),
    ),
    Format(
        "CrewAI's stream frames",
        (
            kind_in("channel", _CREW_CHANNELS, "namespace", "data"),
            kind_in("chunk_type", ("text", "tool_call"), "content"),
            kind_starts_with("type", "crew_", "flow_", "llm_call_", "llm_stream_", "tool_usage_"),
        ),
    ),
    Format(
        "Codex's events",
        (kind_in("type", _CODEX), kind_starts_with("type", "item.", confidence=0.8)),
    ),
    Format(
        "ACP's messages",
        (kind_in("method", ("session/update", "session/request_permission"), "params"),),
    ),
    Format("A2A's events", (_a2a,)),
    Format("Mastra's chunks", (has_keys("type", "runId", "from", "payload"),)),
    Format(
        "Ollama's responses",
        (has_keys("model", "created_at", "done", "message"), has_keys("model", "done", "response")),
    ),
    Format("Cohere's events", (kind_in("type", _COHERE, confidence=0.8),)),
    Format(
        "the OpenAI Assistants API's events",
        (kind_starts_with("event", "thread.", confidence=0.9),),
    ),
    Format(
        "the events of OpenAI's stream helper",
        (
            kind_starts_with("type", "content.", "tool_calls.function.", "refusal.", "logprobs."),
            kind_in("type", ("chunk",), confidence=0.5),
        ),
    ),
    Format("Gradio's chat messages", (has_keys("role", "content", "options", "metadata"),)),
)
