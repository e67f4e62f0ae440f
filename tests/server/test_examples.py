"""The examples run as they are, and the real clients read them."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from server.ag_ui_clients import COPILOTKIT, NEWEST, AGUIPages
from server.chat_clients import ChatClients, Cut, Json
from server.live_server import LIMIT, clean_environment
from support.ag_ui_client import AGUIClients
from support.ai_sdk_client import AiSdkClients

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
ANSWER = "It is 21 degrees in Lisbon."


@contextmanager
def example(python: Path, name: str, folder: Path) -> Iterator[str]:
    """The address of an example that is served; it ends with the block."""
    with _served([str(python), str(EXAMPLES / name / "main.py")], folder) as url:
        yield url


@contextmanager
def _served(command: list[str], folder: Path) -> Iterator[str]:
    said = folder / "stderr"
    environment = clean_environment(PORT="0")
    environment.pop("MODEL", None)
    with (
        said.open("w") as stderr,
        subprocess.Popen(command, cwd=folder, env=environment, stderr=stderr) as process,
    ):
        timer = threading.Timer(3 * LIMIT, process.kill)
        timer.start()
        try:
            yield _address(process, said)
        finally:
            timer.cancel()
            process.kill()


def _address(process: subprocess.Popen[bytes], said: Path) -> str:
    waiting = threading.Event()
    while (found := re.search(r"running on (http://\S+)", said.read_text())) is None:
        assert process.poll() is None, said.read_text()
        waiting.wait(0.05)
    return found[1]


def parts(message: Json, kind: str) -> list[Json]:
    return [part for part in message["parts"] if part["type"] == kind]


def text_of(message: Json) -> str:
    return "".join(part["text"] for part in parts(message, "text")).strip()


def test_langgraph_for_use_chat(frameworks: Path, clients: ChatClients, tmp_path: Path) -> None:
    with example(frameworks, "fastapi_langgraph_usechat", tmp_path) as url:
        page = clients.open("ai", f"{url}/api/chat", "c1")
        report = page.send("How warm is it?")
        assert (report.error, report.invalid, report.status) == (None, None, "ready")
        (tool,) = parts(report.messages[-1], "dynamic-tool")
        assert (tool["toolName"], tool["output"]) == ("get_weather", "21 degrees in Lisbon")
        assert text_of(report.messages[-1]) == ANSWER

        cut = page.send("And now?", cut=Cut(after=3, how="end"))
        again = clients.open("ai", f"{url}/api/chat", "c1", messages=cut.messages[:-1])
        assert text_of(again.resume().messages[-1]) == ANSWER

        stored = httpx.get(f"{url}/mobox/api/chats/c1", timeout=LIMIT, trust_env=False).json()
        assert [message["role"] for message in stored["messages"]] == ["user", "assistant"] * 2
        other = httpx.get(
            f"{url}/mobox/api/chats", headers={"x-user": "eve"}, timeout=LIMIT, trust_env=False
        )
        assert other.json()["chats"] == []


@pytest.mark.parametrize("client", ["ai-v6", "ai"])
def test_app_of_the_readme_for_use_chat(client: str, clients: ChatClients, tmp_path: Path) -> None:
    text = (EXAMPLES.parent / "README.md").read_text()
    (source,) = (block for block in BLOCK.findall(text) if "mobox.mount(" in block)
    (tmp_path / "app.py").write_text(source)
    command = [sys.executable, "-m", "uvicorn", "app:app", "--port", "0"]
    with _served(command, tmp_path) as url:
        as_ann = {"headers": {"x-user": "ann"}}
        page = clients.open(client, f"{url}/api/chat", "c1")
        page.begin("resumeStream", as_ann)
        assert page.settle().error is None, "there is nothing to resume yet"
        page.begin("sendMessage", {"text": "hi"}, as_ann)
        sent = page.settle()
        assert (sent.error, text_of(sent.messages[-1])) == (None, "Echo: hi")
        page = clients.open(client, f"{url}/api/chat", "c1", messages=sent.messages[:1])
        page.begin("resumeStream", as_ann)
        assert text_of(page.settle().messages[-1]) == "Echo: hi"
        stranger = clients.open(client, f"{url}/api/chat", "c1").send("hi")
        assert stranger.error == "Authentication required."


def test_openai_agents_for_ag_ui(frameworks: Path, agui_pages: AGUIPages, tmp_path: Path) -> None:
    with example(frameworks, "fastapi_openai_agents_ag_ui", tmp_path) as url:
        address = f"{url}/mobox/api/agui/agents/weather"
        page = agui_pages.open(NEWEST, address, "t1")
        report = page.say("How warm is it?")
        assert (report.failure, report.warnings, report.outcome) == (None, [], "success")
        assert report.text == ANSWER
        assert report.roles[:1] + report.roles[-2:] == ["user", "tool", "assistant"]
        assert page.say("And now?").text == ANSWER
        runtime = f"{url}/mobox/api/copilotkit"
        reloaded = agui_pages.open(COPILOTKIT, runtime, "t1", agent="weather").connect()
        assert reloaded.text == ANSWER
        assert reloaded.roles.count("user") == 2


def test_a_plain_script(
    frameworks: Path, ai_sdk: AiSdkClients, ag_ui: AGUIClients, tmp_path: Path
) -> None:
    def said(*arguments: str) -> bytes:
        command = [str(frameworks), str(EXAMPLES / "plain_script_sse" / "main.py"), *arguments]
        done = subprocess.run(
            command, cwd=tmp_path, env=clean_environment(), capture_output=True, check=True
        )
        assert done.stderr.startswith(b"stored in .mobox as run_")
        return done.stdout

    reading = ai_sdk.read("ai", said("How long is this?"))
    assert (reading.error, reading.error_text) == (None, None)
    assert reading.message is not None
    assert text_of(reading.message) == "That is 17 letters, 4 words."
    frames = said("How long?", "ag-ui").split(b"\n\n")
    heard = ag_ui.read("1.0", [frame.removeprefix(b"data: ") for frame in frames if frame])
    assert heard.error is None
    assert heard.messages[-1]["content"] == "That is 9 letters, 2 words."


@pytest.mark.parametrize("folder", sorted(path.parent for path in EXAMPLES.glob("*/main.py")))
def test_example_documents_how_to_run_it(folder: Path) -> None:
    told = (folder / "README.md").read_text()
    assert "python main.py" in told
    assert f"[{folder.name}]({folder.name})" in (EXAMPLES / "README.md").read_text()
