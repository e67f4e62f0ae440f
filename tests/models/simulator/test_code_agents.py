"""The default model for agents that want Python: what it is offered, told and writes."""

from __future__ import annotations

import json
from typing import Literal

import pytest

from mobox.models.simulator.code_agents import FINAL, PYTHON, CodeAgent
from mobox.models.simulator.default import default_turn
from mobox.models.simulator.request import Message, Request
from mobox.models.simulator.script import Text

TAGS = "The code sequence must be opened with '<code>', and closed with '</code>'."
JSON = 'A JSON object:\n{\n  "thought": "...",\n  "code": "..."\n}'
TOOLS = '''
Above examples were using notional tools that might not exist for you.
<code>
def save_file(path: string, content: string) -> string:
    """Save a file.

    Args:
        path: Where.
        content: What.
    """

def data_reader(task: str, additional_args: dict[str, Any]) -> str:
    """Reads the weather of cities.

    Args:
        task: Long detailed description of the task.
    """

def final_answer(answer: any) -> any:
    """Provides a final answer to the given problem.

    Args:
        answer: The final answer to the problem
    """
</code>
'''
EXAMPLE = 'def web_search(query: string) -> string:\n    """An example."""\n'
PROMPT = "Compare two cities by the data, and save it as notes.md."


def asked(prompt: str = PROMPT, *told: str, system: str = TAGS) -> Request:
    """A request after these rounds: code, what was observed, code, …"""
    roles: tuple[Literal["assistant", "user"], ...] = ("assistant", "user")
    rounds = [Message(roles[n % 2], text) for n, text in enumerate(told)]
    messages = (Message("user", f"New task:\n{prompt}"), *rounds)
    return Request(model="m", system=f"{system}\n{EXAMPLE}{TOOLS}", messages=messages)


def written(request: Request) -> str:
    [step] = default_turn(request)
    assert isinstance(step, Text)
    return step.text


def code_of(text: str) -> str:
    return text.partition("<code>\n")[2].partition("\n</code>")[0]


def played(prompt: str) -> list[str]:
    """The code of each round, where all code prints `Fine.`."""
    told: list[str] = []
    for _ in range(9):
        text = written(asked(prompt, *told))
        told += [text, "Observation:\nExecution logs:\nFine.\nLast output from code snippet:\nNone"]
        if f"{FINAL}(" in text:
            return [code_of(each) for each in told[::2]]
    raise AssertionError("it does not end")


def test_functions_of_the_prompt_are_its_tools() -> None:
    agent = CodeAgent.of(asked())
    assert agent is not None
    tools = agent.with_tools(asked()).tools
    assert [tool.name for tool in tools] == ["save_file", "data_reader", FINAL]
    assert tools[0].schema["required"] == ["path", "content"]
    assert tools[1].schema["required"] == ["task"]


def test_code_computes_delegates_writes_and_answers() -> None:
    computed, delegated, saved, answer = played(f"Roll dice. {PROMPT}")
    assert computed.startswith("import random")
    assert delegated.startswith("found = data_reader(task='Compare two cities by the data")
    assert saved.startswith("found = save_file(path='/notes.md', content=")
    assert answer.startswith(f'{FINAL}("""')
    assert "```text\nFine.\n```\n\n- `data_reader`: Fine." in answer
    for code in (computed, delegated, saved, answer):
        compile(code, "code", "exec")


@pytest.mark.parametrize(
    ("prompt", "word"), [("Which numbers are prime?", "is_prime"), ("Roll two dice.", "rolls")]
)
def test_agents_and_files_are_used_only_if_the_prompt_is_about_them(prompt: str, word: str) -> None:
    computed, answer = played(prompt)
    assert word in computed
    assert answer.startswith(FINAL)


def test_programs_run(capsys: pytest.CaptureFixture[str]) -> None:
    for prompt in ("A prime?", "Two dice!", 'Say "hello" to {me}.'):
        exec(played(prompt)[0], {})
    printed = capsys.readouterr().out
    assert "Primes below 60: [2, 3, 5" in printed
    assert " 7  " in printed
    assert "4 words, 4.2 letters each" in printed


def test_the_next_task_is_the_prompt_though_its_message_starts_with_a_result() -> None:
    end = f"Thought: I can.\n<code>\n{FINAL}('x')\n</code>"
    told = "Observation:\nExecution logs:\nLast output from code snippet:\nx\nNew task:\nA prime?"
    assert "is_prime" in written(asked(PROMPT, end, told))


def test_a_failed_call_is_no_new_prompt() -> None:
    first = ("<code>\nprint(1)\n</code>", "Observation:\n1")
    code = "Thought: I save.\n<code>\nsave_file(path='a', content='b')\n</code>"
    failed = "Call id: call_1\nError:\nCode execution failed: CallDenied: No.\nNow let's retry"
    text = written(asked("Save the primes.", *first, code, failed))
    assert f"{FINAL}(" in text, "it does not try again"
    assert "Save the primes." in text


def test_structured_code_is_json() -> None:
    agent = CodeAgent.of(asked(system=JSON))
    assert agent == CodeAgent("", "")
    said = json.loads(written(asked("Hm.", system=JSON)))
    assert said.keys() == {"thought", "code"}
    assert said["code"].startswith("words = ")
    told = agent.with_tools(asked("Hm.", json.dumps(said), "Observation:\n1", system=JSON))
    assert told.called == (PYTHON,)


def test_a_managed_agent_is_asked_for_its_task() -> None:
    start = (
        "New task:\nYou're a helpful agent named 'a'.\nYou have been submitted this task by your"
    )
    told = Message("user", f"{start} manager.\n---\nTask:\nLook.\n---\nMake sure to be long.")
    request = Request(model="m", messages=(told,))
    assert request.prompt == "Look."


def test_other_agents_want_no_code() -> None:
    assert CodeAgent.of(Request(model="m", system="You are brief.")) is None
    assert CodeAgent.of(Request(model="m", system=f"Use {FINAL}.")) is None
