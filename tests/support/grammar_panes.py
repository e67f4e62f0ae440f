"""What a page with three panes relies on, written apart from the formatter.

A page keeps messages by their id. One that says `streaming` is put behind what there is, any other
takes its place. That this ends well is what is checked here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

Message = dict[str, Any]

COMPONENTS = {"chat", "webide", "terminal"}
EVENT_TYPES = {"tool_call", "tool_invocation", "tool_output", "action_output"}
HEAD = {"message_id": str, "role": str, "metadata": dict, "content": str}
MAY_HEAD = {"step_number": int, "timestamp": int}
MUST = {"component": str, "streaming": bool, "is_final_answer": bool, "status": str}
MAY = {
    "event_type": str, "tool_name": str, "title": str, "tool_id": str, "display": str,
    "language": str, "scope": list, "kind": str, "copy_of": str, "retracted": bool,
    "request": dict, "decision": str, "value": object, "reason": str, "url": str, "cited_text": str,
    "media_type": str, "file_id": str,
}  # fmt: skip
OF_A_TOOL = {"tool_call", "tool_invocation", "tool_output"}


class Panes:
    """What a page has: its messages, by id, in the order in which they began."""

    def __init__(self, policy: str = "document") -> None:
        self.policy = policy
        self.messages: dict[str, Message] = {}
        self.ended = False
        self.place = ""

    def read(self, document: bytes) -> None:
        self.place = f"document {document[:200]!r}"
        self.rule(b"\n" not in document and b"\r" not in document, "a document has no line ends")
        message = json.loads(document)
        self.check_shape(message)
        self.rule(not self.ended, "nothing comes after the end")
        before = self.messages.get(message["message_id"])
        self.check_metadata(message["metadata"])
        if before is not None:
            self.check_change(before, message)
        self.keep(before, message)

    def rule(self, obeyed: bool, what: str) -> None:
        assert obeyed, f"{self.place}: {what}"

    def check_shape(self, message: Message) -> None:
        self.check_keys(message, HEAD, MAY_HEAD)
        self.check_keys(message["metadata"], MUST, MAY)
        self.rule(message["role"] in ("assistant", "user"), "somebody else speaks")

    def check_keys(self, told: Message, must: Mapping[str, type], may: Mapping[str, type]) -> None:
        types = {**must, **may}
        self.rule(must.keys() <= told.keys(), f"{must.keys() - told.keys()} missing")
        self.rule(told.keys() <= types.keys(), f"{told.keys() - types.keys()}?")
        for name, value in told.items():
            # Only then: the text of a value may be long.
            if types[name] not in (object, type(value)):
                self.rule(False, f"{name} is {value!r}")

    def check_metadata(self, told: Message) -> None:
        component, event_type = told["component"], told.get("event_type")
        self.rule(component in COMPONENTS, "no such pane")
        self.rule(told["status"] in ("pending", "done"), "no such status")
        self.rule(not told["streaming"] or told["status"] == "pending", "a piece is not the end")
        self.rule(event_type is None or event_type in EVENT_TYPES, "no such event_type")
        if event_type in OF_A_TOOL:
            self.rule({"tool_name", "title"} <= told.keys(), "of which tool?")
            self.rule(component != "chat" or self.policy == "chat", "tools are not said")
        if told.get("title") == "💥 Error" and self.policy == "chat":
            self.rule(component == "chat", "errors are said")
        if told["is_final_answer"]:
            self.rule((component, event_type) == ("chat", "action_output"), "an answer is said")
            finals = [m for m in self.messages.values() if m["metadata"]["is_final_answer"]]
            self.rule(not finals, "a run has one final answer")

    def check_change(self, before: Message, message: Message) -> None:
        was, now = before["metadata"], message["metadata"]
        self.rule(was["component"] == now["component"], "a message stays in its pane")
        self.rule(before["role"] == message["role"], "a message stays somebody's")
        self.rule("retracted" not in was, "what was taken back is gone")
        if was["status"] == "done":
            self.rule(not now["streaming"], "a message that is complete does not grow")
        streamed = was["streaming"] and now["status"] == "done" and "retracted" not in now
        if streamed and now.get("event_type") is None:
            self.rule(message["content"] == before["content"], "the whole is the sum of its pieces")

    def keep(self, before: Message | None, message: Message) -> None:
        grows = before is not None and message["metadata"]["streaming"]
        content = (before["content"] if before and grows else "") + message["content"]
        self.messages[message["message_id"]] = {**message, "content": content}
        self.ended = "reason" in message["metadata"]

    def close(self) -> None:
        """The stream is over, and so is the run."""
        self.rule(self.ended, "the end is missing")
        pending = [m for m in self.messages.values() if m["metadata"]["status"] == "pending"]
        self.rule(not pending, f"never completed: {pending}")

    def shown(self, component: str) -> list[Message]:
        """What stands in a pane."""
        found = [m for m in self.messages.values() if m["metadata"]["component"] == component]
        return [message for message in found if "retracted" not in message["metadata"]]


def check_panes(
    documents: Sequence[bytes], policy: str = "document", *, over: bool = True
) -> Panes:
    """Fail unless a page can show `documents`: those of a run that is over, or waits."""
    panes = Panes(policy)
    for document in documents:
        panes.read(document)
    if over:
        panes.close()
    else:
        panes.rule(not panes.ended, "it waits, and has ended")
    return panes
