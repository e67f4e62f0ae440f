"""The types of ADK's events that the parser reads, in the API's spelling."""

from __future__ import annotations

from msgspec import Struct

from mobox.events import JSON
from mobox.parsers.gemini.wire import Camel, Content, DeltaContent, Exact, FunctionResponse


class NodeInfo(Camel):
    path: str | None = None
    output_for: list[str] | None = None


class Actions(Camel):
    skip_summarization: bool | None = None
    state_delta: dict[str, JSON] | None = None
    artifact_delta: dict[str, JSON] | None = None
    transfer_to_agent: str | None = None
    requested_auth_configs: dict[str, JSON] | None = None
    requested_tool_confirmations: dict[str, JSON] | None = None
    compaction: dict[str, JSON] | None = None
    render_ui_widgets: JSON = None


class Event(Camel):
    author: str
    id: str | None = None
    branch: str | None = None
    content: Content | None = None
    partial: bool | None = None
    finish_reason: str | None = None
    error_code: str | None = None
    error_message: str | None = None
    model_version: str | None = None
    usage_metadata: JSON = None
    grounding_metadata: dict[str, JSON] | None = None
    citation_metadata: dict[str, JSON] | None = None
    node_info: NodeInfo | None = None
    output: JSON = None
    actions: Actions | None = None
    long_running_tool_ids: list[str] | None = None


# A partial event that is one delta of text and nothing else, as most are


class ExactNodeInfo(NodeInfo, forbid_unknown_fields=True): ...


class ExactActions(Actions, forbid_unknown_fields=True): ...


class DeltaEvent(Exact):
    """What is no delta of text does not fit, nor do other keys, such as Python's spelling."""

    author: str
    partial: bool
    content: DeltaContent
    invocation_id: JSON
    id: str | None = None
    branch: str | None = None
    model_version: str | None = None
    usage_metadata: JSON = None
    node_info: ExactNodeInfo | None = None
    actions: ExactActions | None = None
    custom_metadata: JSON = None
    timestamp: JSON = None


# Input requests: the arguments of calls that ADK generates


class OriginalCall(Camel):
    id: str | None = None


class Confirmation(Camel):
    hint: str | None = None
    payload: JSON = None


class AskConfirmation(Camel):
    original_function_call: OriginalCall | None = None
    tool_confirmation: Confirmation | None = None


class AskCredential(Camel):
    function_call_id: str | None = None
    auth_config: JSON = None


class AskInput(Struct):
    message: str | None = None
    payload: JSON = None
    response_schema: JSON = None


class AnswerPart(Camel):
    function_response: FunctionResponse | None = None


class Answer(Camel):
    parts: list[AnswerPart] | None = None
