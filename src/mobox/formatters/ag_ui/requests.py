"""A `RunAgentInput` as one `Request`.

Rule 1: a client sends the whole conversation with every request. Its last words count: what people
        said after all that was said to them. Of those, a message that is not stored is new.
Rule 2: words that are stored and come again ask for another answer; other words under the same id
        are an edit.
Rule 3: entries of `resume` are answers, and so are the results of tools since a person last spoke.
        With a new message they only tell how the run ended that this message cuts short.
Rule 4: ids on the wire are `<run>:<id>`, because clients add to what has an id already.
Rule 5: whatever is wrong raises `InvalidRequest`, which names the field.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Final, NamedTuple

from mobox import json_text
from mobox.errors import InvalidRequest, NotJson
from mobox.events import JSON
from mobox.formatters.ag_ui.ids import own_id
from mobox.formatters.ag_ui.request_wire import (
    PROMPT_PARTS,
    Message,
    Resume,
    RunInput,
    TypedPart,
    in_camel_case,
)
from mobox.formatters.bodies import Id, check_key, check_storable, convert, expected
from mobox.turn import (
    Action,
    Answer,
    Cut,
    Frontend,
    Place,
    PromptPart,
    PromptText,
    Request,
    UserMessage,
    submission_key,
)

__all__ = ["Said", "read_input", "request_of"]

Said = Mapping[str, Sequence[PromptPart]]
"""What people said that is stored, by the id of the message; the last ones are enough."""

_PEOPLE: Final = {"user", "system", "developer"}
_INSTRUCTIONS: Final = _PEOPLE - {"user"}


def read_input(body: JSON) -> RunInput:
    """The body in its shape, a value as json_text decodes it."""
    check_storable(body)
    return convert("", in_camel_case(body), RunInput)


def request_of(run_input: RunInput, stored: Said, idempotency_key: str | None = None) -> Request:
    """What is asked for in a thread of which `stored` is stored."""
    check_key(idempotency_key)
    request = _request(run_input, stored)
    key = idempotency_key or submission_key(request)
    return Request(
        chat_id=request.chat_id,
        action=request.action,
        agent=_agent(run_input),
        message=request.message,
        cut=request.cut,
        run_id=request.run_id,
        answers=request.answers,
        name=run_input.run_id,
        frontend=_frontend(run_input),
        idempotency_key=key,
    )


def _request(run_input: RunInput, stored: Said) -> Request:
    replies = [*_resumed(run_input.resume or ()), *_results(run_input.messages)]
    answers = tuple(reply.answer for reply in replies)
    prompts = [_user_message(each) for each in _last_words(run_input.messages)]
    if new := [message for message in prompts if message.id not in stored]:
        message = _joined(new)
        return Request(
            chat_id=run_input.thread_id, action=Action.SUBMIT, message=message, answers=answers
        )
    if answers and (run_input.resume or not prompts):
        run_id = next((reply.run_id for reply in replies if reply.run_id), None)
        return Request(
            chat_id=run_input.thread_id, action=Action.CONTINUE, run_id=run_id, answers=answers
        )
    if not prompts:
        raise InvalidRequest("messages", "expected a message of a user, or an answer, got neither")
    return _repeated(run_input, prompts[-1], stored)


def _repeated(run_input: RunInput, message: UserMessage, stored: Said) -> Request:
    is_same = tuple(stored[message.id]) == message.parts
    place = Place.AFTER if is_same else Place.BEFORE
    return Request(
        chat_id=run_input.thread_id,
        action=Action.REGENERATE if is_same else Action.EDIT,
        message=message,
        cut=Cut(place, message.id),
    )


# What is said


class _Located(NamedTuple):
    """A message and its place in the body."""

    path: str
    message: Message


def _last_words(messages: Sequence[Message]) -> list[_Located]:
    """What people said after all that was said to them, oldest first."""
    numbered = reversed([*enumerate(messages)])
    last = takewhile(lambda item: item[1].role in _PEOPLE, numbered)
    located = [_Located(f"messages[{index}]", message) for index, message in last]
    return [each for each in reversed(located) if each.message.role == "user"]


def _user_message(located: _Located) -> UserMessage:
    path, message = f"{located.path}.content", located.message
    return UserMessage(
        id=message.id, parts=_parts(path, message.content), metadata=message.metadata
    )


def _parts(path: str, content: JSON) -> tuple[PromptPart, ...]:
    if isinstance(content, str):
        return (PromptText(text=content),)
    parts = convert(path, content, list[JSON])
    if not parts:
        raise InvalidRequest(path, "expected at least one part, got none")
    return tuple(_part(f"{path}[{index}]", part) for index, part in enumerate(parts))


def _part(path: str, part: JSON) -> PromptPart:
    kind = convert(path, part, TypedPart).type
    wire = PROMPT_PARTS.get(kind)
    if wire is None:
        raise InvalidRequest(f"{path}.type", expected(PROMPT_PARTS, kind))
    return convert(path, part, wire).neutral()


def _joined(messages: Sequence[UserMessage]) -> UserMessage:
    """Several new messages are one turn, which has the name of the last."""
    parts = tuple(part for message in messages for part in message.parts)
    last = messages[-1]
    return UserMessage(id=last.id, parts=parts, metadata=last.metadata)


# What is answered


class _Reply(NamedTuple):
    """An answer, and the run that it is for, if its id tells."""

    answer: Answer
    run_id: str | None


def _resumed(entries: Sequence[Resume]) -> Iterator[_Reply]:
    for entry in entries:
        run_id, name = own_id(entry.interrupt_id)
        answer = Answer(decision=entry.decision, request_id=name, value=entry.value)
        yield _Reply(answer, run_id)


def _results(messages: Sequence[Message]) -> Iterator[_Reply]:
    """Those since a person last spoke before the last words; older ones are told long ago."""
    numbered = [*enumerate(messages)]
    while numbered and numbered[-1][1].role in _PEOPLE:
        numbered.pop()
    recent = takewhile(lambda item: item[1].role not in _PEOPLE, reversed(numbered))
    for index, message in reversed([*recent]):
        if message.role == "tool":
            yield _result(f"messages[{index}]", message)


def _result(path: str, message: Message) -> _Reply:
    if message.tool_call_id is None:
        raise InvalidRequest(f"{path}.toolCallId", "expected a value, got none")
    run_id, call = own_id(message.tool_call_id)
    if message.error:
        return _Reply(Answer(decision="denied", tool_call_id=call, reason=message.error), run_id)
    value = _value(message.content)
    return _Reply(Answer(decision="answered", tool_call_id=call, value=value), run_id)


def _value(content: JSON) -> JSON:
    """What a tool gave: clients can send it as text only, also where it was not."""
    if not isinstance(content, str) or content[:1] not in ("{", "["):
        return content
    try:
        return json_text.decode(content.encode())
    except NotJson:
        return content


# What is brought along


def _agent(run_input: RunInput) -> str | None:
    named = (run_input.forwarded_props or {}).get("agent")
    return None if named is None else convert("forwardedProps.agent", named, Id)


def _frontend(run_input: RunInput) -> Frontend:
    contents = [each.content for each in run_input.messages if each.role in _INSTRUCTIONS]
    return Frontend(
        tools=tuple(run_input.tools or ()),
        context=tuple(run_input.context or ()),
        state=run_input.state,
        instructions=tuple(text for text in contents if isinstance(text, str)),
        properties=run_input.forwarded_props or {},
    )
