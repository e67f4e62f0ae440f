"""What is used is counted, and calls beyond a budget are refused."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from mobox.models.config import Budget, Budgets, ModelsConfig
from mobox.models.ledger import Ledger
from mobox.models.prices import PRICES, Price, price_of
from mobox.models.providers import PROVIDERS
from mobox.models.usage import Usage, UsageReader
from models.scripted_upstream import anthropic_stream, openai_stream, scripted_upstream, streams
from models.served_gateway import CALLER, pointing_to, served_gateway, token_of

MESSAGES = "/anthropic/v1/messages"


@pytest.mark.parametrize("size", [1, 2, 7, 64, 100_000])
def test_usage_is_found_however_a_stream_is_cut(size: int) -> None:
    data = b"".join(anthropic_stream("Hello", 'a "usage": {"input_tokens": 999}'))
    reader = UsageReader("text/event-stream; charset=utf-8")
    for place in range(0, len(data), size):
        reader.feed(data[place : place + size])
    reader.finish()
    assert reader.usage == Usage(10, 7, 4, 0)


def test_a_document_of_any_size_is_counted_without_keeping_it() -> None:
    reader = UsageReader("application/json")
    reader.feed(b'{"model": "text-embedding-3-small", "data": [')
    for _ in range(200):
        reader.feed(b"0.123456789," * 2000)
    assert len(reader._rest) <= 128 * 1024
    reader.feed(b'0], "usage": {"prompt_tokens": 8, "total_tokens": 8}}')
    reader.finish()
    assert (reader.usage, reader.model) == (Usage(8), "text-embedding-3-small")


@pytest.mark.parametrize(
    ("body", "usage"),
    [
        (
            b'{"usage": {"input_tokens": 9, "output_tokens": 2, '
            b'"input_tokens_details": {"cached_tokens": 4}}}',
            Usage(5, 2, 4),
        ),
        (
            b'{"usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 2, '
            b'"thoughtsTokenCount": 3, "cachedContentTokenCount": 1}}',
            Usage(8, 5, 1),
        ),
        (
            b'{"usage": {"total_input_tokens": 9, "total_output_tokens": 2, '
            b'"total_thought_tokens": 3, "total_cached_tokens": 1}}',
            Usage(8, 5, 1),
        ),
        (b'{"usage": {"input_tokens": true, "output_tokens": -4}}', Usage()),
        (b'{"usage": null}', Usage()),
        (b'{"usage": {"input_tokens": ', Usage()),
    ],
)
def test_usage_in_each_providers_words(body: bytes, usage: Usage) -> None:
    reader = UsageReader("application/json")
    reader.feed(body)
    reader.finish()
    assert reader.usage == usage


@pytest.mark.parametrize("size", [1, 7, 64, 100_000])
def test_the_input_of_a_tool_does_not_name_the_model(size: int) -> None:
    call = b'{"functionCall": {"name": "find_car", "args": {"model": "T"}}}'
    data = b'data: {"candidates": [{"content": {"parts": [' + call + b"]}}], "
    data += b'"modelVersion": "gemini-2.5-pro"}\n\n'
    reader = UsageReader("text/event-stream", has_version=True)
    for place in range(0, len(data), size):
        reader.feed(data[place : place + size])
    reader.finish()
    assert reader.model == "gemini-2.5-pro"


def test_a_stream_without_usage_is_estimated() -> None:
    reader = UsageReader("text/event-stream")
    for frame in openai_stream(*"abcdefgh")[:8]:
        reader.feed(frame)
    reader.finish()
    assert reader.result(400).input == 100
    assert 4 <= reader.result(400).output <= 12


def test_the_longest_name_has_the_price() -> None:
    assert price_of("gpt-4o-mini-2024", PRICES) == PRICES["gpt-4o-mini"]
    assert price_of("unheard-of", PRICES) is None
    price = Price(input=2, output=8)
    assert price.cost(Usage(1_000_000, 500_000, 1_000_000, 1_000_000)) == 2 + 4 + 0.2 + 2.5


def test_processes_share_a_ledger_and_days_end(tmp_path: Path) -> None:
    day = date(2030, 1, 1)
    one = Ledger(tmp_path, lambda: day)
    two = Ledger(tmp_path, lambda: day)
    one.add(CALLER, calls=1, tokens=5)
    two.add(CALLER, calls=1, tokens=6, cost_usd=0.5)
    for ledger in (one, two, Ledger(tmp_path, lambda: day)):
        assert ledger.of_owner("ann").tokens == ledger.of_run("r_1").tokens == 11
    day = date(2030, 1, 2)
    assert one.of_owner("ann").tokens == one.of_agent("tester").calls == 0
    assert one.of_run("r_1").tokens == 11, "a run may last over midnight"
    one.add(CALLER, tokens=1)
    assert two.of_run("r_1").tokens == 12
    day = date(2030, 1, 3)
    assert one.of_run("r_1").tokens == 1
    assert [file.name for file in tmp_path.iterdir()] == ["usage-2030-01-02.jsonl"]


def test_a_damaged_ledger_is_read_around(tmp_path: Path) -> None:
    day = date(2030, 1, 1)
    ledger = Ledger(tmp_path, lambda: day)
    ledger.add(CALLER, tokens=5)
    with (tmp_path / "usage-2030-01-01.jsonl").open("ab") as file:
        file.write(b'{"run": \nnonsense\n')
    ledger.add(CALLER, tokens=6)
    assert Ledger(tmp_path, lambda: day).of_run("r_1").tokens == 11


@pytest.mark.parametrize(
    ("limits", "budgets"),
    [
        ({"calls": 1}, Budgets()),
        ({"tokens": 21}, Budgets()),
        ({"cost_usd": 0.0001}, Budgets()),
        ({}, Budgets(agent=Budget(tokens=21))),
        ({}, Budgets(owner=Budget(calls=1))),
    ],
)
async def test_a_call_beyond_a_budget_is_refused(
    tmp_path: Path, limits: dict[str, Any], budgets: Budgets
) -> None:
    async with scripted_upstream(streams(anthropic_stream("Hello"))) as upstream:
        config = ModelsConfig(PROVIDERS, pointing_to(upstream.url), budgets)
        async with (
            served_gateway(tmp_path, {}, config) as served,
            served.client(token_of(served.grant(**limits))) as client,
        ):
            assert (await client.post(MESSAGES, content=b"{}")).status_code == 200
            refused = await client.post(MESSAGES, content=b"{}")
            assert refused.status_code == 402
            assert refused.json()["error"]["type"] == "billing_error"
            assert len(upstream.requests) == 1


async def test_another_run_has_its_own_budget(tmp_path: Path) -> None:
    async with (
        scripted_upstream(streams(anthropic_stream("Hello"))) as upstream,
        served_gateway(tmp_path, pointing_to(upstream.url)) as served,
        served.client() as client,
    ):
        for run, expected in (("r_1", 200), ("r_1", 402), ("r_2", 200)):
            grant = served.grant(caller=replace(CALLER, run_id=run), calls=1)
            headers = {"x-api-key": token_of(grant)}
            response = await client.post(MESSAGES, content=b"{}", headers=headers)
            assert response.status_code == expected


async def test_a_missing_price_is_reported_if_costs_are_limited(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    frames = anthropic_stream("Hello", model="unheard-of")
    cases: list[tuple[dict[str, Any], int]] = [({}, 0), ({"cost_usd": 1}, 1), ({"cost_usd": 1}, 1)]
    async with (
        scripted_upstream(streams(frames)) as upstream,
        served_gateway(tmp_path, pointing_to(upstream.url)) as served,
    ):
        for limits, reported in cases:
            async with served.client(token_of(served.grant(**limits))) as client:
                assert (await client.post(MESSAGES, content=b"{}")).status_code == 200
            assert caplog.text.count("no price for the model 'unheard-of'") == reported
