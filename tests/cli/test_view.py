"""`mobox view`: the page of a recording, without a store and without a server."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from server.live_server import MOBOX, clean_environment, mobox

RECORDING = Path(__file__).parent.parent / "recordings" / "claude" / "agent_sub_async_all.jsonl"


@contextmanager
def mobox_view(*options: str | Path, stdin: bytes = b"", cwd: Path) -> Iterator[str]:
    """The URL of the page, as it prints it."""
    command = [*MOBOX, "view", "--no-open", *options]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, env=clean_environment(), cwd=cwd
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(stdin)
        process.stdin.close()
        try:
            first = process.stdout.readline().decode().strip()
            yield first.rpartition(": ")[2]
        finally:
            process.terminate()


def test_a_recording_is_served_with_its_page(tmp_path: Path) -> None:
    file = tmp_path / "my run.jsonl"
    file.write_bytes(RECORDING.read_bytes())
    with mobox_view(file, cwd=tmp_path) as url:
        page, _, fragment = url.partition("#")
        assert (page.rpartition("/")[2], fragment) == ("view", "local")
        home = page.removesuffix("/view")
        with httpx.Client(base_url=home, trust_env=False) as client:
            assert client.get("/view").headers["content-type"].startswith("text/html")
            assert client.get("/", follow_redirects=False).headers["location"] == "view#local"
            got = client.get("/api/recording")
            assert (got.content, got.headers["x-mobox-file"]) == (
                file.read_bytes(),
                "my%20run.jsonl",
            )
            rows = client.post("/api/recordings?format=ag-ui", content=got.content)
            first = json.loads(rows.text.partition("\n")[0].removeprefix("data: "))
            assert first["recording"]["framework"] == "claude"
            assert rows.text.count('"frames":{"ag-ui"') > 50
            assert client.get("/api/formats").json()["formats"]
            assert client.get("/api/chats").status_code == 404
            # Checked as the requests of any local server.
            evil = {"origin": "https://evil.example"}
            assert client.post("/api/recordings", content=b"x", headers=evil).status_code == 403
            assert client.get("/api/recording", headers={"host": "evil.example"}).status_code == 421
            file.unlink()
            gone = client.get("/api/recording")
            assert gone.status_code == 404
            assert "cannot read my run.jsonl" in gone.json()["error"]["message"]
    assert list(tmp_path.iterdir()) == [], "nothing is stored"


def test_standard_input_can_be_viewed(tmp_path: Path) -> None:
    with mobox_view("-", stdin=b'{"type": "text", "text": "hi"}\n', cwd=tmp_path) as url:
        got = httpx.get(url.replace("view#local", "api/recording"), trust_env=False)
        assert (got.text, got.headers["x-mobox-file"]) == (
            '{"type": "text", "text": "hi"}\n',
            "standard%20input",
        )


def test_a_pipe_is_read_once_and_shown_again(tmp_path: Path) -> None:
    line = b'{"type": "text", "text": "hi"}\n'
    with mobox_view("/dev/stdin", stdin=line, cwd=tmp_path) as url:
        for _ in range(2):
            got = httpx.get(url.replace("view#local", "api/recording"), trust_env=False)
            assert got.content == line


def test_a_file_may_have_any_name(tmp_path: Path) -> None:
    file = tmp_path / os.fsdecode(b"run-\xff.jsonl")
    file.write_bytes(b'{"type": "text", "text": "hi"}\n')
    with mobox_view(file, cwd=tmp_path) as url:
        got = httpx.get(url.replace("view#local", "api/recording"), trust_env=False)
        assert (got.status_code, got.headers["x-mobox-file"]) == (200, "run-%EF%BF%BD.jsonl")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("nowhere.jsonl",), "cannot read nowhere.jsonl: No such file or directory"),
        ((".",), "cannot read .: Is a directory"),
        (("-", "--port", "70000"), "expected a port from 0 to 65535, got '70000'"),
    ],
)
def test_wrong_arguments_are_explained(
    arguments: tuple[str, ...], problem: str, tmp_path: Path
) -> None:
    code, _, errors = mobox("view", "--no-open", *arguments, cwd=tmp_path)
    assert code == 2
    assert problem in errors
