"""The scenarios that every framework is put through, and what each needs of an adapter.

An adapter is an agent folder with the framework's real package. Its agent has three tools
(adapters/tools.py): `look_up`, `delete_file`, which a person has to approve, and `hold`, which does
not return until it is told to. All note in effects.txt what they have done, so that calls can be
counted. Its model is a scripted provider, which keeps every request.

A scenario is a function of a chat and the provider. What a framework cannot do, its adapter lists
in `cannot`, with the reason; then the scenario must fail, so that the list stays true.
docs/frameworks.md is made of both by scripts/framework-table.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from threading import Event
from typing import Any, Final, NamedTuple, Protocol

from frameworks.scripted_anthropic import CUT, GATE, Block, Item, Scripts, call, fail, say
from frameworks.stage import AGENT, Chat, Json, Stage, wait_until

HERE: Final = Path(__file__).parent
TOOLS: Final = HERE / "adapters" / "tools.py"


class Provider(Protocol):
    """A scripted model; scripted_anthropic has one."""

    @property
    def url(self) -> str: ...

    @property
    def gates(self) -> Mapping[str, Event]: ...

    def conversations(self, chat: str, *but: str) -> list[list[Item]]: ...


ProviderFactory = Callable[[Scripts], AbstractContextManager[Provider]]


@dataclass(frozen=True)
class Adapter:
    """A framework in the matrix."""

    name: str
    """As the table calls it."""
    framework: str
    """As agent.yaml calls it."""
    folder: str
    """Below adapters/; its files are the agent's, with tools.py."""
    provider: ProviderFactory
    base_url: str
    """The variable with the provider's address."""
    env: Mapping[str, str] = field(default_factory=dict)
    cannot: Mapping[str, str] = field(default_factory=dict)
    """Scenarios by name, with the reason."""
    tool_prefix: str = ""
    """What the framework puts before the name of a tool, for the model."""
    delegate: Callable[[str], Block] | None = None
    """A call that gives a task to a subagent."""
    answer: Callable[[list[Block]], list[Block]] = lambda blocks: blocks
    """The form in which the model gives an answer, which is text."""
    streams_answers: bool = True
    """Whether the answer is text while it comes."""
    tidy: Callable[[list[Item]], list[Item]] = lambda items: items
    """Removes what the framework itself adds to a request."""
    warm: int = 0
    """Spare processes of the agent."""

    def scripts(self) -> Scripts:
        """The scripts, with the names that this framework's tools have for the model."""
        named = json.dumps(SCRIPTS).replace('"name": "', f'"name": "{self.tool_prefix}')
        scripts: dict[str, list[list[Block]]] = {
            name: [self.answer(turn) if _is_answer(turn) else turn for turn in turns]
            for name, turns in json.loads(named).items()
        }
        if self.delegate is not None:
            scripts["history"].insert(1, [self.delegate("[[helper {chat}]] Look around.")])
        return scripts

    def stage(self, folder: Path, python: Path, provider: Provider) -> Stage:
        """A server with this framework's agent."""
        files = {
            file.name: file.read_text() for file in (HERE / "adapters" / self.folder).iterdir()
        }
        env = {"NO_PROXY": "127.0.0.1", self.base_url: provider.url, **self.env}
        entry = [str(python), "run_agent.py"]
        agent = {"framework": self.framework, "entry": entry, "env": env, "warm": self.warm}
        return Stage(folder, {TOOLS.name: TOOLS.read_text(), **files}, agent)


def _is_answer(turn: list[Block]) -> bool:
    return not any(block["type"] in ("tool_use", "fail") for block in turn)


SCRIPTS: Final[Scripts] = {
    "history": [
        [say("Let me see."), call("call_1", "look_up", city="Lisbon")],
        [say("It is 21 degrees.")],
        [say("Yes.")],
    ],
    "helper": [
        [say("I look around."), call("call_h", "look_up", city="Porto")],
        [say("The helper found it.")],
    ],
    "talk": [[say("One.")], [say("Two.")], [say("Three.")], [say("Four.")]],
    "delete": [
        [say("I will delete it."), call("call_1", "delete_file", path="a.txt")],
        [say("That is all.")],
        [say("Indeed.")],
    ],
    "two": [
        [
            call("call_1", "delete_file", path="a.txt"),
            call("call_2", "delete_file", path="b.txt"),
        ],
        [say("That is all.")],
    ],
    "twice": [
        [call("call_1", "delete_file", path="a.txt")],
        [call("call_2", "delete_file", path="b.txt")],
        [say("That is all.")],
    ],
    "gated": [
        [call("call_1", "look_up", city="Lisbon")],
        [say("It is "), GATE, say("21 degrees.")],
        [say("Yes.")],
    ],
    "endless": [
        [say("It is "), GATE, call("call_1", "look_up", city="Lisbon")],
        [say("Yes.")],
    ],
    "hold": [[call("call_1", "hold", what="door")], [say("I was stopped.")]],
    "limited": [[fail(429, "rate_limit_error", "Too many tokens.", retry_after="0")]],
    "overloaded": [[fail(529, "overloaded_error", "Overloaded")]],
    "cut": [[say("It is "), CUT, say("21 degrees.")]],
}
"""What the model says, by the marker in the first message."""


class Case(NamedTuple):
    """One cell of the matrix at work."""

    adapter: Adapter
    stage: Stage
    chat: Chat
    provider: Provider

    def ask(self, script: str, words: str = "Go.") -> str:
        """The first message of a chat."""
        return f"[[{script} {self.chat.name}]] {words}"

    def conversations(self) -> list[list[Item]]:
        """What the model was given by each request, without those of subagents."""
        tidy, prefix = self.adapter.tidy, self.adapter.tool_prefix
        found = self.provider.conversations(self.chat.name, "helper")
        return [[_named(each, prefix) for each in tidy(items)] for items in found]

    def last(self) -> list[Item]:
        return self.conversations()[-1]

    def open_gate(self) -> None:
        self.provider.gates[self.chat.name].set()


def _named(item: Item, prefix: str) -> Item:
    """An item with the tool's own name."""
    return item._replace(text=item.text.removeprefix(prefix)) if item.kind == "call" else item


def user(text: str) -> Item:
    return Item("user", text)


def said(text: str) -> Item:
    return Item("text", text)


def called(call_id: str, name: str, **arguments: Any) -> Item:
    return Item("call", f"{name} {json.dumps(arguments)}", call_id)


def result(call_id: str, text: str) -> Item:
    return Item("result", text, call_id)


def _kinds(items: list[Item]) -> list[str]:
    """The kinds of items; several texts in a row are one."""
    return [kind for kind, _ in groupby(item.kind for item in items)]


# The scenarios


def two_turns(case: Case) -> None:
    first, second = case.ask("history"), "Sure?"
    case.chat.send(first)
    case.chat.send(second)
    items = case.last()
    assert items[:4] == [
        user(first),
        said("Let me see."),
        called("call_1", "look_up", city="Lisbon"),
        result("call_1", "21 degrees in Lisbon"),
    ]
    assert items[-2:] == [said("It is 21 degrees."), user(second)]
    assert not any("I look around." in item.text for item in items), "a subagent's words"
    delegated = [item.kind for item in items[4:-2]]
    assert delegated == ([] if case.adapter.delegate is None else ["call", "result"])
    assert case.chat.text == "Yes."


PIXEL: Final = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
        "1f15c4890000000d49444154789c6360606060000000050001a5f64540"
        "0000000049454e44ae426082"
    )
).decode()


def image(case: Case) -> None:
    url = f"data:image/png;base64,{PIXEL}"
    asked = case.ask("talk", "What is it?")
    case.chat.send(asked, {"type": "file", "mediaType": "image/png", "url": url})
    items = case.last()
    assert Item("image", PIXEL) in items
    assert user(asked) in items


def approved(case: Case) -> None:
    case.chat.send(case.ask("delete"))
    assert [each.input for each in case.chat.pending] == [{"path": "a.txt"}]
    assert case.chat.effects == []
    case.chat.decide(True)
    assert case.chat.effects == ["deleted a.txt"]
    assert result("call_1", "deleted a.txt") in case.last()
    assert case.chat.text.endswith("That is all.")


def denied(case: Case) -> None:
    case.chat.send(case.ask("delete"))
    assert case.chat.pending
    case.chat.decide(False, reason="It is the only copy.")
    assert case.chat.effects == []
    told = [item for item in case.last() if item.kind == "result"]
    assert [item.id for item in told] == ["call_1"]
    assert "It is the only copy." in told[0].text
    assert case.chat.text.endswith("That is all.")


def other_order(case: Case) -> None:
    case.chat.send(case.ask("two"))
    by_path = {each.input["path"]: each.id for each in case.chat.pending}
    case.chat.answer(by_path["b.txt"], decision="denied", reason="Not that one.")
    case.chat.answer(by_path["a.txt"], decision="approved")
    case.chat.until("over")
    assert case.chat.effects == ["deleted a.txt"]
    results = {item.id: item.text for item in case.last() if item.kind == "result"}
    assert results["call_1"] == "deleted a.txt"
    assert "Not that one." in results["call_2"]


def two_pauses(case: Case) -> None:
    case.chat.send(case.ask("twice"))
    for path in ("a.txt", "b.txt"):
        assert [each.input for each in case.chat.pending] == [{"path": path}]
        case.chat.decide(True)
    assert case.chat.effects == ["deleted a.txt", "deleted b.txt"]
    assert case.chat.text == "That is all."
    assert len(case.chat.messages) == 2


def killed_pause(case: Case) -> None:
    case.chat.send(case.ask("delete"))
    assert case.chat.pending
    case.stage.restart()
    assert [each.input for each in case.chat.pending] == [{"path": "a.txt"}]
    case.chat.decide(True)
    case.chat.until("over")
    assert case.chat.effects == ["deleted a.txt"]
    assert result("call_1", "deleted a.txt") in case.last()
    case.chat.send("Really?")
    assert case.chat.effects == ["deleted a.txt"]
    assert case.chat.text == "Indeed."


def regenerate(case: Case) -> None:
    first, second = case.ask("talk"), "And then?"
    case.chat.send(first)
    case.chat.send(second)
    expected = [user(first), said("One."), user(second)]
    assert case.last() == expected
    case.chat.regenerate()
    assert case.last() == expected
    case.chat.send("And now?")
    assert case.last() == [*expected, said("Two."), user("And now?")]


def edit(case: Case) -> None:
    first = case.ask("talk")
    case.chat.send(first)
    case.chat.send("And then?")
    case.chat.edit(2, "What next?")
    expected = [user(first), said("One."), user("What next?")]
    assert case.last() == expected
    case.chat.send("And now?")
    assert case.last() == [*expected, said("Two."), user("And now?")]
    anew = case.ask("talk", "Start again.")
    case.chat.edit(0, anew)
    assert case.last() == [user(anew)]


def branches(case: Case) -> None:
    first = case.ask("talk")
    case.chat.send(first)
    case.chat.send("And then?")
    case.chat.edit(2, "What next?")
    case.chat.choose(2, version=0)
    case.chat.send("And now?")
    old = [user(first), said("One."), user("And then?"), said("Two."), user("And now?")]
    assert case.last() == old
    case.chat.choose(2, version=1)
    case.chat.send("What else?")
    new = [user(first), said("One."), user("What next?"), said("Two."), user("What else?")]
    assert case.last() == new
    case.chat.choose(2, version=0)
    case.chat.regenerate()
    assert case.last() == old


def lost_run(case: Case) -> None:
    asked = case.ask("gated")
    case.chat.begin(asked)
    wait_until(lambda: len(case.conversations()) == 2)
    case.stage.restart()
    case.chat.until("over")
    case.open_gate()
    case.chat.regenerate()
    seen = case.last()
    assert [item for item in seen if item.kind == "user"] == [user(asked)]
    assert _kinds(seen) == ["user", "call", "result"]
    assert case.chat.text == "It is 21 degrees."
    case.chat.send("Sure?")
    assert _kinds(case.last()) == ["user", "call", "result", "text", "user"]


def stopped(case: Case) -> None:
    case.chat.begin(case.ask("endless"))
    wait_until(lambda: case.chat.streamed == "It is ")
    case.chat.stop()
    case.open_gate()
    assert len(case.conversations()) == 1
    case.chat.send("Sure?")
    assert case.conversations()[1][-1] == user("Sure?"), "nothing was asked in between"


FAULTS: Final = {"limited": "rate_limited", "overloaded": "overloaded"}


def faults(case: Case) -> None:
    for script, code in FAULTS.items():
        chat = case.stage.chat(f"{case.chat.name}-{script}")
        reply = chat.send(f"[[{script} {chat.name}]] Go.")
        assert {error["code"] for error in chat.errors(reply.run)} == {code}
    reply = case.chat.send(case.ask("cut"))
    codes = {error["code"] for error in case.chat.errors(reply.run)}
    # A framework may try again by itself: then the whole answer is there, once.
    broken = "It is " if case.adapter.streams_answers else ""
    assert (case.chat.text, codes) in [(broken, {"network"}), ("It is 21 degrees.", set())]


def stopped_tool(case: Case) -> None:
    case.chat.begin(case.ask("hold"))
    wait_until(lambda: case.chat.effects)
    case.chat.stop()
    reply = case.chat.send("What happened?")
    assert case.chat.errors(reply.run) == []
    assert case.chat.text == "I was stopped."
    seen = case.last()
    assert _kinds(seen) == ["user", "call", "result", "user"]
    assert case.chat.effects == ["held door"], "it is not called again"


def allowed_for_chat(case: Case) -> None:
    run = case.chat.send(case.ask("twice")).run
    (pending,) = case.chat.pending
    case.chat.answer(pending.id, decision="approved", scope="chat")
    case.chat.until("over")
    assert case.chat.effects == ["deleted a.txt", "deleted b.txt"]
    answers = [each for each in case.chat.events(run) if each["type"] == "input_response"]
    assert [each.get("automatic", False) for each in answers] == [False, True]


class Scenario(NamedTuple):
    """A row of the table."""

    number: int
    title: str
    run: Callable[[Case], None]

    @property
    def name(self) -> str:
        return self.run.__name__


SCENARIOS: Final = [
    Scenario(number, title, run)
    for number, (title, run) in enumerate(
        (
            ("two turns: the second has the first one's calls and results", two_turns),
            ("an image in the message", image),
            ("an approved call", approved),
            ("a denied call: it does not run, and the model gets the reason", denied),
            ("two calls in one pause, answered in the other order", other_order),
            ("two pauses in one run", two_pauses),
            ("a pause, kill -9, restart, the answer: the call runs once", killed_pause),
            ("regenerate: no doubled message", regenerate),
            ("edit: no message is left over", edit),
            ("retry of a run that was lost by kill -9", lost_run),
            ("stop in the middle: no further request", stopped),
            ("429, 529 and a cut connection have their code, and no text twice", faults),
            ("a message after a stop inside a tool", stopped_tool),
            ("a tool that is allowed for the chat is not asked about again", allowed_for_chat),
            ("edit, back to the old branch, on from there: it has that branch only", branches),
        ),
        start=1,
    )
]

__all__ = ["AGENT", "SCENARIOS", "Adapter", "Case", "Json", "Provider", "Scenario"]
