"""The steps of an agent's memory: as JSON and back, and made of a chat's messages.

Rule 1: what a step says to the model is kept: its text, its calls, what it observed, its error and
        its images. An image that several steps have is stored once.
Rule 2: a message that smolagents did not make is a task, or a step with the same words and calls.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections import Counter
from contextlib import suppress
from importlib import import_module
from io import BytesIO
from typing import Any

from ..conversation.notes import served
from ..conversation.said import Call, File, Message, Text, Thought, conversation
from ..output import plain

__all__ = ["action", "dump", "load", "read_steps", "task_of"]

Part = dict[str, Any]


# As JSON


def dump(steps: list[Any]) -> dict[str, Any]:
    """The steps as a JSON value."""
    images: dict[int, Any] = {}
    stored = []
    for step in steps:
        fields = _fields(step)
        shown = getattr(step, "task_images", None) or getattr(step, "observations_images", None)
        images.update({id(image): image for image in shown or ()})
        named = {"images": [list(images).index(id(image)) for image in shown]} if shown else {}
        stored.append({"kind": type(step).__name__, **fields, **named})
    return {"steps": stored, "images": [_encoded(image) for image in images.values()]}


def _fields(step: Any) -> Part:
    kind = type(step).__name__
    if kind == "TaskStep":
        return {"task": step.task}
    if kind == "PlanningStep":
        return {"plan": step.plan}
    calls, error = getattr(step, "tool_calls", None), getattr(step, "error", None)
    return {
        "number": step.step_number,
        "text": plain(step.model_output),
        "calls": [[each.id, each.name, plain(each.arguments)] for each in calls or ()],
        "code": step.code_action,
        "observations": step.observations,
        "error": None if error is None else [type(error).__name__, str(error)],
        "is_final": step.is_final_answer,
    }


def load(sdk: Any, stored: dict[str, Any]) -> list[Any]:
    """The steps of a JSON value."""
    images = [_decoded(each) for each in stored["images"]]
    return [
        _step(sdk, each, [images[n] for n in each.get("images", ())]) for each in stored["steps"]
    ]


def _step(sdk: Any, fields: Part, images: list[Any]) -> Any:
    if fields["kind"] == "TaskStep":
        return sdk.memory.TaskStep(task=fields["task"], task_images=images or None)
    if fields["kind"] == "PlanningStep":
        said = sdk.ChatMessage(role=sdk.MessageRole.ASSISTANT, content=fields["plan"])
        return sdk.memory.PlanningStep([], said, fields["plan"], _timing(sdk))
    return action(
        sdk,
        [
            sdk.memory.ToolCall(id=call, name=name, arguments=given)
            for call, name, given in fields["calls"]
        ],
        number=fields["number"],
        model_output=fields["text"],
        code_action=fields["code"],
        observations=fields["observations"],
        observations_images=images or None,
        error=_error(sdk, fields["error"]),
        is_final_answer=fields["is_final"],
    )


def action(sdk: Any, calls: list[Any], *, number: int = 1, **fields: Any) -> Any:
    """An ActionStep; without calls it says nothing of any."""
    return sdk.ActionStep(number, _timing(sdk), tool_calls=calls or None, **fields)


def _timing(sdk: Any) -> Any:
    return sdk.memory.Timing(start_time=0.0, end_time=0.0)


def _error(sdk: Any, stored: list[str] | None) -> Any:
    if stored is None:
        return None
    kind = getattr(sdk.utils, stored[0], None) or sdk.utils.AgentError
    return kind(stored[1], sdk.AgentLogger(level=sdk.LogLevel.OFF))  # it logs where it is made


def _encoded(image: Any) -> str:
    data = BytesIO()
    image.save(data, format="PNG")
    return b64encode(data.getvalue()).decode("ascii")


def _decoded(data: str) -> Any:
    image = import_module("PIL.Image").open(BytesIO(b64decode(data)))
    image.load()
    return image


# Of messages


def read_steps(sdk: Any, history: list[Part], prompt: list[Part]) -> list[Any]:
    """The steps of a conversation."""
    steps = []
    for message in conversation(history, prompt):
        if message.role == "user":
            text, images = _task(message)
            steps.append(sdk.memory.TaskStep(task=text, task_images=images or None))
        else:
            steps.append(_answer(sdk, message))
    return steps


def task_of(parts: list[Part]) -> tuple[str, list[Any]]:
    """The task and the images of a prompt."""
    said = conversation([], parts)
    return _task(said[0]) if said else ("", [])


def _task(message: Message) -> tuple[str, list[Any]]:
    texts, images = [], []
    for item in message.items:
        image = _image(item) if isinstance(item, File) else None
        if image is None:
            texts.append(_words(item))
        else:
            images.append(image)
    return "\n".join(texts), images


def _image(file: File) -> Any:
    """The image of a file; `None` if it is none that can be read."""
    if file.media_type.startswith("image/") and file.data is not None:
        with suppress(OSError, ValueError):  # Pillow does not know its format
            return _decoded(file.data)
    return None


def _answer(sdk: Any, message: Message) -> Any:
    calls = message.calls
    said = [item for item in message.items if item not in calls and not isinstance(item, Thought)]
    results = ["\n".join(_words(each) for each in call.result()) for call in calls]
    return action(
        sdk,
        [sdk.memory.ToolCall(id=call.id, name=call.name, arguments=call.input) for call in calls],
        model_output="\n".join(map(_words, said)) or None,
        observations="\n".join(results) if calls else None,
    )


def _words(item: Any) -> str:
    if isinstance(item, Call):
        return served(item, Counter())
    if not isinstance(item, File):
        return item.text if isinstance(item, (Text, Thought)) else ""
    words = item.words()
    return item.label if words is None else f"{item.name or 'file'}:\n{words}"
