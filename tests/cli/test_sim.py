"""`mobox sim`: what it serves, what it prints, and what it says about wrong arguments."""

from __future__ import annotations

import socket
from pathlib import Path

import httpx
import pytest

from mobox.events import Done, Error
from mobox.models.simulator import Script, parse_script
from models.simulator.asking import WIRES, events
from models.simulator.live import mobox_sim
from models.simulator.scenarios import SCENARIOS
from models.simulator.stored import SAID, stored_run
from server.live_server import mobox

CHAT = WIRES[1]


def asked(url: str, prompt: str) -> httpx.Response:
    return httpx.post(f"{url}{CHAT.path}", json=CHAT.body(prompt), trust_env=False)


def content_of(answer: httpx.Response) -> str:
    content: str = answer.json()["choices"][0]["message"]["content"]
    return content


def test_script_is_served(tmp_path: Path) -> None:
    script = tmp_path / "script.yaml"
    script.write_text(SCENARIOS)
    with mobox_sim("--script", script) as url:
        assert content_of(asked(url, "[[text]] Go.")) == "It is 21 degrees in Lisbon."
        assert asked(url, "[[limited]] Go.").headers["retry-after"] == "7"
        streamed = httpx.post(
            f"{url}{CHAT.path}", json=CHAT.body("[[text]]", stream=True), trust_env=False
        )
        assert len(events(streamed)) > 3
        with pytest.raises(httpx.RemoteProtocolError):
            asked(url, "[[cut]] Go.")


def test_run_is_served_again(tmp_path: Path) -> None:
    run_id = stored_run(tmp_path, [*SAID, Done(reason="stop")])
    with mobox_sim("--run", run_id, "--data", tmp_path) as url:
        assert content_of(asked(url, "Anything")) == "It is warm."


def test_run_is_printed_as_a_script(tmp_path: Path) -> None:
    run_id = stored_run(tmp_path, [*SAID, Done(reason="length")])
    code, printed, errors = mobox("sim", "--run", run_id, "--data", tmp_path, "--print")
    assert (code, errors) == (0, "")
    lines = ["default: run", "scenarios:", "  run:", "  - - text: It is warm.", "    - max_tokens:"]
    assert printed == "\n".join(lines) + " true\n"


def test_script_is_printed(tmp_path: Path) -> None:
    script = tmp_path / "script.yaml"
    script.write_text(SCENARIOS)
    code, printed, _ = mobox("sim", "--script", script, "--print")
    assert code == 0
    assert parse_script(printed) == parse_script(SCENARIOS)
    _, nothing, _ = mobox("sim", "--print")
    assert parse_script(nothing) == Script()


def test_unknown_run_is_not_found(tmp_path: Path) -> None:
    stored_run(tmp_path, SAID)
    told = mobox("sim", "--run", "run_1", "--data", tmp_path)
    where = f"of owner 'local' (--owner) in sqlite:///{tmp_path}/mobox.db"
    assert told == (2, "", f"mobox: no run 'run_1' {where}\n")


def test_run_without_an_answer_cannot_be_served(tmp_path: Path) -> None:
    end = [Error(message="No.", code="crashed"), Done(reason="error")]
    run_id = stored_run(tmp_path, end)
    told = mobox("sim", "--run", run_id, "--data", tmp_path)
    assert told == (2, "", f"mobox: run {run_id!r} has no answer of a model\n")


def test_error_in_a_script_names_line_and_field(tmp_path: Path) -> None:
    script = tmp_path / "script.yaml"
    script.write_text("scenarios:\n  a:\n    - - text: Hi\n      - wait: long\n")
    told = mobox("sim", "--script", script)
    problem = "scenarios.a[0][1].wait: Expected `float`, got `str`"
    assert told == (2, "", f"mobox: {script}:4: {problem}\n")


def test_missing_script_is_a_clear_error(tmp_path: Path) -> None:
    script = tmp_path / "none.yaml"
    code, printed, errors = mobox("sim", "--script", script)
    assert (code, printed) == (2, "")
    assert errors.startswith(f"mobox: {script}:1: cannot be read: ")


ARGUMENTS = [
    (["--port", "70000"], "--port: expected a port from 0 to 65535, got '70000'"),
    (["--port", "-1"], "--port: expected"),
    (["--pace", "-1"], "--pace: expected a number from 0 upwards, got '-1'"),
    (["--pace", "nan"], "--pace: expected a number from 0 upwards, got 'nan'"),
    (["--pace", "inf"], "--pace: expected a number from 0 upwards, got 'inf'"),
    (["--script", "a", "--run", "b"], "--run: not allowed with argument --script"),
]


@pytest.mark.parametrize(("arguments", "problem"), ARGUMENTS)
def test_wrong_arguments_are_clear_errors(arguments: list[str], problem: str) -> None:
    code, printed, errors = mobox("sim", *arguments)
    assert (code, printed) == (2, "")
    assert f"mobox sim: error: argument {problem}" in errors


def test_port_in_use_is_a_clear_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, printed, errors = mobox("sim", "--port", str(port))
    assert (code, printed) == (2, "")
    assert str(port) in errors
    assert "Traceback" not in errors
