"""The recorded model calls of a run: listed, read without credentials, deleted with the chat."""

from __future__ import annotations

from pathlib import Path

import pytest

from mobox.models import recorded_calls
from mobox.models.recorded_calls import MOST_OF_BODY
from mobox.settings import MODELS, OWNER
from server.app_client import answered, app_client
from server.recorded_call import record_call
from server.server_with_keys import bearer, give_key, keyed_app, say_something


async def test_calls_are_listed_in_order_without_their_bodies(tmp_path: Path) -> None:
    async with app_client(tmp_path, "memory:", record_models=True) as (services, client):
        run = await answered(services, "c1", "Go", "Done")
        record_call(tmp_path / MODELS, run.id, "secret plan")
        gemini = "/v1beta/models/gemini-3:generateContent"
        record_call(
            tmp_path / MODELS, run.id, "", provider="google", path=gemini, request={}, status=500
        )
        told = (await client.get(f"/api/runs/{run.id}/models")).json()
        assert (told["recording"], told["more"]) == (True, False)
        first, second = told["calls"]
        assert (first["n"], first["model"], first["status"]) == (1, "claude-sonnet-5", 200)
        assert (first["startedAt"], first["durationMs"], first["cut"]) == (1_000, 250, False)
        assert (second["n"], second["model"], second["status"]) == (2, "gemini-3", 500)
        assert "secret plan" not in str(told)


async def test_a_run_without_a_cassette_has_no_calls(tmp_path: Path) -> None:
    async with app_client(tmp_path, "memory:") as (services, client):
        run = await answered(services, "c1", "Go", "Done")
        told = await client.get(f"/api/runs/{run.id}/models")
        assert told.json() == {"recording": False, "calls": [], "more": False}
        missing = await client.get(f"/api/runs/{run.id}/models/1")
        assert (missing.status_code, missing.json()["error"]["code"]) == (404, "not_found")


async def test_a_call_is_read_without_credentials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-ant-a-key-of-the-server"
    monkeypatch.setenv("ANTHROPIC_API_KEY", key)
    async with app_client(tmp_path, "memory:") as (services, client):
        run = await answered(services, "c1", "Go", "Done")
        words = f"use mbm_0123456789abcdef and {key}"
        record_call(tmp_path / MODELS, run.id, words, chunks=[f"echo {key}", {"base64": "w6Q="}])
        told = (await client.get(f"/api/runs/{run.id}/models/1")).json()
        assert "use [model token] and [key]" in told["request"]
        assert told["response"] == "echo [key]ä"
        assert told["shortened"] is False


async def test_bodies_are_for_operators_where_error_details_are_brief(tmp_path: Path) -> None:
    async with keyed_app(tmp_path) as (services, client):
        run = await say_something(services.storage, "ann", "c1", "hello")
        record_call(tmp_path / MODELS, run, "secret plan")
        for scopes, status in ((("read",), 403), (("read", "operate"), 200)):
            _, secret = await give_key(services.storage, "ann", scopes)
            headers = bearer(secret)
            assert (await client.get(f"/api/runs/{run}/models", headers=headers)).status_code == 200
            read = await client.get(f"/api/runs/{run}/models/1", headers=headers)
            assert (read.status_code, "secret plan" in read.text) == (status, status == 200)


async def test_long_bodies_are_shortened(tmp_path: Path) -> None:
    async with app_client(tmp_path, "memory:") as (services, client):
        run = await answered(services, "c1", "Go", "Done")
        record_call(tmp_path / MODELS, run.id, "Go", chunks=["x" * MOST_OF_BODY, "y"])
        told = (await client.get(f"/api/runs/{run.id}/models/1")).json()
        assert (len(told["response"]), told["shortened"]) == (MOST_OF_BODY, True)


async def test_damaged_lines_are_left_out_and_the_list_is_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorded_calls, "MOST_LISTED", 2)
    async with app_client(tmp_path, "memory:") as (services, client):
        run = await answered(services, "c1", "Go", "Done")
        file = record_call(tmp_path / MODELS, run.id, "one")
        with file.open("ab") as cassette:
            cassette.write(b"\xff not a call\n")
        record_call(tmp_path / MODELS, run.id, "three")
        told = (await client.get(f"/api/runs/{run.id}/models")).json()
        assert ([call["n"] for call in told["calls"]], told["more"]) == ([1, 3], False)
        record_call(tmp_path / MODELS, run.id, "four")
        assert (await client.get(f"/api/runs/{run.id}/models")).json()["more"] is True
        for number in ("2", "0", "9" * 5000, "x"):
            assert (await client.get(f"/api/runs/{run.id}/models/{number}")).status_code == 404


async def test_calls_are_deleted_with_the_chat(tmp_path: Path) -> None:
    async with app_client(tmp_path, "memory:") as (services, client):
        run = await answered(services, "c1", "Go", "Done")
        file = record_call(tmp_path / MODELS, run.id, "Go")
        await services.supervisor.delete(OWNER, "c1")
        assert not file.exists()
        assert (await client.get(f"/api/runs/{run.id}/models")).status_code in (404, 410)
