"""A stored message as the messages that the client would have after reading the whole stream.

AG-UI has no message with parts: a text, a thought, a call and its result are messages of their own.

Rule 1: a reloaded page looks the same as one that was not reloaded.
Rule 2: retracted messages are removed, except that the only thought stays, empty: a client keeps
        its own thoughts if a snapshot has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, NamedTuple

from mobox.events import JSON, File, TodoItem, ToolResult
from mobox.events.message import (
    BlockPart,
    FilePart,
    Message,
    RetractPart,
    SourcePart,
    TextPart,
    ThinkingPart,
    TodosPart,
    ToolPart,
)
from mobox.events.placeholders import resolved
from mobox.events.turn import PromptFile, PromptPart, PromptText, UserMessage
from mobox.formatters.ag_ui.documents import (
    DEFAULT,
    PROFILES,
    Documents,
    Profile,
    WireIds,
    encode,
    event,
)
from mobox.formatters.ag_ui.spans import block_metadata, citation
from mobox.formatters.ag_ui.tools import (
    arguments_text,
    result_content,
    result_metadata,
    tool_metadata,
)
from mobox.formatters.values import file_url, plan_items, profile_named, without_none


class Activity(NamedTuple):
    """Content that AG-UI has no event for and that must survive a reload.

    Clients keep an activity among the messages, replace it by its id, and never send it back.
    """

    wire: str
    kind: str
    content: dict[str, JSON]
    owner: str | None = None

    def document(self) -> bytes:
        """The event that sends it; it replaces the activity of its id."""
        return event(
            "ACTIVITY_SNAPSHOT",
            messageId=self.wire,
            activityType=self.kind,
            content=self.content,
            subagentRunId=self.owner,
        )

    def message(self) -> dict[str, Any]:
        """The message that the client then has."""
        about = {
            "id": self.wire,
            "role": "activity",
            "activityType": self.kind,
            "content": self.content,
            "subagentRunId": self.owner,
        }
        return without_none(about)


class Activities:
    """The activities of one run; live and stored they are numbered alike."""

    def __init__(self, ids: WireIds) -> None:
        self._ids = ids
        self._found: list[JSON] = []
        self._files = 0

    def todos(self, items: Iterable[TodoItem], scope: tuple[str, ...]) -> Activity:
        """The plan of one agent as it is now."""
        wire, content = self._ids.activity("todos", scope), {"items": plan_items(items)}
        return Activity(wire, "mobox.todos", content, self._ids.owner(scope))

    def source(self, found: JSON) -> Activity:
        """All sources of the run that no text cites."""
        self._found.append(found)
        content = {"sources": list(self._found)}
        return Activity(self._ids.activity("sources"), "mobox.sources", content)

    def file(self, event: File) -> Activity:
        """An image, a sound, an artifact."""
        self._files += 1
        content = {
            "mediaType": event.media_type,
            "url": file_url(event),
            "fileId": event.file_id,
            "name": event.name,
            "size": event.size,
        }
        wire, owner = self._ids.activity(f"file_{self._files}"), self._ids.owner(event.scope)
        return Activity(wire, "mobox.file", without_none(content), owner)


AGUIMessage = dict[str, JSON]


def snapshot(message: Message, profile: str = DEFAULT) -> list[AGUIMessage]:
    """The messages of one run for a client."""
    snapshot = _Snapshot(message, profile_named(profile, PROFILES))
    return snapshot.messages() if message.parts else _from_columns(message)


def user_message(message: UserMessage) -> AGUIMessage:
    """A user's message, as their client had it."""
    parts = [prompt for part in message.parts if (prompt := _prompt(part)) is not None]
    only_text = all(part["type"] == "text" for part in parts)
    content = "\n".join(part["text"] for part in parts) if only_text else parts
    metadata = message.metadata if isinstance(message.metadata, dict) else None
    return without_none(
        {"id": message.id, "role": "user", "content": content, "metadata": metadata}
    )


def _prompt(part: PromptPart) -> dict[str, JSON] | None:
    match part:
        case PromptText(text=text):
            return {"type": "text", "text": text}
        case PromptFile():
            kind = part.media_type.partition("/")[0]
            kind = kind if kind in ("image", "audio", "video") else "document"
            name = {"metadata": {"filename": part.name}} if part.name else {}
            return {"type": kind, "source": _file_source(part), **name}
        case _:
            return None  # an application's own, unknown here


def _file_source(part: PromptFile) -> dict[str, JSON]:
    about, comma, value = part.url.partition(",")
    if comma and about == f"data:{part.media_type};base64":
        return {"type": "data", "value": value, "mimeType": part.media_type}
    return {"type": "url", "value": part.url, "mimeType": part.media_type}


def _from_columns(message: Message) -> list[AGUIMessage]:
    """A message that was stored without parts."""
    ids = WireIds(message.id)
    texts = {"reasoning": message.metadata.get("thinking"), "assistant": message.content}
    return [
        {"id": ids.activity(role), "role": role, "content": text}
        for role, text in texts.items()
        if text
    ]


def text_about(kind: str, worked_ms: int | None) -> dict[str, JSON]:
    """Metadata of a text; `worked_ms` of the root agent's."""
    return without_none({"kind": kind if kind != "answer" else None, "workedMs": worked_ms})


def thought_about(source: str, redacted: bool) -> dict[str, JSON]:
    """Metadata of a thought."""
    return without_none(
        {"source": source if source != "model" else None, "redacted": redacted or None}
    )


class _Entry(NamedTuple):
    """A message, or two: a call and its result."""

    own: str | None
    """The block or the call by which it may be retracted."""
    messages: list[AGUIMessage]


class _Snapshot:
    """Builds the messages of one stored message."""

    def __init__(self, message: Message, profile: Profile) -> None:
        self._parts = message.parts
        self._profile = profile
        self._ids = WireIds(message.id)
        self._calls = {part.id for part in message.parts if isinstance(part, ToolPart)}
        self._activities = Activities(self._ids)
        self._entries: list[_Entry] = []
        self._cited: dict[str | None, list[JSON]] = {}  # by block, the citations of its message
        self._retracted: set[str | None] = set()

    def messages(self) -> list[AGUIMessage]:
        for part in self._parts:
            build = self.BUILDERS.get(type(part))
            if build is not None:
                build(self, part)
        return [_finished(message) for entry in self._entries for message in entry.messages]

    def _text(self, part: TextPart) -> None:
        is_text = not part.scope or self._profile.subagents
        role = "assistant" if is_text else "reasoning"
        words = resolved(part.text, self._resolve, ended=part.ended)
        self._block(part, words, role, text_about(part.kind, part.worked_ms))

    def _resolve(self, word: str) -> str | None:
        """The call that a placeholder names; of a stored message all are known."""
        return self._ids.of(word) if word in self._calls else None

    def _thinking(self, part: ThinkingPart) -> None:
        about = thought_about(part.source, part.redacted)
        value = encode(part.provider).decode() if part.provider else None
        self._block(part, part.text, "reasoning", about, value)

    def _block(
        self,
        part: BlockPart,
        words: str,
        role: str,
        about: dict[str, JSON],
        encrypted: str | None = None,
    ) -> None:
        took = part.duration_ms if role == "reasoning" or part.scope else None
        citations = self._cited[part.id] = []
        message = {
            "id": self._ids.next_message(part.id),
            "role": role,
            "content": words,
            "subagentRunId": self._ids.owner(part.scope),
            "encryptedValue": encrypted,
            # Filled by the sources that follow; they are sent when the text has ended.
            "metadata": (
                {**about, **without_none({"durationMs": took})},
                citations if part.ended else [],
            ),
        }
        self._entries.append(_Entry(part.id, [message]))

    def _tool(self, part: ToolPart) -> None:
        invalid = part.input_text if part.invalid else None
        arguments = arguments_text(part.input, invalid) if part.ended else part.input_text
        call = {
            "id": self._ids.of(part.id),
            "type": "function",
            "function": {"name": part.name, "arguments": arguments},
            "encryptedValue": encode(part.provider).decode() if part.provider else None,
            "metadata": tool_metadata(part.kind, part.server, part.display, invalid),
        }
        message = {
            "id": self._ids.next_message(part.id),
            "role": "assistant",
            "toolCalls": [without_none(call)],
            "subagentRunId": self._ids.owner(part.scope),
        }
        self._entries.append(_Entry(part.id, [message, *self._result(part)]))

    def _result(self, part: ToolPart) -> list[AGUIMessage]:
        if part.status is None or part.partial:
            return []
        result = ToolResult(output=part.output, status=part.status)
        message = {
            "id": self._ids.result(part.id),
            "role": "tool",
            "toolCallId": self._ids.of(part.id),
            "content": result_content(result, self._profile),
            "subagentRunId": self._ids.owner(part.scope),
            "metadata": result_metadata(result),
        }
        return [message]

    def _source(self, part: SourcePart) -> None:
        own = part.source.id
        if own in self._cited:
            self._cited[own].append(citation(part.source))
        elif own is None or own not in self._retracted:
            self._activity(self._activities.source(citation(part.source)))

    def _file(self, part: FilePart) -> None:
        self._activity(self._activities.file(part.file))

    def _todos(self, part: TodosPart) -> None:
        self._activity(self._activities.todos(part.items, part.scope))

    def _activity(self, activity: Activity) -> None:
        """Add an activity, or replace the one of the same id."""
        message = activity.message()
        for entry in self._entries:
            if entry.messages[0]["id"] == activity.wire:
                entry.messages[:] = [message]
                return
        self._entries.append(_Entry(None, [message]))

    def _retract(self, part: RetractPart) -> None:
        stays = [entry for entry in self._entries if entry.own not in part.blocks]
        thoughts = [entry for entry in self._entries if entry not in stays and _is_thought(entry)]
        kept = thoughts[:1] if not any(map(_is_thought, stays)) else []
        for thought in kept:
            emptied = {"content": "", "encryptedValue": None, "metadata": None}
            thought.messages[:] = [{**thought.messages[0], **emptied}]
        self._entries = [entry for entry in self._entries if entry in stays or entry in kept]
        self._retracted |= set(part.blocks)
        for own in part.blocks:
            self._cited.pop(own, None)

    BUILDERS: ClassVar[dict[type, Callable[[_Snapshot, Any], None]]] = {
        TextPart: _text,
        ThinkingPart: _thinking,
        ToolPart: _tool,
        SourcePart: _source,
        FilePart: _file,
        TodosPart: _todos,
        RetractPart: _retract,
    }
    """Parts that leave a message; the others are only sent live, and are in the log."""


def _is_thought(entry: _Entry) -> bool:
    return bool(entry.messages[0]["role"] == "reasoning")


def _finished(message: AGUIMessage) -> AGUIMessage:
    """The message without empty fields, and with its citations."""
    if isinstance(message.get("metadata"), tuple):
        message = {**message, "metadata": block_metadata(*message["metadata"])}
    return without_none(message)


def connect(
    messages: Sequence[AGUIMessage], *, thread_id: str, run_id: str, profile: str = DEFAULT
) -> Documents:
    """The whole response for a client that joins a thread without an active run.

    It is a run that sends all messages of the thread as one snapshot.
    """
    run = {"threadId": thread_id, "runId": run_id}
    return [
        event("RUN_STARTED", **run, protocolVersion=profile_named(profile, PROFILES).version),
        event("MESSAGES_SNAPSHOT", messages=list(messages)),
        event("RUN_FINISHED", **run, outcome={"type": "success"}),
    ]
