"""smolagents in the matrix: a tool calling agent, with chat completions."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator

from frameworks.matrix import Adapter
from frameworks.scripted_anthropic import CUT, GATE, Block, Item, call
from frameworks.scripted_openai import scripted_openai

CALLS, FINAL = "Calling tools:\n", "final_answer"
_PARTS = re.compile(r"(?:^|\n)(New task|Observation):\n")


def _to_agent(task: str) -> Block:
    return call("call_2", "helper", task=task)


def _by_tool(blocks: list[Block]) -> list[Block]:
    """An answer as a call of the tool for it, after what comes before a gate or a cut."""
    texts = "".join(block["text"] for block in blocks if block["type"] == "text")
    places = [place for place, block in enumerate(blocks) if block in (GATE, CUT)]
    before = blocks[: places[-1] + 1] if places else []
    return [*before, call("call_end", FINAL, answer=texts)]


def _tidy(items: list[Item]) -> list[Item]:
    """Calls, results and answers, which smolagents tells the model as texts."""
    return list(_Conversation().read(items))


class _Conversation:
    def __init__(self) -> None:
        self._owed: list[str] = []
        """The ids of the calls whose results come next; none of an answer."""

    def read(self, items: list[Item]) -> Iterator[Item]:
        for item in items:
            if item.kind == "text":
                yield from self._said(item.text)
            elif item.kind == "user":
                yield from self._told(item.text)
            else:
                yield item

    def _said(self, text: str) -> Iterator[Item]:
        words, _, listed = text.partition(CALLS)
        if words.strip():
            yield Item("text", words.strip("\n"))
        calls = ast.literal_eval(listed) if listed else []
        self._owed = [each["id"] for each in calls]
        for each in calls:
            name, given = each["function"]["name"], each["function"]["arguments"]
            if name == FINAL:
                self._owed = []
                yield Item("text", given["answer"])
            else:
                yield Item("call", f"{name} {json.dumps(given)}", each["id"])

    def _told(self, text: str) -> Iterator[Item]:
        pieces = _PARTS.split(text)
        for kind, words in zip(pieces[1::2], pieces[2::2], strict=True):
            if kind == "New task":
                yield Item("user", words)
            else:
                yield from self._results(words)

    def _results(self, text: str) -> Iterator[Item]:
        owed = sorted(self._owed)
        texts = [text] if len(owed) == 1 else text.split("\n")
        for name, words in zip(owed, texts, strict=False):
            yield Item("result", words, name)


SMOLAGENTS = Adapter(
    name="smolagents",
    framework="smolagents",
    folder="smolagents",
    provider=scripted_openai,
    base_url="OPENAI_BASE_URL",
    delegate=_to_agent,
    answer=_by_tool,
    streams_answers=False,
    tidy=_tidy,
)
