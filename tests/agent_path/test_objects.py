"""SDK objects as plain values: told by what they have, and their history once."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, NoReturn

import pytest

from mobox.agent_path.shared.objects import MOST_TOLD, Objects
from mobox.capture.callable import SdkObjects


class BaseMessage:
    """As LangChain's: a pydantic model whose class has this name."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    @property
    def id(self) -> Any:
        return self.fields.get("id")

    def model_dump(self) -> dict[str, Any]:
        return self.fields


class AIMessage(BaseMessage):
    pass


@dataclasses.dataclass
class Command:
    update: Any
    goto: tuple[str, ...] = ()


@dataclasses.dataclass
class AgentBase:
    """As that of OpenAI's Agents SDK."""

    name: str
    instructions: str = "A secret."


class Agent(AgentBase):
    pass


class Model:
    """As pydantic's."""

    def model_dump(self, **how: Any) -> dict[str, Any]:
        return {"how": how}


class Holder:
    """A model that holds what pydantic cannot write."""

    def model_dump(self, **how: Any) -> dict[str, Any]:
        if how:
            raise ValueError("not JSON")
        return {"held": Command({"n": 1})}


class Image:
    mode, size = "RGB", (1, 1)

    def save(self, file: Any, **how: str) -> None:
        file.write(how["format"].encode())


class Hostile:
    def __getattr__(self, name: str) -> NoReturn:
        raise RuntimeError(name)


VALUES: dict[str, tuple[Any, Any]] = {
    "a message": (
        AIMessage(id="m", content="", name=None, tool_calls=[], usage_metadata={"n": 1}),
        {"_class": "AIMessage", "id": "m", "content": "", "usage_metadata": {"n": 1}},
    ),
    "a command": (
        Command({"messages": [AIMessage(content="Hi")]}),
        {
            "_class": "Command",
            "update": {"messages": [{"_class": "AIMessage", "content": "Hi"}]},
            "goto": [],
        },
    ),
    "a model": (Model(), {"how": {"mode": "json", "by_alias": True, "exclude_none": True}}),
    "a model of anything": (
        Holder(),
        {"held": {"_class": "Command", "update": {"n": 1}, "goto": []}},
    ),
    "an exception": ([KeyError("k")], [{"_exception": "KeyError", "str": "'k'"}]),
    "bytes": (b"hi", "aGk="),
    "an image": (Image(), {"type": "image", "base64": "UE5H", "mime_type": "image/png"}),
    "a class": ({"class": int}, {"class": "<class 'int'>"}),
    "a set": ({1}, [1]),
    "nan": ((float("nan"), 1.5), [None, 1.5]),
}


@pytest.mark.parametrize(("value", "told"), VALUES.values(), ids=VALUES)
def test_object_is_recognized_by_its_attributes(value: Any, told: Any) -> None:
    described = SdkObjects().describe(value)
    assert described == told
    json.dumps(described, allow_nan=False)


def test_object_that_raises_is_emitted() -> None:
    assert "Hostile" in Objects().describe(Hostile())


def test_circles_and_depths_are_cut() -> None:
    circle: list[Any] = [1]
    circle.append(circle)
    assert Objects().describe(circle) == [1, "…"]
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    assert json.dumps(Objects().describe(deep)).count("[") < 150


def test_state_emits_each_message_once() -> None:
    objects = Objects()
    first, second = AIMessage(id="1", content="a"), AIMessage(id="2", content="b")
    unnamed = AIMessage(content="c")
    assert len(objects.describe({"messages": [first]})["messages"]) == 1
    again = objects.describe({"data": {"messages": (first, second, unnamed)}})["data"]["messages"]
    assert [message["content"] for message in again] == ["b", "c"]
    assert objects.describe({"messages": [first, second, unnamed]})["messages"] == [
        {"_class": "AIMessage", "content": "c"}
    ]
    assert objects.describe([first])[0]["content"] == "a"  # no state: a piece of a stream
    assert Objects().describe({"messages": [first]})["messages"]


def test_only_so_many_messages_are_remembered() -> None:
    objects = Objects()
    messages = [AIMessage(id=str(n), content="") for n in range(MOST_TOLD + 1)]
    objects.describe({"messages": messages})
    assert objects.describe({"messages": messages[-1:]})["messages"] == []
    assert len(objects.describe({"messages": messages[:1]})["messages"]) == 1


@pytest.mark.parametrize("event", ["on_chat_model_start", "on_chat_model_end", "on_chain_end"])
def test_input_of_a_model_or_a_node_is_left_out(event: str) -> None:
    line = {"event": event, "data": {"input": ["everything"], "output": 1}}
    assert Objects().describe(line) == {"event": event, "data": {"output": 1}}
    kept = {"event": "on_tool_end", "data": {"input": 1}}
    assert Objects().describe(kept) == kept


def test_agent_is_written_by_its_name() -> None:
    described = Objects().describe({"item": {"agent": Agent("boss")}})
    assert described == {"item": {"agent": {"_class": "Agent", "name": "boss"}}}
