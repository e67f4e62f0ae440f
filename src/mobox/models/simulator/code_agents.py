"""Agents whose model answers with Python: smolagents' CodeAgent.

Such a request offers no tools: its system prompt has them as Python functions, and its messages
have the code that was run and what it printed. `CodeAgent` converts both to a request with tools,
and the answer to it back to code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from mobox.models.simulator.answer import json_text
from mobox.models.simulator.phrases import NOTE, plain, shortened, snippet
from mobox.models.simulator.request import Call, Message, Offered, Request, Result
from mobox.models.simulator.script import Step, Text, Think, Tool

PYTHON: Final = "python"
"""The name of a call that is code of the model's own, without a call of a tool."""
FINAL: Final = "final_answer"

_TAGS: Final = re.compile(r"must be opened with '(\S+)', and closed with '(\S+)'")
_JSON: Final = re.compile(r'"thought": "\.\.\.",\s+"code": "\.\.\."')
_EXAMPLES_END: Final = "examples were using notional tools"
_FUNCTION: Final = re.compile(r'^def (\w+)\((.*)\) -> .*:\n\s+"""((?s:.*?))"""', re.MULTILINE)
_TOLD: Final = "\nCalling tools:\n"
"""What follows in a message of the model repeats its code."""
_ARGUMENT: Final = re.compile(r"(\w+): (\w+)")
_OBSERVED: Final = re.compile(
    r"^Observation:\n(?:Execution logs:\n)?(.*?)"
    r"(?:Last output from code snippet:\n(.*?))?(?=\nNew task:|\nCall id: |\Z)",
    re.DOTALL,
)
_GIVEN: Final = re.compile(r"^Here is the final answer from your managed agent '\w+':\n", re.M)
_TYPES: Final = {
    "str": "string", "int": "integer", "float": "number", "bool": "boolean", "dict": "object",
    "list": "array",
}  # fmt: skip
PROGRAMS: Final[tuple[tuple[re.Pattern[str], str], ...]] = tuple(
    (re.compile(pattern, re.IGNORECASE), code)
    for pattern, code in (
        (r"prime", """\
def is_prime(number):
    return number > 1 and all(number % d for d in range(2, int(number**0.5) + 1))

primes = [number for number in range(60) if is_prime(number)]
print("Primes below 60:", primes)
print("is_prime(91):", is_prime(91))"""),
        (r"dice|roll|coin|random|simulat|probab", """\
import random
from collections import Counter

random.seed(7)
rolls = Counter(random.randint(1, 6) + random.randint(1, 6) for _ in range(1000))
for total in sorted(rolls):
    print(f"{total:2} {rolls[total]:4} {'#' * (rolls[total] // 5)}")"""),
    )
)  # fmt: skip
"""What it computes, by a word of the prompt."""
ANY_PROGRAM: Final = """\
words = {prompt}.split()
lengths = [len(word) for word in words]
print(f"{{len(words)}} words, {{sum(lengths) / len(lengths):.1f}} letters each")"""
MOST_PRINTED: Final = 2000


class CodeAgent(Struct, frozen=True):
    """How an agent wants its code."""

    opening: str
    closing: str
    """The tags around code; empty for a JSON object with `thought` and `code`."""

    @classmethod
    def of(cls, request: Request) -> CodeAgent | None:
        """The form that a request wants; `None` if it wants no code."""
        if FINAL not in request.system:
            return None
        if tags := _TAGS.search(request.system):
            return cls(tags[1], tags[2])
        return cls("", "") if _JSON.search(request.system) else None

    # The request

    def with_tools(self, request: Request) -> Request:
        """The request with the functions as tools, and with the calls and results of its code."""
        tools = tuple(_functions(request.system))
        names = [tool.name for tool in tools if tool.name != FINAL]
        messages: list[Message] = []
        for number, message in enumerate(request.messages):
            called = messages[-1].calls if messages else ()
            if message.role == "assistant":
                messages.append(replace(message, calls=self._calls(message.text, names, number)))
            else:
                messages.append(replace(message, results=tuple(_results(message.text, called))))
        told = tuple(replace(m, text=_without_observation(m)) for m in messages)
        return replace(request, tools=tools, messages=told, schema=None)

    def _calls(self, text: str, names: list[str], number: int) -> tuple[Call, ...]:
        code = self._code_in(text)
        found = [name for name in re.findall(r"\b(\w+)\(", code) if name in names]
        own = [PYTHON] if code and not found and FINAL not in code else []
        return tuple(Call(f"{number}.{n}", name) for n, name in enumerate(found or own))

    def _code_in(self, text: str) -> str:
        said = text.partition(_TOLD)[0]
        if not self.opening:
            return said
        return said.partition(self.opening)[2].partition(self.closing)[0]

    # The answer

    def write(self, steps: Iterable[Step]) -> Iterator[Step]:
        """The steps with code in place of calls."""
        says: list[str] = []
        calls: list[Tool] = []
        for step in steps:
            if isinstance(step, Think):
                yield step
            elif isinstance(step, Tool):
                calls.append(step)
            elif isinstance(step, Text):
                says.append(step.text)
        yield Text(self._blob(" ".join(says) or "I can answer now.", "\n".join(_code(calls))))

    def _blob(self, thought: str, code: str) -> str:
        if not self.opening:
            return json_text({"thought": thought, "code": code})
        return f"Thought: {thought}\n{self.opening}\n{code}\n{self.closing}"


def program_for(prompt: str) -> str | None:
    """A small program for a prompt; `None` if it is not about one."""
    return next((code for pattern, code in PROGRAMS if pattern.search(prompt)), None)


def any_program(prompt: str) -> str:
    """A small program for any prompt."""
    return ANY_PROGRAM.format(prompt=json_text(plain(prompt)))


def answer_of(prompt: str, results: Sequence[tuple[str, str]]) -> str:
    """The answer to a prompt, in Markdown: what the code printed, and what tools returned."""
    told = [
        f"```text\n{shortened(text, MOST_PRINTED)}\n```" if name == PYTHON
        else f"- `{name}`: {snippet(text)}"
        for name, text in results
    ]  # fmt: skip
    lead = f"Here is what came of “{shortened(plain(prompt), 160)}”:"
    return "\n\n".join([lead, *told, NOTE])


def _functions(system: str) -> Iterator[Offered]:
    """The functions that a system prompt offers, without those of its examples."""
    offered = system.partition(_EXAMPLES_END)[2] or system
    for name, arguments, description in _FUNCTION.findall(offered):
        kinds = dict(_ARGUMENT.findall(arguments))
        required = [each for each in kinds if each != "additional_args"]
        properties = {each: {"type": _TYPES.get(kind, kind)} for each, kind in kinds.items()}
        schema: dict[str, Any] = {"type": "object", "properties": properties, "required": required}
        yield Offered(name, description.strip(), schema)


def _results(text: str, calls: tuple[Call, ...]) -> Iterator[Result]:
    """What the code of the last message printed, as the result of its first call."""
    found = _OBSERVED.search(text)
    if found is None:
        return
    printed, value = (_GIVEN.sub("", each).strip("\n") if each else "" for each in found.groups())
    told = printed or (value if value != "None" else "")
    yield Result(calls[0].id if calls else "", told)


def _without_observation(message: Message) -> str:
    """The text of a message; what was observed is its result now."""
    has_result = bool(message.results)
    return _OBSERVED.sub("", message.text).strip() if has_result else message.text


def _code(calls: list[Tool]) -> Iterator[str]:
    for number, call in enumerate(calls, 1):
        given = call.input
        if call.name == PYTHON:
            yield str(given["code"])
        elif call.name == FINAL:
            yield f"{FINAL}({_text(given.get('answer'))})"
        else:
            name = "found" if len(calls) == 1 else f"found_{number}"
            arguments = ", ".join(f"{key}={_text(value)}" for key, value in given.items())
            yield f"{name} = {call.name}({arguments})"
            yield f"print({name})"


def _text(value: Any) -> str:
    """A value in Python; a long text on lines of its own."""
    if isinstance(value, str) and "\n" in value and not re.search(r'\\|"""', value):
        return f'"""{value}\n"""' if value.endswith('"') else f'"""{value}"""'
    return repr(value)
